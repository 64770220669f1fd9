// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
)

// absentFlag is the flag that defines how to read a chunk that is not stored.
const absentFlag = "missing-chunks"

// The values of absentFlag.
const (
	absentFill  = "fill"
	absentError = "error"
)

// absentVar defines --missing-chunks.
func absentVar(f *pflag.FlagSet) {
	usage := "read a chunk that is not stored as `WHAT`: as the fill value (" + absentFill + "), or as an " + absentError
	flagtext.Var(f, new(string), absentFlag, absentFill, usage, flagtext.OneOf(absentFill, absentError))
}

// requiresChunks reports whether it is an error to read a chunk that is not stored.
func requiresChunks(cmd *cobra.Command) bool {
	f := cmd.Flag(absentFlag)
	return f != nil && f.Value.String() == absentError
}
