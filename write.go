// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/array"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/fault"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/streaming"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Write stores src as the selected elements. src must have exactly these elements, in C
// order. A nil selection is the whole array. Chunks that the selection covers completely
// are not read. When Write returns, the elements are as durable as [Options.Durability]
// says. If it fails, every chunk holds its old or its new elements.
//
// Errors are of type [*Error]. They wrap [ErrInvalidArgument] if T, the selection, the
// number of values or a value does not fit, such as a time within a step of the data
// type, and [ErrConflict] if another process has removed or replaced the array meanwhile.
func Write[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	t, err := to.of(sel)
	if err == nil {
		err = t.writeView(ctx, element.Check[T], func(r *snapshot.Selected) (strided.View, error) {
			e, err := element.From(r.Type, r.Heap, src)
			if err != nil {
				return strided.View{}, err
			}
			return r.CheckedView(e)
		})
	}
	return t.fail("write", err)
}

// WriteBytes is [Write] for any data type of fixed size. src has the elements in host
// byte order.
func (a *Array) WriteBytes(ctx context.Context, sel selection.Selection, src []byte) error {
	return a.fail("write", a.target(sel).writeView(ctx, nil, func(r *snapshot.Selected) (strided.View, error) {
		return r.CheckedView(element.Buffer{Type: r.Type, Data: src})
	}))
}

// Fill stores one value in every selected element. It makes no copies of the value in
// memory, apart from the chunks that it encodes. T must be the Go type of the data type,
// so a constant may need a conversion, such as float32(280).
func Fill[T dtype.Element](ctx context.Context, to Elements, sel selection.Selection, value T) error {
	t, err := to.of(sel)
	if err == nil {
		err = t.repeat(ctx, element.Check[T], func(r *snapshot.Selected) (element.Buffer, error) {
			return element.From(r.Type, r.Heap, []T{value})
		})
	}
	return t.fail("fill", err)
}

// FillBytes is [Fill] for any data type of fixed size. elem is one element in host byte
// order.
func (a *Array) FillBytes(ctx context.Context, sel selection.Selection, elem []byte) error {
	return a.fail("fill", a.target(sel).repeat(ctx, nil, func(r *snapshot.Selected) (element.Buffer, error) {
		return element.Buffer{Type: r.Type, Data: elem}, nil
	}))
}

// manyPoints bounds the points that [Fill] writes at once, because sorting them takes
// memory.
const manyPoints = 1 << 22

// repeat writes a view with zero strides, which shows one element everywhere.
func (t target) repeat(ctx context.Context, takes snapshot.Accepts, one func(*snapshot.Selected) (element.Buffer, error)) error {
	if r, err := t.at.Resolve(t.sel, takes); err == nil && r.Axes() == nil && r.Len() > manyPoints {
		for slab := range r.Slabs(t.at.Grid, 1, manyPoints) {
			if err := t.part(r.Part(slab)).repeat(ctx, takes, one); err != nil {
				return err
			}
		}
		return nil
	}
	return t.writeView(ctx, takes, func(r *snapshot.Selected) (strided.View, error) {
		e, err := one(r)
		if err != nil {
			return strided.View{}, err
		}
		return r.One(e)
	})
}

