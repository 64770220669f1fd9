// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// copyTries bounds how often a chunk is copied again because a source was replaced
// meanwhile.
const copyTries = 32

// copy makes the chunks of a part without decoding anything.
func (t *task) copy(ctx context.Context, b store.Batch, p part) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(max(1, t.Requests))
	for at := range p.box.IndicesInto(make([]int64, len(p.box))) {
		if !t.takes(p, at) {
			continue
		}
		at := slices.Clone(at)
		group.Go(func() error {
			err := t.copyChunk(ctx, b, p, at)
			if err != nil {
				return fmt.Errorf("chunk %v (%s): %w", at, t.Target.Engine.Key(at), err)
			}
			return nil
		})
		if ctx.Err() != nil {
			break
		}
	}
	return group.Wait(nil)
}

func (t *task) copyChunk(ctx context.Context, b store.Batch, p part, at []int64) (err error) {
	source := make([]int64, len(at))
	clone := t.cloneOf(p, at, source)
	// A conflict means that a writer replaced a source meanwhile. Copy the new version.
	for range copyTries {
		if clone && t.CopyBudget != nil {
			err = t.copyAcross(ctx, b, p, at, source)
		} else if clone {
			err = t.cloneChunk(ctx, b, p, at, source)
		} else {
			err = t.arrange(ctx, b, p, at)
		}
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return err
}

// cloneChunk copies a stored chunk as it is.
func (t *task) cloneChunk(ctx context.Context, b store.Batch, p part, at, source []int64) error {
	from, key := t.Source.Engine.Key(source), t.Target.Engine.Key(at)
	// Clone names the version that it has copied, so no condition is needed. But a link
	// gives the source another version than the one that is known of it.
	var was store.Info
	if t.notes(ctx) {
		var err error
		if was, err = store.Stat(ctx, t.Source.Engine.Store, from); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	c, err := b.Write(ctx, store.Clone(key, from, was.Version))
	if errors.Is(err, fs.ErrNotExist) {
		return t.dropChunk(ctx, b, p, at, func([]int64) Digest { return 0 })
	}
	if err != nil {
		return err
	}
	// Linking changes the version of the source, not its bytes. The record needs the new
	// one, because the next listing has it.
	made := func([]int64) Digest { return DigestOf(c.Source) }
	t.noteCopied(ctx, at, c.Version, func([]int64) store.Version { return was.Version })
	t.record(p, at, made, &Record{Stored: true, Version: digestOrZero(c.Version)}, Counts{Cloned: 1, BytesCopied: c.Moved, BytesLinked: c.Size - c.Moved})
	return nil
}

// dropChunk makes sure that a chunk is not stored.
func (t *task) dropChunk(ctx context.Context, b store.Batch, p part, at []int64, made func(source []int64) Digest) error {
	if _, err := b.Write(ctx, store.Delete(t.Target.Engine.Key(at))); err != nil {
		return err
	}
	t.record(p, at, made, &Record{}, Counts{Dropped: 1})
	return nil
}

// sourceChunk is a stored chunk of the source.
type sourceChunk struct {
	key    store.Key
	info   store.Info
	places *coding.Places // of its inner chunks, or nil
}

// Ranks of inner chunks: the number of their shard among the sources of a chunk, and
// their offset in it. So long runs are copied at once, where another order would take a
// request for each inner chunk.
const rankBits = 44

// rank returns the rank of a unit of source number n.
func (u *unitAt) rank(n int) uint64 {
	if u.chunk.places == nil {
		return 0 // every source is one unit, so no order has longer runs
	}
	return uint64(n)<<rankBits | uint64(min(u.off, 1<<rankBits-1))
}

// unitAt is where the bytes of a unit are.
type unitAt struct {
	chunk  *sourceChunk
	off, n int64
}

// arrange assembles a chunk from encoded units of the source.
func (t *task) arrange(ctx context.Context, b store.Batch, p part, at []int64) error {
	found, ranks := map[int64]*sourceChunk{}, map[*sourceChunk]int{}
	for source := range t.sources(p, at, t.table()) {
		s, err := t.findSource(ctx, source)
		if err != nil {
			return err
		}
		found[t.number(source)] = s // nil if it is not stored
		ranks[s] = len(ranks)
	}
	made := func(source []int64) Digest {
		if s := found[t.number(source)]; s != nil {
			return DigestOf(s.info.Version)
		}
		return 0
	}
	unit := func(element []int64) (unitAt, error) { return t.unitOf(found, element) }
	key := t.Target.Engine.Key(at)
	var parts []store.Part
	size := int64(0)
	add := func(u unitAt) {
		size += u.n
		next := store.Part{Key: u.chunk.key, Version: u.chunk.info.Version, Off: u.off, N: u.n}
		// Neighbouring inner chunks become one range: a store takes a request for each.
		if i := len(parts) - 1; i >= 0 && driver.Continues(next, parts[i]) {
			parts[i].N += next.N
			return
		}
		parts = append(parts, next)
	}
	first := make([]int64, len(at))
	for i := range at {
		first[i] = p.cell(i, at).start
	}
	if chain := t.Target.Engine.Chain; chain.Divided() {
		cell, _ := t.Target.Grid.Chunk(at)
		units, err := t.unitsOf(first, cell, unit)
		if err != nil {
			return err
		}
		number := func(index []int64) *unitAt { return units.at(index) }
		a, err := chain.Arrange(cell.Encoded, func(index []int64) (uint64, int64) {
			if u := number(index); u != nil && u.chunk != nil {
				return u.rank(ranks[u.chunk]), u.n
			}
			return 0, -1
		})
		if err != nil {
			return err
		}
		if len(a.Order) == 0 {
			return t.dropChunk(ctx, b, p, at, made)
		}
		if a.Head != nil {
			parts = append(parts, store.Part{Data: a.Head})
		}
		for index := range a.All() {
			add(*number(index))
		}
		if a.Tail != nil {
			parts = append(parts, store.Part{Data: a.Tail})
		}
	} else {
		u, err := unit(first)
		if err != nil {
			return err
		}
		if u.chunk == nil {
			return t.dropChunk(ctx, b, p, at, made)
		}
		add(u)
	}
	version, err := t.assemble(ctx, b, key, parts)
	// The index of a replaced shard is of no use for the next attempt.
	if errors.Is(err, store.ErrConflict) {
		t.forget(found)
	}
	if err != nil {
		return err
	}
	t.noteCopied(ctx, at, version, func(source []int64) (v store.Version) {
		if s := found[t.number(source)]; s != nil {
			v = s.info.Version
		}
		return v
	})
	t.record(p, at, made, &Record{Stored: true}, Counts{Arranged: 1, BytesCopied: size})
	return nil
}

// notes reports whether the array keeps what its chunks hold, and the target is one of
// its states.
func (t *task) notes(ctx context.Context) bool {
	r := t.Target.Engine.Recorder
	return r != nil && t.Source.Engine.Recorder != nil && t.Output == nil && t.CopyBudget == nil && r.Notes(ctx)
}

// noteCopied notes that a chunk of the target was copied from chunks of the source, in
// the versions that of returns.
func (t *task) noteCopied(ctx context.Context, at []int64, version store.Version, of func(source []int64) store.Version) {
	if !t.notes(ctx) {
		return
	}
	t.Target.Engine.Recorder.Copied(ctx, at, version, func(element []int64) (engine.Origin, bool) {
		o := engine.Origin{Of: t.Source.Engine.Recorder, Chunk: make([]int64, len(element)), Cell: make([]int64, len(element))}
		for i, e := range element {
			a := &t.axes[i]
			plane, ok := a.sourcePlane(e)
			if !ok {
				return o, false
			}
			o.Chunk[i], _, _ = a.source.Locate(plane)
			o.Cell[i], _, _ = a.sourceUnits.Locate(plane)
		}
		o.Version = of(o.Chunk)
		return o, true
	})
}

// findSource returns a stored chunk of the source, or nil if it is not stored. A task
// looks once for every chunk: a shard may have the units of thousands of chunks.
func (t *task) findSource(ctx context.Context, source []int64) (*sourceChunk, error) {
	t.mu.Lock()
	s, known := t.known[t.number(source)]
	t.mu.Unlock()
	if known {
		return s, nil
	}
	s, err := t.statSource(ctx, source)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known[t.number(source)] = s
	return s, nil
}

// forget makes look ask again for chunks that were replaced.
func (t *task) forget(found map[int64]*sourceChunk) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, s := range found {
		if t.known[k] == s {
			delete(t.known, k)
		}
	}
}

func (t *task) statSource(ctx context.Context, source []int64) (*sourceChunk, error) {
	s := &sourceChunk{key: t.Source.Engine.Key(source)}
	if t.Source.Engine.Chain.Divided() {
		places, err := t.Source.Engine.Places(ctx, source)
		if places == nil || err != nil {
			return nil, err
		}
		s.places, s.info = places, places.Info
	} else {
		info, err := store.Stat(ctx, t.Source.Engine.Store, s.key)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		s.info = info
	}
	return s, nil
}

// unitOf returns where the unit is that begins at an element of the target.
func (t *task) unitOf(found map[int64]*sourceChunk, element []int64) (unitAt, error) {
	source, within := make([]int64, len(element)), make([]int64, len(element))
	for i, e := range element {
		a := &t.axes[i]
		from, ok := a.sourcePlane(e)
		if !ok {
			return unitAt{}, fmt.Errorf("%w: element %v", grid.ErrOutOfRange, element)
		}
		source[i], _, _ = a.source.Locate(from)
		unit, _, _ := a.sourceUnits.Locate(from)
		c, _ := a.source.Cell(source[i])
		start, _, _ := a.sourceUnits.Locate(c.Start)
		within[i] = unit - start
	}
	s := found[t.number(source)]
	switch {
	case s == nil:
		return unitAt{}, nil
	case s.places == nil:
		return unitAt{s, 0, s.info.Size}, nil
	}
	off, n, is := s.places.Of(within)
	if !is {
		return unitAt{}, nil
	}
	return unitAt{s, off, n}, nil
}

// units are the units of one chunk of the target.
type units struct {
	chunks []int64
	list   []unitAt
}

// at returns the unit at an index, or nil if the chunk has none there within the extent.
func (u *units) at(index []int64) *unitAt {
	k := int64(0)
	for i, n := range u.chunks {
		if index[i] >= n {
			return nil
		}
		k = k*n + index[i]
	}
	return &u.list[k]
}

// unitsOf finds the units of a chunk of the target, whose first element is given.
func (t *task) unitsOf(first []int64, cell *grid.Chunk, unit func(element []int64) (unitAt, error)) (*units, error) {
	u := &units{chunks: make([]int64, len(first))}
	starts := make([][]int64, len(first))
	n := int64(1)
	for i, at := range first {
		axis := t.axes[i].targetUnits
		for k, _, ok := axis.Locate(at); ok; k++ {
			c, more := axis.Cell(k)
			if !more || c.Logical == 0 || c.Start >= at+cell.Logical[i] {
				break
			}
			starts[i] = append(starts[i], c.Start)
		}
		u.chunks[i] = int64(len(starts[i]))
		n *= u.chunks[i]
	}
	u.list = make([]unitAt, 0, n)
	element := make([]int64, len(first))
	for index := range grid.BoxOf(u.chunks).IndicesInto(make([]int64, len(first))) {
		for i, k := range index {
			element[i] = starts[i][k]
		}
		found, err := unit(element)
		if err != nil {
			return nil, err
		}
		u.list = append(u.list, found)
	}
	return u, nil
}

// copyAcross copies a stored chunk into another node as it is. Values of two nodes never
// share their bytes: other programs write in place.
func (t *task) copyAcross(ctx context.Context, b store.Batch, p part, at, source []int64) error {
	from, key := t.Source.Engine.Key(source), t.Target.Engine.Key(at)
	before, err := store.Stat(ctx, t.Source.Engine.Store, from)
	if errors.Is(err, fs.ErrNotExist) {
		return t.dropChunk(ctx, b, p, at, func([]int64) Digest { return 0 })
	}
	if err != nil {
		return err
	}
	// A copy between stores has no condition on the version of the source. So compare the
	// versions before and after it.
	n, err := t.transfer(ctx, b, key, from, before)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after, err := store.Stat(ctx, t.Source.Engine.Store, from)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !after.Same(before) {
		return fmt.Errorf("%w: %s was replaced while it was copied", store.ErrConflict, from)
	}
	if err != nil {
		return err
	}
	made := func([]int64) Digest { return DigestOf(before.Version) }
	t.record(p, at, made, &Record{Stored: true}, Counts{Cloned: 1, BytesCopied: n})
	return nil
}

// transfer copies a value between two stores, without this program if they can, and never
// whole into memory if the target can be written piece by piece.
func (t *task) transfer(ctx context.Context, b store.Batch, key, from store.Key, before store.Info) (int64, error) {
	made, err := b.Write(ctx, store.Copy(key, t.Source.Engine.Store, from))
	if !errors.Is(err, store.ErrUnsupported) {
		return made.Size, err
	}
	whole := []store.Part{{Key: from, Version: before.Version, N: before.Size}}
	return before.Size, t.gather(ctx, b, key, whole)
}

// sameStore reports whether the store of the target has the source, too.
func (t *task) sameStore() bool {
	if t.CopyBudget == nil {
		return true
	}
	// Wrappers differ, such as the witness. Drivers of some types cannot be compared.
	a, b := store.Driver(t.Store), store.Driver(t.Source.Engine.Store)
	return reflect.ValueOf(a).Comparable() && a == b
}

// assemble stores parts of the source as a value of the target, without the bytes passing
// through this program if the store can.
func (t *task) assemble(ctx context.Context, b store.Batch, key store.Key, parts []store.Part) (store.Version, error) {
	if t.sameStore() {
		made, err := b.Write(ctx, store.Assemble(key, parts).Telling(t.notes(ctx)))
		return made.Version, err
	}
	return store.Version{}, t.gather(ctx, b, key, parts)
}

// gather stores parts of the source as a value of another store, piece by piece if that
// store can.
func (t *task) gather(ctx context.Context, b store.Batch, key store.Key, parts []store.Part) error {
	n, err := store.Assemble(key, parts).Size(0)
	if err != nil {
		return err
	}
	// A store that writes piece by piece holds one piece. Release it before put waits for
	// the whole value: tasks that wait for each other would deadlock.
	held, err := t.CopyBudget.Acquire(ctx, min(n, budget.Parts))
	if err != nil {
		return err
	}
	_, err = b.Write(ctx, store.Gather(key, t.Source.Engine.Store, parts))
	t.CopyBudget.Release(held)
	if errors.Is(err, store.ErrUnsupported) {
		err = t.put(ctx, b, key, parts, n)
	}
	if errors.Is(err, fs.ErrNotExist) { // its version was seen before
		return fmt.Errorf("%w: a source of %s was deleted while it was copied", store.ErrConflict, key)
	}
	return err
}

// put stores parts of the source, of n bytes, as one value that is held in memory.
func (t *task) put(ctx context.Context, b store.Batch, key store.Key, parts []store.Part, n int64) error {
	held, err := t.CopyBudget.Acquire(ctx, n+min(n, budget.Parts))
	if err != nil {
		return err
	}
	defer t.CopyBudget.Release(held)
	buffer := budget.Get(n)
	defer buffer.Put()
	value := bufferWriter{buffer.B[:0]}
	if err := store.WriteParts(ctx, &value, t.Source.Engine.Store, parts); err != nil {
		return err
	}
	_, err = b.Write(ctx, store.Put(key, value.data))
	return err
}

// bufferWriter appends what is written.
type bufferWriter struct{ data []byte }

func (w *bufferWriter) Write(data []byte) (int, error) {
	w.data = append(w.data, data...)
	return len(data), nil
}
