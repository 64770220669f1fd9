// SPDX-License-Identifier: Apache-2.0

// Package staging makes the chunks of a new grid of an array from those of its present
// one. Nobody sees them before a document describes them.
//
// A [Job] relates the two grids. It says which chunks of the source a chunk of the target
// takes its elements from, and whether these can be copied as they are encoded:
//
//   - cloned, if a source chunk has the same elements in the same shape and codecs. Then
//     the store links or copies the value.
//   - arranged, if the target chunk consists of whole encoded units of the source: inner
//     chunks of shards, or chunks that become inner chunks, or the other way round. Then
//     the store assembles the value from ranges of others.
//   - decoded and encoded again, everywhere else.
//
// Writers of the array continue meanwhile. So every staged chunk has a [Record]: a digest
// of the versions of all source chunks that it was made from, as they were read. It is
// valid as long as these chunks have the same versions, however often the extent and the
// attributes have changed since. [Job.Stale] finds the chunks whose records are no longer
// valid, or missing.
package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Stager executes a [Job]. It is safe for concurrent use.
type Stager struct {
	*Job
	Store      store.Store // of the target
	Durability store.Durability
	// Requests is the number of chunks that are copied at once.
	Requests int
	// Text bounds the bytes of elements of variable length that a task holds.
	Text int64
	// Sources returns the chunks of the source that are probably stored, as they were
	// listed last. Nil is that any may be.
	Sources func() *Table
	// Shared is set if other processes may make the same chunks.
	Shared bool
	// CheckLease, if not nil, is called just before each value is stored. If this
	// process may not store it any more, it returns an error.
	CheckLease func(context.Context) error
	// Input has the elements of chunks that are decoded. Nil is the source.
	Input *Reading
	// Output is the scratch that the target is. Nil is an array.
	Output *Scratch
	// CopyBudget is set if the target is another node. It bounds the bytes of encoded
	// values that pass through this program.
	CopyBudget *budget.Budget
	// Done, if not nil, is called with the counts of each finished call of Stage.
	Done func(Counts)
}

// Counts are what a plan predicts and a stager does.
type Counts struct {
	Cloned, Arranged, Encoded int64 // chunks of the target that are stored
	Dropped                   int64 // chunks of the target that have only the fill value
	BytesCopied               int64 // of encoded chunks, without decoding
	BytesLinked               int64 // of encoded chunks that share their bytes with the source
	BytesDecoded              int64 // of elements that were decoded
	BytesEncoded              int64 // of elements that were encoded, before compression
	Scratch, BytesScratch     int64 // objects between stages, and their bytes
}

// Add adds o to c.
func (c *Counts) Add(o Counts) {
	c.Cloned += o.Cloned
	c.Arranged += o.Arranged
	c.Encoded += o.Encoded
	c.Dropped += o.Dropped
	c.BytesCopied += o.BytesCopied
	c.BytesLinked += o.BytesLinked
	c.BytesDecoded += o.BytesDecoded
	c.BytesEncoded += o.BytesEncoded
	c.Scratch += o.Scratch
	c.BytesScratch += o.BytesScratch
}

// Stage makes the chunks of a box of the target, and returns their records. The chunks
// are durable when it returns, as Durability says.
func (s *Stager) Stage(ctx context.Context, box grid.Box) ([]Record, error) {
	p, err := s.part(box)
	if err != nil {
		return nil, err
	}
	t := &task{Stager: s, known: map[int64]*sourceChunk{}}
	ctx, t.sightings = Witnessing(ctx, s.listedKey())
	do := func(ctx context.Context, b store.Batch) error {
		return s.split(p, func(p part, copies bool) error {
			if !s.takesAny(p) {
				return nil
			}
			if copies {
				return t.copy(ctx, b, p)
			}
			return t.decode(ctx, b, p)
		})
	}
	if s.Shared || s.CheckLease != nil {
		check := s.CheckLease
		if check == nil {
			check = func(context.Context) error { return nil }
		}
		// A batch of the store tells no versions, and stores all values at its end: by
		// then this process may have lost its claim.
		t.versions = &versionBatch{Store: s.Store, durability: s.Durability, checkLease: check, versions: map[store.Key]Digest{}}
		err = do(ctx, t.versions)
	} else {
		err = publish.Batch(ctx, s.Store, s.Durability, do)
	}
	if err != nil {
		return nil, err
	}
	if err := t.completeRecords(ctx); err != nil {
		return nil, err
	}
	if s.Done != nil {
		s.Done(t.counts)
	}
	return t.records, nil
}

