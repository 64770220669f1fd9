// SPDX-License-Identifier: Apache-2.0

// Package source binds the flags --select and --decode to an array.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/mistake"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/selection"
)

// SelectionFlag adds the flag --select to a command.
func SelectionFlag(cmd *cobra.Command) *string {
	sel := new(string)
	flagtext.Var(cmd.Flags(), sel, "select", "", "the selected `ELEMENTS`, such as 0:10,...,3 or time=0:10 (default: all)", selection.Syntax)
	return sel
}

// Selected returns the elements of an array for the value of --select.
func Selected(ctx context.Context, a *zarr.Array, text string) (*zarr.View, error) {
	sel, err := Parsed(ctx, a, text)
	if err != nil {
		return nil, err
	}
	v, err := a.View(sel)
	var e *zarr.Error
	if hint := selectionHint(ctx, a, text, err); hint != "" && errors.As(err, &e) {
		e.Err = fmt.Errorf("%w%s", e.Err, hint)
	}
	return v, err
}

// New applies the value of --select to an array. If decoded is set, it decodes numbers
// whose attributes say how.
func New(ctx context.Context, a *zarr.Array, text string, decoded bool) (*export.Source, error) {
	v, err := Selected(ctx, a, text)
	if err != nil {
		return nil, err
	}
	return export.Of(ctx, v, decoded)
}

// Parsed parses the value of --select.
func Parsed(ctx context.Context, a *zarr.Array, text string) (selection.Selection, error) {
	names := a.DimensionNames()
	if names == nil {
		names = make([]string, a.Rank())
	}
	find := func(dimension string, v selection.Values) (selection.Item, error) {
		item, err := cf.Lookup(ctx, a, dimension, v)
		var label *cf.LabelError
		if errors.As(err, &label) {
			err = fmt.Errorf("%w%s", err, spelling.Meant(label.Label, label.Labels))
		}
		// If there are several items, say which one is wrong.
		if is := fmt.Sprintf("%s=%s", dimension, v); err != nil && is != strings.TrimSpace(text) {
			err = fmt.Errorf("%s: %w", is, err)
		}
		return item, err
	}
	mask := func(name string) (selection.Mask, error) { return ReadMask(ctx, name) }
	sel, err := selection.Parser{Names: names, Mask: mask, Lookup: find}.Parse(text)
	if err != nil {
		// Suggest other punctuation for a mistake in the text, not for a failed request.
		wrong := errors.Is(err, selection.ErrInvalid) || errors.Is(err, zarr.ErrInvalidArgument)
		if plain := punctuated(text); wrong && plain != text && selection.Syntax(plain) == nil {
			return nil, failure.BadArgument("--select %q: write = after a name, and commas between items (did you mean '%s'?)", text, plain)
		}
		return nil, failure.BadArgument("--select %q: %w%s", text, err, selectionHint(ctx, a, text, err))
	}
	return sel, nil
}

// separators matches what users write between items of a selection in place of a comma.
var separators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*;\s*|\s+(\w+=)`) })

// punctuated returns the text of a selection with one = after each name and commas
// between items.
func punctuated(text string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") || strings.Contains(text, `"`) {
		return text
	}
	text = strings.ReplaceAll(text, "==", "=")
	return separators().ReplaceAllString(text, ",$1")
}

// selectionHint returns a hint for an invalid selection: a similar name, or a coordinate
// value that was read as an index.
func selectionHint(ctx context.Context, a *zarr.Array, text string, err error) string {
	var name *mistake.Name
	var axis *grid.AxisError
	var index *mistake.Index
	switch {
	case errors.As(err, &name):
		return spelling.Meant(name.Name, name.Names)
	case !errors.As(err, &axis) || !errors.As(err, &index) || axis.Axis >= len(a.DimensionNames()):
		return ""
	}
	dimension := a.DimensionNames()[axis.Axis]
	if dimension == "" {
		return ""
	}
	c, err := cf.Coordinate(ctx, a, dimension)
	if err != nil {
		return ""
	}
	defer c.Close()
	// A number without a name is an index, unless the coordinate has it as a value.
	ways := waysByValue(c, dimension, index.Index)
	if ways != "" && (strings.Contains(text, dimension) || hasValue(ctx, a, dimension, ways)) {
		return fmt.Sprintf(" (a whole number is an index; the coordinate value is %s)", ways)
	}
	return ""
}

// hasValue reports whether a coordinate value selects elements of an array. ways is a
// list of spellings, of which the last is tried.
func hasValue(ctx context.Context, a *zarr.Array, dimension, ways string) bool {
	find := func(_ string, v selection.Values) (selection.Item, error) { return cf.Lookup(ctx, a, dimension, v) }
	way := ways[strings.LastIndex(ways, " ")+1:]
	_, err := selection.Parser{Names: a.DimensionNames(), Lookup: find}.Parse(way)
	return err == nil
}

// waysByValue returns how to write a whole number as a value of a coordinate.
func waysByValue(c *zarr.Array, dimension string, n int64) string {
	_, timed := TimesOf(c)
	switch k := c.Type().Kind(); {
	case k == dtype.KindString || k == dtype.KindUTF32 || k == dtype.KindBytes || k == dtype.KindTerminated:
		return fmt.Sprintf("%s=\"%d\"", dimension, n)
	case k == dtype.KindDatetime || cf.IsNumeric(c.Type()) && timed:
		if date := cf.Respell(strconv.FormatInt(n, 10), calendar.ProlepticGregorian); date != "" { // 20240131
			return dimension + "=" + date
		}
		if n < 1000 || n > 9999 { // probably not a year
			return ""
		}
		return fmt.Sprintf("%s=%d..%d", dimension, n, n)
	case cf.IsNumeric(c.Type()) || k == dtype.KindTimedelta:
		return fmt.Sprintf("%s=%d.0 or %s=%d..%d", dimension, n, dimension, n, n)
	}
	return ""
}

// ReadMask reads a NumPy file of booleans. It allocates memory only for bytes that exist.
func ReadMask(ctx context.Context, name string) (m selection.Mask, err error) {
	file, err := localfile.Open(ctx, name)
	if err != nil {
		return m, err
	}
	defer file.Close()
	f := localfile.Patient(ctx, file) // it may be a pipe
	h, err := npy.ReadHeader(f)
	if err != nil {
		return m, failure.BadArgument("mask %s: %w", name, err)
	}
	if h.Type.Kind() != dtype.KindBool {
		return m, failure.BadArgument("mask %s: its elements are %s, not bool", name, h.Type)
	}
	n, ok := h.Bytes()
	if !ok || n == math.MaxInt64 {
		return m, failure.BadArgument("mask %s: shape %v is too large", name, h.Shape)
	}
	// One byte more shows that the file is too long.
	data, err := io.ReadAll(io.LimitReader(f, n+1))
	if err != nil {
		return m, err
	}
	if int64(len(data)) != n {
		return m, failure.BadArgument("mask %s: shape %v needs %s, but the file has another number", name, h.Shape, phrase.Plural(n, "byte"))
	}
	m = selection.Mask{Shape: h.Shape, Data: make([]bool, n)}
	for i, b := range h.Arrange(data) {
		m.Data[i] = b != 0
	}
	return m, nil
}
