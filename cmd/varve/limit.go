package main

import (
	"cmp"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
)

// limitFlag is the name of the flag that bounds what one command may hold or write.
const limitFlag = "limit"

// limitVar gives all commands the flag.
func limitVar(f *pflag.FlagSet) {
	f.Var(new(sizeValue), limitFlag, "hold chunks and blocks of at most `SIZE` in memory, as 4GiB, and make none that are larger; a chunk has at most 1 GiB by default")
}

// sizeValue is the value of a flag that is a number of bytes with a unit; "" where it is
// not given.
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

// limitOf returns what one command may hold or write at most, 0 where the command line
// does not say.
func limitOf(cmd *cobra.Command) int64 {
	f := cmd.Flag(limitFlag)
	if f == nil {
		return 0
	}
	s, _ := f.Value.(*sizeValue)
	if s == nil {
		return 0
	}
	return s.bytes
}

// mostText is how many bytes the texts of a block have that are read at a time, unless
// --limit says otherwise.
const mostText = 256 << 20

// limits returns the limits of the nodes that a command opens. The flag raises those of a
// chunk and of a block, or lowers them.
func limits(cmd *cobra.Command) zarr.Limits {
	n := limitOf(cmd)
	return zarr.Limits{Chunk: n, Block: cmp.Or(n, mostText)}
}