// listedKey returns a function that reports whether a value is probably stored, given its
// key: all but the chunks that the listing of the source lacks. It returns nil without a
// listing.
func (s *Stager) listedKey() func(key store.Key) bool {
	if s.Sources == nil {
		return nil
	}
	return func(key store.Key) bool {
		index, ok := IndexOf(s.Source, key)
		return !ok || s.Sources().Contains(index)
	}
}

// IndexOf returns the index of the chunk with a key. It returns false if that is no chunk
// of the array.
func IndexOf(s *snapshot.Array, key store.Key) ([]int64, bool) {
	dir := ""
	if !s.Engine.Path.IsRoot() {
		dir = s.Engine.Path.String() + "/"
	}
	name, ok := strings.CutPrefix(key.String(), dir)
	if !ok {
		return nil, false
	}
	return s.Engine.Keys.ParseKey(name, s.Grid.Rank(), make([]int64, 0, 8))
}

// table returns the listed chunks of the source, or nil.
func (s *Stager) table() *Table {
	if s.Sources == nil {
		return nil
	}
	return s.Sources()
}

// takesAny reports whether a part takes elements from a chunk that is probably stored.
func (s *Stager) takesAny(p part) bool {
	for at := range p.box.IndicesInto(make([]int64, len(p.box))) {
		if s.takes(p, at) {
			return true
		}
	}
	return false
}

// takes reports whether a chunk of the target takes elements from a chunk that is
// probably stored.
func (s *Stager) takes(p part, at []int64) bool {
	if s.Sources == nil || s.fills || s.takesGiven(p, at) {
		return true
	}
	table := s.table()
	for source := range s.sources(p, at, table) {
		if table.Contains(source) {
			return true
		}
	}
	return false
}

// task is one call of Stage.
type task struct {
	*Stager
	sightings *Sightings
	versions  *versionBatch // nil unless Shared or Held is set

	mu      sync.Mutex
	known   map[int64]*sourceChunk // source chunks that were looked for, by number
	records []Record
	counts  Counts
}

