// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
)

// Stitch appends the elements of segments one after the other, in one change: readers see
// the array without them, or with all of them. Segments are arrays that writers have
// filled on their own, each in any store. So writers need not know how long the batches
// of others are, and do not wait for each other ([Array.Reserve] is for lengths that are
// known).
//
// Along a listed axis the chunks of the segments become chunks of the array, unless
// [AppendOptions.Grow] asks for others. A chunk is copied as it is stored, by the store
// if it can, if the array has the same codecs and fill value, and the same chunks along
// all other axes. All other chunks are decoded and encoded again.
//
// The segments must not change meanwhile. They stay where they are. If one does not
// continue the array, or has text that would have to be decoded, the error wraps
// [ErrInvalidArgument]. [Addition.Segments] stitches several arrays of a group together.
func (a *Array) Stitch(ctx context.Context, axis int, segments []*Array, opt *AppendOptions) error {
	if len(segments) == 0 {
		return a.fail("stitch", fault.Argument("there are no segments"))
	}
	return a.fail("stitch", a.append(ctx, axis, a.segmented(segments), opt.orZero()))
}

// segmented returns the elements of segments as those of an append.
func (a *Array) segmented(segments []*Array) snapshot.Gain {
	gain := snapshot.Gain{Buffer: element.Buffer{Type: a.Type()}, Segments: []snapshot.Segment{}}
	for _, segment := range segments {
		gain.Segments = append(gain.Segments, snapshot.Segment{
			Array: segment.state.Load(),
			Read:  func(ctx context.Context, box grid.Box, dst []byte) error { return segment.ReadBytes(ctx, box, dst) },
		})
	}
	return gain
}
