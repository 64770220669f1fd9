// SPDX-License-Identifier: Apache-2.0

package statistics

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/parallel"
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
	if err != nil || !kept {
		return c, failure.On(a, "verify statistics", err)
	}
	m := &maker{Options: Options{DryRun: true}, report: new(Report), wrong: &c}
	if err = m.begin(ctx, a); err == nil {
		err = m.all(ctx)
	}
	return c, failure.On(a, "verify statistics", err)
}

// verify compares the known entries of chunks with what these hold.
func (m *maker) verify(ctx context.Context, chunks []*chunk) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(m.readers)
	for _, c := range chunks {
		known := false
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