// writeView stores the elements that view returns for the selection.
func (t target) writeView(ctx context.Context, takes snapshot.Accepts, view func(*snapshot.Selected) (strided.View, error)) error {
	if err := t.writable(); err != nil {
		return err
	}
	// Other writes may run at the same time, but no change of the extent by this process.
	lock, err := t.lock().Share(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	typ := t.at.Type // what the caller converted the values to
	s, border, err := t.forWriting(ctx, takes)
	if err != nil {
		return err
	}
	return t.core.Store(ctx, lock, s, border, func(s *snapshot.Array, shared bool) (grid.Box, error) {
		if s.Type != typ { // the bytes of the values could fit another type of the same size
			return nil, fmt.Errorf("%w: it was %s and is %s", array.ErrReplaced, typ, s.Type)
		}
		r, err := s.Resolve(t.sel, takes)
		if err != nil {
			return nil, err
		}
		v, err := view(r)
		if err != nil {
			return nil, err
		}
		return r.Touched(s.Grid), t.core.Batch(ctx, func(ctx context.Context, b store.Batch) error {
			return s.Engine.Write(ctx, r.Elements, v, engine.Writing{Batch: b, Shared: shared, Plain: true})
		})
	})
}

// forWriting returns the newest state, and whether a selection touches boundary chunks.
// For these, WithoutGrowth looks for the newest state under the lock. Looking
// matters even elsewhere: another process may have published other edges, and a chunk
// with the old shape under a key of the new grid would be damage.
func (t target) forWriting(ctx context.Context, takes snapshot.Accepts) (s *snapshot.Array, border bool, err error) {
	if s, err = t.current(); err != nil {
		return nil, false, err
	}
	r, err := s.Resolve(t.sel, takes)
	if err != nil && !t.options.SingleWriter {
		// Another process may have appended the elements.
		if now, staleErr := t.core.LookUnmoved(ctx, s); staleErr == nil && now != s {
			s = now
			r, err = s.Resolve(t.sel, takes)
		}
	}
	if err != nil || s.AtBorder(r.Elements) || t.options.SingleWriter {
		return s, err == nil && s.AtBorder(r.Elements), err
	}
	now, err := t.core.LookUnmoved(ctx, s)
	if err != nil || now == s {
		return s, false, err
	}
	if r, err = now.Resolve(t.sel, takes); err != nil {
		return now, false, err
	}
	return now, now.AtBorder(r.Elements), nil
}

// elementsOf converts values to elements of an array.
func elementsOf[T dtype.Element](a *Array, values []T) (element.Buffer, error) {
	s := a.core.State()
	return element.From(s.Type, s.Engine.Heap, values)
}

// Real is the constraint for Go types that [ReadAs] and [WriteAs] convert to and from.
type Real interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

// ReadAs is [Read] with a conversion of numbers to T. Integers convert to integers of any
// size, if every value fits. Integers and floats convert to float32 and float64, rounded
// to nearest, ties to even; so small floats convert to float32 exactly. Floats do not
// convert to integers, and types that are not real numbers do not convert.
//
// If T cannot hold a value, such as 300 in a uint8 or 1e300 in a float32, the error wraps
// [ErrInvalidArgument] and names the first such value.
//
// A large selection is read in parts of about 32 MiB, one after the other. If another
// writer changes the array meanwhile, the parts may be of different versions.
func ReadAs[T Real](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	// No conversion is needed, so read directly into the block.
	if element.Native[T](typeOf(from, sel)) {
		return Read[T](ctx, from, sel)
	}
	var b Block[T]
	t, err := from.of(sel)
	if err == nil {
		b, err = readAs[T](ctx, t)
	}
	if err != nil {
		return Block[T]{}, t.fail("read", err)
	}
	return b, nil
}

// typeOf returns the data type of the selected elements, or the zero Type if the
// selection cannot be resolved.
func typeOf(from Elements, sel selection.Selection) dtype.Type {
	t, err := from.of(sel)
	if err != nil {
		return dtype.Type{}
	}
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return dtype.Type{}
	}
	return r.Type
}

// convertedBytes is the size of the parts in which elements are converted.
const convertedBytes = 32 << 20

func readAs[T Real](ctx context.Context, t target) (Block[T], error) {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return Block[T]{}, err
	}
	convert, err := element.Conversion(r.Type, dtype.Of[T]())
	if err != nil {
		return Block[T]{}, err
	}
	var zero T
	if r.Len() > t.options.Limits.block()/int64(unsafe.Sizeof(zero)) {
		return Block[T]{}, fmt.Errorf("%w: a block of shape %v ("+remedy.LimitsBlock+"); read a part of it", ErrLimit, r.Shape())
	}
	b := newBlock[T](r)
	rest := b.Data
	var room []byte
	for slab := range r.Slabs(t.at.Grid, r.Size(), convertedBytes) {
		n, _ := slab.Len() // a part of what was counted
		size := int(n * r.Size())
		room = slices.Grow(room[:0], size)[:size]
		same := func(part *snapshot.Selected) (strided.View, error) {
			if part.Type != r.Type {
				// Another process replaced the array by one of another data type between
				// two parts.
				return strided.View{}, ErrConflict
			}
			return part.View(element.Buffer{Type: r.Type, Data: room})
		}
		// A part is bound to the indices of the whole selection, so it does not move if
		// the array grows between two parts.
		if err := t.part(r.Part(slab)).read(ctx, nil, false, same); err != nil {
			return Block[T]{}, err
		}
		if at := convert(element.Bytes(rest[:n]), room); at >= 0 {
			place := len(b.Data) - len(rest) + at
			return Block[T]{}, misfit(r, place, room[at*int(r.Size()):][:r.Size()], dtype.Of[T]())
		}
		rest = rest[n:]
	}
	return b, nil
}

