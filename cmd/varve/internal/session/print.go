// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bufio"
	"context"
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
//
// The document of a command that has changed a repository of Icechunk waits for the
// commit, which may fail ([Attempt]).
func PrintJSON(cmd *cobra.Command, v any) error {
	if h := heldOf(cmd.Context()); h != nil && h.staged.Begun() && WantsJSON(cmd) {
		return PrintDocument(cmd, &h.document, v)
	}
	return PrintDocument(cmd, cmd.OutOrStdout(), v)
}

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

// PrintLines prints a document with --json, and else lines.
func PrintLines(cmd *cobra.Command, document any, lines ...string) error {
	if WantsJSON(cmd) {
		return PrintJSON(cmd, document)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), line); err != nil {
			return err
		}
	}
	return nil
}

// Confirm prints one line at a terminal that a change is done. Programs use the exit
// status instead.
func Confirm(cmd *cobra.Command, format string, args ...any) {
	if console.IsTerminal(cmd.ErrOrStderr()) && !WantsJSON(cmd) {
		sayLater(cmd, phrase.Printable(fmt.Sprintf(format, args...))+"\n")
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

// Note prints a note about a node to standard error, for a command that succeeds. With
// --json it prints nothing: there programs expect an error alone.
func Note(cmd *cobra.Command, location, text string) {
	if !WantsJSON(cmd) {
		sayLater(cmd, fmt.Sprintf("note: %s: %s\n", phrase.Printable(location), phrase.Printable(text)))
	}
}

// Remark is [Note], and with --json the text is in the list "notes" of the document.
func Remark(cmd *cobra.Command, location, text string) {
	Note(cmd, location, text)
	if r, ok := cmd.Context().Value(remarksKey{}).(*remarks); ok {
		*r = append(*r, location+": "+text)
	}
}

// remarks are the notes for the JSON document of a command.
type remarks []string

// remarksKey is the key of the remarks in the context of a command.
type remarksKey struct{}

// withRemarks makes a command collect its remarks.
func withRemarks(cmd *cobra.Command) {
	cmd.SetContext(context.WithValue(cmd.Context(), remarksKey{}, new(remarks)))
}

// TakeRemarks returns and forgets the remarks that were not printed in JSON yet.
func TakeRemarks(cmd *cobra.Command) []string {
	r, ok := cmd.Context().Value(remarksKey{}).(*remarks)
	if !ok {
		return nil
	}
	list := *r
	*r = nil
	return list
}

// MostShown bounds the paths of one kind that are printed without --json.
const MostShown = 20
