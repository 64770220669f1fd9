// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
)

func newWriteCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "write NODE [--select ELEMENTS] [FILE|-], write NODE [--select ELEMENTS] --value VALUE",
		Short: "Write values from a file or standard input, or one value, into an array",
		Long: `Write values from a file or standard input, or one value, into an array.

There have to be as many values as elements are selected. FILE may also be a Zarr array, whose attributes may not say that its numbers
mean something else than here. raw is C order, little endian, without a header; npy is NumPy's
format, whose type has to be the array's; json is nested lists of values as metadata spells fill values, the one for elements that
differ in length. Moments and durations are numbers or text there, as "2020-05-05" and "10 s". A .npy file is read
as one whatever it is called, unless --format says raw. Of elements that --select names twice the last value stays.

Values from a pipe are kept until all of them are there, in a temporary file if they have more than 16 MiB, and are written
then, so that a stream that breaks off or goes on too long changes nothing. So are those of NODE itself, given as FILE: what is written
first is not read again in place of what was there.`,
		Example: `  varve write era5.zarr/t2m --select 0:24 day.npy
  varve write era5.zarr/mask --select ...,0 --value 1`,
		Args:              arguments("NODE", "[FILE]"),
		ValidArgsFunction: node.Complete,
	}
	sel := source.SelectionFlag(c)
	name := format.Flag(c, format.Raw, format.NPY, format.JSON)
	value := c.Flags().String("value", "", "one `VALUE` for every selected element, as metadata spells fill values: 1.5, NaN, 2024-05-05, base64 for bytes")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("value") {
			if len(args) > 1 || *name != "" {
				return failure.BadUsage("--value and a file exclude each other")
			}
			return fill(cmd, args[0], *sel, *value)
		}
		return write(cmd, args[0], *sel, slices.Concat(args[1:], []string{""})[0], *name)
	}
	return c
}

func fill(cmd *cobra.Command, location, sel, value string) error {
	a, err := zarr.OpenArray(cmd.Context(), location, session.Writing(cmd))
	if err != nil {
		return err
	}
	defer a.Close()
	to, err := source.Selected(cmd.Context(), a, sel)
	if err != nil {
		return err
	}
	e := element.Values{Type: to.Type()}
	elem, err := input.ParseGiven(e.Type, value)
	if err != nil {
		return failure.BadArgument("--value %s: %w%s", value, err, countedIn(a, err))
	}
	noteYear(cmd, location, e.Type, "--value", value)
	if e.Type.Variable() {
		err = zarr.Fill(cmd.Context(), a, to.Selection(), elem)
	} else {
		err = a.FillBytes(cmd.Context(), to.Selection(), elem)
	}
	if err != nil {
		return err
	}
	return wrote(cmd, location, to.Selection().Len())
}

func write(cmd *cobra.Command, location, sel, file, formatName string) error {
	a, err := zarr.OpenArray(cmd.Context(), location, session.Writing(cmd))
	if err != nil {
		return err
	}
	defer a.Close()
	to, err := source.Selected(cmd.Context(), a, sel)
	if err != nil {
		return err
	}
	v, err := input.Open(cmd, file, formatName, to.Type(), a)
	if errors.Is(err, fs.ErrNotExist) && isValue(to.Type(), file) {
		return fmt.Errorf("%w: FILE comes here; is --value %s meant?", err, phrase.Word(file))
	}
	if err != nil {
		return unwritten(cmd, fmt.Errorf("%w%s", err, countedIn(a, err)))
	}
	defer v.Close()
	if err := v.CheckEncoding(cmd.Context(), a); err != nil {
		return err
	}
	v.NoteEncoding(cmd, a)
	if err := v.Secure(cmd, a); err != nil {
		return err
	}
	if err := pour(cmd, v, to); err != nil {
		return err
	}
	return wrote(cmd, location, to.Selection().Len())
}

// countedIn says of times as CF has them, where err is about an element that is none of
// the array, what its numbers count.
func countedIn(a *zarr.Array, err error) string {
	if _, ok := source.TimesOf(a); !ok || !errors.Is(err, dtype.ErrInvalid) {
		return ""
	}
	return fmt.Sprintf("; its numbers count %s: give numbers", source.Attribute(a, "units"))
}

// isValue reports whether the name of a file that is not there is a value of a type. Any
// name is a text.
func isValue(t dtype.Type, name string) bool {
	switch t.Kind() {
	case dtype.Bool, dtype.Int, dtype.Uint, dtype.Float, dtype.Complex, dtype.Datetime, dtype.Timedelta:
		_, err := input.ParseGiven(t, name)
		return err == nil
	}
	return false
}

// unwritten adds to the error of a command that was stopped while it was reading that it
// has written nothing yet.
func unwritten(cmd *cobra.Command, err error) error {
	if !console.IsInterrupted(cmd.Context(), err) {
		return err
	}
	return failure.Leftover(err, "nothing was changed")
}

// wrote tells a program how many elements were written.
func wrote(cmd *cobra.Command, location string, n int64) error {
	if !session.WantsJSON(cmd) {
		session.Confirm(cmd, "%s  %s written", location, phrase.Plural(n, "value"))
		return nil
	}
	return session.PrintJSON(cmd, map[string]any{"path": location, "elements": n})
}

// pour writes values into the selected elements, slab by slab. Before it writes anything
// it makes sure that there are just as many values as needed.
func pour(cmd *cobra.Command, v *input.Values, to *zarr.View) error {
	if err := v.Fits(to.Shape()); err != nil {
		return err
	}
	a, e := to.Array(), element.Values{Type: to.Type()}
	size := element.Width(e.Type)
	slabs, err := a.Slabs(to.Selection(), source.SlabToWrite(session.LimitOf(cmd), a, to.Selection(), e.Type))
	if err != nil {
		return err
	}
	left := to.Selection().Len() * size
	if left == 0 {
		return v.End()
	}
	if err := v.Settle(left); err != nil {
		return unwritten(cmd, err)
	}
	p := progress.New(cmd, "writing", left)
	defer p.End()
	for slab := range slabs {
		part, err := a.Select(slab)
		if err != nil {
			return err
		}
		n := part.Len() * size
		left -= n
		e.Grow(int(part.Len()))
		if err := v.Fill(&e, left == 0); err != nil {
			return err
		}
		if err := e.Write(cmd.Context(), a, slab); err != nil {
			return err
		}
		p.Add(n)
	}
	return nil
}

// pourAll writes values into all of an array.
func pourAll(cmd *cobra.Command, v *input.Values, a *zarr.Array) error {
	all, err := a.View(nil)
	if err != nil {
		return err
	}
	return pour(cmd, v, all)
}
