// SPDX-License-Identifier: Apache-2.0

package creating

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/input"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/selection"
)

// NewWrite returns the command write.
func NewWrite() *cobra.Command {
	c := &cobra.Command{
		Use:   "write NODE [--select ELEMENTS] [FILE|-], write NODE [--select ELEMENTS] --value VALUE",
		Short: "Write values from a file or standard input, or one value, into an array",
		Long: `Write values from a file or standard input, or one value, into an array.

The number of values must equal the number of selected elements. On a terminal, --value without
--select asks before it replaces all values that an array has stored; elsewhere it needs --yes for
that. FILE may also be an array, as of varve append, unless its attributes give its numbers another
meaning than they have here, or its axes have other names or coordinates than the selected elements.
Values from a pipe are buffered until the last one has arrived.`,
		Example: `  varve write era5.zarr/t2m --select 0:24 day.npy
  varve write era5.zarr/mask --select ...,0 --value 1`,
		Args:              usage.Arguments("NODE", "[FILE]"),
		ValidArgsFunction: node.Complete,
	}
	sel := source.SelectionFlag(c)
	name := format.Flag(c, export.Raw, export.NPY, export.JSON)
	value := c.Flags().String("value", "", "one `VALUE` for every selected element, spelled like fill values in metadata: 1.5, NaN, 2024-05-05; for bytes a word, 0x6162, or base64 in double quotes")
	yes := c.Flags().Bool("yes", false, "do not ask before --value without --select replaces all stored values")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("value") {
			if len(args) > 1 || *name != "" {
				return failure.BadUsage("--value and a file exclude each other")
			}
			return fill(cmd, args[0], *sel, *value, *yes || cmd.Flags().Changed("select"))
		}
		// Without FILE the name is empty, which means standard input.
		return write(cmd, args[0], *sel, slices.Concat(args[1:], []string{""})[0], *name)
	}
	return c
}

// openSelected opens an array for writing, and returns the elements that a text selects.
func openSelected(cmd *cobra.Command, location, sel string) (a *zarr.Array, to *zarr.View, err error) {
	if a, err = zarr.OpenArray(cmd.Context(), location, session.Writing(cmd)); err != nil {
		return nil, nil, err
	}
	if err = node.CheckOwn(cmd.Context(), location, a); err == nil {
		to, err = source.Selected(cmd.Context(), a, sel)
	}
	if err == nil {
		err = source.CheckUnmoved(cmd, location, to, func(ctx context.Context, was *zarr.Array) (*zarr.View, error) {
			return source.Selected(ctx, was, sel)
		})
	}
	if err != nil {
		_ = a.Close() // nothing was written
		return nil, nil, err
	}
	return a, to, nil
}

// fill writes one value. Unless it is agreed, the command asks before the value replaces
// all that an array has stored.
func fill(cmd *cobra.Command, location, sel, value string, agreedTo bool) error {
	a, to, err := openSelected(cmd, location, sel)
	if err != nil {
		return err
	}
	defer a.Close()
	e := export.Values{Type: to.Type()}
	elem, err := input.ParseGiven(e.Type, value)
	if err != nil {
		return failure.BadArgument("--value %s: %w%s", value, err, countedIn(a, err))
	}
	// A single value has nothing that --select could have meant in its place.
	if n := to.Selection().Len(); !agreedTo && !session.IsDryRun(cmd) && a.Rank() > 0 && hasStored(cmd.Context(), a) {
		if err := rehearseFill(cmd, location, elem); err != nil {
			return err
		}
		if err := place.Confirm(cmd, fmt.Sprintf("replaces all stored values of %s, %s (--select names fewer)", location, phrase.Plural(n, "element"))); err != nil {
			return err
		}
	}
	input.NoteReading(cmd, location, e.Type, "--value", value)
	if err := fillAll(cmd.Context(), a, to.Selection(), elem); err != nil {
		return err
	}
	return wrote(cmd, location, to.Selection().Len())
}

// fillAll writes one element into all selected ones.
func fillAll(ctx context.Context, a *zarr.Array, sel selection.Selection, elem []byte) error {
	if a.Type().Variable() { // FillBytes takes elements of fixed size only
		return zarr.Fill(ctx, a, sel, elem)
	}
	return a.FillBytes(ctx, sel, elem)
}

