// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/chunking"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/regrid"
)

func newRegularizeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "regularize NODE [DST]",
		Short: "Give all chunks of an array one shape, so that every program can read it",
		Long: `Give all chunks of an array, or of all arrays below a group, one shape, in place. With DST, make a new array of one array.
Programs that know regular grids only, such as TensorStore, zarrita and most versions of xarray, can then read the array.
Where the stored chunks fit already, only the metadata changes. Without --chunks, chunks get the length that most
elements have now.

` + laterHelp,
		Example: `  varve regularize era5.zarr/t2m
  varve regularize era5.zarr/t2m --chunks 365,72,72 --dry-run`,
		Args:              arguments("NODE", "[DST]"),
		ValidArgsFunction: node.Complete,
	}
	var r regridding
	r.flags(c)
	var chunks string
	flagtext.Var(c.Flags(), &chunks, "chunks", "", "the `CHUNKS`, one length per axis, such as 365,72,72", flagtext.Syntax(chunking.Parse))
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return r.run(cmd, args, func(_ string, a *zarr.Array) (regrid.Request, error) {
			if chunks == "" {
				return regrid.Regularization{}, nil
			}
			parsed, err := chunking.Parse(chunks)
			if err != nil {
				return nil, failure.BadUsage("--chunks: %w", err)
			}
			chunk, err := parsed.Steps(a.Shape())
			if err != nil {
				return nil, parsed.Refused(err)
			}
			return regrid.Regularization{Chunk: chunk}, nil
		})
	}
	return c
}
