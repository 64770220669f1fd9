// SPDX-License-Identifier: Apache-2.0

package virtual

import "fmt"

// notes are remarks about files. Each kind of them has one format.
type notes struct {
	list  []note
	count map[string]int // of each kind
	more  int            // that are not in the list
}

type note struct{ kind, text string }

// mostNotes bounds the notes that are kept.
const mostNotes = 10000

// note adds a remark.
func (j *Joined) note(format string, args ...any) {
	n := &j.notes
	if n.count == nil {
		n.count = map[string]int{}
	}
	n.count[format]++
	if len(n.list) == mostNotes {
		n.more++
		return
	}
	n.list = append(n.list, note{format, fmt.Sprintf(format, args...)})
}

// Notes are remarks about the files, such as times that are out of order: the first
// 10,000, and how many more there are.
func (j *Joined) Notes() (texts []string) {
	for _, n := range j.notes.list {
		texts = append(texts, n.text)
	}
	if j.notes.more > 0 {
		texts = append(texts, fmt.Sprintf("there are %d more notes", j.notes.more))
	}
	return texts
}

// Summary returns [Joined.Notes] for people: of the notes of each kind, which say the
// same of other files and arrays, so many, and how many more there are.
func (j *Joined) Summary(most int) (texts []string) {
	shown := map[string]int{}
	for _, n := range j.notes.list {
		if shown[n.kind]++; shown[n.kind] > most {
			continue
		}
		texts = append(texts, n.text)
		if more := j.notes.count[n.kind] - most; shown[n.kind] == most && more > 0 {
			texts = append(texts, fmt.Sprintf("… and %d more like this", more))
		}
	}
	return texts
}
