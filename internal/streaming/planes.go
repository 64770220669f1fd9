// SPDX-License-Identifier: Apache-2.0

package streaming

import (
	"context"
	"math"
	"time"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/strided"
)

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
		return fault.Argument("%d bytes are not a whole number of planes along axis %d, which have %d bytes each", len(e.Data), s.axis, s.plane)
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
	limit, ok := checked.Add(s.next, left)
	if !ok {
		return 0, &grid.AxisError{Axis: s.axis, Err: grid.ErrOverflow}
	}
	if err := s.plan(limit); err != nil {
		return 0, err
	}
	// Nothing is held, and these planes must be published now. Write them from the memory
	// of the caller, without a copy.
	if n := s.lastDue(limit) - s.next; n > 0 && len(s.slabs) == 0 && s.open.count == 0 && !(s.waits() && s.fits(n)) {
		return n, s.publish(ctx, s.slab(s.cut(v, 0, n)), false)
	}
	layer, err := s.planned.Engine.LayerOf(s.axis, s.next)
	if err != nil {
		return 0, err
	}
	n := min(left, layer.Planes.Stop-s.next, s.untilDue(layer.Chunk))
	// The call has all planes of the layer, so encode it from the memory of the caller.
	if s.open.count == 0 && s.next == layer.Planes.Start && n == layer.Planes.Len() {
		return n, s.takeLayer(ctx, s.cut(v, 0, n))
	}
	return s.hold(ctx, s.cut(v, 0, n), layer.Planes.Stop)
}

// slab returns the next planes as a slab.
func (s *Stream) slab(v strided.View) *engine.Slab {
	return &engine.Slab{Axis: s.axis, Start: s.next, Stop: s.next + v.Shape[s.axis], Planes: v}
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
	s.slabs, s.next = append(s.slabs, slab), slab.Stop
	s.note()
	return nil
}

// hold copies planes into the open layer, which ends at stop, and returns their number.
func (s *Stream) hold(ctx context.Context, v strided.View, stop int64) (int64, error) {
	if s.open.count == 0 {
		if err := s.makeRoom(ctx, stop-s.next); err != nil {
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
	s.next += n
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
	s.open.start, s.open.most = s.next, most
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
	if s.isDue(s.next) {
		s.due = s.next
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
	case s.next < layer.Planes.Stop:
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
	if n := s.Published() + s.opt.Every - s.next; n > 0 {
		return n
	}
	return math.MaxInt64 // planes that are due wait
}

// hasDue reports whether planes are held that are due.
func (s *Stream) hasDue() bool { return s.due > s.Published() }

// waits reports whether the last publication is too recent for another one.
func (s *Stream) waits() bool { return s.opt.Interval > 0 && time.Since(s.published) < s.opt.Interval }

// isDue reports whether the stream must publish all planes before plane p.
func (s *Stream) isDue(p int64) bool {
	news := p - s.Published()
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
		if p > s.next && s.isDue(p) {
			last = max(last, p)
		}
	}
	return last
}
