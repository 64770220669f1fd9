// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"math"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/missing"
)

// isMask reports whether an attribute marks missing values.
func isMask(name string) bool { return name == missing.FillValue || name == missing.Value }

// sameMasks reports whether elements of the same values are missing in two nodes, which
// are arrays, as xarray reads them. In format 2 the fill value marks missing elements,
// and takes precedence over the attribute _FillValue; in format 3 the attribute alone
// does. So a conversion moves the value from one to the other. NaN is missing in any
// case.
func sameMasks(ctx context.Context, a, b zarr.Node) bool {
	x, isFirst := a.(*zarr.Array)
	y, isSecond := b.(*zarr.Array)
	if !isFirst || !isSecond || x.Type() != y.Type() {
		return false
	}
	p, err := masksOf(ctx, x)
	if err != nil {
		return false
	}
	q, err := masksOf(ctx, y)
	return err == nil && slices.Equal(p, q)
}

// masksOf returns the bytes of the elements that are missing, in order, without NaN.
func masksOf(ctx context.Context, a *zarr.Array) (masks []string, err error) {
	filled, err := cf.MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	for elem := range cf.Missing(a.Metadata(), filled) {
		if v, err := missing.Number(a.Type(), elem); a.Type().Kind() == dtype.KindFloat && err == nil && math.IsNaN(v) {
			continue
		}
		masks = append(masks, string(elem))
	}
	slices.Sort(masks)
	return slices.Compact(masks), nil
}
