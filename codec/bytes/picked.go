package bytes

import (
	"cmp"
	"context"
	"slices"

	"varve.dev/zarr/grid"
)

// readPicked is read of a part that has lists or points: points that lie close to each other in one piece, elements of lists index by index
// where they do not.
func (r *partReader) readPicked(ctx context.Context, dst grid.View, part grid.Part) error {
	if part.Picks.Points != nil {
		return r.readPoints(ctx, dst, part)
	}
	return r.readLists(ctx, dst, part, 0)
}

// For single points about so many spans of one chunk are read at most, unless these would be longer than so many bytes.
const (
	mostSpans = 256
	mostSpan  = 1 << 20
)

// readPoints reads points, those that are no further apart than what another request costs in one piece.
func (r *partReader) readPoints(ctx context.Context, dst grid.View, part grid.Part) error {
	points := slices.Clone(part.Picks.Points)
	slices.SortFunc(points, func(a, b grid.Point) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Place, b.Place)) })
	size, gap := int64(r.size), max(denseBytes, min(mostSpan, r.total/mostSpans))
	for len(points) > 0 {
		n := 1
		for n < len(points) && (points[n].At-points[n-1].At)*size <= gap && (points[n].At-points[0].At)*size < mostSpan {
			n++
		}
		first, last := points[0].At*size, (points[n-1].At+1)*size
		one := grid.Part{Count: part.Count, Picks: &grid.Picks{Points: points[:n]}}
		err := r.withSpan(ctx, first, last-first, func(span grid.View) {
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

// readLists reads what lists name, in one piece if it is dense and else index by index along the axis.
func (r *partReader) readLists(ctx context.Context, dst grid.View, part grid.Part, axis int) error {
	first, last := int64(0), int64(r.size)
	for i, stride := range r.strides {
		from, to := part.Start[i], part.Start[i]+(part.Count[i]-1)*part.Step[i]
		if l := part.Picks.Lists[i]; l.At != nil {
			from, to = l.At[0]-l.Base, l.At[len(l.At)-1]-l.Base
		}
		first += from * stride
		last += to * stride
	}
	wanted := part.Len() * int64(r.size)
	if span := last - first; span <= denseBytes || span/densePart <= wanted || axis == len(r.strides) {
		return r.withSpan(ctx, first, span, func(v grid.View) {
			v.Shape, v.Strides = part.Count, make([]int64, len(r.strides))
			for i, stride := range r.strides {
				v.Strides[i] = stride * part.Step[i]
				if part.Picks.Lists[i].At == nil {
					v.Offset += part.Start[i] * stride
				}
			}
			part.Picks.Gather(dst, v)
		})
	}
	return r.eachAlong(part, axis, dst, func(one grid.Part, dst grid.View) error { return r.readLists(ctx, dst, one, axis+1) })
}

// eachAlong calls read for the part of every index along an axis, and its place.
func (r *partReader) eachAlong(part grid.Part, axis int, dst grid.View, read func(grid.Part, grid.View) error) error {
	one := grid.Part{Start: slices.Clone(part.Start), Step: part.Step, Count: slices.Clone(part.Count)}
	one.Picks = &grid.Picks{Lists: slices.Clone(part.Picks.Lists)}
	one.Count[axis] = 1
	list := part.Picks.Lists[axis]
	row := dst
	row.Shape = one.Count
	for k := range part.Count[axis] {
		if list.At != nil {
			one.Picks.Lists[axis] = grid.List{At: list.At[k : k+1], Place: list.Place[k : k+1], Base: list.Base}
		} else {
			one.Start[axis] = part.Start[axis] + k*part.Step[axis]
			row.Offset = dst.Offset + k*dst.Strides[axis]
		}
		if err := read(one, row); err != nil {
			return err
		}
	}
	return nil
}
