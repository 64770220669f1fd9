// SPDX-License-Identifier: Apache-2.0

// Package streaming appends planes to an array as they arrive.
//
// A stream holds planes until they fill a layer of inner chunks, and encodes the layer.
// It holds encoded layers until the chunks along its axis are full. Then it stores the
// chunks and publishes the new extent.
package streaming

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
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
	Written, Published int64
	Held, Peak         int64
	Publications       int64
	Early              int64
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

	written   int64          // the first plane that was not written yet
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

// extent returns the index of the first plane that is not published yet.
func (s *Stream) extent() int64 { return s.grid.Axis(s.axis).Extent() }

// Stats returns counts of the work of the stream, and of the bytes that it holds.
func (s *Stream) Stats() Stats {
	stats := s.stats
	stats.Written, stats.Published, stats.Held = s.written, s.extent(), s.held()
	return stats
}

// WriteBytes is [Stream.Write] for elements of fixed size in host byte order.
func (s *Stream) WriteBytes(ctx context.Context, src []byte) error {
	return s.Write(ctx, element.Buffer{Type: s.base.Type, Data: src})
}

// Checkpoint publishes all planes that were written so far.
func (s *Stream) Checkpoint(ctx context.Context) error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.publish(ctx, nil, false)
}

// Close publishes all planes that were written so far and ends the stream. If it fails,
// the stream still holds the planes and Close may be called again.
func (s *Stream) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	err := s.usable()
	if err == nil {
		err = s.publish(ctx, nil, true)
	}
	// Nothing is held any more. The stream is closed even if cleaning up after publishing
	// failed: another call could not help.
	if len(s.slabs) == 0 && s.open.count == 0 {
		s.closed, s.open = true, openLayer{}
	}
	return err
}

// Write appends whole planes, which are in C order.
func (s *Stream) Write(ctx context.Context, e element.Buffer) error {
	if err := s.usable(); err != nil {
		return err
	}
	if err := s.base.CheckType(e); err != nil {
		return err
	}
	shape := s.base.Grid.Shape()
	if int64(len(e.Data))%s.plane != 0 {
		return fault.Argument("%s not a whole number of planes along axis %d, which have %s each", quantity.Count(len(e.Data), "bytes are"), s.axis, quantity.Count(s.plane, "bytes"))
	}
	// Check all values before one of them is held. An invalid one would make publishing
	// fail later.
	if err := element.CheckValues(e); err != nil {
		return err
	}
	shape[s.axis] = int64(len(e.Data)) / s.plane
	v := strided.Contiguous(e.Data, shape, s.base.Engine.Size)
	v.Heap = e.Heap
	for v.Shape[s.axis] > 0 {
		n, err := s.take(ctx, v)
		if err != nil {
			return err
		}
		v = s.cut(v, n, v.Shape[s.axis])
	}
	return nil
}

// take holds planes from the front of v and returns their number. It stops where the
// stream must publish, or at the end of the layer.
func (s *Stream) take(ctx context.Context, v strided.View) (int64, error) {
	if err := s.settle(ctx); err != nil { // retries a step that failed in the last call
		return 0, err
	}
	left := v.Shape[s.axis]
	limit, ok := checked.Add(s.written, left)
	if !ok {
		return 0, &grid.AxisError{Axis: s.axis, Err: grid.ErrOverflow}
	}
	if err := s.plan(limit); err != nil {
		return 0, err
	}
	// Nothing is held, and these planes must be published now. Write them from the memory
	// of the caller, without a copy.
	if n := s.lastDue(limit) - s.written; n > 0 && len(s.slabs) == 0 && s.open.count == 0 && !(s.waits() && s.fits(n)) {
		return n, s.publish(ctx, s.slab(s.cut(v, 0, n)), false)
	}
	layer, err := s.planned.Engine.LayerOf(s.axis, s.written)
	if err != nil {
		return 0, err
	}
	n := min(left, layer.Planes.Stop-s.written, s.untilDue(layer.Chunk))
	// The call has all planes of the layer, so encode it from the memory of the caller.
	if s.open.count == 0 && s.written == layer.Planes.Start && n == layer.Planes.Len() {
		return n, s.takeLayer(ctx, s.cut(v, 0, n))
	}
	return s.hold(ctx, s.cut(v, 0, n), layer.Planes.Stop)
}

