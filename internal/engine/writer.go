// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Write stores the elements of src, a view that package placement made. It does
// not read chunks that the selection covers. If src holds only the fill value, it does
// not create chunks.
//
// Writers of one chunk take turns in this process. If the store has conditional writes,
// writers of parts of one chunk in other processes retry, and no change is lost.
// Otherwise the last writer wins.
func (a *Array) Write(ctx context.Context, sel *subset.Elements, src strided.View, how Writing) error {
	if sel.Len() == 0 {
		return ctx.Err()
	}
	plan := subset.NewPlan((*subset.Elements)(sel), a.Grid)
	r := a.newRun(sel.Touched(a.Grid), sel.Len())
	next := func(w *writer) bool { return plan.Next(w.Visit) }
	write := func(ctx context.Context, w *writer) error { return w.fail(w.write(ctx, src)) }
	if a.onlyFills(plan, src, how) {
		return r.fillStored(ctx, plan, sel.Touched(a.Grid), how, write)
	}
	if n := min(plan.Chunks(), sel.Len()); n > MostVisited {
		return fmt.Errorf("%w: the write would store %s, and one call stores at most %d: select a part", ErrLimit, quantity.Count(n, "chunks"), int64(MostVisited))
	}
	if how.FirstAlone {
		// All appends that were planned on one document store this chunk first. Only one
		// of their conditional writes succeeds, before the others store more.
		if w := r.newWriter(how); next(w) {
			if err := write(ctx, w); err != nil {
				return err
			}
		}
	}
	return each(ctx, r.workers, next, func() *writer { return r.newWriter(how) }, write)
}

func (w *writer) write(ctx context.Context, src strided.View) error {
	n, err := w.begin()
	if w.Chain.Divided() {
		return w.writeDivided(ctx, src)
	}
	w.Into(src)
	// A boundary chunk may have elements of an append in flight, so it is read even if
	// the selection covers it.
	whole := w.Covers() && !(w.Shared && w.Cell.IsBoundary())
	if err != nil || w.overwrites(n, whole) {
		return w.overwrite(ctx, n, err)
	}
	if !whole && w.Valid == nil {
		// Reading large chunks only to count them would make a dry run slow.
		if noted, err := w.rehearse(ctx, n); noted || err != nil {
			return err
		}
	}
	if !whole || w.Picks != nil || w.Cell.IsBoundary() {
		return w.holdGrowing(ctx, w.writeWeight(n, whole), func() error {
			return w.retry(func() error { return w.change(ctx, n, whole) })
		})
	}
	return w.hold(ctx, w.writeWeight(n, whole), func(int64) error {
		w.condition = store.Condition{} // the whole chunk is replaced; the last writer wins
		return w.put(ctx, w.Target, n)
	})
}

// leastRehearsed is the size in decoded bytes from which a dry run does not read a chunk.
// Reading a shorter one costs hardly more than checking that it exists.
const leastRehearsed = 1 << 20

// rehearse records in a dry run that a part of the stored chunk, of n bytes, changes. It
// returns false if the caller has to change the chunk as usual.
func (w *writer) rehearse(ctx context.Context, n int64) (noted bool, err error) {
	if n < leastRehearsed {
		return false, nil
	}
	s, dry := rehearsal.Of(w.Store)
	if !dry {
		return false, nil
	}
	w.beginRecord(ctx, strided.View{}) // asks what it would ask
	w.record = nil
	coded := n
	if w.Chain.Plain() {
		coded = 0
	}
	return s.Rework(ctx, w.key, coded)
}

// Writing configures a write.
type Writing struct {
	Batch store.Batch
	// Valid is the published shape while the array grows. Elements beyond it count as
	// fill value. If Valid is nil, elements beyond the array stay.
	Valid []int64
	// KeepFill stores chunks that hold only the fill value. Otherwise they are deleted,
	// unless the array keeps them.
	KeepFill bool
	// Shared means that a concurrent writer may grow the array, and may already have
	// stored elements in chunks that reach beyond it. Such chunks are always read before
	// they are written, and never deleted.
	Shared bool
	// FirstAlone stores the first chunk before all others.
	FirstAlone bool
	// Plain says that the write publishes nothing. Then it deletes no chunk in a store
	// without locks; see remove.
	Plain bool
}

// writer is a worker that changes chunks.
type writer struct {
	*worker
	Writing
	condition store.Condition // of the stored chunk that was read; zero if none was
	from      store.Version   // of which inner chunks stay; zero if none do
}

func (r *run) newWriter(how Writing) *writer {
	how.KeepFill = how.KeepFill || r.KeepFill
	return &writer{worker: newWorker(r), Writing: how}
}

// writeTries is the number of attempts to write a part of a chunk that concurrent writers
// change.
const writeTries = 256