// misfit returns the error for an element that another type cannot hold.
func misfit(r *snapshot.Selected, place int, elem []byte, to dtype.Type) error {
	return fault.Argument("element %d of the selection, %s, does not fit %s", number.Index(r.Shape(), place), r.Type.AppendText(nil, elem), to)
}

// WriteAs is [Write] with a conversion of numbers from T to the data type of the array,
// by the rules of [ReadAs]. All values are checked before one is stored.
func WriteAs[T Real](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	if element.Native[T](typeOf(to, sel)) {
		return Write(ctx, to, sel, src)
	}
	t, err := to.of(sel)
	if err == nil {
		err = writeAs(ctx, t, src)
	}
	return t.fail("write", err)
}

func writeAs[T Real](ctx context.Context, t target, src []T) error {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return err
	}
	convert, err := element.Conversion(dtype.Of[T](), r.Type)
	if err != nil {
		return err
	}
	if int64(len(src)) != r.Len() {
		return fault.Argument("%s for a selection of shape %v, which has %d", quantity.Count(len(src), "values"), r.Shape(), r.Len())
	}
	// Convert everything once without storing it, so that a value that does not fit is
	// found before anything is stored.
	room := make([]byte, min(r.Len()*r.Size(), convertedBytes+r.Size()))
	step := len(room) / int(r.Size())
	for from := 0; from < len(src); from += step {
		part := src[from:min(from+step, len(src))]
		if at := convert(room[:len(part)*int(r.Size())], element.Bytes(part)); at >= 0 {
			one := dtype.Of[T]().AppendText(nil, element.Bytes(part[at:at+1]))
			return fault.Argument("value %d, %s, does not fit %s", number.Index(r.Shape(), from+at), one, r.Type)
		}
	}
	for slab := range r.Slabs(t.at.Grid, r.Size(), convertedBytes) {
		n, _ := slab.Len()
		data := slices.Grow(room[:0], int(n*r.Size()))[:n*r.Size()]
		convert(data, element.Bytes(src[:n]))
		// Exactly refuses the data if another process has replaced the array by one of
		// another type of the same size.
		err := t.part(r.Part(slab)).writeView(ctx, snapshot.Exactly(r.Type), func(part *snapshot.Selected) (strided.View, error) {
			return part.CheckedView(element.Buffer{Type: r.Type, Data: data})
		})
		if err != nil {
			return err
		}
		src = src[n:]
	}
	return nil
}

// ReadStructs returns selected structs as a block of Go structs. A tag of a field of T
// names the field of the elements that it belongs to:
//
//	type Station struct {
//		ID   int32      `zarr:"id"`
//		Name string     `zarr:"name"` // fixed_length_utf32 or null_terminated_bytes
//		Seen time.Time  `zarr:"seen"` // numpy.datetime64; NaT is the zero Time
//		At   struct {
//			X, Y float64 // without a tag: not changed
//			Lon  float32 `zarr:"lon"`
//		} `zarr:"at"`
//	}
//
// Every field of the elements needs a field of T; to read only some, select them
// ([selection.Fields]). A single selected field is no struct: use [Read]. The order of
// fields in T does not matter. A field of T has the Go type of the element's field, or
// a type that is defined as it. In addition, float32 takes shorter floats, time.Time
// and time.Duration take times and durations, string takes text of fixed size, and
// []byte or an array of the same size takes raw bytes. An array also takes a struct
// with fields "0", "1" and so on. Array fields of format 2 are read as such structs.
//
// If T does not fit, the error wraps [ErrInvalidArgument] and names the field. So does an
// element that no time.Time or time.Duration can hold. A large selection is read in
// parts, like [ReadAs] does.
func ReadStructs[T any](ctx context.Context, from Elements, sel selection.Selection) (Block[T], error) {
	t, err := from.of(sel)
	var b Block[T]
	if err == nil {
		b, err = readStructs[T](ctx, t)
	}
	if err != nil {
		return Block[T]{}, t.fail("read", err)
	}
	return b, nil
}

