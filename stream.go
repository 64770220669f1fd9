// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"time"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/streaming"
	"varve.dev/zarr/store"
)

// StreamOptions are the options of [Array.Stream]. A nil *StreamOptions is the zero
// value.
type StreamOptions struct {
	// Grow chooses the new edges of a listed axis, once the edges that it has are filled.
	// The zero value, [grid.AppendOne], means edges of Every planes here. If Every is 0,
	// new edges are as long as the last one. When the stream is closed, a last edge that
	// was never published is cut to the planes that are left.
	Grow grid.Growth
	// Every is the number of planes after which the stream publishes. It publishes at the
	// end of a chunk at the latest. If chunks are longer than Every, they are stored
	// several times. 0 publishes each chunk along the axis when it is full. Interval may
	// delay both.
	Every int64
	// Interval is the shortest time between two publications, as long as the planes fit
	// Budget. What is due earlier is held, and published by the first call after it. 0
	// is what the store asks for: a second in Google Cloud Storage, which takes one write
	// of a document a second, and no time elsewhere. A negative Interval is no time.
	// [Stream.Checkpoint] and [Stream.Close] publish at once.
	Interval time.Duration
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

// StreamStats says how far a stream is, what it has done and what it holds.
type StreamStats struct {
	// Written is the index of the first plane that was not written yet. All planes before
	// it are held or published.
	Written int64
	// Published is the index of the first plane that is not published yet. This is the
	// extent of the axis.
	Published    int64
	Held, Peak   int64 // bytes of planes held now, decoded and encoded, and their maximum so far
	Publications int64 // how often planes became visible
	Early        int64 // publications that were forced by the budget
}

// String returns the numbers in one line.
func (s StreamStats) String() string {
	return fmt.Sprintf("%s written, %d of them published in %s; %s held, at most %s",
		quantity.Count(s.Written, "planes"), s.Published, quantity.Of(s.Publications, "publication"), quantity.Of(s.Held, "byte"), quantity.Of(s.Peak, "byte"))
}

// Stream appends planes along one axis as they arrive, from a microscope or a model, and
// stores each chunk once, when it is full. One goroutine at a time may use it. Other
// calls may use the array meanwhile.
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
// [StreamStats.Written] is the plane to continue with.
type Stream struct {
	array  *Array
	stream *streaming.Stream
}

// Stream returns a stream that appends planes at the end of an axis. It reads only the
// document.
//
// A listed axis without chunks needs [StreamOptions.Every] or a policy. The error wraps
// [ErrInvalidArgument] if inner chunks do not divide the edges, if the policy does not
// fit the axis, or if planes have no elements.
func (a *Array) Stream(ctx context.Context, axis int, opt *StreamOptions) (*Stream, error) {
	var o StreamOptions
	if opt != nil {
		o = *opt
	}
	s, err := a.stream(ctx, axis, o)
	if err != nil {
		return nil, a.fail("stream", err)
	}
	return s, nil
}

func (a *Array) stream(ctx context.Context, axis int, opt StreamOptions) (*Stream, error) {
	if err := a.writable(); err != nil {
		return nil, err
	}
	axis, err := a.axis(axis)
	if err != nil {
		return nil, err
	}
	// The stream continues at the end of the array, so the extent must be the newest.
	base, err := a.core.Newest(ctx)
	if err != nil {
		return nil, err
	}
	if opt.Interval == 0 {
		opt.Interval = store.TraitsOf(a.hierarchy.store).WriteInterval
	}
	s, err := streaming.Open(base, axis, streaming.Target{
		Change:      a.core.Change,
		Resized:     func(g *grid.Grid) (*snapshot.Array, error) { return a.core.Binding().Resized(base, g) },
		InnerChunks: a.options.Limits.innerChunks(),
	}, streaming.Options(opt))
	if err != nil {
		return nil, err
	}
	return &Stream{a, s}, nil
}

// WritePlanes appends planes. src has any number of whole planes in C order, and may be
// reused after the call. Readers see the planes once they are published ([StreamOptions],
// [Stream.Checkpoint]).
func WritePlanes[T dtype.Element](ctx context.Context, s *Stream, src []T) error {
	e, err := elementsOf(s.array, src)
	if err == nil {
		err = s.stream.Write(ctx, e)
	}
	return s.array.fail("stream", err)
}

// WriteBytes is [WritePlanes] for any data type of fixed size. src has the elements in
// host byte order.
func (s *Stream) WriteBytes(ctx context.Context, src []byte) error {
	return s.array.fail("stream", s.stream.WriteBytes(ctx, src))
}

// Checkpoint publishes all planes that were written so far. They are then visible, and as
// durable as [Options.Durability] says. A partly filled chunk is stored now, and stored
// again when it is full. Its listed edge has the planned length from the start.
func (s *Stream) Checkpoint(ctx context.Context) error {
	return s.array.fail("stream", s.stream.Checkpoint(ctx))
}

// Close publishes all planes that were written so far and ends the stream. If it fails,
// the stream still holds the planes and Close may be called again. A stream that is never
// closed leaks nothing, but loses the planes that were not published.
func (s *Stream) Close(ctx context.Context) error {
	return s.array.fail("stream", s.stream.Close(ctx))
}

// Stats returns how far the stream is, what it has done and what it holds.
func (s *Stream) Stats() StreamStats { return StreamStats(s.stream.Stats()) }
