package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/checked"
)

func newAppendCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "append NODE [FILE|-], append GROUP NAME=FILE …",
		Short: "Grow an array, or several of a group together, by the values of files or of standard input",
		Long: `Grow an array, or several of a group together, by the values of files or of standard input.

The values have to be as long as the array along all axes but the one that grows. They are one new chunk where the chunks
of that axis are listed; regular chunks are filled up first. Nothing that is stored already is moved.

Where chunks are shards, a new one has to have whole inner chunks. With --round-up it is declared as long as that takes, and reaches
beyond the extent until the next append fills it.

With NAME=FILE, as t2m=a.npy time=b.npy, all arrays named grow or none does, whatever happens meanwhile. Names are relative to the
group, and so is the COORD of --time, which may be one of those that grow. The policy holds for all of them that have listed chunks,
and --expect is the length of the axis before it grows.

` + policiesText,
		Example: `  varve append era5.zarr/t2m day.npy
  varve append era5.zarr t2m=t2m.npy time=time.npy --grow calendar:month --time time
  cat day.raw | varve append era5.zarr/t2m --axis 0`,
		Args:              appendArguments,
		ValidArgsFunction: completeNode,
	}
	axis := c.Flags().Int("axis", 0, "the `AXIS` that grows; -1 is the last")
	name := formatFlag(c, rawFormat, npyFormat, jsonFormat)
	change := changeFlags(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 && strings.Contains(args[1], "=") {
			many, err := isGroup(cmd, args[0])
			if err != nil {
				return err
			}
			if many {
				return growAll(cmd, args[0], args[1:], *name, *axis, change)
			}
			if len(args) > 2 {
				return badArgument("NAME=FILE names an array of a group, and this is an array")
			}
		}
		return grow(cmd, args[0], slices.Concat(args[1:], []string{""})[0], *name, *axis, change)
	}
	return c
}

// appendArguments checks the number of arguments: a file for an array, any number of names and files for a group.
func appendArguments(cmd *cobra.Command, args []string) error {
	if len(args) < 3 {
		return arguments("NODE", "[FILE]")(cmd, args)
	}
	for _, arg := range args[1:] {
		if !strings.Contains(arg, "=") {
			return fmt.Errorf("unexpected argument %q: several arrays of a group are NAME=FILE each", arg)
		}
	}
	return nil
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
	a, err := zarr.OpenArray(cmd.Context(), location, c.options(cmd))
	if err != nil {
		if many, _ := isGroup(cmd, location); many {
			err = badArgument("it is a group: say which of its arrays grow, as NAME=FILE")
		}
		return err
	}
	defer a.Close()
	at := axis
	if axis < 0 {
		at += a.Rank()
	}
	data, planes, err := addition(cmd, file, formatName, a, at, true)
	if err != nil {
		return err
	}
	opt := &zarr.AppendOptions{Expect: expect, RoundUp: c.roundUp}
	l, err := c.times.timeline(cmd.Context(), p.unit, location, given{sameNode(location): data.data})
	if err == nil {
		err = p.place(l, a, at, opt)
	}
	if err != nil {
		return err
	}
	if err := data.append(cmd.Context(), a, axis, opt); err != nil {
		return err
	}
	before, after := shapesAround(a, at, planes)
	return reshaped(cmd, location, before, after)
}

// addition reads what is to be appended to an array along an axis, in host byte order, and counts its planes. There may be none
// where a file of no length says so and nothing else grows.
func addition(cmd *cobra.Command, file, formatName string, a *zarr.Array, axis int, alone bool) (e elements, planes int64, err error) {
	v, err := openValues(cmd, file, formatName, a.Type())
	if err != nil {
		return e, 0, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	shape := a.Shape()
	if err := continues(v, shape, axis); err != nil {
		return e, 0, err
	}
	if e, err = v.all(); err != nil {
		return e, 0, err
	}
	if e.len() == 0 && v.shape != nil && alone {
		return e, 0, nil
	}
	planes, err = wholePlanes(v, shape, axis, int64(e.len()))
	return e, planes, err
}

// place makes the policy for an axis that grows a part of the options.
func (p growthPolicy) place(l timeline, a *zarr.Array, axis int, opt *zarr.AppendOptions) error {
	if axis < 0 || axis >= a.Rank() {
		return nil // the library refuses the axis
	}
	shape := a.Shape()
	b, err := l.buckets(shape[axis])
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

// wholePlanes counts the planes that n elements are, and refuses what is no whole number of them, or nothing at all.
func wholePlanes(v *values, shape []int64, axis int, n int64) (int64, error) {
	if axis < 0 || axis >= len(shape) {
		return 0, nil // the library refuses the axis
	}
	plane, ok := checked.Product(slices.Delete(slices.Clone(shape), axis, axis+1)...)
	switch {
	case !ok || plane == 0:
		return 0, nil
	case n == 0:
		return 0, onAxis(axis, "no values were given: %s is empty", v.name)
	case n%plane == 0:
		return n / plane, nil
	case v.typ.Variable():
		return 0, onAxis(axis, "%s has %s, a plane has %s", v.name, plural(n, "value"), plural(plane, "value"))
	}
	size := width(v.typ)
	return 0, onAxis(axis, "%s has %s, a plane has %s", v.name, plural(n*size, "byte"), plural(plane*size, "byte"))
}
