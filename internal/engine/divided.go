package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
)

// Chunks that consist of inner chunks (shards) are read and written part by part: the
// codec says which bytes it needs.

// What a request costs, in bytes that could be read instead: in a store whose values can
// be opened next to nothing. A far one answers a request in the time in which about
// farCost bytes come (20 ms, at 200 MB a second), but meanwhile others are under way.
const (
	farCost  = 4 << 20
	mostGap  = 1 << 20
	leastGap = 64 << 10
	nearGap  = 16 << 10
	farSmall = 1 << 20
	farGuess = 64 << 10
	span     = 16 << 20

	fewShards  = 12        // have room in the budget, however long they are,
	leastRange = 512 << 10 // bytes of each, at least

	// nearBlock are read and moved to their place at a time: what the second cache of a
	// processor's core holds easily.
	nearBlock = 256 << 10
)

// block returns the bytes of a chunk that are read at a time, 0 for all.
func (a *Array) block() int64 {
	if a.Block == 0 && a.near() {
		return nearBlock
	}
	return a.Block
}

// crew returns what a codec may use that was granted so many bytes.
func (w *worker) crew(bytes int64) *coding.Work {
	work := &coding.Work{Cores: w.cores, Bytes: bytes, Requests: w.concurrency(), Span: span, Small: farSmall, Guess: farGuess, Observer: w.Observer, Key: w.key}
	if w.Chain.Varies() {
		work.Memory = w.bytes
	}
	work.Gap = min(mostGap, max(leastGap, farCost/int64(work.Requests)))
	if work.Block = w.block(); w.near() {
		work.Gap, work.Small, work.Guess = nearGap, nearGap, 0
	}
	if w.Gap != 0 {
		work.Gap = max(0, w.Gap)
		work.Small, work.Guess = min(work.Small, work.Gap), min(work.Guess, work.Gap)
	}
	if w.Span != 0 {
		work.Span = w.Span
	}
	return work
}

// readDivided reads the part of a chunk of inner chunks to its place.
func (w *worker) readDivided(ctx context.Context, skipFill bool) error {
	found, err := w.decodePart(ctx, coding.Extract{Shape: w.Cell.Encoded, Part: w.Part.Part, Into: w.Placed, Whole: w.IsWhole(), Zeroed: skipFill})
	return w.orFill(found, err, skipFill)
}

// decodePart decodes a part of the chunk, or where that does not decode, of one that is
// put aside. It is false where there is none.
func (w *worker) decodePart(ctx context.Context, p coding.Extract) (bool, error) {
	weight, _, err := w.reserve(ctx, func() int64 { return min(w.Chain.Fetched(p), w.most) })
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	return w.decodePartIn(ctx, weight, p)
}

// decodePartIn is decodePart within so many bytes.
func (w *worker) decodePartIn(ctx context.Context, weight int64, p coding.Extract) (bool, error) {
	found, err := w.decodePartOf(ctx, w.key, weight, p)
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	info := w.info
	p.Zeroed = false
	moved, asideErr := w.decodePartOf(ctx, w.aside(), weight, p)
	w.info = info
	if asideErr != nil || !moved {
		return false, err
	}
	return true, nil
}

func (w *worker) decodePartOf(ctx context.Context, key store.Key, weight int64, p coding.Extract) (bool, error) {
	src := w.source(key)
	err := w.Chain.DecodePart(ctx, w.crew(weight), p, src)
	info, closeErr := src.close()
	w.info = info
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	w.examine(info)
	return true, closeErr
}

// decodeDivided is decodeStored of a chunk of inner chunks.
func (w *worker) decodeDivided(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	heap := w.heapFor(room)
	room, buffer := roomFor(n, room)
	w.Show(room, heap)
	p := coding.Extract{Shape: w.Cell.Encoded, Part: everything(w.Cell.Encoded), Into: w.Decoded, Whole: true}
	found, err := w.decodePartOf(ctx, w.key, n, p)
	if err == nil && room == nil && heap.Full() {
		err = fmt.Errorf("%w: the elements of a chunk of shape %v have more bytes than a chunk may have (Limits.Chunk)", ErrLimit, w.Cell.Encoded)
	}
	if err != nil || !found {
		buffer.Put()
		return false, nil, err
	}
	return true, buffer, nil
}

