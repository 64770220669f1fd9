package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"varve.dev/zarr/internal/strictjson"
)

// wantsJSON reports whether programs read the output.
func wantsJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// printJSON prints v as the document on standard output. Raw JSON within v keeps its spelling.
func printJSON(cmd *cobra.Command, v any) error { return printDocument(cmd, cmd.OutOrStdout(), v) }

func writeJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(append(strictjson.AppendIndent(nil, bytes.TrimSpace(b.Bytes())), '\n'))
	return err
}

// buffered calls print with a buffer before standard output, and flushes it also after an error.
func buffered(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	w := bufio.NewWriterSize(cmd.OutOrStdout(), 1<<16)
	return cmp.Or(print(w), w.Flush())
}

// withheld prints what print writes once all of it is there, and nothing where print fails.
func withheld(cmd *cobra.Command, print func(w *bufio.Writer) error) (err error) {
	s := new(spool)
	defer func() { err = errors.Join(err, s.close()) }()
	w := bufio.NewWriterSize(s, 1<<16)
	if err := cmp.Or(print(w), w.Flush()); err != nil {
		return err
	}
	r, err := s.reader()
	if err != nil {
		return err
	}
	_, err = io.Copy(cmd.OutOrStdout(), r)
	return err
}

// isTerminal reports whether a stream is one that a person sits at.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// jsonText returns a text or a list of numbers as JSON.
func jsonText(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null") // neither kind of value fails
	}
	return b
}
