package engine

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/rehearsal"
	"varve.dev/zarr/strided"
)

// Writing says how chunks are written.
type Writing struct {
	Batch store.Batch
	// Valid is the shape that the array has had so far while it grows: whatever a chunk
	// holds beyond it counts as fill value. Otherwise it is nil, and what a chunk holds
	// beyond the array stays as it is.
	Valid []int64
	// KeepFill stores chunks that hold only the fill value; otherwise they are deleted,
	// unless the array keeps them anyway.
	KeepFill bool
	// Shared says that others may make the array grow meanwhile, so that a chunk which
	// reaches beyond it is read even if all its elements are written, and is never
	// deleted: they would take it for one that nobody has.
	Shared bool
	// FirstAlone puts the first chunk before all others.
	FirstAlone bool
}

// Write stores the elements of src, which is as [selection.Resolved.Place] shows it. A
// chunk that the selection covers is not read. One that is not stored is not touched
// where src is the fill value alone.
//
// Several writers of one chunk take turns in this process. Where the store has
// conditional writes, so do those of several processes, as far as they write parts of
// chunks; elsewhere the last one wins.
func (a *Array) Write(ctx context.Context, sel *selection.Resolved, src strided.View, how Writing) error {
	if sel.Len() == 0 {
		return ctx.Err()
	}
	plan := selection.NewPlan(sel, a.Grid)
	r := a.newRun(sel.Touched(a.Grid), sel.Len())
	next := func(w *writer) bool { return plan.Next(w.Part) }
	write := func(ctx context.Context, w *writer) error { return w.fail(w.write(ctx, src)) }
	if a.blanks(plan, src, how) {
		return r.blank(ctx, plan, sel.Touched(a.Grid), how, write)
	}
	if n := min(plan.Chunks(), sel.Len()); n > MostVisited {
		return fmt.Errorf("%w: %d chunks would be stored, at most %d are at a time: select a part", ErrLimit, n, int64(MostVisited))
	}
	if how.FirstAlone {
		if w := r.newWriter(how); next(w) {
			if err := write(ctx, w); err != nil {
				return err
			}
		}
	}
	return each(ctx, r.workers, next, func() *writer { return r.newWriter(how) }, write)
}

// writer is a worker that changes chunks.
type writer struct {
	*worker
	Writing
	on store.Condition // what has to hold of the stored chunk that was read; the zero Condition where none was
}

func (r *run) newWriter(how Writing) *writer {
	how.KeepFill = how.KeepFill || r.KeepFill
	return &writer{worker: newWorker(r), Writing: how}
}

// writeTries is how often a part of a chunk is written anew because others changed the
// chunk meanwhile.
const writeTries = 256

func (w *writer) write(ctx context.Context, src strided.View) error {
	n, err := w.begin()
	if w.Chain.Divided() {
		return w.writeDivided(ctx, src)
	}
	w.Into(src)
	whole := w.Covers() && !(w.Shared && w.Cell.IsBoundary())
	if err != nil || w.overwrites(n, whole) {
		return w.overwrite(ctx, n, err)
	}
	if !whole && w.Valid == nil {
		if noted, err := w.rehearse(ctx, n); noted || err != nil {
			return err
		}
	}
	if !whole || w.Picks != nil || w.Cell.IsBoundary() {
		return w.holding(ctx, w.writeWeight(n, whole), func() error {
			return w.again(func() error { return w.change(ctx, n, whole) })
		})
	}
	weight, err := w.bytes.Acquire(ctx, w.writeWeight(n, whole))
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.unlock()
	w.on = store.Condition{}
	return w.put(ctx, w.Placed, n)
}

// leastRehearsed is the bytes of a decoded chunk from which on a dry run does not read it
// to change a part of it. A shorter one costs hardly more to read than to ask for.
const leastRehearsed = 1 << 20

// rehearse notes in a dry run that the stored chunk, of n bytes, is changed in part,
// without reading it. It returns false where the chunk is to be changed as usual.
func (w *writer) rehearse(ctx context.Context, n int64) (noted bool, err error) {
	if n < leastRehearsed {
		return false, nil
	}
	s, dry := rehearsal.Of(w.Store)
	if !dry {
		return false, nil
	}
	coded := n
	if w.Chain.Plain() {
		coded = 0
	}
	return s.Rework(ctx, w.key, coded)
}

// holding does something with the chunk in its turn, while so many bytes of the budget
// are held for it. Where its elements differ in length they have room that is made larger
// until they fit: from the start, for who waits for more while it holds some keeps others
// from coming to an end.
func (w *writer) holding(ctx context.Context, weight int64, do func() error) error {
	if !w.Chain.Varies() {
		return w.holdingJust(ctx, weight, do)
	}
	defer func() { w.text = 0 }()
	for w.text = min(w.MaxChunk, firstText); ; w.text = min(w.MaxChunk, 2*w.text) {
		// Its elements are decoded, and encoded again with those that are new.
		err := w.holdingJust(ctx, weight+2*w.Chain.TextWeight(w.text), do)
		if !errors.Is(err, codec.ErrRoom) || w.text == w.MaxChunk {
			return err
		}
	}
}

// firstText is how many bytes the elements of a chunk that is changed have room for at
// first, if they differ in length.
const firstText = 1 << 20

func (w *writer) holdingJust(ctx context.Context, weight int64, do func() error) error {
	weight, err := w.bytes.Acquire(ctx, weight)
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.unlock()
	return do()
}

// again does something until no other writer of the chunk comes first. While the array
// grows, all is planned anew instead.
func (w *writer) again(do func() error) (err error) {
	for range writeTries {
		if err = do(); !errors.Is(err, store.ErrConflict) || w.Valid != nil {
			break
		}
	}
	return err
}

