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

// StreamOptions says how planes are gathered to chunks. A nil *StreamOptions means the
// zero StreamOptions.
type StreamOptions struct {
	// Grow says which edges an axis with listed edges gets where the ones it has do not
	// reach. The zero value, [grid.AppendOne], means edges of Every planes here, or if
	// that is 0 as long as the last one that there is; when the stream is closed, an edge
	// that nobody has seen yet is as long as what is left.
	Grow grid.Growth
	// Every is how many planes become visible at a time: at least so many, up to the end
	// of a chunk. Where that is shorter than a chunk is long, such a chunk is stored
	// several times. 0 publishes every chunk along the axis as soon as it is full.
	Every int64
	// Budget is the most bytes of planes that are held from call to call, as they are and
	// encoded, but one plane at least. 0 stands for 1 GiB, within half of Go's memory
	// limit. What does not fit is published before its chunk is full, which then is
	// stored several times: [StreamStats] has how often. Encoding and storing take
	// [Options.Budget] besides.
	Budget int64
	// RoundUp lets the last listed edge reach beyond the extent when the stream is
	// closed, to whole inner chunks. Otherwise [Stream.Close] refuses a last chunk that
	// they do not divide.
	RoundUp bool
	// Expect is the shape that the array has to have before; nil stands for any. Another
	// one wraps [ErrConflict].
	Expect []int64
}

// StreamStats says what a stream has done and what it holds.
type StreamStats struct {
	Held, Peak   int64 // bytes of planes that are held now, as they are and encoded, and the most so far
	Publications int64 // how often planes became visible
	Early        int64 // how often because the budget did not hold more of them
}

// Stream appends planes along one axis as they come, and stores every chunk once, when it
// is full: a microscope or a model makes plane after plane, while a shard has many. It is
// for one goroutine at a time; the array may be used by others meanwhile.
//
// Planes are held until they fill a layer of inner chunks. That is encoded, and held
// until the shards are full; then these are stored, and become visible by one write of
// the document. Chunks that are no shards are held as they are. [Stream.Checkpoint] makes
// visible what there is before. A program that dies loses the planes which were not
// published, at most; a stream that is opened then goes on where the array ends, and
// fills its last chunk.
//
// Nobody is kept away meanwhile. A stream whose array somebody else made longer, or cut
// in another way, fails with [ErrConflict] and stays so. After other errors, as those of
// a store that cannot be reached, what was written is still held: [Stream.Next] is the
// plane to go on with.
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

// openLayer is planes that do not fill their layer yet.
type openLayer struct {
	buffer []byte
	view   strided.View // of the buffer
	start  int64        // first plane
	count  int64        // planes so far
	most   int64        // planes for which there may be room
}

// Stream begins to append planes along an axis, from its end on. It reads nothing but the
// document.
//
// An axis with listed edges but no chunk yet needs [StreamOptions.Every] or a policy.
// Edges that inner chunks do not divide, a policy that does not go with the axis, and
// planes without elements wrap [ErrInvalidArgument].
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

// check refuses chunks that could not be written, before planes are gathered for them.
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

// measure finds out how long a plane is, and a chunk along the axis.
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

// WritePlanes appends planes, which stand in src in C order: as many as it has, with all
// elements of the other axes. They are visible once they are published ([StreamOptions],
// [Stream.Checkpoint]); src may be used again at once.
func WritePlanes[T dtype.Element](ctx context.Context, s *Stream, src []T) error {
	e, err := elementsOf(s.array, src)
	if err == nil {
		err = s.write(ctx, e)
	}
	return s.array.fail("stream", err)
}

// WriteBytes is [WritePlanes] for an array of any type: src has the elements in the byte
// order of the host.
func (s *Stream) WriteBytes(ctx context.Context, src []byte) error {
	return s.array.fail("stream", s.write(ctx, element.Buffer{Type: s.base.Type, Data: src}))
}

// Checkpoint publishes all planes that were written so far, so that they are visible, and
// as durable as [Options.Durability] says. A chunk that is not full is stored with what
// there is of it, and once more when it is. A listed edge is then as long as planned.
func (s *Stream) Checkpoint(ctx context.Context) error {
	err := s.usable()
	if err == nil {
		err = s.publish(ctx, nil, false)
	}
	return s.array.fail("stream", err)
}

// Close publishes all planes that were written so far and ends the stream. Where it
// fails, the planes are still held, and it may be called again. A stream that is not
// closed needs nothing, but loses what was not published.
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

// Next returns the index of the first plane that was not written yet: those before it are
// held or published.
func (s *Stream) Next() int64 { return s.next }

// Published returns the index of the first plane that is not published yet, which is the
// extent of the axis.
func (s *Stream) Published() int64 { return s.grid.Axis(s.axis).Extent() }

// Stats returns what the stream has done and what it holds.
func (s *Stream) Stats() StreamStats {
	stats := s.stats
	stats.Held = s.held()
	return stats
}

// usable refuses a stream that has ended.
func (s *Stream) usable() error {
	if s.closed {
		return fault.Argument("the stream is closed")
	}
	return s.failed
}
