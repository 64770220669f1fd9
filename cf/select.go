// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"context"
	"fmt"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/selection"
)

// Select returns the elements of an array that a text selects, as [selection.Parser]
// describes: by index as "0:10, ..., 3" or "time=0:10", and by coordinate values as
// "time=2024-12-25..2025-01-01, latitude=52.5". [Lookup] describes how values match
// elements. If the text is malformed or does not fit the array, the error wraps
// [zarr.ErrInvalidArgument] or [selection.ErrInvalid].
func Select(ctx context.Context, a *zarr.Array, text string) (*zarr.View, error) {
	names := a.DimensionNames()
	if names == nil {
		names = make([]string, a.Rank())
	}
	find := func(dimension string, v selection.Values) (selection.Item, error) {
		item, err := Lookup(ctx, a, dimension, v)
		if is := fmt.Sprintf("%s=%s", dimension, v); err != nil && is != strings.TrimSpace(text) {
			err = fmt.Errorf("%s: %w", is, err) // names the item among several
		}
		return item, err
	}
	sel, err := selection.Parser{Names: names, Lookup: find}.Parse(text)
	if err != nil {
		return nil, err
	}
	return a.View(sel)
}