// rehearseFill returns the error that filling an array would return. It changes nothing.
func rehearseFill(cmd *cobra.Command, location string, elem []byte) error {
	o := session.Writing(cmd)
	o.Rehearsal, o.Observer = new(rehearsal.Ledger), nil
	return session.Try(cmd, func() error {
		a, err := zarr.OpenArray(cmd.Context(), location, o)
		if err != nil {
			return err
		}
		return errors.Join(fillAll(cmd.Context(), a, nil, elem), a.Close())
	})
}

func write(cmd *cobra.Command, location, sel, file, formatName string) error {
	a, to, err := openSelected(cmd, location, sel)
	if err != nil {
		return err
	}
	defer a.Close()
	v, err := input.Open(cmd, file, formatName, to.Type(), a)
	// varve write NODE 1.5: a value in place of a file.
	if errors.Is(err, fs.ErrNotExist) && isValue(to.Type(), file) {
		return fmt.Errorf("%w: a FILE is expected here; did you mean --value %s?", err, phrase.Word(file))
	}
	if err != nil {
		return unwritten(cmd, fmt.Errorf("%w%s", err, countedIn(a, err)))
	}
	defer v.Close()
	if err := v.CheckEncoding(cmd.Context(), a); err != nil {
		return err
	}
	if err := v.CheckAxes(cmd.Context(), to, -1); err != nil {
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

// hasStored reports whether an array has any stored chunk. If chunks cannot be listed, it
// has: the command then asks.
func hasStored(ctx context.Context, a *zarr.Array) bool {
	for range a.StoredChunks(ctx) {
		return true
	}
	return false
}

// countedIn returns the units of an array of CF times as a hint, if err is about an
// invalid element, and "" otherwise.
func countedIn(a *zarr.Array, err error) string {
	if _, ok := source.TimesOf(a); !ok || !errors.Is(err, dtype.ErrInvalid) {
		return ""
	}
	return fmt.Sprintf("; its numbers count %s: give numbers", cf.TextAttribute(a, "units"))
}

// isValue reports whether a missing file name is a value of a type. It returns false for
// text, because any name is text.
func isValue(t dtype.Type, name string) bool {
	switch t.Kind() {
	case dtype.KindBool, dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindComplex, dtype.KindDatetime, dtype.KindTimedelta:
		_, err := input.ParseGiven(t, name)
		return err == nil
	}
	return false
}

// unwritten adds to the error of an interrupted command that nothing was written yet.
func unwritten(cmd *cobra.Command, err error) error {
	if !console.IsInterrupted(cmd.Context(), err) {
		return err
	}
	return failure.Leftover(err, "nothing was changed")
}

// wrote prints the number of elements that were written.
func wrote(cmd *cobra.Command, location string, n int64) error {
	if !session.WantsJSON(cmd) {
		session.Confirm(cmd, "%s  %s written", location, phrase.Plural(n, "value"))
		return nil
	}
	return session.PrintJSON(cmd, map[string]any{"path": location, "elements": n})
}

// pour writes values to the selected elements, slab by slab. It first checks that their
// number is exactly the one needed.
func pour(cmd *cobra.Command, v *input.Values, to *zarr.View) error {
	if err := v.Fits(to.Shape()); err != nil {
		return err
	}
	a, e := to.Array(), export.Values{Type: to.Type()}
	size := export.Width(e.Type)
	slabs, err := a.Slabs(to.Selection(), export.SlabToWrite(session.LimitOf(cmd), a, to.Selection(), e.Type))
	if err != nil {
		return err
	}
	left := to.Selection().Len() * size
	// There is no slab, whose last one would check that no more data follows.
	if left == 0 {
		return v.End()
	}
	// Write nothing before all values have arrived.
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

// pourAll writes values to all elements of an array.
func pourAll(cmd *cobra.Command, v *input.Values, a *zarr.Array) error {
	all, err := a.View(nil)
	if err != nil {
		return err
	}
	return pour(cmd, v, all)
}
