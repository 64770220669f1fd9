package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

func newResizeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resize NODE --shape SHAPE",
		Short: "Change the extent of an array; elements beyond a smaller one are deleted",
		Long: `Change the extent of an array; elements beyond a smaller one are deleted.

What an array grows by is the fill value, also where it held something before it once shrank; --keep-stale lets those values
come back. The policy holds for every listed axis that grows; a calendar's is that of axis 0.

Listed chunks keep their edges when the array shrinks. With --shrink trim-edges those that lie wholly beyond the extent are
forgotten, with trim-exact the last one is also cut at the extent, for which its chunks are written again. Either also tidies
an array whose shape stays.

Where chunks are shards, a new one has to have whole inner chunks. With --round-up the last is declared as long as that takes.

` + policiesText,
		Example: `  varve resize era5.zarr/t2m --shape 1826,721,1440
  varve resize era5.zarr/t2m --shape 1900,721,1440 --grow calendar:month --time time
  varve resize era5.zarr/t2m --shape 365,721,1440 --shrink trim-edges`,
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
	}
	var shape, shrink string
	shapeFlag(c, &shape, "the new length of every axis, `60,100`; empty for rank 0")
	checkedVar(c.Flags(), &shrink, "shrink", "keep-edges", "the `POLICY` for listed chunks beyond the extent: keep-edges, trim-edges or trim-exact",
		syntax(grid.ParseShrink))
	propose(c, "shrink", "keep-edges", "trim-edges", "trim-exact")
	keepStale := c.Flags().Bool("keep-stale", false, "leave what chunks hold beyond the extent, as zarr-python does")
	change := changeFlags(c)
	c.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if !cmd.Flags().Changed("shape") {
			return badUsage("--shape is missing")
		}
		opt := &zarr.ResizeOptions{KeepStale: *keepStale, RoundUp: change.roundUp}
		if opt.Shrink, err = grid.ParseShrink(shrink); err != nil {
			return badUsage("--shrink: %w", err)
		}
		if opt.Expect, err = change.expected(cmd); err != nil {
			return err
		}
		return resize(cmd, args[0], shape, change, opt)
	}
	return c
}

func resize(cmd *cobra.Command, location, text string, c *change, opt *zarr.ResizeOptions) error {
	shape, err := parseShape(text)
	if err != nil {
		return err
	}
	p, err := c.policy(cmd)
	if err != nil {
		return err
	}
	a, err := zarr.OpenArray(cmd.Context(), location, c.options(cmd))
	if err != nil {
		return err
	}
	defer a.Close()
	before := a.Shape()
	if opt.Grow, err = c.everywhere(cmd, p, location, before); err != nil {
		return err
	}
	if err := a.Resize(cmd.Context(), shape, opt); err != nil {
		return err
	}
	return reshaped(cmd, location, before, a.Shape())
}

// everywhere returns the policy for all axes of an array. A calendar's is that of axis 0, the others follow append-one.
func (c *change) everywhere(cmd *cobra.Command, p growthPolicy, location string, shape []int64) ([]grid.Growth, error) {
	if p.unit == 0 {
		return []grid.Growth{p.growth}, nil
	}
	if len(shape) == 0 {
		return nil, badArgument("--grow calendar:%v: the array has no axis", p.unit)
	}
	l, err := c.times.timeline(cmd.Context(), p.unit, location, nil)
	if err != nil {
		return nil, err
	}
	b, err := l.buckets(shape[0])
	policies := make([]grid.Growth, len(shape))
	policies[0] = p.along(b)
	return policies, err
}

// reshaped tells how the shape of an array changed.
func reshaped(cmd *cobra.Command, location string, before, after []int64) error {
	if wantsJSON(cmd) {
		return printJSON(cmd, map[string]any{"path": location, "shape_before": before, "shape": after})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s → %s\n", printable(location), shapeText(before), shapeText(after))
	return err
}
