// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// WantsJSON reports whether --json was given.
func WantsJSON(cmd *cobra.Command) bool {
	on, err := cmd.Flags().GetBool("json")
	return err == nil && on
}

// PrintJSON prints v as the document on standard output. Raw JSON in v keeps its
// spelling.
func PrintJSON(cmd *cobra.Command, v any) error { return PrintDocument(cmd, cmd.OutOrStdout(), v) }

// Print calls print with a buffered writer to standard output. It flushes the buffer even
// if print fails.
func Print(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	out := cmd.OutOrStdout()
	// Texts of a store may have characters that could take over a terminal. Output in
	// words escapes them line by line, JSON here.
	if WantsJSON(cmd) {
		out = output.NewScreen(out)
	}
	return output.Buffer(out, print)
}

// PrintData is Print for the values of an array. Control characters are escaped on a
// terminal only.
func PrintData(cmd *cobra.Command, print func(w *bufio.Writer) error) error {
	out := cmd.OutOrStdout()
	if console.IsTerminal(out) {
		out = output.NewScreen(out)
	}
	return output.Buffer(out, print)
}

// Confirm prints one line at a terminal that a change is done. Programs use the exit
// status instead.
func Confirm(cmd *cobra.Command, format string, args ...any) {
	if w := cmd.ErrOrStderr(); console.IsTerminal(w) && !WantsJSON(cmd) {
		fmt.Fprintf(w, "%s\n", phrase.Printable(fmt.Sprintf(format, args...))) // the change is done even if this fails
	}
}

// PrintDocument prints v to w as the JSON document of a command. It adds the member notes
// if there are remarks, and the member stats for --stats.
func PrintDocument(cmd *cobra.Command, w io.Writer, v any) error {
	var more []output.Member
	if notes := TakeRemarks(cmd); len(notes) > 0 {
		more = append(more, output.Member{Name: "notes", Value: notes})
	}
	if c := counterOf(cmd.Context()); c != nil {
		more = append(more, output.Member{Name: "stats", Value: statsFacts{c, cacheOf(cmd.Context())}})
	}
	return output.WriteJSON(w, v, more...)
}
