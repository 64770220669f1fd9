package main

import (
	"bufio"
	"cmp"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/npy"
)

// affords refuses output that is longer than the limit, as far as that is known before it is made; 0 is no limit.
func (s *source) affords(limit int64, f format) error {
	least := s.bytes
	switch f {
	case csvFormat, jsonFormat:
		least = 2 * s.resolved.Len() // a digit and what follows it
	case npyFormat:
		h := npy.Header{Type: s.typ, Shape: s.shape}
		if h.Check() == nil {
			least += int64(len(h.Append(nil)))
		}
	}
	if limit > 0 && least > limit {
		return fmt.Errorf("%w: %s as %s has %s or more, --limit is %s; select a part (--select), or raise it",
			zarr.ErrLimit, plural(s.resolved.Len(), "value"), f, byteCount(least), byteCount(limit))
	}
	return nil
}

// within calls print with a writer to w of at most so many bytes; 0 is no limit.
func within(limit int64, w *bufio.Writer, print func(w *bufio.Writer) error) error {
	if limit <= 0 {
		return print(w)
	}
	l := bufio.NewWriter(&limited{w, limit, limit})
	return cmp.Or(print(l), l.Flush())
}

// limited writes no more bytes than it may.
type limited struct {
	to          *bufio.Writer
	left, limit int64
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, fmt.Errorf("%w: the output is longer than --limit %s; select a part (--select), or raise it", zarr.ErrLimit, byteCount(l.limit))
	}
	return l.to.Write(p)
}
