// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Reading configures a read.
type Reading struct {
	// Zeroed means that the caller's block holds zeros.
	Zeroed bool
	// Since is the last time at which the caller checked the document. Chunks that were
	// written earlier fit the grid.
	Since time.Time
}

// Read fills dst, a view that package placement made, with the selected
// elements. Elements of chunks that are not stored get the fill value. After an error the
// contents of dst are undefined.
func (a *Array) Read(ctx context.Context, sel *subset.Elements, dst strided.View, how Reading) (Suspicion, error) {
	if sel.Len() == 0 {
		return Certain, ctx.Err()
	}
	plan := subset.NewPlan((*subset.Elements)(sel), a.Grid)
	r := a.newReading(sel.Touched(a.Grid), sel.Len())
	r.since = how.Since
	// If the fill value is zero, chunks that are not stored need no writes to a block of
	// zeros.
	skipFill := how.Zeroed && strided.AllEqual(a.Fill, []byte{0})
	err := each(ctx, r.workers,
		func(w *worker) bool { return plan.Next(w.Visit) },
		func() *worker { return newWorker(r) },
		func(ctx context.Context, w *worker) error {
			err := w.read(ctx, dst, skipFill)
			if err == nil && dst.Heap.Full() {
				err = fmt.Errorf("%w: the elements have more bytes than a block may have", coding.ErrRoom)
			}
			return w.fail(err)
		})
	return Suspicion(r.suspicion.Load()), err
}

// read reads the part of one chunk into dst.
func (w *worker) read(ctx context.Context, dst strided.View, skipFill bool) error {
	n, err := w.begin()
	w.Into(dst)
	if w.Chain.Divided() {
		found, err := w.decodePart(ctx, coding.Extract{Shape: w.Cell.Encoded, Part: w.Part, Into: w.Target, Whole: w.IsWhole(), Zeroed: skipFill})
		return w.fillMissing(found, err, skipFill)
	}
	if err != nil {
		return w.readHuge(ctx, err, skipFill)
	}
	var room []byte // the part's memory in dst, if it is a whole, contiguous chunk
	if data, ok := w.Target.Bytes(); ok && int64(len(data)) == n && w.IsWhole() && w.Chain.InOrder() {
		room = data
	}
	if room == nil && w.readsPart(n) {
		found, err := w.readPart(ctx)
		// If the part is corrupt, the chunk may still have its old shape. The whole
		// chunk, or the one that is set aside, decides.
		if !errors.Is(err, codec.ErrCorrupt) {
			return w.fillMissing(found, err, skipFill)
		}
	}
	found, err := w.tryAside(func() (bool, error) {
		if w.Chain.Plain() {
			return w.readPlain(ctx, n, room)
		}
		return w.readEncoded(ctx, n, room)
	})
	if found && err == nil {
		w.examine(w.info)
	}
	return w.fillMissing(found, err, skipFill)
}

// readPlain reads a chunk of n bytes that is not encoded into room. If room is nil, it
// reads only the part into its place.
func (w *worker) readPlain(ctx context.Context, n int64, room []byte) (bool, error) {
	weight := n
	if room != nil {
		weight = 0
	}
	weight, err := w.bytes.Acquire(ctx, weight)
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	found, buffer, err := w.decodePlain(ctx, n, room)
	defer buffer.Put()
	if found && err == nil && room == nil {
		w.Gather()
	}
	return found, err
}

// readEncoded is readPlain for an encoded chunk. In flight, the chunk takes memory only
// for its stored bytes. It takes memory for its elements once it has a core. So many
// chunks can be in flight while few are decoded.
func (w *worker) readEncoded(ctx context.Context, n int64, room []byte) (bool, error) {
	s, err := w.fetchWithin(ctx, n)
	defer s.release(w.bytes)
	if err != nil || s.data == nil {
		return false, err
	}
	w.cores.Enter()
	defer w.cores.Leave()
	if w.Chain.Varies() {
		return true, w.readText(ctx, n, room, s.data)
	}
	return true, w.decodeWithin(ctx, w.decodeWeight(n, room != nil), n, room, s.data)
}

