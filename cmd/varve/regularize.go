// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/rechunk"
)

func newRegularizeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "regularize NODE [DST]",
		Short: "Give all chunks of an array one shape, so that every program can read it",
		Long: `Give all chunks of an array, or of all arrays below a group, one shape, in place. With DST, make a new
array of one array. Programs that know regular grids only, such as TensorStore, zarrita and most
versions of xarray, can then read the array. Where the stored chunks fit already, only the metadata
changes. Without --chunks, chunks get the length that most elements have now, or, if that makes
chunks of less than 1 MiB, the multiple of it that comes nearest to that. A note says which.`,
		Example: `  varve regularize era5.zarr/t2m
  varve regularize era5.zarr/t2m --chunks 365,72,72 --dry-run`,
		Args:              arguments("NODE", "[DST]"),
		ValidArgsFunction: node.Complete,
	}
	var r gridChange
	r.flags(c)
	var chunks string
	flagtext.Var(c.Flags(), &chunks, "chunks", "", "the `CHUNKS`, one length per axis, such as 365,72,72", flagtext.Syntax(chunking.Parse))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		parsed, err := chunking.Parse(chunks)
		switch {
		case chunks == "":
		case err != nil:
			return failure.BadUsage("--chunks: %w", err)
		case parsed.Lengths == "" || parsed.Trimmed:
			return failure.BadUsage("--chunks %s: regular chunks have one length per axis, such as 365,72,72; varve rechunk takes other forms", phrase.Shorten(chunks, 40))
		}
		return r.run(cmd, args, func(location string, a *zarr.Array) (rechunk.Request, error) {
			if chunks == "" {
				want := rechunk.Regularization{Target: regularBytes}
				return want, noteProposal(cmd, location, a, want)
			}
			chunk, err := parsed.Steps(a.Shape())
			if err != nil {
				return nil, parsed.Refused(err)
			}
			return rechunk.Regularization{Chunk: chunk}, nil
		})
	}
	return c
}

// regularBytes is the size of the chunks that regularize proposes where those of now are
// smaller. It is that of --chunks auto.
const regularBytes = 1 << 20

// noteProposal says which chunks are proposed if most elements have shorter ones now.
func noteProposal(cmd *cobra.Command, location string, a *zarr.Array, want rechunk.Regularization) error {
	p, err := want.Propose(cmd.Context(), a)
	if err != nil || p == nil || slices.Equal(p.Chunk, p.Usual) {
		return err
	}
	session.Note(cmd, location, fmt.Sprintf("chunks of %s: %s each, a multiple of the %s that most elements have; --chunks chooses others",
		phrase.Shape(p.Chunk), phrase.Bytes(p.Bytes), phrase.Shape(p.Usual)))
	return nil
}
