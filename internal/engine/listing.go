// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/fault"
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
			a.probe(ctx, cells, nil)(yield)
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
			a.probe(ctx, cells, l.seen)(yield)
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
	how := store.Flat
	if l.coversBelow(depth) {
		how = store.Deep
	}
	switch {
	case !l.versions:
	case dir == "" && l.near() && l.nested():
		// The array's directory has other grids and records too. In a near store each
		// version costs a system call, so look only into the directories of chunks.
		how = store.Flat
	default:
		how |= store.WithVersions
	}
	// An entry whose name is not a key is not a chunk.
	for e, err := range store.Usable(store.List(ctx, l.Store, path, how)) {
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

// coversBelow reports whether the box has all cells along the axes from depth on.
func (l *lister) coversBelow(depth int) bool {
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
		return l.countOther()
	}
	return l.list(ctx, name, depth+1)
}

// value yields the cell whose key is name, if the box has it.
func (l *lister) value(name string) error {
	index, ok := l.Keys.ParseKey(name, len(l.cells), l.index)
	if !ok || !l.cells.Contains(index) {
		return l.countOther()
	}
	if l.seen != nil {
		l.seen[name] = true
	}
	if !l.yield(index, nil) {
		return errStop
	}
	return nil
}

// countOther counts an entry that is not a cell of the box.
func (l *lister) countOther() error {
	if l.left--; l.left < 0 && l.seen != nil {
		return errOthers
	}
	return nil
}

