package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
)

// absentFlag is the name of the flag that says what a chunk is that is not stored.
const absentFlag = "missing-chunks"

// What a chunk is that is not stored.
const (
	absentFill  = "fill"
	absentError = "error"
)

// absentVar gives all commands the flag.
func absentVar(f *pflag.FlagSet) {
	usage := "read a chunk that is not stored as `WHAT`: as the fill value (" + absentFill + "), or as an " + absentError
	flagtext.Var(f, new(string), absentFlag, absentFill, usage, flagtext.OneOf(absentFill, absentError))
}

// requiresChunks reports whether to read a chunk that is not stored is an error.
func requiresChunks(cmd *cobra.Command) bool {
	f := cmd.Flag(absentFlag)
	return f != nil && f.Value.String() == absentError
}
