package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// wantsJSON reports whether programs read the output.
func wantsJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// printJSON prints v as the document on standard output. Raw JSON within v keeps its
// spelling.
func printJSON(cmd *cobra.Command, v any) error { return printDocument(cmd, cmd.OutOrStdout(), v) }

// buffered calls print with a buffer before standard output, and flushes it also after an
// error.
func buffered(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	out := cmd.OutOrStdout()
	if wantsJSON(cmd) {
		out = output.NewScreen(out)
	}
	return output.Buffer(out, print)
}

// bufferedData is buffered for values of an array. They are as they are stored but on a
// terminal.
func bufferedData(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	out := cmd.OutOrStdout()
	if console.IsTerminal(out) {
		out = output.NewScreen(out)
	}
	return output.Buffer(out, print)
}

// confirm says in one line that a change is done, to the person at the terminal of
// standard error. Programs, which have the exit status, are told nothing.
func confirm(cmd *cobra.Command, format string, args ...any) {
	if w := cmd.ErrOrStderr(); console.IsTerminal(w) && !wantsJSON(cmd) {
		fmt.Fprintf(w, "%s\n", phrase.Printable(fmt.Sprintf(format, args...))) // what cannot be said is done all the same
	}
}
