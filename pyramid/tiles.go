// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"sort"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/reduction"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/internal/strided"
)

// tiles are chunks of one level, by their number in C order.
type tiles map[int64]int

// fold identifies what a tile of the first level is made of: the box of the array, and
// the stored chunks in it with their versions.
type fold uint64

// listing is what is stored of the array, as its store lists it.
type listing struct {
	table *staging.Table
	folds map[int64]fold // of the tiles of the first level that have stored chunks, by number
}

// list lists the chunks of the array. first is the grid of the first level.
func list(ctx context.Context, s *snapshot.Array, r *reduction.Reducer, first *grid.Grid) (*listing, error) {
	table, err := staging.List(ctx, s)
	if err != nil {
		return nil, err
	}
	l, c := &listing{table, map[int64]fold{}}, grid.NewChunk(s.Grid.Rank())
	for index := range table.All() {
		if !s.Grid.Cell(index, c) {
			continue
		}
		cells, err := first.Touched(r.Above(c.Box()))
		if err != nil {
			return nil, err
		}
		for at := range cells.IndicesInto(make([]int64, len(cells))) {
			n := strided.Number(first, at)
			was, found := l.folds[n]
			if !found {
				was = foldOf(r.Below(boxOf(first, at), s.Grid.Shape()))
			}
			l.folds[n] = was.added(index, table.Digest(index))
		}
	}
	return l, nil
}

// foldOf returns the fold of a box without stored chunks.
func foldOf(box grid.Box) fold {
	var data []byte
	for _, in := range box {
		data = binary.AppendVarint(data, in.Start)
		data = binary.AppendVarint(data, in.Stop)
	}
	return fold(0).hash(data)
}

// added adds a stored chunk.
func (f fold) added(index []int64, version staging.Digest) fold {
	data := binary.LittleEndian.AppendUint64(nil, uint64(version))
	for _, k := range index {
		data = binary.AppendVarint(data, k)
	}
	return f.hash(data)
}

func (f fold) hash(data []byte) fold {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, uint64(f)))
	h.Write(data)
	return fold(h.Sum64())
}

// indexOf is the inverse of [strided.Number].
func indexOf(g *grid.Grid, n int64) []int64 {
	index := make([]int64, g.Rank())
	for i := g.Rank() - 1; i >= 0; i-- {
		chunks := g.Axis(i).Chunks()
		index[i], n = n%chunks, n/chunks
	}
	return index
}

// boxOf returns the elements of a chunk.
func boxOf(g *grid.Grid, index []int64) grid.Box {
	c, _ := g.Chunk(index)
	return c.Box()
}

// raised returns the tiles of a level that are made of tiles of the level below, each
// with the number of these.
func raised(r *reduction.Reducer, below, above *grid.Grid, of tiles) (tiles, error) {
	up := tiles{}
	for n := range of {
		cells, err := above.Touched(r.Above(boxOf(below, indexOf(below, n))))
		if err != nil {
			return nil, err
		}
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			up[strided.Number(above, index)]++
		}
	}
	return up, nil
}

// depthFirst returns the indices of tiles of the first of the grids in such an order that
// the tiles below one tile of any level follow each other.
func depthFirst(r *reduction.Reducer, grids []*grid.Grid, of tiles) [][]int64 {
	type tilePlace struct{ numbers, index []int64 } // numbers of the tiles above, the highest first
	list := make([]tilePlace, 0, len(of))
	for n := range of {
		p := tilePlace{make([]int64, len(grids)), indexOf(grids[0], n)}
		at := p.index
		for k, g := range grids {
			if k > 0 {
				cells, _ := g.Touched(r.Above(boxOf(grids[k-1], at)))
				at = make([]int64, len(cells))
				cells.First(at)
			}
			p.numbers[len(grids)-1-k] = strided.Number(g, at)
		}
		list = append(list, p)
	}
	sort.Slice(list, func(i, j int) bool {
		return slices.CompareFunc(list[i].numbers, list[j].numbers, cmp.Compare[int64]) < 0
	})
	order := make([][]int64, len(list))
	for i, p := range list {
		order[i] = p.index
	}
	return order
}
