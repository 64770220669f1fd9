// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/source"
)

// fillsDiffer returns the elements of the node, with packing p, that the fill value of
// only one of two arrays makes missing. The node has no attributes, so its numbers are
// raw for attributes of the other array; but no attribute says so in format 2, where
// xarray takes the fill value for missing.
func (v *Values) fillsDiffer(ctx context.Context, a *zarr.Array, p *cf.Packing) (faults []string, err error) {
	q, err := cf.PackingOf(ctx, a)
	if err != nil || q.Type() != p.Type() {
		return nil, nil // invalid attributes are compared by their spelling
	}
	if cf.IsCoordinate(v.array) {
		p = p.OfCoordinate()
	}
	if cf.IsCoordinate(a) {
		q = q.OfCoordinate()
	}
	masks, err := cf.MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	fill, err := a.FillValue().Element(a.Type())
	masks = masks && err == nil && q.IsMissing(fill)
	isFill := func(elem []byte) bool { return bytes.Equal(elem, fill) || q.Stored(elem) == q.Stored(fill) }
	if len(p.Missing()) == 0 && !masks {
		return nil, nil
	}
	err = v.search(ctx, func(elem []byte) bool {
		switch {
		case math.IsNaN(p.Stored(elem)) || isNotATime(elem):
			return false
		case p.IsMissing(elem) && !q.IsMissing(elem):
			faults = []string{fmt.Sprintf("%s is a missing value there and a number here", p.Type().AppendText(nil, elem))}
		case masks && q.IsMissing(elem) && isFill(elem) && !p.IsMissing(elem):
			faults = []string{fmt.Sprintf("%s is a number there and a missing value here", q.Type().AppendText(nil, elem))}
		}
		return len(faults) > 0
	})
	return faults, err
}

// search reads the elements of the node until found returns true for one of them.
func (v *Values) search(ctx context.Context, found func(elem []byte) bool) error {
	s, err := source.New(ctx, v.array, "", false)
	if err != nil {
		return err
	}
	err = s.Blocks(ctx, func(e element.Values) error {
		for i := range e.Len() {
			if found(e.At(i)) {
				return errFound
			}
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return err
}

// errFound ends a search.
var errFound = errors.New("found")

// fillsOfOthers is fillsDiffer for elements that are neither integers nor floats, such as
// texts and booleans.
func (v *Values) fillsOfOthers(ctx context.Context, a *zarr.Array) (faults []string, err error) {
	there, filledThere, err := missingOf(ctx, v.array)
	if err != nil {
		return nil, err
	}
	here, filledHere, err := missingOf(ctx, a)
	if err != nil || filledThere == nil && filledHere == nil {
		return nil, err
	}
	has := func(list [][]byte, elem []byte) bool {
		return slices.ContainsFunc(list, func(x []byte) bool { return bytes.Equal(x, elem) })
	}
	err = v.search(ctx, func(elem []byte) bool {
		switch {
		case filledThere != nil && bytes.Equal(elem, filledThere) && !has(here, elem):
			faults = []string{fmt.Sprintf("%s is a missing value there and a value here", v.Type.AppendText(nil, elem))}
		case filledHere != nil && bytes.Equal(elem, filledHere) && !has(there, elem):
			faults = []string{fmt.Sprintf("%s is a value there and a missing value here", v.Type.AppendText(nil, elem))}
		}
		return len(faults) > 0
	})
	return faults, err
}

// missingOf returns the missing elements of an array, and its fill value if that is one;
// filled is nil otherwise. In a coordinate zero, or an empty text, is a value.
func missingOf(ctx context.Context, a *zarr.Array) (all [][]byte, filled []byte, err error) {
	masks, err := cf.MasksFill(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	isZero := func(elem []byte) bool { return bytes.Count(elem, []byte{0}) == len(elem) }
	doc := a.Metadata()
	bare, err := doc.WithAttributes([]byte("{}"))
	if err != nil {
		return nil, nil, err
	}
	for elem := range cf.Missing(bare, masks) {
		if masks && !(cf.IsCoordinate(a) && isZero(elem)) {
			filled = append([]byte{}, elem...)
		}
	}
	for elem := range cf.Missing(doc, masks) {
		if filled != nil || !cf.IsCoordinate(a) || !isZero(elem) {
			all = append(all, elem)
		}
	}
	return all, filled, nil
}
