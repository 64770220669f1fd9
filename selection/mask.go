package selection

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"unsafe"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// Mask selects the elements for which an array of booleans of the same shape, in C order, is true. The result has one axis, in C order.
// The booleans are not copied.
type Mask struct {
	Shape []int64
	Data  []bool
}

// mask is a Mask that knows how many elements are selected before any other.
type mask struct {
	shape  []int64
	data   []byte
	counts []int64 // selected elements before each stretch of maskStretch
}

// maskStretch is how many elements of a mask are counted together.
const maskStretch = 512

func (m Mask) resolve(t *Target) (*Resolved, error) {
	if !slices.Equal(m.Shape, t.Shape) {
		return nil, fmt.Errorf("%w: a mask of shape %d, the array has %d", ErrInvalid, m.Shape, t.Shape)
	}
	n, ok := checked.Product(m.Shape...)
	if !ok || n != int64(len(m.Data)) {
		return nil, fmt.Errorf("%w: a mask of %d booleans, its shape %d has others", ErrInvalid, len(m.Data), m.Shape)
	}
	out := &mask{shape: slices.Clone(m.Shape), data: unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(m.Data))), len(m.Data))}
	out.counts = make([]int64, 0, len(m.Data)/maskStretch+2)
	count := int64(0)
	for stretch := range slices.Chunk(out.data, maskStretch) {
		out.counts = append(out.counts, count)
		count += trues(stretch)
	}
	out.counts = append(out.counts, count)
	return &Resolved{source: out.shape, mask: out, count: count}, nil
}

func trues(b []byte) int64 { return int64(bytes.Count(b, []byte{1})) }

// before returns how many elements are selected before element n in C order.
func (m *mask) before(n int64) int64 {
	k := n / maskStretch
	return m.counts[k] + trues(m.data[k*maskStretch:n])
}

// points returns the selected elements from number start to before number stop as points.
func (m *mask) points(start, stop int64) *points {
	n := stop - start
	p := &points{shape: []int64{n}, coords: make([]coords, len(m.shape))}
	for i := range p.coords {
		p.coords[i] = coords{data: make([]int64, n), strides: []int64{1}, least: m.shape[i]}
	}
	k := max(0, sort.Search(len(m.counts), func(i int) bool { return m.counts[i] > start })-1)
	number := m.counts[k]
	for at := int64(k) * maskStretch; number < stop; at++ {
		at += int64(bytes.IndexByte(m.data[at:], 1))
		if number >= start {
			m.note(p, number-start, at)
		}
		number++
	}
	return p
}

// note makes an element, counted in C order, point number k.
func (m *mask) note(p *points, k, at int64) {
	for i := len(m.shape) - 1; i >= 0; i-- {
		c := &p.coords[i]
		c.data[k] = at % m.shape[i]
		at /= m.shape[i]
		c.least, c.most = min(c.least, c.data[k]), max(c.most, c.data[k])
	}
}

// within appends the selected elements of a cell of the array to dst.
func (m *mask) within(dst []grid.Point, cell *grid.Chunk) []grid.Point {
	w := maskWalk{mask: m, cell: cell, dst: dst}
	w.walk(0, 0, 0)
	return w.dst
}

// maskWalk goes through the rows of one cell.
type maskWalk struct {
	*mask
	cell *grid.Chunk
	dst  []grid.Point
}

// walk goes on along an axis; from is the number of the row in the array, and at in the cell.
func (w *maskWalk) walk(axis int, from, at int64) {
	if axis == len(w.shape) {
		w.row(from, at, 1)
		return
	}
	from, at = from*w.shape[axis]+w.cell.Start[axis], at*w.cell.Encoded[axis]
	if axis == len(w.shape)-1 {
		w.row(from, at, w.cell.Logical[axis])
		return
	}
	for k := range w.cell.Logical[axis] {
		w.walk(axis+1, from+k, at+k)
	}
}

// row notes what is selected of n elements that follow each other.
func (w *maskWalk) row(from, at, n int64) {
	row := w.data[from : from+n]
	first := bytes.IndexByte(row, 1)
	if first < 0 {
		return
	}
	k, place := first&^7, w.before(from)
	for ; k+8 <= len(row); k += 8 {
		for eight := binary.LittleEndian.Uint64(row[k:]); eight != 0; eight &= eight - 1 {
			w.dst = append(w.dst, grid.Point{At: at + int64(k+bits.TrailingZeros64(eight)/8), Place: place})
			place++
		}
	}
	for ; k < len(row); k++ {
		if row[k] != 0 {
			w.dst = append(w.dst, grid.Point{At: at + int64(k), Place: place})
			place++
		}
	}
}