// holdGrowing calls do with the lock of the chunk and weight bytes of the budget. If
// elements of variable length do not fit, it calls do again with twice the room. It
// returns all bytes in between: waiting for more while holding some could deadlock with
// other workers.
func (w *writer) holdGrowing(ctx context.Context, weight int64, do func() error) error {
	if !w.Chain.Varies() {
		return w.hold(ctx, weight, func(int64) error { return do() })
	}
	defer func() { w.text = 0 }()
	for w.text = min(w.MaxChunk, firstText); ; w.text = min(w.MaxChunk, 2*w.text) {
		// The elements are in memory twice: decoded, and encoded again.
		err := w.hold(ctx, weight+2*w.Chain.TextWeight(w.text), func(int64) error { return do() })
		if !errors.Is(err, coding.ErrRoom) || w.text == w.MaxChunk {
			return err
		}
	}
}

// firstText is the first room, in bytes, for elements of variable length while a chunk is
// changed.
const firstText = 1 << 20

// hold calls do once with the lock of the chunk and weight bytes of the budget, or
// as many as the budget has.
func (w *worker) hold(ctx context.Context, weight int64, do func(weight int64) error) error {
	// Take the bytes before the lock: a worker that waits for bytes must not keep writers
	// of the chunk waiting.
	weight, err := w.bytes.Acquire(ctx, weight)
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.Release(1)
	return do(weight)
}

// retry calls do until it returns no [store.ErrConflict]. While the array grows, it calls
// do only once: the conflict is with another change of the array, so the caller has to
// plan again.
func (w *writer) retry(do func() error) (err error) {
	for range writeTries {
		if err = do(); !errors.Is(err, store.ErrConflict) || w.Valid != nil {
			break
		}
	}
	return err
}

// writeWeight returns the bytes that writing a chunk takes besides the caller's memory.
func (w *writer) writeWeight(n int64, whole bool) int64 {
	weight := int64(0)
	if _, inPlace := w.Target.Bytes(); !whole || !inPlace || w.Picks != nil || w.Cell.IsBoundary() {
		weight = n
	}
	if !w.Chain.Plain() {
		weight += n * int64(1+w.Chain.Buffers())
	}
	if w.Chain.Varies() {
		weight += 2 * w.Chain.TextWeight(w.Target.ElementBytes()) // decoded and encoded
	}
	return weight
}

