// SPDX-License-Identifier: Apache-2.0

// Package streaming appends planes to an array as they arrive.
//
// A stream holds planes until they fill a layer of inner chunks, and encodes the layer.
// It holds encoded layers until the chunks along its axis are full. Then it stores the
// chunks and publishes the new extent.
package streaming

import (
	"context"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
)

// Options are those of zarr.StreamOptions.
type Options struct {
	Grow     grid.Growth
	Every    int64
	Interval time.Duration
	Budget   int64
	RoundUp  bool
	Expect   []int64
}

// Stats are those of zarr.StreamStats.
type Stats struct {
	Held, Peak   int64
	Publications int64
	Early        int64
}

// Target is the array that a stream appends to.
type Target struct {
	// Change publishes a change of the newest state.
	Change func(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error
	// Resized returns the state that the array would have with another grid.
	Resized func(*grid.Grid) (*snapshot.Array, error)
	// InnerChunks bounds the inner chunks of a shard.
	InnerChunks int64
}

// Stream appends planes to an array. It is not safe for concurrent use.
type Stream struct {
	target Target
	axis   int
	opt    Options
	policy grid.Growth // of all edges but the last
	exact  bool        // the last edge ends at the extent
	edge   int64       // planes of the other edges, if exact
	plane  int64       // bytes of a plane

	base    *snapshot.Array // the state when the stream was opened; edges are planned on it
	grid    *grid.Grid      // the grid that was published last
	planned *snapshot.Array // the state with the edges of later planes

	next      int64          // the first plane that was not written yet
	slabs     []*engine.Slab // the held full layers
	open      openLayer      // the layer after these
	stats     Stats
	due       int64     // the planes before it are due, but waited
	published time.Time // when the stream has published last

	failed error // permanent
	closed bool
}

// openLayer has planes that do not fill their layer yet.
type openLayer struct {
	buffer []byte
	view   strided.View // of the buffer
	start  int64        // first plane
	count  int64        // planes so far
	most   int64        // largest number of planes
}

// usable returns an error if the stream has ended.
func (s *Stream) usable() error {
	if s.closed {
		return fault.Argument("the stream is closed")
	}
	return s.failed
}

// openSlab returns the planes of the open layer as a slab.
func (s *Stream) openSlab() *engine.Slab {
	o := &s.open
	return &engine.Slab{Axis: s.axis, Start: o.start, Stop: o.start + o.count, Planes: s.cut(o.view, 0, o.count)}
}

// encoded returns the bytes of the layers that are encoded.
func (s *Stream) encoded() int64 {
	n := int64(0)
	for _, slab := range s.slabs {
		n += slab.Bytes
	}
	return n
}

// held returns the bytes that the stream holds.
func (s *Stream) held() int64 { return s.encoded() + int64(cap(s.open.buffer)) + s.text() }

// text returns the bytes of the elements of variable length in the open layer. The buffer
// only refers to them.
func (s *Stream) text() int64 {
	if s.open.count == 0 || s.open.view.Heap == nil {
		return 0
	}
	return s.open.view.Heap.Len()
}

// cut returns a view of some of the planes of v.
func (s *Stream) cut(v strided.View, from, to int64) strided.View {
	box := grid.BoxOf(v.Shape)
	box[s.axis] = grid.Interval{Start: from, Stop: to}
	return v.Sub(box)
}

// Next returns the index of the first plane that was not written yet. All planes before
// it are held or published.
func (s *Stream) Next() int64 { return s.next }

// Published returns the index of the first plane that is not published yet. This is the
// extent of the axis.
func (s *Stream) Published() int64 { return s.grid.Axis(s.axis).Extent() }

// Stats returns counts of the work of the stream, and of the bytes that it holds.
func (s *Stream) Stats() Stats {
	stats := s.stats
	stats.Held = s.held()
	return stats
}