// readText decodes a chunk whose elements differ in length. It retries with more memory
// until they fit.
func (w *worker) readText(ctx context.Context, n int64, room, src []byte) error {
	defer func() { w.text = 0 }()
	return w.Chain.Grow(src, func(text int64) error {
		w.text = text
		return w.decodeWithin(ctx, w.decodeWeight(n, room != nil)+w.Chain.TextWeight(text), n, room, src)
	})
}

// decodeWithin decodes the stored bytes of a chunk into room. If room is nil, it decodes
// only the part into its place. It takes weight bytes of the budget. The caller holds a
// core.
func (w *worker) decodeWithin(ctx context.Context, weight, n int64, room, src []byte) error {
	weight, err := w.bytes.AcquireMore(ctx, weight)
	if err != nil {
		return err
	}
	defer w.bytes.ReleaseMore(weight)
	w.within = room == nil
	buffer, err := w.decodeData(ctx, n, room, src)
	w.within = false
	defer buffer.Put()
	if room == nil {
		if err == nil {
			w.Gather()
		}
		w.Decoded.Heap.Release() // copied to the place of the part, or shared with it
	}
	return err
}

// readHuge reads a part of a chunk that is too large to decode, if the part can be read
// by itself or the chunk is not stored. Otherwise it returns tooLarge.
func (w *worker) readHuge(ctx context.Context, tooLarge error, skipFill bool) error {
	_, countable := checked.Product(append(slices.Clone(w.Cell.Encoded), int64(w.Size))...)
	if countable && w.canReadPart() && w.Part.Len() <= w.MaxChunk/partFactor/int64(w.Size) {
		found, err := w.readPart(ctx)
		return w.fillMissing(found, err, skipFill)
	}
	// A chunk that is not stored reads as fill values, regardless of its size.
	stored, err := store.Exists(ctx, w.Store, w.key)
	if err == nil && stored {
		err = tooLarge
	}
	return w.fillMissing(stored, err, skipFill)
}

// A part is read without the rest of its chunk if the chunk is large and the part small,
// or lies close together, or if the chunk is read in blocks.
const (
	largeChunk = 256 << 10 // smallest size of a large chunk, in bytes
	smallPart  = 8         // a small part has at most 1/smallPart of the chunk
	closePart  = 2         // a part that lies close together spans at most 1/closePart of it
	partFactor = 4         // largest number of bytes in memory for each byte of the part
	partSpan   = 4 << 20   // bytes in memory that are always permitted
)

// readsPart reports whether to read the part without the rest of a chunk of n bytes, or
// without holding all of it.
func (w *worker) readsPart(n int64) bool {
	if block := w.block(); block > 0 && w.Picks == nil {
		return n > block && w.canReadPart()
	}
	elements := n / int64(w.Size)
	return n >= largeChunk && w.canReadPart() &&
		(w.Part.Len() <= elements/smallPart || w.Chain.Hull(w.Cell.Encoded, w.Part) <= elements/closePart)
}

// canReadPart reports whether parts can be read without the rest. Fields of structs
// cannot.
func (w *worker) canReadPart() bool {
	return w.Chain.Partial() && (w.Picks == nil || w.Picks.Windows == nil)
}

// readPart reads the part of a chunk into its place, from one version of the chunk. It
// returns false if the chunk is not stored.
func (w *worker) readPart(ctx context.Context) (bool, error) {
	held := w.block()
	if held == 0 {
		held = max(partSpan, partFactor*w.Part.Len()*int64(w.Size))
	}
	weight, err := w.bytes.Acquire(ctx, held)
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	return w.decodePartOf(ctx, w.key, weight, coding.Extract{Shape: w.Cell.Encoded, Part: w.Part, Into: w.Target})
}

