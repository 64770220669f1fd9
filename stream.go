// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/strided"
)

// StreamOptions are the options of [Array.Stream]. A nil *StreamOptions is the zero value.
type StreamOptions struct {
	// Grow chooses the new edges of a listed axis, once the edges that it has are filled.
	// The zero value, [grid.AppendOne], means edges of Every planes here, or if Every is 0
	// edges of the length of the last one. When the stream is closed, a last edge that was
	// never published is cut to the planes that are left.
	Grow grid.Growth
	// Every is the number of planes after which the stream publishes. It publishes at the
	// end of a chunk at the latest. If chunks are longer than Every, they are stored
	// several times. 0 publishes each chunk along the axis when it is full.
	Every int64
	// Budget bounds the bytes of planes that the stream holds between calls, decoded and
	// encoded. It always holds at least one plane. 0 is 1 GiB, or half of Go's memory
	// limit if that is less. If a chunk does not fit, its planes are published before it
	// is full, and it is stored several times; [StreamStats] counts this. Encoding and
	// storing use [Options.Budget] in addition.
	Budget int64
	// RoundUp lengthens the last listed edge to whole inner chunks when the stream is
	// closed. Without it, [Stream.Close] fails if inner chunks do not divide the last
	// chunk.
	RoundUp bool
	// Expect is the shape that the array must have before, or nil for any. If it has
	// another one, the error wraps [ErrConflict].
	Expect []int64
}

// StreamStats counts what a stream has done and what it holds.
type StreamStats struct {
	Held, Peak   int64 // bytes of planes that are held now, as they are and encoded, and the most so far
	Publications int64 // how often planes became visible
	Early        int64 // how often because the budget did not hold more of them
}

// Stream appends planes along one axis as they arrive, from a microscope or a model, and
// stores each chunk once, when it is full. One goroutine at a time may use it. Other calls
// may use the array meanwhile.
//
// The stream holds planes until they fill a layer of inner chunks, encodes the layer, and
// holds it until the shards are full. Then it stores the shards and publishes them by one
// write of the document. Chunks that are not shards are held decoded. [Stream.Checkpoint]
// publishes earlier. After a crash, only planes that were not published are lost. A new
// stream continues at the end of the array and fills its last chunk.
//
// The stream does not exclude other writers. If another writer changes the extent or the
// edges, the stream fails with [ErrConflict] from then on. After any other error, such as
// a store that cannot be reached, the stream still holds the planes that were written:
// [Stream.Next] is the plane to continue with.
type Stream struct {
	array  *Array
	axis   int
	opt    StreamOptions
	policy grid.Growth // of all edges but the last
	exact  bool        // the last edge is as long as what is left
	edge   int64       // planes of the others, where exact
	plane  int64       // bytes

	base    *snapshot.Array // when the stream was opened, from where edges are planned
	grid    *grid.Grid      // that was published last
	planned *snapshot.Array // with the edges of planes that are to come

	next  int64          // first plane that is still to be written
	slabs []*engine.Slab // that are held, all of them full layers
	open  openLayer      // behind these
	stats StreamStats

	failed error // for good
	closed bool
}

// openLayer has planes that do not fill their layer yet.
type openLayer struct {
	buffer []byte
	view   strided.View // of the buffer
	start  int64        // first plane
	count  int64        // planes so far
	most   int64        // planes for which there may be room
}

// Next returns the index of the first plane that was not written yet. All planes before it
// are held or published.
func (s *Stream) Next() int64 { return s.next }

// Published returns the index of the first plane that is not published yet. This is the
// extent of the axis.
func (s *Stream) Published() int64 { return s.grid.Axis(s.axis).Extent() }

// Stats returns what the stream has done and what it holds.
func (s *Stream) Stats() StreamStats {
	stats := s.stats
	stats.Held = s.held()
	return stats
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
