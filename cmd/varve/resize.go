package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
)

func newResizeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "resize NODE --shape SHAPE",
		Short: "Change the extent of an array; elements beyond a smaller one are deleted",
		Long: `Change the extent of an array; elements beyond a smaller one are deleted.

What an array grows by is the fill value. Listed chunks keep their edges when the array shrinks.`,
		Example:           "  varve resize era5.zarr/t2m --shape 1826,721,1440",
		Args:              arguments("NODE"),
		ValidArgsFunction: completeNode,
	}
	var shape, shrink string
	shapeFlag(c, &shape, "the new length of every axis, `60,100`; empty for rank 0")
	checkedVar(c.Flags(), &shrink, "shrink", "keep-edges", "the `POLICY` for listed edges beyond the extent: keep-edges",
		oneOf("keep-edges", "trim-edges", "trim-exact"))
	change := changeFlags(c)
	notYet(c, "keep-stale")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("shape") {
			return badUsage("--shape is missing")
		}
		if shrink != "keep-edges" {
			return unsupported("--shrink %s is not supported yet, only keep-edges", shrink)
		}
		opt, err := change.options()
		if err != nil {
			return err
		}
		return resize(cmd, args[0], shape, opt)
	}
	return c
}

func resize(cmd *cobra.Command, location, text string, opt *zarr.Options) error {
	shape, err := parseShape(text)
	if err != nil {
		return err
	}
	a, err := zarr.OpenArray(cmd.Context(), location, opt)
	if err != nil {
		return err
	}
	defer a.Close()
	before := a.Shape()
	if err := a.Resize(cmd.Context(), shape, nil); err != nil {
		return err
	}
	return reshaped(cmd, location, before, a)
}

// reshaped tells how the shape of an array changed.
func reshaped(cmd *cobra.Command, location string, before []int64, a *zarr.Array) error {
	if wantsJSON(cmd) {
		return printJSON(cmd, map[string]any{"path": location, "shape_before": before, "shape": a.Shape()})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s  %s → %s\n", printable(location), shapeText(before), shapeText(a.Shape()))
	return err
}

// change is what the commands that change an extent have in common.
type change struct {
	grow         string
	singleWriter bool
}

func changeFlags(c *cobra.Command) *change {
	notYet(c, "time=", "start=", "step=")
	f := new(change)
	checkedVar(c.Flags(), &f.grow, "grow", "append-one", "the `POLICY` for new edges: append-one",
		policy("append-one", "repeat-last", "fixed:", "pattern:", "calendar:", "preplanned:"))
	c.Flags().BoolVar(&f.singleWriter, "single-writer", false, "nobody else writes: permits growth on stores without locks")
	return f
}

// options returns the options that the flags ask for.
func (c *change) options() (*zarr.Options, error) {
	if c.grow != "append-one" {
		return nil, unsupported("--grow %s is not supported yet, only append-one", c.grow)
	}
	return &zarr.Options{Write: true, SingleWriter: c.singleWriter}, nil
}
