// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

const (
	// fewCells is the largest number of cells for which to ask one by one.
	fewCells = 512
	// manyCells is the number of cells from which on to list in any case.
	manyCells = 1 << 20
	// othersPerCell is the number of other entries per cell after which asking is cheaper
	// than listing.
	othersPerCell = 4
)

// Stored yields the indices of the stored cells of the box, in no order. The next
// iteration overwrites the index.
//
// Its cost depends on the box, not on the array. It does not list directories without
// cells of the box. If most entries are not cells of the box, it asks for each cell.
//
// It yields [ErrLimit] if the store cannot list and the box has more than [MostVisited]
// cells.
func (a *Array) Stored(ctx context.Context, cells grid.Box) iter.Seq2[[]int64, error] {
	n, ok := cells.Len()
	// Keep the product with othersPerCell from overflowing.
	if !ok || n > math.MaxInt64/othersPerCell {
		n = math.MaxInt64 / othersPerCell
	}
	return func(yield func([]int64, error) bool) {
		if n <= fewCells {
			a.probed(ctx, cells, nil)(yield)
			return
		}
		l := &lister{Array: a, cells: cells, yield: yield, left: othersPerCell * n, index: make([]int64, 0, a.Grid.Rank())}
		// Without seen, the listing never stops early. Asking for so many cells would
		// take longer.
		if n < manyCells {
			l.seen = map[string]bool{}
		}
		err := l.list(ctx, "", 0)
		if errors.Is(err, store.ErrUnsupported) {
			if err := Visitable(cells); err != nil {
				yield(nil, err)
				return
			}
		}
		switch {
		case errors.Is(err, errOthers), errors.Is(err, store.ErrUnsupported):
			// Ask only for cells that the listing has not yielded yet.
			a.probed(ctx, cells, l.seen)(yield)
		case err != nil && !errors.Is(err, errStop):
			yield(nil, err)
		}
	}
}

// Listed is [Array.Stored] that always lists, and never asks for single cells. It yields
// [store.ErrUnsupported] if the store cannot list.
func (a *Array) Listed(ctx context.Context, cells grid.Box) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		l := &lister{Array: a, cells: cells, yield: yield, index: make([]int64, 0, a.Grid.Rank())}
		if err := l.list(ctx, "", 0); err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

var (
	errStop   = errors.New("the caller has stopped")
	errOthers = errors.New("too many other entries")
)

// lister finds the cells of a box among the entries of an array's directory.
type lister struct {
	*Array
	cells grid.Box
	yield func([]int64, error) bool
	seen  map[string]bool // keys that were yielded; nil if the listing must not stop early
	left  int64           // number of other entries after which the listing stops
	index []int64

	versions bool        // list versions too
	entry    store.Entry // that is yielded
}

// list yields the cells below a directory of the array. The name of the directory gives
// the first depth numbers of their indices.
func (l *lister) list(ctx context.Context, dir string, depth int) error {
	path := l.Path
	if dir != "" {
		path = l.Path.MustKey(dir + "/-").Dir()
	}
	// If the box has all cells below a directory, one deep listing replaces many flat
	// ones.
	deep := l.all(depth)
	listing := store.List
	switch {
	case !l.versions:
	case dir == "" && l.near() && l.nested():
		// The array's directory has other grids and records too. In a near store each
		// version costs a system call, so look only into the directories of chunks.
		deep = false
	default:
		listing = store.ListVersions
	}
	// What is no key is no chunk.
	for e, err := range store.Usable(listing(ctx, l.Store, path, deep)) {
		if err != nil {
			return err
		}
		name := e.Name
		if dir != "" {
			name = dir + "/" + name
		}
		l.entry = e
		if e.Dir {
			err = l.directory(ctx, name, depth)
		} else {
			err = l.value(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// all reports whether the box has all cells along the axes from depth on.
func (l *lister) all(depth int) bool {
	for i, in := range l.cells[depth:] {
		if in.Start > 0 || in.Stop < l.Grid.Axis(depth+i).Cells() {
			return false
		}
	}
	// With another separator, all keys are in one directory, and a flat listing finds
	// them.
	return depth > 0 || l.Keys.Separator() == '/'
}

// nested reports whether all chunks are below directories of the array.
func (l *lister) nested() bool {
	return l.Keys == metadata.DefaultSlash && len(l.cells) > 0 || l.Keys == metadata.V2Slash && len(l.cells) > 1
}

// directory lists a directory if it may have cells of the box.
func (l *lister) directory(ctx context.Context, name string, depth int) error {
	// The default key encoding puts all chunks below "c", which is not a part of their
	// index.
	if _, ok := l.Keys.ParseKey(name, 0, nil); ok && name == "c" {
		return l.list(ctx, name, depth)
	}
	index, ok := l.Keys.ParseKey(name, depth+1, l.index)
	if !ok || depth+1 >= len(l.cells) || index[depth] < l.cells[depth].Start || index[depth] >= l.cells[depth].Stop {
		return l.other()
	}
	return l.list(ctx, name, depth+1)
}

// value yields the cell whose key is name, if the box has it.
func (l *lister) value(name string) error {
	index, ok := l.Keys.ParseKey(name, len(l.cells), l.index)
	if !ok || !l.cells.Contains(index) {
		return l.other()
	}
	if l.seen != nil {
		l.seen[name] = true
	}
	if !l.yield(index, nil) {
		return errStop
	}
	return nil
}

// other counts an entry that is not a cell of the box.
func (l *lister) other() error {
	if l.left--; l.left < 0 && l.seen != nil {
		return errOthers
	}
	return nil
}

// probed asks the store for every cell of the box whose key was not seen.
func (a *Array) probed(ctx context.Context, cells grid.Box, seen map[string]bool) iter.Seq2[[]int64, error] {
	return func(yield func([]int64, error) bool) {
		var room [64]byte
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			if seen[string(a.Keys.AppendKey(room[:0], index))] {
				continue
			}
			found, err := store.Exists(ctx, a.Store, a.Key(index))
			if err != nil {
				yield(nil, &ChunkError{a.Key(index).String(), slices.Clone(index), err})
				return
			}
			if found && !yield(index, nil) {
				return
			}
		}
	}
}
