package output

import (
	"bufio"
	"cmp"
	"io"
)

// Buffer calls print with a buffer before w, and flushes it also after an error.
func Buffer(out io.Writer, print func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(out, 1<<16)
	return cmp.Or(print(w), w.Flush())
}

// Withheld prints what print writes. A document that fits into memory appears once all of
// it is there, and not at all where print fails. Of a longer one what is there appears,
// and an error leaves it without its end.
func Withheld(out io.Writer, print func(w *bufio.Writer) error) error {
	h := &holder{to: out}
	w := bufio.NewWriterSize(h, 1<<16)
	if err := cmp.Or(print(w), w.Flush()); err != nil {
		return err
	}
	return h.flush()
}

// mostWithheld is how many bytes of a document are held back until all of it is there.
const mostWithheld = 16 << 20

// holder keeps what is written to it as long as that is little, and then passes
// everything on.
type holder struct {
	to   io.Writer
	held []byte
	open bool // nothing is held any more
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

// flush passes on what is held.
func (h *holder) flush() error {
	_, err := h.to.Write(h.held)
	h.held, h.open = nil, true
	return err
}