// slab returns the next planes as a slab.
func (s *Stream) slab(v strided.View) *engine.Slab {
	return &engine.Slab{Axis: s.axis, Start: s.written, Stop: s.written + v.Shape[s.axis], Planes: v}
}

// takeLayer takes the planes of a whole layer. It encodes them without a copy. If they
// are due or do not fit the budget, it stores them at once.
func (s *Stream) takeLayer(ctx context.Context, v strided.View) error {
	slab := s.slab(v)
	// The empty buffer counts as held. Drop it if that makes the layer fit.
	if s.open.buffer != nil && !s.fits(v.Shape[s.axis]) {
		s.open = openLayer{}
	}
	fits := s.fits(v.Shape[s.axis])
	if !fits && s.hasDue() { // that makes room, and no chunk is stored twice
		if err := s.publishDue(ctx); err != nil {
			return err
		}
		fits = s.fits(v.Shape[s.axis])
	}
	if !fits || s.isDue(slab.Stop) && !s.waits() {
		return s.publishEarly(ctx, slab, !s.isDue(slab.Stop))
	}
	if err := s.planned.Engine.Encode(ctx, slab); err != nil {
		return err
	}
	if s.isDue(slab.Stop) {
		s.due = slab.Stop
	}
	s.slabs, s.written = append(s.slabs, slab), slab.Stop
	s.note()
	return nil
}

// hold copies planes into the open layer, which ends at stop, and returns their number.
func (s *Stream) hold(ctx context.Context, v strided.View, stop int64) (int64, error) {
	if s.open.count == 0 {
		if err := s.makeRoom(ctx, stop-s.written); err != nil {
			return 0, err
		}
	}
	o := &s.open
	n := min(v.Shape[s.axis], o.most-o.count)
	// The buffer begins short, because a long chunk may never be filled.
	if o.count+n > o.view.Shape[s.axis] {
		s.lengthen()
	}
	strided.Copy(s.cut(o.view, o.count, o.count+n), s.cut(v, 0, n))
	o.count += n
	s.written += n
	return n, s.settle(ctx)
}

// makeRoom prepares the buffer for the missing planes of a layer. It publishes the held
// planes if they leave no room.
func (s *Stream) makeRoom(ctx context.Context, planes int64) error {
	first := max(1, firstRoom/s.plane)
	most := planes
	if s.hasDue() && planes > (s.opt.Budget-s.encoded())/s.plane {
		if err := s.publishDue(ctx); err != nil {
			return err
		}
	}
	if held := s.encoded(); planes > (s.opt.Budget-held)/s.plane {
		// Publish the encoded layers, so that the budget is free for the buffer.
		if err := s.publishEarly(ctx, nil, held > 0); err != nil {
			return err
		}
		most = max(1, min(planes, s.opt.Budget/s.plane))
	}
	if most > first {
		// While lengthen copies, the first buffer and the long one exist together.
		most = max(first, min(most, (s.opt.Budget-s.encoded())/s.plane-first))
	}
	if room := int64(cap(s.open.buffer)) / s.plane; room < min(first, most) {
		s.open.buffer = nil // a garbage collection can free it before the next one is made
		s.open.buffer = make([]byte, min(first, most)*s.plane)
	}
	s.open.view = s.room(min(most, int64(cap(s.open.buffer))/s.plane))
	s.open.start, s.open.most = s.written, most
	s.note()
	return nil
}

// firstRoom is the first size of the buffer of a layer, in bytes. It grows on demand,
// because a long chunk may never be filled.
const firstRoom = 16 << 20

// room returns a view of the front of the buffer as a number of planes.
func (s *Stream) room(planes int64) strided.View {
	shape := s.base.Grid.Shape()
	shape[s.axis] = planes
	v := strided.Contiguous(s.open.buffer[:planes*s.plane], shape, s.base.Engine.Size)
	v.Heap = s.base.Engine.Heap.New()
	return v
}

