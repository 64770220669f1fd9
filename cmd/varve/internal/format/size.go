// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/internal/npy"
)

// CheckLimit returns an error if the output is known to be longer than the limit before
// it is made. 0 is no limit.
func CheckLimit(s *source.Source, limit int64, f Format) error {
	if s.Bytes == source.TooMany {
		return fmt.Errorf("%w: the bytes of %s; select a part (--select)", zarr.ErrOverflow, phrase.Plural(s.Selection.Len(), "value"))
	}
	if least := leastBytes(s, f); limit > 0 && least > limit {
		return fmt.Errorf("%w: %s as %s has %s or more, but --limit is %s; select a part (--select), or raise it",
			zarr.ErrLimit, phrase.Plural(s.Selection.Len(), "value"), f, phrase.Bytes(least), phrase.Bytes(limit))
	}
	return nil
}

// leastBytes returns a lower bound of the bytes of the values in a format.
func leastBytes(s *source.Source, f Format) int64 {
	switch f {
	case CSV, JSON:
		n := s.Selection.Len()
		return n + min(n, source.TooMany-n) // at least a digit and a separator each
	case NPY:
		h := npy.Header{Type: s.Type, Shape: s.Shape}
		if h.Check() == nil {
			return s.Bytes + min(int64(len(h.Append(nil))), source.TooMany-s.Bytes)
		}
	}
	return s.Bytes
}

// CheckRoom returns an error if the file system has no room for a file, so that a command
// does not fill the disk first. On a file system that compresses, the file may fit after
// all; writing to a pipe avoids the check.
func CheckRoom(s *source.Source, file string, f Format, free func(dir string) (int64, bool)) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return nil // a device or a pipe
	}
	least := leastBytes(s, f)
	if room, known := free(filepath.Dir(file)); known && least > room {
		return failure.OfKind(syscall.ENOSPC, "write %s: %s as %s has %s or more, but there is room for %s; select a part (--select), or write to standard output",
			file, phrase.Plural(s.Selection.Len(), "value"), f, phrase.Bytes(least), phrase.Bytes(room))
	}
	return nil
}

// Within calls print with a writer to w that accepts at most limit bytes. 0 is no limit.
func Within(limit int64, w *bufio.Writer, print func(w *bufio.Writer) error) error {
	if limit <= 0 {
		return print(w)
	}
	l := bufio.NewWriter(&limited{w, limit, limit})
	return cmp.Or(print(l), l.Flush())
}

// limited is a writer with a limit.
type limited struct {
	to          *bufio.Writer
	left, limit int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: the output exceeds --limit %s; select a part (--select), or raise it", zarr.ErrLimit, phrase.Bytes(l.limit))
	}
	return l.to.Write(p)
}
