// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"cmp"
	"io"
)

// Buffer calls print with a buffered writer to out. It flushes the buffer even if print
// fails.
func Buffer(out io.Writer, print func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(out, 1<<16)
	return cmp.Or(print(w), w.Flush())
}

// Withheld calls print with a writer to out that holds back up to 16 MiB. A shorter
// document appears only when it is complete, and not at all if print fails. A longer
// one appears as it is written, so an error leaves it truncated.
func Withheld(out io.Writer, print func(w *bufio.Writer) error) error {
	h := &holder{to: out}
	w := bufio.NewWriterSize(h, 1<<16)
	if err := cmp.Or(print(w), w.Flush()); err != nil {
		return err
	}
	return h.flush()
}

// mostWithheld bounds the bytes of a document that are held back.
const mostWithheld = 16 << 20

// holder buffers up to mostWithheld bytes, and then passes everything on.
type holder struct {
	to   io.Writer
	held []byte
	open bool // everything is passed on
}

func (h *holder) Write(p []byte) (int, error) {
	if !h.open && len(h.held)+len(p) <= mostWithheld {
		h.held = append(h.held, p...)
		return len(p), nil
	}
	if err := h.flush(); err != nil {
		return 0, err
	}
	return h.to.Write(p)
}

// flush passes on the bytes that are held.
func (h *holder) flush() error {
	_, err := h.to.Write(h.held)
	h.held, h.open = nil, true
	return err
}
