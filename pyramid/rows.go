// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/number"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// newReducer returns the reducer for elements of type t. absent are elements that are
// missing values.
func newReducer(t dtype.Type, m Method, factors []int64, absent [][]byte) (*reducer, error) {
	if t.Variable() {
		return nil, fmt.Errorf("%w: elements of type %s have no fixed size", zarr.ErrUnsupported, t)
	}
	r := &reducer{factors: factors}
	// Nearest copies bytes, so it needs no knowledge of the type.
	if m == Nearest {
		return r, nil
	}
	if r.rows = rowsOf(t, m, absent); r.rows == nil {
		return nil, fmt.Errorf("%w: elements of type %s have no %s; the method nearest takes any type of fixed size", zarr.ErrInvalidArgument, t, m)
	}
	if m == Mean {
		r.rows = newApart(t, absent).rows(r.rows)
	}
	return r, nil
}

// notATime is NaT, the missing value of times.
var notATime = binary.NativeEndian.AppendUint64(nil, 1<<63)

// rowsOf returns how rows are made, or nil if elements of the type do not have the
// method.
func rowsOf(t dtype.Type, m Method, absent [][]byte) rowMaker {
	switch k := t.Kind(); {
	// A mean of booleans would be no boolean. Min, max and mode treat them as 0 and 1.
	case k == dtype.KindBool && m != Mean:
		return integers[uint8](m, absent)
	case k == dtype.KindDatetime || k == dtype.KindTimedelta:
		// Moments are 64-bit counts. NaT is their smallest number, and must not win as
		// minimum.
		return wides[int64](m, append(absent, notATime))
	// Complex numbers have no order, so they only have a mean.
	case t == dtype.Complex64 && m == Mean:
		return plain(complexMean[complex64], valuesOf[complex64](absent))
	case t == dtype.Complex128 && m == Mean:
		return plain(complexMean[complex128], valuesOf[complex128](absent))
	}
	if rows, ok := native[t.Name()]; ok {
		return rows(m, absent)
	}
	f, ok := number.Of(t)
	if !ok {
		return nil
	}
	switch f.Carrier {
	case number.Signed:
		return converted(f, func(b *number.Block) []int64 { return b.I[:] }, wides[int64], m, absent)
	case number.Unsigned:
		return converted(f, func(b *number.Block) []uint64 { return b.U[:] }, wides[uint64], m, absent)
	}
	return converted(f, func(b *number.Block) []float64 { return b.F[:] }, floats[float64], m, absent)
}

// native has the types whose elements are Go numbers.
var native = map[string]func(Method, [][]byte) rowMaker{
	"int8": integers[int8], "int16": integers[int16], "int32": integers[int32], "int64": wides[int64],
	"uint8": integers[uint8], "uint16": integers[uint16], "uint32": integers[uint32], "uint64": wides[uint64],
	"float32": floats[float32], "float64": floats[float64],
}

// short are integers whose sums fit into 64 bits, since a block has at most [mostBlock]
// elements.
type short interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32
}

// wide are the other integers.
type wide interface{ int64 | uint64 }

type float interface{ float32 | float64 }

func integers[T short](m Method, absent [][]byte) rowMaker {
	rows := plain(reals(m, shortMean[T]), valuesOf[T](absent))
	// Whole rows are added at once only where no element is left out: the divisor is then
	// the same for all blocks.
	if m == Mean && len(absent) == 0 {
		return sums(shortMeans[T], rows)
	}
	return whole[T](m, absent, rows)
}

func wides[T wide](m Method, absent [][]byte) rowMaker {
	return whole[T](m, absent, plain(reals(m, wideMean[T]), valuesOf[T](absent)))
}

// whole returns what makes the elements of whole rows as plain does, or plain.
func whole[T short | wide](m Method, absent [][]byte, plain rowMaker) rowMaker {
	switch {
	// Missing values need a look at each element; the mean of wide integers needs 128
	// bits.
	case len(absent) > 0 || m == Mean:
		return plain
	case m == Mode:
		return modes[T](plain)
	}
	return extremes[T](m, plain)
}

func floats[T float](m Method, absent [][]byte) rowMaker {
	rows := plain(reals(m, floatMean[T]), valuesOf[T](absent))
	switch {
	case len(absent) > 0 || m == Mode:
		return rows
	case m == Mean:
		return sums(floatMeans[T], rows)
	}
	return extremes[T](m, rows)
}

// as returns the elements of a block of memory.
func as[T any](b []byte) []T {
	var t T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(t)))
}

// bytesOf returns the memory of elements.
func bytesOf[T any](s []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(t)))
}

// valuesOf returns the values of single elements.
func valuesOf[T any](elements [][]byte) (values []T) {
	for _, e := range elements {
		values = append(values, make([]T, 1)...)
		copy(bytesOf(values[len(values)-1:]), e)
	}
	return values
}

// mostBlock bounds the elements of a block.
const mostBlock = 1 << 20

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
func list(ctx context.Context, s *snapshot.Array, r *reducer, first *grid.Grid) (*listing, error) {
	table, err := staging.List(ctx, s)
	if err != nil {
		return nil, err
	}
	l, c := &listing{table, map[int64]fold{}}, grid.NewChunk(s.Grid.Rank())
	for index := range table.All() {
		if !s.Grid.Cell(index, c) {
			continue
		}
		cells, err := first.Touched(r.above(c.Box()))
		if err != nil {
			return nil, err
		}
		for at := range cells.IndicesInto(make([]int64, len(cells))) {
			n := numberOf(first, at)
			was, found := l.folds[n]
			if !found {
				was = foldOf(r.below(boxOf(first, at), s.Grid.Shape()))
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

// numberOf returns the number of a chunk in C order.
func numberOf(g *grid.Grid, index []int64) int64 {
	n := int64(0)
	for i, k := range index {
		n = n*g.Axis(i).Chunks() + k
	}
	return n
}

// indexOf is the inverse of numberOf.
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
func raised(r *reducer, below, above *grid.Grid, of tiles) (tiles, error) {
	up := tiles{}
	for n := range of {
		cells, err := above.Touched(r.above(boxOf(below, indexOf(below, n))))
		if err != nil {
			return nil, err
		}
		for index := range cells.IndicesInto(make([]int64, len(cells))) {
			up[numberOf(above, index)]++
		}
	}
	return up, nil
}

// depthFirst returns the indices of tiles of the first of the grids in such an order that
// the tiles below one tile of any level follow each other.
func depthFirst(r *reducer, grids []*grid.Grid, of tiles) [][]int64 {
	type tilePlace struct{ numbers, index []int64 } // numbers of the tiles above, the highest first
	list := make([]tilePlace, 0, len(of))
	for n := range of {
		p := tilePlace{make([]int64, len(grids)), indexOf(grids[0], n)}
		at := p.index
		for k, g := range grids {
			if k > 0 {
				cells, _ := g.Touched(r.above(boxOf(grids[k-1], at)))
				at = make([]int64, len(cells))
				cells.First(at)
			}
			p.numbers[len(grids)-1-k] = numberOf(g, at)
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b tilePlace) int { return slices.CompareFunc(a.numbers, b.numbers, cmp.Compare[int64]) })
	order := make([][]int64, len(list))
	for i, p := range list {
		order[i] = p.index
	}
	return order
}
