// SPDX-License-Identifier: Apache-2.0

package icechunk

import "time"

// Age lets a session have begun earlier.
func (s *Session) Age(by time.Duration) { s.began.at = s.began.at.Add(-by) }

// Unchecked makes a session commit as a program that does not look for collections.
func (s *Session) Unchecked() { s.began.update = time.Now().Add(time.Hour) }

// LimitIDs makes clones hold at most n IDs of chunks until the returned function is
// called.
func LimitIDs(n uint64) (restore func()) {
	was := mostIDs
	mostIDs = n
	return func() { mostIDs = was }
}

// Remember makes sessions use the chunks of each other.
func Remember(sessions ...*Session) {
	m := new(memory)
	for _, s := range sessions {
		s.remember(m)
	}
}

// LimitMarks makes collections visit few snapshots together, and store at most n marks,
// until the returned function is called.
func LimitMarks(together, n int) (restore func()) {
	wasTogether, was := visitedTogether, mostMarks
	visitedTogether, mostMarks = together, n
	return func() { visitedTogether, mostMarks = wasTogether, was }
}