// probe asks the store for every cell of the box whose key was not seen.
func (a *Array) probe(ctx context.Context, cells grid.Box, seen map[string]bool) iter.Seq2[[]int64, error] {
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

// Missing returns the indices of those of the given chunks that are not stored, in C
// order.
func (a *Array) Missing(ctx context.Context, of Numbers) (iter.Seq[[]int64], error) {
	boxes, err := of.Boxes(a.Grid.Chunks())
	if err != nil {
		return nil, err
	}
	n := int64(0)
	for _, cells := range boxes {
		more, ok := cells.Len()
		if n += more; !ok || more > MostVisited || n > MostVisited {
			return nil, fmt.Errorf("%w: the grid has %v chunks, and at most %d can be checked", ErrLimit, a.Grid.Chunks(), int64(MostVisited))
		}
	}
	// One bit for each cell.
	stored := make([]uint64, (n+63)/64)
	begin := int64(0)
	for _, cells := range boxes {
		for index, err := range a.Stored(ctx, cells) {
			if err != nil {
				return nil, err
			}
			k := begin + numberIn(cells, index)
			stored[k/64] |= 1 << (k % 64)
		}
		more, _ := cells.Len()
		begin += more
	}
	return func(yield func([]int64) bool) {
		k := int64(0)
		for _, cells := range boxes {
			for index := range cells.IndicesInto(make([]int64, len(cells))) {
				if stored[k/64]>>(k%64)&1 == 0 && !yield(slices.Clone(index)) {
					return
				}
				k++
			}
		}
	}, nil
}

// Numbers are the chunks whose numbers in the C order of the grid are From or greater and
// less than To. If To is 0, they are all chunks.
type Numbers struct{ From, To int64 }

// Boxes returns disjoint boxes that together hold the chunks, in C order. There are fewer
// than two per axis. shape is the number of chunks along each axis. Numbers beyond the
// last chunk are no chunks. If the chunks have no numbers because there are 2^63 or more,
// the error wraps [grid.ErrOverflow].
func (n Numbers) Boxes(shape []int64) ([]grid.Box, error) {
	if n.From < 0 || n.To < n.From {
		return nil, fmt.Errorf("%w: chunks from number %d to %d", fault.ErrInvalidArgument, n.From, n.To)
	}
	all := grid.BoxOf(shape)
	if n == (Numbers{}) {
		return []grid.Box{all}, nil
	}
	count, ok := checked.Product(shape...)
	if !ok {
		return nil, fmt.Errorf("%w: %v chunks cannot be numbered", grid.ErrOverflow, shape)
	}
	c := &cutter{box: all}
	c.cut(0, count, n.From, min(n.To, count))
	return c.found, nil
}

// cutter cuts a range of numbers into boxes.
type cutter struct {
	box   grid.Box // one index along the axes before that which is cut
	found []grid.Box
}

// cut adds the boxes of a range of numbers. The indices along the axes before axis are
// fixed, and count is the number of indices along the others.
func (c *cutter) cut(axis int, count, from, to int64) {
	if from >= to {
		return
	}
	if from == 0 && to == count {
		c.found = append(c.found, slices.Clone(c.box))
		return
	}
	whole := c.box[axis]
	defer func() { c.box[axis] = whole }()
	row := count / whole.Len()
	first, last := from/row, to/row
	if first == last {
		c.box[axis] = grid.Interval{Start: first, Stop: first + 1}
		c.cut(axis+1, row, from-first*row, to-first*row)
		return
	}
	if begun := from % row; begun > 0 {
		c.box[axis] = grid.Interval{Start: first, Stop: first + 1}
		c.cut(axis+1, row, begun, row)
		first++
	}
	if first < last {
		c.box[axis] = grid.Interval{Start: first, Stop: last}
		c.found = append(c.found, slices.Clone(c.box))
	}
	c.box[axis] = grid.Interval{Start: last, Stop: last + 1}
	c.cut(axis+1, row, 0, to-last*row)
}

// numberIn returns the number of an index in the C order of a box.
func numberIn(cells grid.Box, index []int64) (k int64) {
	for i, in := range cells {
		k = k*in.Len() + index[i] - in.Start
	}
	return k
}

// MostVisited is the largest number of chunks that one operation visits one by one. A
// bitmap of them takes 512 MiB, and requests for all of them take days.
const MostVisited = 1 << 32

// Visitable returns [ErrLimit] if a box has more than MostVisited chunks. It is for
// stores that cannot list, where each chunk needs a request.
func Visitable(cells grid.Box) error {
	if n, ok := cells.Len(); ok && n <= MostVisited {
		return nil
	}
	return fmt.Errorf("%w: the store cannot list, and requests for each of %v chunks would take too long", ErrLimit, cells.Shape())
}

// Listed is a stored chunk in a listing.
type Listed struct {
	Index []int64 // overwritten by the next one
	Info  store.Info
}

// Versions yields all values with keys of chunks, also beyond the extent, with their
// sizes and versions, in no order. It lists, so a store that knows versions in listings
// needs few requests. A store that cannot list is asked for each chunk of the grid, if
// there are at most [MostVisited].
func (a *Array) Versions(ctx context.Context) iter.Seq2[Listed, error] {
	cells := make(grid.Box, a.Grid.Rank())
	for i := range cells {
		cells[i].Stop = math.MaxInt64
	}
	return func(yield func(Listed, error) bool) {
		l := &lister{Array: a, cells: cells, index: make([]int64, 0, a.Grid.Rank()), versions: true}
		l.yield = func(index []int64, _ error) bool {
			info := store.Info{Size: l.entry.Size, Version: l.entry.Version, Modified: l.entry.Modified, FileTime: l.entry.FileTime}
			return yield(Listed{index, info}, nil)
		}
		err := l.list(ctx, "", 0)
		if errors.Is(err, store.ErrUnsupported) {
			a.asked(ctx, grid.BoxOf(a.Grid.Chunks()))(yield)
			return
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Listed{}, err)
		}
	}
}

// asked asks for the version of every chunk of the box.
func (a *Array) asked(ctx context.Context, cells grid.Box) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		if err := Visitable(cells); err != nil {
			yield(Listed{}, err)
			return
		}
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			info, err := store.Stat(ctx, a.Store, a.Key(index))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !yield(Listed{index, info}, err) || err != nil {
				return
			}
		}
	}
}