// decode decodes the chunk to w.Decoded. The elements are in room, which has exactly
// their size. If room is nil, they are in a buffer, which the caller puts back. found
// is false if the chunk is not stored.
func (w *worker) decode(ctx context.Context, n int64, room []byte) (found bool, buffer *budget.Buffer, err error) {
	found, err = w.tryAside(func() (found bool, err error) {
		found, buffer, err = w.decodeStored(ctx, n, room)
		return found, err
	})
	return found, buffer, err
}

// decodeStored is decode without the chunk that is set aside.
func (w *worker) decodeStored(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	if w.Chain.Plain() {
		return w.decodePlain(ctx, n, room)
	}
	if w.Chain.Divided() {
		return w.decodeDivided(ctx, n, room)
	}
	s, err := w.stored(ctx, n)
	defer s.buffer.Put()
	if err != nil || s.data == nil {
		return false, nil, err
	}
	w.cores.Enter()
	defer w.cores.Leave()
	buffer, err := w.decodeData(ctx, n, room, s.data)
	return err == nil, buffer, err
}

// decodeData decodes the stored bytes of the chunk. The caller holds a core, and puts
// back the buffer, which is nil after an error.
func (w *worker) decodeData(ctx context.Context, n int64, room, src []byte) (*budget.Buffer, error) {
	heap := w.heapFor(room)
	room, buffer := roomFor(n, room)
	w.Show(room, heap)
	start := coding.Start(w.Observer)
	var err error
	if w.within {
		err = w.Chain.DecodeWithin(&w.Decoded, w.Part, src)
	} else {
		err = w.Chain.Decode(&w.Decoded, src)
	}
	coding.Done(ctx, w.Observer, observe.Decode, w.key, n, start, err)
	if err != nil {
		buffer.Put()
		return nil, err
	}
	return buffer, nil
}

// decodePlain reads a chunk that is not encoded directly into room, or into a buffer if
// room is nil.
func (w *worker) decodePlain(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	room, buffer := roomFor(n, room)
	src, err := w.fetch(ctx, n, room[:0])
	if err == nil && src != nil && int64(len(src)) != n {
		err = fmt.Errorf("%w: the stored chunk has %s, but its shape %v needs %d", codec.ErrCorrupt, quantity.Count(len(src), "bytes"), w.Cell.Encoded, n)
	}
	if err != nil || src == nil {
		buffer.Put()
		return false, nil, err
	}
	if n > 0 && &src[0] != &room[0] {
		copy(room, src) // the store returned its own memory
	}
	w.Show(room, nil)
	return true, buffer, nil
}

// heapFor returns the heap for elements that are decoded into room: the heap of the
// destination, or a temporary one if room is nil. It returns nil if elements have a fixed
// width.
func (w *worker) heapFor(room []byte) *strided.Heap {
	switch {
	case w.Heap == nil:
		return nil
	case room == nil && w.text > 0:
		return w.Heap.New().Limited(w.text)
	case room == nil:
		return w.Heap.New().Limited(w.MaxChunk)
	case w.text > 0:
		return w.Target.Heap.Within(w.text)
	}
	return w.Target.Heap
}

// roomFor returns room. If room is nil, it returns n bytes of a new buffer.
func roomFor(n int64, room []byte) ([]byte, *budget.Buffer) {
	if room != nil {
		return room, nil
	}
	b := budget.Get(n)
	return b.Bytes(n), b
}

// block returns the number of bytes of a chunk to read at a time, or 0 for all.
func (a *Array) block() int64 {
	if a.Block == 0 && a.near() {
		return nearBlock
	}
	return a.Block
}

