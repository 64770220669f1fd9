// SPDX-License-Identifier: Apache-2.0

package localfile

import (
	"errors"
	"io"
	"os"
)

// SpoolMemory is the number of bytes that a [Spool] keeps in memory.
const SpoolMemory = 16 << 20

// Spool stores the bytes written to it: the first [SpoolMemory] bytes in memory, and
// the rest in a temporary file.
type Spool struct {
	memory []byte
	file   *os.File // nil while memory suffices
	length int64    // of the file
}

// Write implements [io.Writer].
func (s *Spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.memory)+len(p) <= SpoolMemory {
		s.memory = append(s.memory, p...)
		return len(p), nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "varve-*")
		if err != nil {
			return 0, err
		}
		s.file = f
	}
	n, err := s.file.Write(p)
	s.length += int64(n)
	return n, err
}

// ReadAt implements [io.ReaderAt].
func (s *Spool) ReadAt(p []byte, at int64) (n int, err error) {
	held := int64(len(s.memory))
	if at < held {
		n = copy(p, s.memory[at:])
	}
	if n == len(p) {
		return n, nil
	}
	if s.file == nil {
		return n, io.EOF
	}
	m, err := s.file.ReadAt(p[n:], at+int64(n)-held)
	return n + m, err
}

// Reader returns a reader of everything that was written.
func (s *Spool) Reader() *io.SectionReader {
	return io.NewSectionReader(s, 0, int64(len(s.memory))+s.length)
}

// Close removes the temporary file.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
