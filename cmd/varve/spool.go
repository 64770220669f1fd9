package main

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// spoolMemory is how many bytes a spool keeps in memory.
const spoolMemory = 16 << 20

// spool keeps what is written to it until all of it is there: in memory at first, what follows in a temporary file.
type spool struct {
	memory []byte
	file   *os.File // nil until it is needed
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
	return s.file.Write(p)
}

// reader returns everything that was written.
func (s *spool) reader() (io.Reader, error) {
	memory := bytes.NewReader(s.memory)
	if s.file == nil {
		return memory, nil
	}
	_, err := s.file.Seek(0, io.SeekStart)
	return io.MultiReader(memory, s.file), err
}

// close removes the temporary file.
func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