// lengthen grows the buffer up to the planes that the layer can have.
func (s *Stream) lengthen() {
	o := &s.open
	was := s.cut(o.view, 0, o.count)
	s.stats.Peak = max(s.stats.Peak, s.held()+o.most*s.plane)
	// The old buffer stays until it is copied, so Peak counts both.
	o.buffer = make([]byte, o.most*s.plane)
	o.view = s.room(o.most)
	strided.Copy(s.cut(o.view, 0, o.count), was)
}

// settle encodes a full layer, and publishes planes that are due.
func (s *Stream) settle(ctx context.Context) error {
	o := &s.open
	if s.isDue(s.written) {
		s.due = s.written
	}
	if s.hasDue() && (!s.waits() || o.count == o.most && !s.fits(o.count)) {
		if err := s.publishDue(ctx); err != nil {
			return err
		}
	}
	// The size of text is known only when it arrives.
	if o.count > 0 && s.text() > 0 && s.held() > s.opt.Budget {
		return s.publishEarly(ctx, nil, true)
	}
	if o.count == 0 || o.count < o.most {
		return nil
	}
	layer, err := s.planned.Engine.LayerOf(s.axis, o.start)
	switch {
	case err != nil:
		return err
	// The budget does not hold the whole layer, so its chunk will be stored more than
	// once.
	case s.written < layer.Planes.Stop:
		return s.publishEarly(ctx, nil, true)
	case o.start > layer.Planes.Start: // publishing merges these with the stored rest of the layer
		slab := s.openSlab()
		slab.Bytes = int64(cap(o.buffer)) + s.text()
		s.slabs, s.open = append(s.slabs, slab), openLayer{}
		return nil
	case !s.fits(o.count):
		return s.publishEarly(ctx, nil, true)
	}
	slab := s.openSlab()
	if err := s.planned.Engine.Encode(ctx, slab); err != nil {
		return err
	}
	s.slabs, o.count = append(s.slabs, slab), 0
	s.note()
	return nil
}

// fits reports whether more planes fit the budget, even if encoding does not make them
// smaller.
func (s *Stream) fits(planes int64) bool { return planes <= (s.opt.Budget-s.held())/s.plane }

// note records the largest number of bytes that were held.
func (s *Stream) note() { s.stats.Peak = max(s.stats.Peak, s.held()) }

// untilDue returns how many planes of a chunk may follow before the stream must publish.
func (s *Stream) untilDue(chunk grid.Interval) int64 {
	if s.opt.Every == 0 || s.opt.Every >= chunk.Len() {
		return math.MaxInt64
	}
	if n := s.extent() + s.opt.Every - s.written; n > 0 {
		return n
	}
	return math.MaxInt64 // planes that are due wait
}

// hasDue reports whether planes are held that are due.
func (s *Stream) hasDue() bool { return s.due > s.extent() }

// waits reports whether the last publication is too recent for another one.
func (s *Stream) waits() bool { return s.opt.Interval > 0 && time.Since(s.published) < s.opt.Interval }

// isDue reports whether the stream must publish all planes before plane p.
func (s *Stream) isDue(p int64) bool {
	news := p - s.extent()
	if news <= 0 {
		return false
	}
	axis := s.planned.Grid.Axis(s.axis)
	// p-1 is the last plane before p. It is inside the planned grid, so Locate succeeds.
	k, _, _ := axis.Locate(p - 1)
	cell, _ := axis.Cell(k)
	if ends := cell.Start+cell.Edge == p; ends || s.opt.Every < cell.Edge {
		return ends && s.opt.Every < cell.Edge || s.opt.Every > 0 && news >= s.opt.Every
	}
	return false
}

// lastDue returns the last plane up to limit that is due, or 0.
func (s *Stream) lastDue(limit int64) int64 {
	axis := s.planned.Grid.Axis(s.axis)
	k, _, _ := axis.Locate(limit - 1)
	cell, _ := axis.Cell(k)
	last := int64(0)
	for _, p := range [...]int64{limit, cell.Start} {
		if p > s.written && s.isDue(p) {
			last = max(last, p)
		}
	}
	return last
}

