// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/store"
)

// Table has the versions of the stored chunks of an array. It takes 24 bytes for each.
type Table struct {
	cells        []int64
	entries      []entry   // by number
	Bytes        int64     // of all stored chunks, if the listing knows their sizes
	BeyondExtent [][]int64 // indices of values beyond the extent, which are no chunks
	Vague        bool      // a version is missing or weak, so a change may not be seen
	Files        bool      // values are files, whose versions are made of times
}

type entry struct {
	number int64
	digest Digest
	size   int64
}

// List lists the stored chunks of an array.
func List(ctx context.Context, s *snapshot.Array) (*Table, error) {
	t, chunks := &Table{cells: s.Grid.Cells()}, grid.BoxOf(s.Grid.Chunks())
	for v, err := range s.Engine.Versions(ctx) {
		if err != nil {
			return nil, err
		}
		// A shrink that crashed leaves chunks beyond the extent. The caller deletes them.
		if !chunks.Contains(v.Index) {
			t.BeyondExtent = append(t.BeyondExtent, slices.Clone(v.Index))
			continue
		}
		t.entries = append(t.entries, entry{numberIn(t.cells, v.Index), DigestOf(v.Info.Version), v.Info.Size})
		t.Bytes += v.Info.Size
		t.Vague = t.Vague || IsVague(v.Info.Version)
		t.Files = t.Files || !v.Info.FileTime.IsZero()
	}
	slices.SortFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	return t, nil
}

// Look asks for some chunks of an array, at most so many at once, and returns a table of
// those that are stored.
func Look(ctx context.Context, s *snapshot.Array, chunks [][]int64, atOnce int) (*Table, error) {
	t := &Table{cells: s.Grid.Cells()}
	infos := make([]*store.Info, len(chunks))
	group, within := parallel.New(ctx)
	group.SetLimit(atOnce)
	for i, index := range chunks {
		group.Go(func() error {
			info, err := store.Stat(within, s.Engine.Store, s.Engine.Key(index))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			infos[i] = &info
			return err
		})
	}
	if err := group.Wait(nil); err != nil {
		return nil, err
	}
	for i, info := range infos {
		if info != nil {
			t.entries = append(t.entries, entry{numberIn(t.cells, chunks[i]), DigestOf(info.Version), info.Size})
		}
	}
	slices.SortFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	return t, nil
}

// IsVague reports whether two values may have the same version.
func IsVague(v store.Version) bool { return v.IsZero() || v.IsWeak() }

// TryList is List, but returns nil if the store cannot be listed.
func TryList(ctx context.Context, s *snapshot.Array) (*Table, error) {
	// One entry shows whether the store lists at all.
	for _, err := range store.List(ctx, s.Engine.Store, s.Engine.Path, store.Flat) {
		if errors.Is(err, store.ErrUnsupported) {
			return nil, nil
		}
		break // List reports any other error
	}
	return List(ctx, s)
}

// ListKeys is List without versions and sizes, and without values beyond the extent. In
// a file store it costs no system call for each chunk.
func ListKeys(ctx context.Context, s *snapshot.Array) (*Table, error) {
	t := &Table{cells: s.Grid.Cells()}
	for index, err := range s.Engine.Listed(ctx, grid.BoxOf(s.Grid.Chunks())) {
		if errors.Is(err, store.ErrUnsupported) {
			return List(ctx, s) // which asks for every chunk
		}
		if err != nil {
			return nil, err
		}
		t.entries = append(t.entries, entry{numberIn(t.cells, index), 0, -1})
	}
	slices.SortFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.number, b.number) })
	return t, nil
}

// Len returns the number of stored chunks.
func (t *Table) Len() int { return len(t.entries) }

// numberIn returns the number in C order of an index.
func numberIn(cells, index []int64) int64 {
	n := int64(0)
	for i, k := range index {
		n = n*cells[i] + k
	}
	return n
}

// indexIn sets index to that of number n in C order.
func indexIn(cells, index []int64, n int64) {
	for i := len(cells) - 1; i >= 0; i-- {
		index[i] = n % cells[i]
		n /= cells[i]
	}
}

// find returns the entry of the chunk at an index, or nil if it is not stored.
func (t *Table) find(index []int64) *entry {
	i, ok := slices.BinarySearchFunc(t.entries, numberIn(t.cells, index), func(e entry, n int64) int { return cmp.Compare(e.number, n) })
	if !ok {
		return nil
	}
	return &t.entries[i]
}

// KeepWithin forgets all chunks but those of a box of chunks.
func (t *Table) KeepWithin(box grid.Box) {
	index := make([]int64, len(t.cells))
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool {
		indexIn(t.cells, index, e.number)
		return !box.Contains(index)
	})
}

// Equal reports whether two tables have the same chunks in the same versions.
func (t *Table) Equal(o *Table) bool {
	return slices.EqualFunc(t.entries, o.entries, func(a, b entry) bool { return a.number == b.number && a.digest == b.digest })
}

// Keep forgets all values but those with the given numbers, which are in order.
func (t *Table) Keep(numbers []int64) {
	t.entries = slices.DeleteFunc(t.entries, func(e entry) bool {
		_, found := slices.BinarySearch(numbers, e.number)
		return !found
	})
}

// Records returns a record of every stored chunk, without a fold.
func (t *Table) Records() []Record {
	list := make([]Record, 0, len(t.entries))
	for index := range t.All() {
		list = append(list, Record{Index: slices.Clone(index), Stored: true, Version: t.Digest(index)})
	}
	return list
}

// Size returns the bytes of a listed chunk, 0 if the listing does not know them.
func (t *Table) Size(index []int64) int64 {
	if e := t.find(index); e != nil {
		return max(0, e.size)
	}
	return 0
}

// Contains reports whether the chunk at an index is stored.
func (t *Table) Contains(index []int64) bool { return t.find(index) != nil }

// Digest returns the digest of the version of the chunk at an index, or 0.
func (t *Table) Digest(index []int64) Digest {
	if e := t.find(index); e != nil {
		return e.digest
	}
	return 0
}

// fewChunks is the size of a box whose chunks are visited one by one, stored or not.
const fewChunks = 4096

// within yields the indices of the chunks of a box, in C order. Of a large box it yields
// only those that are stored, unless t is nil: a sparse array may have more chunks than
// can be visited. It overwrites index.
func (t *Table) within(box grid.Box, index []int64) func(yield func([]int64) bool) {
	if n, ok := box.Len(); t == nil || ok && n <= max(fewChunks, int64(len(t.entries))) {
		return box.IndicesInto(index)
	}
	return func(yield func([]int64) bool) {
		first := make([]int64, len(box))
		for i, in := range box {
			first[i] = in.Start
		}
		k, _ := slices.BinarySearchFunc(t.entries, numberIn(t.cells, first), func(e entry, n int64) int { return cmp.Compare(e.number, n) })
		for _, e := range t.entries[k:] {
			indexIn(t.cells, index, e.number)
			// In C order, no later chunk is in the box.
			if len(index) > 0 && index[0] >= box[0].Stop {
				return
			}
			if box.Contains(index) && !yield(index) {
				return
			}
		}
	}
}

// All yields the indices of the stored chunks in C order. The next iteration overwrites
// the index.
func (t *Table) All() func(yield func([]int64) bool) {
	return func(yield func([]int64) bool) {
		index := make([]int64, len(t.cells))
		for _, e := range t.entries {
			if indexIn(t.cells, index, e.number); !yield(index) {
				return
			}
		}
	}
}
