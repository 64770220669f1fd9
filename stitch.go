// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Stitch appends the elements of segments one after the other, in one change: readers see
// the array without them, or with all of them. Segments are arrays that writers have
// filled on their own, each in any store. So writers need not know how long the batches
// of others are, and do not wait for each other ([Array.Reserve] is for lengths that are
// known).
//
// Along a listed axis the chunks of the segments become chunks of the array, unless
// [AppendOptions.Grow] asks for others or the axis has edges that are not filled. A chunk
// is copied as it is stored, by the store if it can, if the array has the same codecs and
// fill value, and the same chunks along all other axes. All other chunks are decoded and
// encoded again. Axes must have the same names as in the array, as far as both have some.
// Attributes and coordinates are not looked at: units and packing must be the same.
//
// The segments stay where they are. If one changes meanwhile, nothing is published, and
// the error says which. If one does not continue the array, is named twice, or has text
// that would have to be decoded, the error wraps [ErrInvalidArgument].
// [Addition.Segments] stitches several arrays of a group together.
func (a *Array) Stitch(ctx context.Context, axis int, segments []*Array, opt *AppendOptions) error {
	err := a.prepareSegments(ctx, segments)
	if err == nil {
		err = a.append(ctx, axis, a.segmented(segments), opt.orZero())
	}
	return a.fail("stitch", err)
}

// prepareSegments looks for the newest documents of segments. It returns an error if
// there are none, or if one is the array itself or is named twice.
func (a *Array) prepareSegments(ctx context.Context, segments []*Array) error {
	if len(segments) == 0 {
		return fault.Argument("there are no segments")
	}
	places, ids := map[string]bool{}, []store.Identity{}
	for _, segment := range append([]*Array{a}, segments...) {
		s := segment.hierarchy.store
		place := fmt.Sprintf("%p %s", s, segment.path)
		if at := store.PlaceOf(s); at != "" {
			place = at + " " + segment.path.String()
		}
		id, err := store.Identify(s, segment.path)
		if err != nil {
			return err
		}
		if places[place] || id != nil && slices.ContainsFunc(ids, id.Same) {
			return fault.Argument("the segment %s is named twice, or is the array itself", segment.Location())
		}
		if places[place] = true; id != nil {
			ids = append(ids, id)
		}
	}
	group, ctx := parallel.New(ctx)
	group.SetLimit(mostOpened)
	for _, segment := range segments {
		group.Go(func() error { return segment.Refresh(ctx) })
	}
	return group.Wait(nil)
}

// segmented returns the elements of segments as those of an append.
func (a *Array) segmented(segments []*Array) snapshot.Gain {
	gain := snapshot.Gain{Buffer: element.Buffer{Type: a.Type()}, Segments: []snapshot.Segment{}}
	for _, segment := range segments {
		s := segment.state.Load()
		gain.Segments = append(gain.Segments, snapshot.Segment{
			Array: s, Name: segment.Location().String(), Complete: segment.options.RequireChunks,
			Read:  func(ctx context.Context, box grid.Box, dst []byte) error { return segment.ReadBytes(ctx, box, dst) },
			Fresh: func(ctx context.Context) (*snapshot.Array, error) { return segment.fresh(ctx, s) },
		})
	}
	return gain
}