// everything returns the part that is all of a chunk.
func everything(shape []int64) strided.Part {
	p := strided.Part{Start: make([]int64, len(shape)), Step: make([]int64, len(shape)), Count: shape}
	for i := range p.Step {
		p.Step[i] = 1
	}
	return p
}

// edit changes the stored chunk as the codec sees fit. What others stored meanwhile is
// [store.ErrConflict] where the store can tell.
func (w *writer) edit(ctx context.Context, weight int64, e coding.Edit, read bool) error {
	out, err := w.encodePart(ctx, weight, w.asStored(e), read && w.overlapsValid())
	if err != nil {
		return err
	}
	defer out.Release()
	return w.storeEdited(ctx, out)
}

// asStored adds to an edit what the array and the store say. A batch may lack a power of
// its store, as one does that grows an array behind a fence.
func (w *writer) asStored(e coding.Edit) coding.Edit {
	e.Shape, e.KeepFill = w.Cell.Encoded, w.Array.KeepFill
	_, splicer := store.As[store.Splicer](w.Store)
	_, splices := w.Batch.(store.SplicingBatch)
	_, patcher := store.As[store.Patcher](w.Store)
	_, patches := w.Batch.(store.PatchingBatch)
	e.Splices, e.Patches = splicer && splices, patcher && patches
	return e
}

// encodePart makes the new form of the chunk, of what is stored or, where that does not
// decode, put aside.
func (w *writer) encodePart(ctx context.Context, weight int64, e coding.Edit, read bool) (*coding.Revision, error) {
	w.on = store.Condition{}
	if !read {
		return w.Chain.EncodePart(ctx, w.crew(weight), e, nil)
	}
	out, info, err := w.encodeOver(ctx, w.key, weight, e)
	if errors.Is(err, codec.ErrCorrupt) && info.Size > 0 {
		out, err = w.encodeAside(ctx, weight, e, info, err)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.on = store.IfAbsent()
		return w.Chain.EncodePart(ctx, w.crew(weight), e, nil)
	case err != nil:
		return nil, err
	}
	w.info, w.on = out.From, store.IfVersion(out.From.Version)
	return out, nil
}

// encodeAside makes the new form of a chunk, which is corrupt in the version of info, of
// the one that is put aside, if there is one.
func (w *writer) encodeAside(ctx context.Context, weight int64, e coding.Edit, info store.Info, corrupt error) (*coding.Revision, error) {
	e.Splices, e.Patches = false, false // the pieces would be of another key
	out, _, err := w.encodeOver(ctx, w.aside(), weight, e)
	if err != nil {
		return nil, corrupt
	}
	out.From = info
	return out, nil
}

// encodeOver makes the new form of the chunk at key, and tells which version of it was
// read.
func (w *writer) encodeOver(ctx context.Context, key store.Key, weight int64, e coding.Edit) (*coding.Revision, store.Info, error) {
	src := w.source(key)
	out, err := w.Chain.EncodePart(ctx, w.crew(weight), e, src)
	info, closeErr := src.close()
	if err == nil && closeErr != nil {
		out.Release()
		return nil, info, closeErr
	}
	return out, info, err
}