// Open returns a stream that appends to an array along an axis. base is the newest
// state of the array.
func Open(base *snapshot.Array, axis int, target Target, opt Options) (*Stream, error) {
	if opt.Every < 0 || opt.Budget < 0 {
		return nil, fault.Argument("Every is %d and Budget is %d, but neither may be negative", opt.Every, opt.Budget)
	}
	if opt.Budget == 0 {
		// A negative argument only returns the limit.
		opt.Budget = min(1<<30, debug.SetMemoryLimit(-1)/2)
	}
	if err := base.Expect(opt.Expect); err != nil {
		return nil, err
	}
	s := &Stream{target: target, axis: axis, opt: opt, base: base, grid: base.Grid, written: base.Grid.Axis(axis).Extent()}
	if err := s.measure(); err != nil {
		return nil, err
	}
	// s.next + 1 would overflow.
	if s.written == math.MaxInt64 {
		return nil, &grid.AxisError{Axis: axis, Err: grid.ErrOverflow}
	}
	if err := s.plan(s.written + 1); err != nil {
		return nil, err
	}
	return s, s.check()
}

// check returns an error if the chunks could not be written, before any plane is held.
func (s *Stream) check() error {
	planned := s.planned
	if planned.Engine.Chain.Divided() {
		// A shard is never in memory as a whole, so only the number of its inner chunks
		// counts.
		return planned.CheckShards(s.target.InnerChunks)
	}
	shape := make([]int64, planned.Grid.Rank())
	for i := range shape {
		axis := planned.Grid.Axis(i)
		cells := grid.Interval{Stop: axis.Chunks()}
		// The stream does not write to earlier chunks along its axis.
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
			"Append takes planes without elements ("+remedy.Planes+")", shape, s.axis)
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

// plan extends the planned grid to the end of the chunk that contains the planes before
// limit.
func (s *Stream) plan(limit int64) error {
	if s.planned != nil && s.planned.Grid.Axis(s.axis).Extent() >= limit {
		return nil
	}
	g, err := s.grown(limit)
	if err != nil {
		return err
	}
	axis := g.Axis(s.axis)
	// Plan to the end of the chunk, because the length of its edge decides when the
	// stream publishes.
	k, _, _ := axis.Locate(limit - 1)
	cell, _ := axis.Cell(k)
	stop, ok := checked.Add(cell.Start, cell.Edge)
	if !ok {
		return &grid.AxisError{Axis: s.axis, Err: fmt.Errorf("%w: chunk %d ends beyond it", grid.ErrOverflow, k)}
	}
	if g, err = s.grown(stop); err != nil {
		return err
	}
	planned, err := s.target.Resized(g)
	if err == nil {
		s.planned = planned
	}
	return err
}

// grown returns the grid of the array with planes up to an extent. It grows the grid that
// the array had when the stream began, so that a policy continues its pattern.
func (s *Stream) grown(extent int64) (*grid.Grid, error) {
	return s.grow(s.base.Grid, extent, s.policy)
}

func (s *Stream) grow(g *grid.Grid, extent int64, policy grid.Growth) (*grid.Grid, error) {
	shape := g.Shape()
	shape[s.axis] = extent
	policies := make([]grid.Growth, len(shape))
	policies[s.axis] = policy
	return g.Grown(shape, policies...)
}

// last returns the grid of the array with the final extent.
func (s *Stream) last(extent int64) (*grid.Grid, error) {
	covered := s.grid.Axis(s.axis).Covered()
	if !s.exact || extent <= covered {
		return s.grown(extent)
	}
	// First the edges that are full, then one edge for the planes that are left.
	g, err := s.grown(covered + (extent-covered)/s.edge*s.edge)
	if err != nil {
		return nil, err
	}
	if g, err = s.grow(g, extent, s.base.Rounded(s.axis, grid.AppendOne(), s.opt.RoundUp)); err != nil {
		return nil, err
	}
	if _, err = s.target.Resized(g); errors.Is(err, codec.ErrConfiguration) {
		err = fmt.Errorf("the last chunk has %s: %w; round it up (RoundUp), write more planes, or leave it as long as the others (Checkpoint)",
			quantity.Count((extent-covered)%s.edge, "planes"), err)
	}
	return g, err
}

// publishEarly is publish for an exhausted budget, which Early counts.
func (s *Stream) publishEarly(ctx context.Context, more *engine.Slab, early bool) error {
	err := s.publish(ctx, more, false)
	if err == nil && early {
		s.stats.Early++
	}
	return err
}

// publish stores the held planes, and more that follow them, and publishes the new
// extent.
func (s *Stream) publish(ctx context.Context, more *engine.Slab, last bool) error {
	slabs := slices.Clone(s.slabs)
	if s.open.count > 0 {
		slabs = append(slabs, s.openSlab())
	}
	if more != nil {
		slabs = append(slabs, more)
	}
	if len(slabs) == 0 {
		return nil
	}
	grown := s.grown
	if last {
		grown = s.last
	}
	err := s.store(ctx, slabs, grown)
	if err == nil || errors.Is(err, publish.ErrIncomplete) {
		s.written, s.slabs, s.open.count = slabs[len(slabs)-1].Stop, nil, 0
	}
	return err
}

// publishDue publishes the planes that are due. Those of a chunk that is not full yet
// stay held, unless they are due too.
func (s *Stream) publishDue(ctx context.Context) error {
	n := slices.IndexFunc(s.slabs, func(slab *engine.Slab) bool { return slab.Stop == s.due }) + 1
	if s.due == s.written || n == 0 {
		return s.publish(ctx, nil, false)
	}
	err := s.store(ctx, s.slabs[:n:n], s.grown)
	if err == nil || errors.Is(err, publish.ErrIncomplete) {
		s.slabs = slices.Clone(s.slabs[n:])
	}
	return err
}

// store stores slabs, and publishes the extent that they reach. Unless the outcome is
// final, the caller keeps them, and the next call tries again. After ErrIncomplete they
// are published.
func (s *Stream) store(ctx context.Context, slabs []*engine.Slab, grown func(int64) (*grid.Grid, error)) error {
	g, err := grown(slabs[len(slabs)-1].Stop)
	if err != nil {
		return err
	}
	err = s.target.Change(ctx, func(now *snapshot.Array) (*snapshot.Reshape, error) {
		// Change plans again after a conflict. The slabs were encoded for the planned
		// grid, so another writer's change makes them useless.
		if err := s.unchanged(now); err != nil {
			return nil, err
		}
		return &snapshot.Reshape{Grid: g, Slabs: slabs}, nil
	})
	if err != nil && !errors.Is(err, publish.ErrIncomplete) {
		if final := (*snapshot.Unexpected)(nil); errors.As(err, &final) || errors.Is(err, publish.ErrOutcomeUnknown) {
			s.failed = err
		}
		return err
	}
	s.grid = g
	s.stats.Publications++
	s.published = time.Now()
	return err
}

// overtaken is the conflict of a stream whose array another writer has changed. It is
// final: a retry meets it again.
type overtaken struct {
	*snapshot.Unexpected
	axis int
	what string
}

func (o *overtaken) Error() string {
	return fmt.Sprintf("%v: %s during a stream along axis %d; open a new stream, which continues at the end of the array",
		store.ErrConflict, o.what, o.axis)
}

func (o *overtaken) Unwrap() error { return o.Unexpected }

// unchanged returns [overtaken] if the array differs from what the stream published last.
func (s *Stream) unchanged(now *snapshot.Array) error {
	was, is := s.grid.Shape(), now.Grid.Shape()
	o := &overtaken{Unexpected: &snapshot.Unexpected{Have: is, Want: was}, axis: s.axis}
	switch {
	case !slices.Equal(was, is):
		o.what = fmt.Sprintf("the shape became %v, it was %v", is, was)
	case now.Numbering != s.base.Numbering:
		o.what = "elements were dropped or inserted"
	case !snapshot.SameEdges(s.grid, now.Grid):
		o.what = "it was cut into other chunks"
	// Held layers are encoded by the codecs of the first state. In an array with other
	// codecs they would be damage.
	case !likeness.SameElements(now.Doc, s.base.Doc):
		o.what = "it was replaced"
	default:
		return nil
	}
	return o
}
