// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/store"
)

// Contradictions are entries that say of their chunks what is not so.
type Contradictions struct {
	Cells int64   // how many
	First []int64 // the index of one of them
}

// Verify reads every stored chunk that has known entries, and compares them with what it
// holds. No program that follows docs/statistics.md leaves a contradiction. The array
// need not be open for writing. If nothing is kept, Verify reads nothing.
func Verify(ctx context.Context, a *zarr.Array) (c Contradictions, err error) {
	kept, err := IsKept(ctx, a)
	if err == nil && kept {
		c, err = verified(ctx, a, func([]int64) bool { return true })
	}
	return c, failure.On(a, "verify statistics", err)
}

// verified reads the chunks that are wanted.
func verified(ctx context.Context, a *zarr.Array, wanted func(chunk []int64) bool) (c Contradictions, err error) {
	m := &maker{Options: Options{DryRun: true}, report: new(Report), wrong: &c, wanted: wanted}
	if err = m.begin(ctx, a); err == nil {
		err = m.all(ctx)
	}
	return c, err
}

// Verifier compares entries with what chunks hold that are decoded anyway, because
// another call checks them. It reads only those chunks once more that the check has not
// decoded as a whole, and those with a contradiction: the first look has no listing to
// compare versions with.
type Verifier struct {
	array   *zarr.Array
	entries *Entries

	mu    sync.Mutex
	again map[int64]bool // chunks by number
}

// NewVerifier returns the verifier of an array, or nil if nothing is kept.
func NewVerifier(ctx context.Context, a *zarr.Array) (*Verifier, error) {
	kept, err := IsKept(ctx, a)
	if err != nil || !kept {
		return nil, err
	}
	core := a.Core()
	s, err := core.Newest(ctx)
	if err != nil {
		return nil, err
	}
	c, err := cf.ComparerOf(ctx, a)
	if err != nil {
		return nil, err
	}
	of, err := newSubject(core, s, c)
	if err != nil {
		return nil, err
	}
	f, err := of.find(ctx)
	return &Verifier{array: a, entries: &Entries{subject: of, form: f, blocks: map[int64]*block{}}, again: map[int64]bool{}}, err
}

// Watch returns a context for the check.
func (v *Verifier) Watch(ctx context.Context) context.Context {
	r := &recorder{add: func(chunk []int64, list []note) { v.compare(ctx, chunk, list) }}
	r.of.Store(v.entries.subject)
	return engine.Watching(ctx, r)
}

// compare compares the entries of a chunk with what it holds.
func (v *Verifier) compare(ctx context.Context, chunk []int64, list []note) {
	e := v.entries
	cells, err := e.cellsOf(chunk)
	if err != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	e.relieve()
	for _, n := range list {
		e.need(n.cell)
	}
	count, _ := cells.Len()
	same := int64(len(list)) == count && e.readBlocks(ctx) == nil
	for i := 0; i < len(list) && same; i++ {
		n := list[i]
		c, _ := e.cells.Chunk(n.cell)
		elements, _ := checked.Product(c.Logical...)
		s, known := e.entry(n.cell, elements, func() uint64 { return e.mark(chunk, n.version, c) })
		same = !known || e.comparer.Equal(s, n.Summary)
	}
	if !same {
		v.again[strided.Number(e.Grid, chunk)] = true
	}
}

// Verify returns what the check has found, after it has ended.
func (v *Verifier) Verify(ctx context.Context) (c Contradictions, err error) {
	if len(v.again) == 0 {
		return c, nil
	}
	return verified(ctx, v.array, func(chunk []int64) bool { return v.again[strided.Number(v.entries.Grid, chunk)] })
}

// verify compares the known entries of chunks with what these hold.
func (m *maker) verify(ctx context.Context, chunks []*chunk) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(m.readers)
	for _, c := range chunks {
		known := false
		if !m.wanted(c.index) {
			continue
		}
		for cell := range c.cells.IndicesInto(make([]int64, len(c.cells))) {
			if _, _, ok := m.Known(cell); ok {
				known = true
				break
			}
		}
		if known && ctx.Err() == nil {
			group.Go(func() error { return m.read(ctx, c) })
		}
	}
	return group.Wait(nil)
}

// compare notes the entry of a cell if it is known and says something else.
func (m *maker) compare(f found) {
	s, _, ok := m.Known(f.cell)
	if !ok || m.comparer.Equal(s, f.Summary) {
		return
	}
	m.wrong.Cells++
	if m.wrong.First == nil || slices.Compare(f.cell, m.wrong.First) < 0 {
		m.wrong.First = f.cell
	}
}

// drop deletes the array of the entries.
func (s *subject) drop(ctx context.Context) error {
	n := s.core.Node
	return store.DeleteTree(ctx, n.Store, s.dir, store.TreeOrder{First: []string{documentName}}, n.Durability)
}

// Drop deletes the entries of an array, and reports whether there were any.
func Drop(ctx context.Context, a *zarr.Array) (found bool, err error) {
	core := a.Core()
	s := &subject{Array: core.State(), core: core, dir: dirOf(core)}
	if err = core.Writable(); err == nil {
		found, err = IsKept(ctx, a)
	}
	if err == nil && found {
		err = s.drop(ctx)
	}
	return found, failure.On(a, "drop statistics", err)
}

// IsKept reports whether entries are kept for an array, known or not.
func IsKept(ctx context.Context, a *zarr.Array) (bool, error) {
	core := a.Core()
	_, err := store.Stat(ctx, core.Node.Store, dirOf(core).MustKey(documentName))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