// change writes the part into the chunk as it is.
func (w *writer) change(ctx context.Context, n int64, whole bool) error {
	buffer, err := w.load(ctx, n, !whole)
	defer buffer.Put()
	if err != nil {
		return err
	}
	w.Scatter()
	return w.putDecoded(ctx, n)
}

// writeWeight returns the bytes that writing a chunk takes besides the caller's memory.
func (w *writer) writeWeight(n int64, whole bool) int64 {
	weight := int64(0)
	if _, inPlace := w.Placed.Bytes(); !whole || !inPlace || w.Picks != nil || w.Cell.IsBoundary() {
		weight = n
	}
	if !w.Chain.Plain() {
		weight += n * int64(1+w.Chain.Buffers())
	}
	if w.Chain.Varies() {
		weight += 2 * w.Chain.TextWeight(w.Placed.ElementBytes()) // in a row, and encoded
	}
	return weight
}

// load makes w.Decoded show the chunk as it is, or nothing but fill value where it is not
// to be read or not stored.
func (w *writer) load(ctx context.Context, n int64, read bool) (*budget.Buffer, error) {
	w.on = store.Condition{}
	if read && w.overlapsValid() {
		found, buffer, err := w.decode(ctx, n, nil)
		if err != nil {
			return nil, err
		}
		w.on = store.IfAbsent()
		if found {
			w.on = store.IfVersion(w.info.Version)
			w.clearTail()
			return buffer, nil
		}
	}
	buffer := budget.Get(n)
	w.Show(buffer.Bytes(n), w.Heap.New())
	strided.FillBytes(w.Decoded.Data, w.Fill)
	return buffer, nil
}

// overlapsValid reports whether the chunk holds elements of the published array.
func (w *writer) overlapsValid() bool {
	for i, n := range w.Valid {
		if w.Cell.Start[i] >= n {
			return false
		}
	}
	return true
}

// clearTail sets what the decoded chunk holds beyond the published array to the fill
// value, and reports whether anything else was there. Without a shape that is valid
// nothing is beyond it.
func (w *writer) clearTail() bool {
	if w.Valid == nil {
		return false
	}
	keep := make(grid.Box, len(w.Valid))
	inside := true
	for i, start := range w.Cell.Start {
		keep[i] = grid.Interval{Stop: min(w.Cell.Encoded[i], w.Valid[i]-start)}
		inside = inside && keep[i].Stop == w.Cell.Encoded[i]
	}
	if inside {
		return false
	}
	changed := false
	for beyond := range grid.BoxOf(w.Cell.Encoded).Subtract(keep) {
		if tail := w.Decoded.Sub(beyond); !tail.AllEqual(w.Fill) {
			strided.Fill(tail, w.Fill)
			changed = true
		}
	}
	return changed
}

// put stores the elements that v shows as the chunk, n bytes decoded.
func (w *writer) put(ctx context.Context, v strided.View, n int64) error {
	return w.putView(ctx, v, n, false)
}

// putDecoded stores the decoded chunk, n bytes. Its elements must not be used any more:
// where they differ in length, their memory serves the last steps of encoding.
func (w *writer) putDecoded(ctx context.Context, n int64) error {
	return w.putView(ctx, w.Decoded, n, true)
}

// putView is put of elements that nobody uses again if last is set.
func (w *writer) putView(ctx context.Context, v strided.View, n int64, last bool) error {
	if w.deletes() && v.AllEqual(w.Fill) {
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	if w.Chain.Plain() {
		return w.putPlain(ctx, v, n)
	}
	if w.Chain.Divided() {
		return w.putDivided(ctx, v, n)
	}
	w.cores.Enter()
	value, buffer, err := w.encoded(ctx, v, n, last)
	w.cores.Leave()
	defer buffer.Put()
	if err != nil {
		return err
	}
	return w.store(ctx, value)
}

// encoded returns the encoded form of the chunk, n bytes decoded, and the buffer that it
// is in; see [codec.Chain.EncodeNew]. The caller holds a core.
func (w *worker) encoded(ctx context.Context, v strided.View, n int64, last bool) ([]byte, *budget.Buffer, error) {
	start := observe.Start(w.Observer)
	value, buffer, err := w.Chain.EncodeNew(v, last)
	observe.Done(ctx, w.Observer, observe.Encode, w.key, n, start, err)
	return value, buffer, err
}

// putPlain stores a chunk that is not encoded, from where it is if its elements stand in
// C order.
func (w *writer) putPlain(ctx context.Context, v strided.View, n int64) error {
	data, ok := v.Bytes()
	if !ok {
		buffer := budget.Get(n)
		defer buffer.Put()
		data = buffer.Bytes(n)
		strided.Copy(strided.Contiguous(data, v.Shape, v.Size), v)
	}
	return w.store(ctx, data)
}

// store puts the bytes of the chunk, if the chunk that was read is still there and the
// store can tell.
func (w *writer) store(ctx context.Context, value []byte) error {
	if w.on != (store.Condition{}) {
		err := store.BatchPutIf(ctx, w.Batch, w.key, value, w.on)
		if !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	return w.Batch.Put(ctx, w.key, value)
}

// remove deletes the chunk, if the one that was read is still there and the store can
// tell. It is [store.ErrUnsupported] where a chunk of fill values has to be stored
// instead.
func (w *writer) remove(ctx context.Context) error {
	if w.on.Absent() {
		return nil // and whoever writes it meanwhile does so after us
	}
	if v := w.on.Version(); !v.IsZero() {
		err := store.BatchDeleteIf(ctx, w.Batch, w.key, v)
		if _, conditional := store.As[store.ConditionalWriter](w.Store); conditional || !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	return w.Batch.Delete(ctx, w.key)
}
