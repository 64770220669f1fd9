// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"

	"github.com/spf13/cobra"
	"varve.dev/zarr/store/httpstore"
)

// WithoutSecrets returns an argument without credentials.
func WithoutSecrets(arg string) string {
	_, shown := httpstore.Conceal(context.Background(), arg)
	return shown
}

// Subject returns the node or directory that a command line names, or "".
func Subject(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("array_path"); f != nil {
		return f.Value.String()
	}
	return WithoutSecrets(cmd.Flags().Arg(0))
}
