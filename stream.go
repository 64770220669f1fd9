package zarr

import (
	"context"
	"math"
	"runtime/debug"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
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

// Stream returns a stream that appends planes at the end of an axis. It reads only the
// document.
//
// A listed axis without chunks needs [StreamOptions.Every] or a policy. The error wraps
// [ErrInvalidArgument] if inner chunks do not divide the edges, if the policy does not fit
// the axis, or if planes have no elements.
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
	if opt.Every < 0 || opt.Budget < 0 {
		return nil, fault.Argument("Every is %d and Budget %d, neither can be negative", opt.Every, opt.Budget)
	}
	if opt.Budget == 0 {
		opt.Budget = min(1<<30, debug.SetMemoryLimit(-1)/2)
	}
	base, err := a.fresh(ctx, a.state.Load())
	if err == nil {
		err = base.Expect(opt.Expect)
	}
	if err != nil {
		return nil, err
	}
	s := &Stream{array: a, axis: axis, opt: opt, base: base, grid: base.Grid, next: base.Grid.Axis(axis).Extent()}
	if err := s.measure(); err != nil {
		return nil, err
	}
	if s.next == math.MaxInt64 {
		return nil, &grid.AxisError{Axis: axis, Err: ErrOverflow}
	}
	if err := s.plan(s.next + 1); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check returns an error if the chunks could not be written, before any plane is held.
func (s *Stream) check() error {
	planned, limits := s.planned, s.array.options.Limits
	if planned.Engine.Chain.Divided() {
		return planned.CheckShards(limits.innerChunks())
	}
	shape := make([]int64, planned.Grid.Rank())
	for i := range shape {
		axis := planned.Grid.Axis(i)
		cells := grid.Interval{Stop: axis.Chunks()}
		if i == s.axis {
			cells.Start = cells.Stop - 1
		}
		shape[i] = axis.Longest(cells)
	}
	_, err := planned.Engine.ChunkBytes(shape)
	return err
}

// measure sets the size of a plane and the length of a chunk along the axis.
func (s *Stream) measure() error {
	shape := s.base.Grid.Shape()
	shape[s.axis] = 1
	var ok bool
	if s.plane, ok = checked.Product(append(shape, int64(s.base.Engine.Size))...); !ok || s.plane == 0 {
		return fault.Argument("planes of shape %v along axis %d: a stream needs planes with elements, and with less than 2^63 bytes; "+
			"Append takes planes without elements (AppendOptions.Planes)", shape, s.axis)
	}
	axis := s.base.Grid.Axis(s.axis)
	s.policy = s.opt.Grow
	if s.exact = !axis.IsRegular() && s.opt.Grow.IsAppendOne(); !s.exact {
		return nil
	}
	if s.edge = s.opt.Every; s.edge == 0 {
		last, ok := axis.Cell(axis.Cells() - 1)
		if !ok {
			return &grid.AxisError{Axis: s.axis, Err: fault.Argument("there is no chunk yet: say how many planes a new one has (Every), or give a policy (Grow)")}
		}
		s.edge = last.Edge
	}
	s.policy = grid.Fixed(s.edge)
	return nil
}

// WritePlanes appends planes. src has any number of whole planes in C order, and may be
// reused after the call. Readers see the planes once they are published ([StreamOptions],
// [Stream.Checkpoint]).
func WritePlanes[T dtype.Element](ctx context.Context, s *Stream, src []T) error {
	e, err := elementsOf(s.array, src)
	if err == nil {
		err = s.write(ctx, e)
	}
	return s.array.fail("stream", err)
}

// WriteBytes is [WritePlanes] for any data type of fixed size. src has the elements in host
// byte order.
func (s *Stream) WriteBytes(ctx context.Context, src []byte) error {
	return s.array.fail("stream", s.write(ctx, element.Buffer{Type: s.base.Type, Data: src}))
}

// Checkpoint publishes all planes that were written so far. They are then visible, and as
// durable as [Options.Durability] says. A chunk that is not full is stored now and again
// when it is full; a listed edge already has its planned length.
func (s *Stream) Checkpoint(ctx context.Context) error {
	err := s.usable()
	if err == nil {
		err = s.publish(ctx, nil, false)
	}
	return s.array.fail("stream", err)
}

// Close publishes all planes that were written so far and ends the stream. If it fails, the
// stream still holds the planes and Close may be called again. A stream that is never
// closed leaks nothing, but loses the planes that were not published.
func (s *Stream) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	err := s.usable()
	if err == nil {
		err = s.publish(ctx, nil, true)
	}
	if len(s.slabs) == 0 && s.open.count == 0 {
		s.closed, s.open = true, openLayer{}
	}
	return s.array.fail("stream", err)
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