// work returns the resources of a codec call that holds the given bytes of the budget.
func (w *worker) work(bytes int64) *coding.Work {
	work := &coding.Work{Cores: w.cores, Bytes: bytes, Requests: w.concurrency(), Span: span, Small: farSmall, Guess: farGuess, Observer: w.Observer, Key: w.key}
	if w.record != nil {
		work.Notes = w.record
	}
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

// decodePart decodes a part of the chunk. If the chunk is corrupt, it decodes the one
// that is set aside. It returns false if the chunk is not stored.
func (w *worker) decodePart(ctx context.Context, p coding.Extract) (bool, error) {
	weight, _, err := w.reserve(ctx, func() int64 { return min(w.Chain.Fetched(p), w.most) })
	if err != nil {
		return false, err
	}
	defer w.bytes.Release(weight)
	return w.decodePartIn(ctx, weight, p)
}

// decodePartIn is decodePart with weight bytes of the budget.
func (w *worker) decodePartIn(ctx context.Context, weight int64, p coding.Extract) (bool, error) {
	found, err := w.decodePartOf(ctx, w.key, weight, p)
	if !errors.Is(err, codec.ErrCorrupt) {
		return found, err
	}
	info := w.info
	// Between steps 2 and 3 of a reshape, or after a crash there, the key has the shard
	// in its old shape.
	p.Zeroed = false // the failed attempt may have written to the place of the part
	moved, asideErr := w.decodePartOf(ctx, w.aside(), weight, p)
	w.info = info
	if asideErr != nil || !moved {
		return false, err
	}
	return true, nil
}

func (w *worker) decodePartOf(ctx context.Context, key store.Key, weight int64, p coding.Extract) (bool, error) {
	src := w.source(key)
	err := w.Chain.DecodePart(ctx, w.work(weight), p, src)
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

// decodeDivided is decodeStored for a shard.
func (w *worker) decodeDivided(ctx context.Context, n int64, room []byte) (bool, *budget.Buffer, error) {
	heap := w.heapFor(room)
	room, buffer := roomFor(n, room)
	w.Show(room, heap)
	p := coding.Extract{Shape: w.Cell.Encoded, Part: wholePart(w.Cell.Encoded), Into: w.Decoded, Whole: true}
	found, err := w.decodePartOf(ctx, w.key, n, p)
	if err == nil && room == nil && heap.Full() {
		err = fmt.Errorf("%w: the elements of a chunk of shape %v have more bytes than a chunk may have ("+remedy.LimitsChunk+")", ErrLimit, w.Cell.Encoded)
	}
	if err != nil || !found {
		buffer.Put()
		return false, nil, err
	}
	return true, buffer, nil
}

// Suspicion is the reason to believe that a concurrent writer changed the grid during a
// read. Then keys may hold chunks of another grid, and the read has to check the
// document.
type Suspicion int32

// examine raises the suspicion if the chunk was written after the caller checked the
// document, or at an unknown time.
func (w *worker) examine(info store.Info) {
	if info.Modified.IsZero() || info.Modified.After(w.since) {
		w.suspect(Newer)
	}
}

// suspect raises the suspicion of the read to at least s.
func (r *run) suspect(s Suspicion) {
	// A weaker suspicion of another worker must not replace a stronger one.
	for old := r.suspicion.Load(); old < int32(s); old = r.suspicion.Load() {
		r.suspicion.CompareAndSwap(old, int32(s))
	}
}

// fillMissing sets the part to the fill value if the chunk is not stored.
func (w *worker) fillMissing(found bool, err error, skipFill bool) error {
	if err != nil || found {
		return err
	}
	w.suspect(Missing)
	if w.RequireChunks {
		return ErrMissing
	}
	if !skipFill {
		w.Blank(w.Fill)
	}
	return nil
}

// ErrMissing means that a chunk is not stored although the array requires it.
var ErrMissing = fmt.Errorf("%w: the chunk is not stored; restore it, or read it as fill values ("+remedy.RequireChunks+")", fs.ErrNotExist)

// The suspicions, in increasing order.
const (
	Certain Suspicion = iota // every chunk was written before Reading.Since
	Newer                    // a chunk was written later, or at an unknown time
	Missing                  // a chunk is not stored
)