// storeEdited stores what became of the chunk.
func (w *writer) storeEdited(ctx context.Context, out *coding.Revision) error {
	switch {
	case out.Same:
		return nil
	case out.Empty && !w.KeepFill && !(w.Shared && w.Cell.IsBoundary()):
		if err := w.remove(ctx); !errors.Is(err, store.ErrUnsupported) {
			return err
		}
	case out.Patches != nil:
		return store.BatchPatch(ctx, w.Batch, w.key, w.info.Version, out.Patches)
	case out.Spliced():
		return store.BatchSplice(ctx, w.Batch, w.key, w.info.Version, out.Pieces)
	}
	if len(out.Pieces) == 1 {
		if data := out.Pieces[0].Data; data != nil {
			return w.store(ctx, data)
		}
	}
	b := budget.Get(out.Size)
	defer b.Put()
	b.B = out.AppendTo(b.B)
	return w.store(ctx, b.B)
}

// writeDivided stores the part of a chunk of inner chunks.
func (w *writer) writeDivided(ctx context.Context, src strided.View) error {
	w.Into(src)
	whole := w.Covers() && !(w.Shared && w.Cell.IsBoundary())
	e := coding.Edit{Part: w.Part.Part, Values: w.Placed, Keep: w.keep()}
	bytes := w.editWeight()
	if !whole {
		bytes = w.partWeight(e.Part)
	}
	weight, err := w.bytes.Acquire(ctx, bytes)
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.unlock()
	return w.again(func() error { return w.edit(ctx, weight, e, !whole) })
}

// editWeight returns about how many bytes it takes to make a new version of the chunk.
func (w *writer) editWeight() int64 {
	p := coding.Extract{Shape: w.Cell.Encoded, Part: everything(w.Cell.Encoded)}
	return 2 * w.Chain.Weight(p, cap(w.cores))
}

// smallEdit is about how many bytes it takes to change a shard that is read whole
// although the store splices, because it is small.
const smallEdit = 4 << 20

// partWeight is editWeight of a change of a part: where the store splices, the rest is
// not read.
func (w *writer) partWeight(part strided.Part) int64 {
	all := w.editWeight()
	if !w.asStored(coding.Edit{}).Splices {
		return all
	}
	return min(all, smallEdit+2*w.Chain.Weight(coding.Extract{Shape: w.Cell.Encoded, Part: part}, cap(w.cores)))
}

// keep returns what stays of a stored chunk while the array grows, nil where everything
// does.
func (w *writer) keep() grid.Box {
	if w.Valid == nil {
		return nil
	}
	keep := make(grid.Box, len(w.Valid))
	for i, start := range w.Cell.Start {
		keep[i].Stop = max(0, min(w.Cell.Encoded[i], w.Valid[i]-start))
	}
	return keep
}

// putDivided stores all elements of a chunk of inner chunks.
func (w *writer) putDivided(ctx context.Context, v strided.View, n int64) error {
	e := coding.Edit{Shape: w.Cell.Encoded, Part: everything(w.Cell.Encoded), Values: v, KeepFill: w.Array.KeepFill}
	out, err := w.Chain.EncodePart(ctx, w.crew(n), e, nil)
	if err != nil {
		return err
	}
	defer out.Release()
	out.Empty = false // what is only fill value was removed before, or is to be stored
	return w.storeEdited(ctx, out)
}

// keepOnly makes all of a chunk of inner chunks but what is valid the fill value. A chunk
// that is not stored is stored if it is claimed, and otherwise left alone.
func (w *writer) keepOnly(ctx context.Context, claim bool) error {
	weight, err := w.bytes.Acquire(ctx, w.editWeight())
	if err != nil {
		return err
	}
	defer w.bytes.Release(weight)
	turn, err := w.lock(ctx)
	if err != nil {
		return err
	}
	defer turn.unlock()
	e := coding.Edit{Keep: w.keep(), Anew: claim}
	if claim {
		return w.edit(ctx, weight, e, true)
	}
	e = w.asStored(e)
	out, info, err := w.encodeOver(ctx, w.key, weight, e)
	if errors.Is(err, codec.ErrCorrupt) && info.Size > 0 {
		out, err = w.encodeAside(ctx, weight, e, info, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer out.Release()
	w.info, w.on = out.From, store.IfVersion(out.From.Version)
	return w.storeEdited(ctx, out)
}
