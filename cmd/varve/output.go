package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/strictjson"
)

// wantsJSON reports whether programs read the output.
func wantsJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// printJSON prints v as the document on standard output. Raw JSON within v keeps its
// spelling.
func printJSON(cmd *cobra.Command, v any) error { return printDocument(cmd, cmd.OutOrStdout(), v) }

// writeJSON writes v as a document in canonical layout, with more members behind those of
// v.
func writeJSON(w io.Writer, v any, more ...jsonMember) error {
	b := bufio.NewWriterSize(&plainScreen{to: w}, 1<<16)
	var err error
	if object := reflect.Indirect(reflect.ValueOf(v)); object.Kind() == reflect.Struct {
		err = writeMembers(b, object, more...)
	} else {
		err = writeText(b, v, more...)
	}
	if err != nil {
		return err // of a short document nothing has appeared
	}
	return b.Flush()
}

// writeText is writeJSON for a map or a list, which is spelled as a whole first.
func writeText(w *bufio.Writer, v any, more ...jsonMember) error {
	text, err := encoded(v)
	if err != nil {
		return err
	}
	for _, m := range more {
		if text, err = m.appendTo(text); err != nil {
			return err
		}
	}
	if err := strictjson.WriteIndent(w, text, 0); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// buffered calls print with a buffer before standard output, and flushes it also after an
// error.
func buffered(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	out := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		out = &plainScreen{to: out}
	}
	return bufferedTo(out, print)
}

// bufferedData is buffered for values of an array. They are as they are stored but on a
// terminal.
func bufferedData(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	out := cmd.OutOrStdout()
	if isTerminal(out) {
		out = &plainScreen{to: out}
	}
	return bufferedTo(out, print)
}

func bufferedTo(out io.Writer, print func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(out, 1<<16)
	return cmp.Or(print(w), w.Flush())
}

// withheld prints what print writes. A document that fits into memory appears once all of
// it is there, and not at all where print fails. Of a longer one what is there appears,
// and an error leaves it without its end.
func withheld(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	h := &holder{to: cmd.OutOrStdout()}
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

// screen is a stream that knows by itself whether a person sits at it.
type screen interface{ IsTerminal() bool }

// isTerminal reports whether a stream is one that a person sits at.
func isTerminal(stream any) bool {
	if s, ok := stream.(screen); ok {
		return s.IsTerminal()
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// confirm says in one line that a change is done, to the person at the terminal of
// standard error. Programs, which have the exit status, are told nothing.
func confirm(cmd *cobra.Command, format string, args ...any) {
	if w := cmd.ErrOrStderr(); isTerminal(w) && !wantsJSON(cmd) {
		fmt.Fprintf(w, "%s\n", phrase.Printable(fmt.Sprintf(format, args...))) // what cannot be said is done all the same
	}
}

// jsonText returns a text or a list of numbers as JSON.
func jsonText(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // neither kind of value fails
	}
	return b
}