// record adds the record of a staged chunk. made returns the version of a source chunk
// that it was made from, or 0 if that was not stored.
func (t *task) record(p part, at []int64, made func(source []int64) Digest, r *Record, counts Counts) {
	r.Index, r.Fold = slices.Clone(at), t.fold(p, at, t.table(), made)
	if r.Fold == (Fold{}) {
		return // nothing of the source is stored there
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Add(counts)
	t.records = append(t.records, *r)
}

// decode reads the elements of a part and encodes its chunks.
func (t *task) decode(ctx context.Context, b store.Batch, p part) error {
	region := make(grid.Box, len(p.box))
	for i, cells := range p.cells {
		region[i] = grid.Interval{Start: cells[0].start, Stop: cells[len(cells)-1].stop}
	}
	target, err := t.Target.Resolve(selection.BoxOf(region), nil)
	if err != nil {
		return err
	}
	buffer, e, err := Room(target, t.Text)
	if err != nil {
		return err
	}
	defer buffer.Put()
	n := int64(len(e.Data))
	view, err := target.View(e)
	if err != nil {
		return err
	}
	// The versions that were read, not those that were listed: a chunk may have been
	// written in between. Scratch counts with the versions that it was made from.
	made := func(source []int64) Digest {
		digest, _ := t.sightings.Digest(t.Source.Engine.Key(source)) // 0 if nothing was read
		return digest
	}
	if t.Input == nil {
		err = t.read(ctx, region, view)
	} else {
		err, made = t.Input.read(ctx, region, view), t.Input.Sources.Digest
	}
	if err != nil {
		return err
	}
	t.countBytes(n)
	if t.Output != nil {
		v, err := t.Output.pack(ctx, p.first(), region, view, t.Durability)
		if err == nil {
			t.record(p, p.first(), made, &Record{Stored: true, Version: digestOrZero(v)}, Counts{Scratch: 1})
		}
		return err
	}
	if err := t.Target.Engine.Write(ctx, target.Elements, view, engine.Writing{Batch: b}); err != nil {
		return err
	}
	for at := range p.box.IndicesInto(make([]int64, len(p.box))) {
		// A chunk with only the fill value is not stored; examine finds out.
		t.record(p, at, made, &Record{Stored: true}, Counts{Encoded: 1})
	}
	return nil
}

// countBytes counts the bytes of elements that went from the source, or from scratch,
// to the target or to scratch.
func (t *task) countBytes(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Input == nil {
		t.counts.BytesDecoded += n
	}
	if t.Output == nil {
		t.counts.BytesEncoded += n
	} else {
		t.counts.BytesScratch += n
	}
}

// Room returns memory for the selected elements. The caller puts the buffer, which may be
// nil. Elements of variable length may have text bytes in total.
func Room(r *snapshot.Selected, text int64) (*budget.Buffer, element.Buffer, error) {
	if r.Type.Variable() {
		return nil, r.Room(text), nil
	}
	n := r.Len() * r.Size()
	buffer := budget.Get(n)
	return buffer, element.Buffer{Type: r.Type, Data: buffer.Bytes(n)}, nil
}

// read reads the elements of a region of the target from the source, or from what is
// given.
func (t *task) read(ctx context.Context, region grid.Box, all strided.View) error {
	// Along the moved axis, the region may come from several runs of planes.
	lists := make([][]grid.Interval, len(region))
	for i, in := range region {
		for s := range t.axes[i].segmentsIn(in.Start, in.Stop) {
			lists[i] = append(lists[i], grid.Interval{Start: s.Target, Stop: s.Target + s.Count})
		}
	}
	var failed error
	products(lists, 0, make(grid.Box, len(region)), func(box grid.Box) bool {
		from, within, given := make(grid.Box, len(box)), make(grid.Box, len(box)), false
		for i, in := range box {
			for s := range t.axes[i].segmentsIn(in.Start, in.Stop) {
				from[i], given = grid.Interval{Start: s.Source, Stop: s.Source + in.Len()}, given || s.Given
			}
			within[i] = grid.Interval{Start: in.Start - region[i].Start, Stop: in.Stop - region[i].Start}
		}
		if given {
			failed = t.readGiven(ctx, from, all.Sub(within))
			return failed == nil
		}
		r, err := t.Source.Resolve(selection.BoxOf(from), nil)
		if err == nil {
			// Read reports no suspicions about missing chunks here: the records tell
			// whether a chunk has changed.
			_, err = t.Source.Engine.Read(ctx, r.Elements, all.Sub(within), engine.Reading{})
		}
		failed = orMoreMemory(err)
		return err == nil
	})
	return failed
}

// orMoreMemory returns err. Where the text of a chunk exceeds the room of a block, which
// follows from the memory, it says that more memory helps, and not other limits.
func orMoreMemory(err error) error {
	if c := new(engine.ChunkError); errors.Is(err, coding.ErrRoom) && errors.As(err, &c) {
		return &engine.ChunkError{Key: c.Key, Index: c.Index, Err: fmt.Errorf("%w: its elements have more bytes than fit into the memory of a block: give more ("+remedy.Memory+")", engine.ErrLimit)}
	}
	return err
}

// completeRecords completes the records of chunks that were written through a batch,
// which does not tell their versions.
func (t *task) completeRecords(ctx context.Context) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(max(1, t.Requests))
	var mu sync.Mutex
	for i := range t.records {
		r := &t.records[i]
		if !r.Stored || r.Version != 0 {
			continue
		}
		// The batch knows what this process has stored. A request could find the chunk of
		// another process.
		if t.versions != nil && t.Output == nil {
			made, stored := t.versions.version(t.Target.Engine.Key(r.Index))
			if r.Version, r.Stored = made, stored; !stored {
				t.counts.Encoded--
				t.counts.Dropped++
			}
			continue
		}
		group.Go(func() error {
			info, err := store.Stat(ctx, t.Store, t.Target.Engine.Key(r.Index))
			if errors.Is(err, fs.ErrNotExist) && t.Output == nil {
				r.Stored = false
				mu.Lock()
				defer mu.Unlock()
				t.counts.Encoded--
				t.counts.Dropped++
				return nil
			}
			if err != nil {
				return fmt.Errorf("chunk %v was staged, and cannot be found: %w", r.Index, err)
			}
			r.Version = digestOrZero(info.Version)
			return nil
		})
	}
	return group.Wait(nil)
}