func readStructs[T any](ctx context.Context, t target) (b Block[T], err error) {
	r, err := t.at.Resolve(t.sel, nil)
	if err != nil {
		return b, err
	}
	l, err := element.LayoutOf[T](r.Type)
	if err != nil {
		return b, err
	}
	if r.Len() > t.options.Limits.block()/int64(max(1, l.Size)) {
		return b, fmt.Errorf("%w: a block of shape %v ("+remedy.LimitsBlock+"); read a part of it", ErrLimit, r.Shape())
	}
	b = newBlock[T](r)
	var room []byte
	done := int64(0)
	for slab := range r.Slabs(t.at.Grid, r.Size(), convertedBytes) {
		n, _ := slab.Len() // a part of what was counted
		room = slices.Grow(room[:0], int(n*r.Size()))[:n*r.Size()]
		// The layout is valid for this type only. Another process may replace the array
		// between two parts.
		err := t.part(r.Part(slab)).read(ctx, snapshot.Exactly(r.Type), false, func(part *snapshot.Selected) (strided.View, error) {
			return part.View(element.Buffer{Type: r.Type, Data: room})
		})
		if err != nil {
			return b, err
		}
		if at, err := l.Load(element.MemoryOf(b.Data[done:done+n]), room); err != nil {
			return b, fault.Argument("element %d of the selection: %v", number.Index(r.Shape(), int(done)+at), err)
		}
		done += n
	}
	return b, nil
}

// WriteStructs stores Go structs as the selected elements, in C order. Fields are matched
// as in [ReadStructs]. All values are checked before one is stored: if a text is too long
// or a time does not fit, the error wraps [ErrInvalidArgument] and names the value.
func WriteStructs[T any](ctx context.Context, to Elements, sel selection.Selection, src []T) error {
	t, err := to.of(sel)
	if err == nil {
		err = t.writeView(ctx, nil, func(r *snapshot.Selected) (strided.View, error) {
			if int64(len(src)) != r.Len() {
				return strided.View{}, fault.Argument("%s for a selection of shape %v, which has %d", quantity.Count(len(src), "values"), r.Shape(), r.Len())
			}
			e, err := structsOf(r.Type, src, r.Shape())
			if err != nil {
				return strided.View{}, err
			}
			return r.CheckedView(e)
		})
	}
	return t.fail("write", err)
}

// AppendStructs is [Append] for Go structs. Fields are matched as in [ReadStructs], and
// all values are checked before one is stored, as by [WriteStructs].
func AppendStructs[T any](ctx context.Context, a *Array, axis int, src []T, opt *AppendOptions) error {
	e, err := structsOf(a.Type(), src, []int64{int64(len(src))})
	if err == nil {
		err = a.append(ctx, axis, snapshot.Gain{Buffer: e}, opt.orZero())
	}
	return a.fail("append", err)
}

// structsOf converts Go structs to elements, before the first chunk is written: an
// invalid value changes nothing. shape is that of src, for errors.
func structsOf[T any](t dtype.Type, src []T, shape []int64) (element.Buffer, error) {
	l, err := element.LayoutOf[T](t)
	if err != nil {
		return element.Buffer{}, err
	}
	elems := make([]byte, len(src)*t.Size())
	if at, err := l.Store(elems, element.MemoryOf(src)); err != nil {
		return element.Buffer{}, fault.Argument("value %d: %v", number.Index(shape, at), err)
	}
	return element.Buffer{Type: t, Data: elems}, nil
}

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
