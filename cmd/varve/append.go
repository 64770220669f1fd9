package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/checked"
)

func newAppendCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "append NODE [FILE|-]",
		Short: "Grow an array by the values of a file or of standard input",
		Long: `Grow an array by the values of a file or of standard input.

The values have to be as long as the array along all axes but the one that grows. They are one new chunk where the chunks
of that axis are listed; regular chunks are filled up first. Nothing that is stored already is moved.

` + policiesText,
		Example: `  varve append era5.zarr/t2m day.npy
  cat day.raw | varve append era5.zarr/t2m --axis 0 --grow calendar:month --time time`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeNode,
	}
	axis := c.Flags().Int("axis", 0, "the `AXIS` that grows; -1 is the last")
	name := formatFlag(c, rawFormat, npyFormat, jsonFormat)
	change := changeFlags(c)
	c.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && strings.Contains(args[1], "=") {
			return nil // refused as not supported when it runs
		}
		return arguments("NODE", "[FILE]")(cmd, args)
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && strings.Contains(args[1], "=") {
			return unsupported("appending to several arrays of a group (%s) is not supported yet: append to each of them", args[1])
		}
		return grow(cmd, args[0], slices.Concat(args[1:], []string{""})[0], *name, *axis, change)
	}
	return c
}

func grow(cmd *cobra.Command, location, file, formatName string, axis int, c *change) error {
	p, err := c.policy(cmd)
	if err != nil {
		return err
	}
	expect, err := c.expected(cmd)
	if err != nil {
		return err
	}
	a, err := zarr.OpenArray(cmd.Context(), location, c.options())
	if err != nil {
		return err
	}
	defer a.Close()
	at := axis
	if axis < 0 {
		at += a.Rank()
	}
	data, planes, err := addition(cmd, file, formatName, a, at)
	if err != nil {
		return err
	}
	opt := &zarr.AppendOptions{Expect: expect}
	if err := c.place(cmd.Context(), p, location, a, at, given{sameNode(location): data}, opt); err != nil {
		return err
	}
	if err := a.AppendBytes(cmd.Context(), axis, data, opt); err != nil {
		return err
	}
	before, after := shapesAround(a, at, planes)
	return reshaped(cmd, location, before, after)
}

// addition reads what is to be appended to an array along an axis, in host byte order, and counts its planes.
func addition(cmd *cobra.Command, file, formatName string, a *zarr.Array, axis int) (data []byte, planes int64, err error) {
	v, err := openValues(cmd, file, formatName, a.Type())
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	shape := a.Shape()
	if err := continues(v, shape, axis); err != nil {
		return nil, 0, err
	}
	if data, err = v.all(); err != nil {
		return nil, 0, err
	}
	planes, err = wholePlanes(v, shape, axis, data)
	return data, planes, err
}

// place makes the policy for an axis that grows a part of the options.
func (c *change) place(ctx context.Context, p growthPolicy, location string, a *zarr.Array, axis int, g given, opt *zarr.AppendOptions) error {
	if axis < 0 || axis >= a.Rank() {
		return nil // the library refuses the axis
	}
	shape := a.Shape()
	b, err := c.times.buckets(ctx, p.unit, location, shape[axis], g)
	if _, ends := b.Len(); ends && p.unit != 0 && opt.Expect == nil {
		opt.Expect = shape // times that are known one by one are those of the elements behind just this extent
	}
	opt.Grow = p.along(b)
	return err
}

// shapesAround returns the shapes of an array before and after it has grown. Others may have appended before it did.
func shapesAround(a *zarr.Array, axis int, planes int64) (before, after []int64) {
	after = a.Shape()
	before = slices.Clone(after)
	before[axis] -= planes
	return before, after
}

// continues refuses values whose shape is not that of the array but for the axis that grows; one plane may lack that axis.
func continues(v *values, shape []int64, axis int) error {
	if v.shape == nil || axis < 0 || axis >= len(shape) {
		return nil // there is nothing to compare, or the library refuses the axis
	}
	have := v.shape
	if len(have) == len(shape)-1 {
		have = slices.Insert(slices.Clone(have), axis, 1)
	}
	differs := axis
	if len(have) == len(shape) {
		differs = unequal(have, shape, axis)
	}
	if differs < 0 {
		return nil
	}
	return onAxis(differs, "%s has shape %v, which does not continue shape %v along axis %d", v.name, v.shape, shape, axis)
}

// wholePlanes counts the planes in data, and refuses what is no whole number of them, or nothing at all.
func wholePlanes(v *values, shape []int64, axis int, data []byte) (int64, error) {
	if axis < 0 || axis >= len(shape) {
		return 0, nil // the library refuses the axis
	}
	plane, ok := checked.Product(slices.Delete(slices.Clone(shape), axis, axis+1)...)
	if ok {
		plane, ok = checked.Mul(plane, int64(v.typ.Size()))
	}
	switch n := int64(len(data)); {
	case !ok || plane == 0:
		return 0, nil
	case n == 0:
		return 0, onAxis(axis, "no values were given: %s is empty", v.name)
	case n%plane != 0:
		return 0, onAxis(axis, "%s has %s, a plane has %s", v.name, plural(n, "byte"), plural(plane, "byte"))
	default:
		return n / plane, nil
	}
}
