// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// Note prints a note about a node to standard error, for a command that succeeds. With
// --json it prints nothing: there programs expect an error alone.
func Note(cmd *cobra.Command, location, text string) {
	if !WantsJSON(cmd) {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: %s: %s\n", phrase.Printable(location), phrase.Printable(text))
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
