package main

import (
	"errors"
	"io"
	"os"
)

// spoolMemory is how many bytes a spool keeps in memory.
const spoolMemory = 16 << 20

// spool keeps what is written to it until all of it is there: in memory at first, what
// follows in a temporary file.
type spool struct {
	memory []byte
	file   *os.File // nil until it is needed
	length int64    // of the file
}

func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil && len(s.memory)+len(p) <= spoolMemory {
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
func (s *spool) ReadAt(p []byte, at int64) (n int, err error) {
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

// reader returns everything that was written.
func (s *spool) reader() *io.SectionReader {
	return io.NewSectionReader(s, 0, int64(len(s.memory))+s.length)
}

// close removes the temporary file.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