// load decodes the stored chunk to w.Decoded. If the chunk is not stored, or read is
// false, w.Decoded holds the fill value.
func (w *writer) load(ctx context.Context, n int64, read bool) (*budget.Buffer, error) {
	w.condition = store.Condition{}
	if read && w.overlapsValid() {
		found, buffer, err := w.decode(ctx, n, nil)
		if err != nil {
			return nil, err
		}
		// If a concurrent writer creates or replaces the chunk from here on, the
		// conditional write fails, and the part is merged into the new version. A driver
		// may repeat the write: if the chunk has the bytes again with which the part was
		// merged, the result is still right.
		w.condition = store.IfAbsent()
		if found {
			w.condition = store.IfVersion(w.info.Version)
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

// clearTail sets the elements of the decoded chunk beyond the shape Valid to the fill
// value, and reports whether any was different. A crashed writer may have left such
// elements, or a crash while the array shrank.
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
		return false // no element lies beyond Valid
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

// put stores the elements of v as the chunk, n bytes decoded.
func (w *writer) put(ctx context.Context, v strided.View, n int64) error {
	return w.putView(ctx, v, n, false)
}

// putDecoded stores w.Decoded, n bytes. The caller must not use its elements again: their
// heap is released as soon as they are encoded.
func (w *writer) putDecoded(ctx context.Context, n int64) error {
	return w.putView(ctx, w.Decoded, n, true)
}

// putView is put. If last is set, the elements of v are not used again.
func (w *writer) putView(ctx context.Context, v strided.View, n int64, last bool) error {
	// Readers treat a chunk that is not stored as fill values, so delete it.
	if w.deletesFill() && v.AllEqual(w.Fill) {
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	if w.Chain.Divided() {
		return w.putDivided(ctx, v, n)
	}
	if w.Chain.Plain() {
		w.beginRecord(ctx, v)
		return w.putPlain(ctx, v, n)
	}
	w.cores.Enter()
	w.beginRecord(ctx, v)
	value, buffer, err := w.encoded(ctx, v, n, last)
	// Free the core during the request to the store.
	w.cores.Leave()
	defer buffer.Put()
	if err != nil {
		return err
	}
	return w.store(ctx, value)
}

// encoded returns the encoded form of the chunk, n bytes decoded, and its buffer; see
// [coding.Chain.EncodeNew]. The caller holds a core.
func (w *worker) encoded(ctx context.Context, v strided.View, n int64, last bool) ([]byte, strided.Loan, error) {
	start := coding.Start(w.Observer)
	value, buffer, err := w.Chain.EncodeNew(v, last)
	coding.Done(ctx, w.Observer, observe.Encode, w.key, n, start, err)
	return value, buffer, err
}

// putPlain stores a chunk that is not encoded, without a copy if its elements are in C
// order.
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

// store stores the bytes of the chunk. It fails with [store.ErrConflict] if the store has
// conditional writes and a concurrent writer replaced the chunk after it was read.
func (w *writer) store(ctx context.Context, value []byte) error {
	// In a store without conditional writes, the last writer wins.
	if w.condition != (store.Condition{}) {
		err := w.make(ctx, store.PutIf(w.key, value, w.condition))
		if !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	return w.make(ctx, store.Put(w.key, value))
}

// remove deletes the chunk. It fails with [store.ErrConflict] if the store has
// conditional deletes and a concurrent writer replaced the chunk. It returns
// [store.ErrUnsupported] if the caller has to store the fill value instead.
func (w *writer) remove(ctx context.Context) error {
	if w.condition.Absent() {
		return nil // nothing is stored; a concurrent write counts as later
	}
	// Suppose that this call deleted the chunk. An append that was planned on an older
	// document stores its chunk only if the key is free, and learns afterwards that its
	// document is stale. So the deletion would let that append store its chunk.
	if w.Plain && w.Fenced {
		_, err := store.Stat(ctx, w.Store, w.key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return cmp.Or(err, error(store.ErrUnsupported))
	}
	if v := w.condition.Version(); !v.IsZero() {
		_, err := w.Batch.Write(ctx, store.DeleteIf(w.key, v))
		if conditional := store.Can(w.Store, store.OpPutIf); conditional || !errors.Is(err, store.ErrUnsupported) {
			// A plain delete could remove the chunk of a concurrent writer. So a store
			// with conditional writes but without conditional deletes gets a chunk of
			// fill values.
			return err
		}
	}
	_, err := w.Batch.Write(ctx, store.Delete(w.key))
	return err
}

// deletesFill reports whether a chunk that holds only the fill value is deleted.
func (w *writer) deletesFill() bool { return !w.KeepFill && !(w.Shared && w.Cell.IsBoundary()) }

// change reads the chunk, sets the part, and stores the chunk.
func (w *writer) change(ctx context.Context, n int64, whole bool) error {
	buffer, err := w.load(ctx, n, !whole)
	defer buffer.Put()
	if err != nil {
		return err
	}
	w.Scatter()
	return w.putDecoded(ctx, n)
}

// If a chunk is not encoded and exceeds the limit or half of the budget, a part of it is
// written without the rest. The store must splice or patch, so that readers see the old
// chunk or the new one.

// overwrites reports whether to write the part of a chunk of n bytes without the rest.
func (w *writer) overwrites(n int64, whole bool) bool {
	return !whole && n > w.budgetFor(n)/2 && w.mayOverwrite(ErrLimit) == nil
}

// mayOverwrite returns nil if the part can be written without the rest of the chunk.
// Otherwise it returns tooLarge with the reason and advice.
func (w *writer) mayOverwrite(tooLarge error) error {
	e := w.asStored(coding.Edit{})
	switch {
	case !w.Chain.Elementwise():
		return fmt.Errorf("%w; its codecs encode only whole chunks: raise the limit, or cut the array into shorter chunks", tooLarge)
	case !e.Splices && !e.Patches:
		return fmt.Errorf("%w; this store cannot change a part of a value: raise the limit", tooLarge)
	case w.Valid != nil:
		return fmt.Errorf("%w; while the array grows, chunks are written as a whole: raise the limit", tooLarge)
	case w.Picks != nil:
		return fmt.Errorf("%w; only boxes of such a chunk can be written, not lists, points or fields: select boxes, or raise the limit", tooLarge)
	case w.Part.Len() > max(w.MaxChunk, int64(len(w.Target.Data)))/int64(w.Size):
		return fmt.Errorf("%w, and so has the part to fill; fill a smaller part, or raise the limit", tooLarge)
	}
	return nil
}

// overwrite writes the part of a chunk of n bytes without the rest. If the chunk is
// absent or corrupt, it writes the whole chunk, unless that is too large.
func (w *writer) overwrite(ctx context.Context, n int64, tooLarge error) error {
	if tooLarge != nil {
		if err := w.mayOverwrite(tooLarge); err != nil {
			return err
		}
	}
	err := w.hold(ctx, 2*w.Part.Len()*int64(w.Size), func(int64) error {
		return w.retry(func() error { return w.overwriteOnce(ctx) })
	})
	absent := errors.Is(err, fs.ErrNotExist)
	switch {
	case tooLarge == nil && (absent || errors.Is(err, codec.ErrCorrupt)):
		return w.holdGrowing(ctx, w.writeWeight(n, false), func() error {
			return w.retry(func() error { return w.change(ctx, n, false) })
		})
	case !absent:
		return err
	case w.deletesFill() && w.Target.AllEqual(w.Fill):
		return nil // nothing is stored; a concurrent write counts as later
	}
	return fmt.Errorf("%w; it is not stored yet, and only parts of stored chunks can be written: raise the limit", tooLarge)
}

// overwriteOnce writes the part into the present version of the chunk.
func (w *writer) overwriteOnce(ctx context.Context) error {
	e := w.asStored(coding.Edit{Part: w.Part, Values: w.Target})
	e.KeepFill = !w.deletesFill()
	src := w.source(w.key)
	out, err := w.Chain.Overwrite(ctx, w.work(span), e, src)
	_, closeErr := src.close()
	if err != nil {
		return err
	}
	defer out.Release()
	if closeErr != nil {
		return closeErr
	}
	// The rest of the chunk comes from this version. If a concurrent writer replaces it,
	// the write fails and is tried again.
	w.info, w.condition = out.From, store.IfVersion(out.From.Version)
	if out.Empty {
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	}
	if out.Patches != nil {
		_, err := w.Batch.Write(ctx, store.PatchValue(w.key, out.From.Version, out.Patches))
		return err
	}
	_, err = w.Batch.Write(ctx, store.Splice(w.key, out.From.Version, out.Fragments))
	return err
}

// onlyFills reports whether a write changes only stored chunks, because it writes only
// the fill value. A listing finds these even if the selection touches too many chunks
// to visit.
func (a *Array) onlyFills(plan strided.Plan, src strided.View, how Writing) bool {
	switch {
	case how.KeepFill || a.KeepFill: // every chunk is stored
	case how.Valid != nil: // beyond Valid, chunks may hold other elements
	case !plan.Seeks() || plan.Chunks() <= fewCells:
	default:
		elem, one := src.Repeats()
		return one && len(elem) == len(a.Fill) && strided.AllEqual(elem, a.Fill)
	}
	return false
}

// fillStored writes the fill value to the selected elements of the stored chunks in the
// box. Chunks that a concurrent writer stores during the call count as written later.
func (r *run) fillStored(
	ctx context.Context, plan strided.Plan, cells grid.Box, how Writing, write func(context.Context, *writer) error,
) error {
	// Seek skips stored chunks that the selection does not touch.
	return eachIndex(ctx, r.workers, r.Stored(ctx, cells),
		func(w *writer, index []int64) bool { return plan.Seek(index, w.Visit) },
		func() *writer { return r.newWriter(how) }, write)
}

// turns has the turns of all chunks, indexed by a hash of the key. A turn is a lock that
// excludes other writers of one chunk within this process. In contrast to a mutex, the
// wait for it ends with a context. Writers of different chunks rarely share one. A turn
// is made when it is first needed.
var (
	turns [8192]atomic.Pointer[semaphore.Weighted]
	seed  = maphash.MakeSeed()
)

func turnOf(key store.Key) *semaphore.Weighted {
	at := &turns[maphash.String(seed, key.String())%uint64(len(turns))]
	if t := at.Load(); t != nil {
		return t
	}
	// Another goroutine may store a turn first. Then use that one.
	at.CompareAndSwap(nil, semaphore.NewWeighted(1))
	return at.Load()
}

// lock waits for the turn of the chunk as long as the [store.Locking] of the context
// permits. Unless it fails, the caller releases the turn.
func (w *worker) lock(ctx context.Context) (*semaphore.Weighted, error) {
	t := turnOf(w.key)
	if t.TryAcquire(1) {
		return t, nil
	}
	await := func(ctx context.Context) error { return t.Acquire(ctx, 1) }
	if store.LockingOf(ctx).Timeout < 0 {
		// Such a call does not wait for locks. But keys share turns, so the holder may be
		// a writer of another chunk, which ends soon.
		return t, await(ctx)
	}
	return t, AwaitTurn(ctx, w.key.String(), await)
}

// AwaitTurn calls acquire, which waits for another call of this process. It applies the
// timeout and the messages of the [store.Locking] of ctx. name is what the other call
// holds.
func AwaitTurn(ctx context.Context, name string, acquire func(context.Context) error) error {
	lock := func(ctx context.Context) (func() error, error) { return nil, acquire(ctx) }
	_, err := store.AwaitLock(ctx, name, lock, func() store.Holder {
		h := driver.ThisProcess("another call of this program")
		h.Since = time.Time{} // unknown
		return h
	})
	return err
}
