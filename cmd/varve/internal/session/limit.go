// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// LimitFlag is the flag that bounds the memory and the output of a command.
const LimitFlag = "limit"

// limitVar defines --limit.
func limitVar(f *pflag.FlagSet) {
	f.Var(new(sizeValue), LimitFlag, "hold chunks and blocks of at most `SIZE` in memory, such as 4GiB, and create no larger ones (default for chunks: 1 GiB)")
}

// sizeValue is the value of a flag for a number of bytes with a unit, or "" if it is not
// given.
type sizeValue struct {
	text  string
	bytes int64
}

func (s *sizeValue) Set(text string) (err error) {
	if s.bytes, err = phrase.ParseSize(text); err == nil {
		s.text = text
	}
	return err
}

func (s *sizeValue) String() string { return s.text }
func (s *sizeValue) Type() string   { return "string" }

// LimitOf returns the value of --limit in bytes, or 0 if it is not given.
func LimitOf(cmd *cobra.Command) int64 {
	f := cmd.Flag(LimitFlag)
	if f == nil {
		return 0
	}
	s, _ := f.Value.(*sizeValue)
	if s == nil {
		return 0
	}
	return s.bytes
}

// Limits returns the limits for the nodes that a command opens. --limit sets those of a
// chunk and of a block. Without it, the text of a block has the budget of this machine.
// Commands that show or write texts read fewer of them at a time if they have more.
func Limits(cmd *cobra.Command) zarr.Limits {
	n := LimitOf(cmd)
	return zarr.Limits{Chunk: n, Block: cmp.Or(n, zarr.MostBudget())}
}
