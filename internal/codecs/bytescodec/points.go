// SPDX-License-Identifier: Apache-2.0

package bytescodec

import (
	"cmp"
	"context"
	"slices"

	"varve.dev/zarr/internal/strided"
)

// readPoints reads points. It reads those together whose distance is less than the cost
// of another request.
func (r *partReader) readPoints(ctx context.Context, dst strided.View, part strided.Part) error {
	points := slices.Clone(part.Picks.Points)
	slices.SortFunc(points, func(a, b strided.Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Place, b.Place)) })
	size := int64(r.size)
	for len(points) > 0 {
		n := 1
		// Join points whose distance costs less than another request.
		for n < len(points) && (points[n].At-points[n-1].At-1)*size <= r.gap && (points[n].At-points[0].At+1)*size <= r.most {
			n++
		}
		first, last := points[0].At*size, (points[n-1].At+1)*size
		one := strided.Part{Count: part.Count, Picks: &strided.Picks{Points: points[:n]}}
		err := r.withSpan(ctx, first, last-first, func(span strided.View) {
			span.Shape, span.Strides = r.shape, r.strides
			one.Picks.Gather(dst, span)
		})
		if err != nil {
			return err
		}
		points = points[n:]
	}
	return nil
}
