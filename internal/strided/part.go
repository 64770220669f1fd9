// SPDX-License-Identifier: Apache-2.0

package strided

import (
	"varve.dev/zarr/internal/checked"
)

// Part selects elements of a block. Along every axis it takes Count elements from Start
// on that are Step apart, unless Picks says otherwise.
type Part struct {
	Start, Step, Count []int64
	Picks              *Picks
}

// Len returns the number of elements in the part. It does not check for overflow.
func (p Part) Len() int64 {
	if p.Picks != nil && p.Picks.Points != nil {
		return int64(len(p.Picks.Points))
	}
	n := int64(1)
	for _, c := range p.Count {
		n *= c
	}
	return n
}

// Covers reports whether the part takes every element of a cell of the given shape with
// all its bytes. The numbers of points refer to the shape encoded.
func (p Part) Covers(shape, encoded []int64) bool {
	switch {
	case p.Picks == nil:
	// Windows are assumed to leave out some bytes.
	case len(p.Picks.Windows) > 0:
		return false
	case p.Picks.Points != nil:
		return coverAll(p.Picks.Points, shape, encoded)
	}
	for i, n := range shape {
		if p.Picks != nil && p.Picks.listed(i) {
			if p.Picks.Lists[i].distinct() != n {
				return false
			}
		} else if p.Start[i] != 0 || p.Count[i] != n || p.Step[i] != 1 && n > 1 {
			return false
		}
	}
	return true
}

// coverAll reports whether the points name every element of the given shape within a cell
// of shape encoded.
func coverAll(points []Point, shape, encoded []int64) bool {
	want, most := int64(1), 16*int64(len(points))
	all, ok := checked.Product(encoded...)
	if !ok || all > most {
		// The bitmap below would be far larger than the list of points.
		return false
	}
	for _, n := range shape {
		want *= n
	}
	if want > int64(len(points)) {
		return false
	}
	// Points may name an element several times, so count the distinct ones.
	seen := make([]uint64, all/64+1)
	for _, p := range points {
		if bit := uint64(1) << (p.At % 64); seen[p.At/64]&bit == 0 {
			seen[p.At/64] |= bit
			want--
		}
	}
	return want == 0
}

// Picks extends what a [Part] takes: elements that lists or points name, and bytes of
// elements. Functions that receive a Picks do not modify it.
type Picks struct {
	// Lists is nil or has one entry per axis. If the list of an axis names elements,
	// these are taken and go to the places that it names. Start and Step of the part are
	// then ignored along this axis, and Count is the number of elements in the list.
	Lists []List
	// Points, if there are any, name all elements that are taken. Lists, Start, Step and
	// Count are then ignored.
	Points []Point
	// Windows are the bytes that are taken of every element. If there are none, all bytes
	// are taken.
	Windows []Window
}

// Bytes returns the size in bytes of the elements that the windows make. Without windows
// that is size.
func (p *Picks) Bytes(size int) int {
	if p == nil || len(p.Windows) == 0 {
		return size
	}
	n := int64(0)
	for _, w := range p.Windows {
		n = max(n, w.To+w.Size)
	}
	return int(n)
}

// listed reports whether a list names the elements along an axis.
func (p *Picks) listed(axis int) bool { return p.Lists != nil && p.Lists[axis].At != nil }

// Permuted returns the picks for a transposed block. They apply to a block whose axis i
// is axis order[i] of a block of the given shape. It returns nil if p is nil.
func (p *Picks) Permuted(order []int, shape []int64) *Picks {
	if p == nil {
		return nil
	}
	o := &Picks{Windows: p.Windows}
	if p.Lists != nil {
		o.Lists = make([]List, len(order))
		for i, axis := range order {
			o.Lists[i] = p.Lists[axis]
		}
	}
	if p.Points == nil {
		return o
	}
	// strides are those of the transposed block, by axes of the original one.
	strides, step := make([]int64, len(shape)), int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		strides[order[i]] = step
		step *= shape[order[i]]
	}
	o.Points = make([]Point, len(p.Points))
	for k, from := range p.Points {
		// Take the number apart into indices and add them up with the new strides.
		at, to := from.At, int64(0)
		for i := len(shape) - 1; i >= 0; i-- {
			to += at % shape[i] * strides[i]
			at /= shape[i]
		}
		o.Points[k] = Point{At: to, Place: from.Place}
	}
	return o
}

// List names elements along one axis.
type List struct {
	At []int64 // ascending; element k is At[k]-Base
	// Place is where each element goes along the axis of the selected block. Places of
	// the same element ascend.
	Place []int64
	Base  int64
}

// distinct returns the number of different elements that a list names.
func (l List) distinct() int64 {
	n := int64(min(1, len(l.At)))
	for k := 1; k < len(l.At); k++ {
		if l.At[k] != l.At[k-1] {
			n++
		}
	}
	return n
}

// Point is an element that is taken, and where it goes.
type Point struct {
	// Cell is a number that ascends with the cells of a grid and is the same for all
	// points of one cell.
	Cell int64
	// At is the number of the element in C order within its encoded cell.
	At int64
	// Place is the number of its place in C order within the selected block.
	Place int64
}

// Window takes Size bytes of an element, from byte From on, to byte To of another
// element.
type Window struct{ From, To, Size int64 }

// Gather copies what the part takes from the cell src to its places in the selected block
// dst.
func (p *Picks) Gather(dst, src View) { p.move(&dst, &src, true) }

// Scatter is the inverse of Gather: it copies elements from their places in the selected
// block src to their positions in the cell dst. If the part takes an element several
// times, the last copy wins.
func (p *Picks) Scatter(dst, src View) { p.move(&src, &dst, false) }

// move copies between the selected block and a cell, window by window.
func (p *Picks) move(block, cell *View, gather bool) {
	if len(p.Windows) == 0 {
		p.moveAll(*block, *cell, gather)
		return
	}
	for _, w := range p.Windows {
		p.moveAll(block.window(w.To, w.Size), cell.window(w.From, w.Size), gather)
	}
}

// Fill sets the places of what the part takes, within the selected block, to elem, or to
// those bytes of elem that the windows take. count is the number of elements that it
// takes along each axis.
func (p *Picks) Fill(block View, count []int64, elem []byte) {
	// Fill one window after another with its bytes of elem.
	if len(p.Windows) > 0 {
		bare := &Picks{Lists: p.Lists, Points: p.Points}
		for _, w := range p.Windows {
			bare.Fill(block.window(w.To, w.Size), count, elem[w.From:w.From+w.Size])
		}
		return
	}
	if p.Points == nil && p.Lists == nil {
		Fill(block, elem)
		return
	}
	// With all strides 0, every element of this cell is elem.
	cell := block
	cell.Data, cell.Offset, cell.Shape, cell.Strides = elem, 0, count, make([]int64, len(count))
	p.moveAll(block, cell, true)
}

// window returns a view of n bytes of every element, from byte from on.
func (v View) window(from, n int64) View {
	v.Offset += from
	v.Size = int(n)
	return v
}

// moveAll is move for all bytes of the elements.
func (p *Picks) moveAll(block, cell View, gather bool) {
	dst, src := &block, &cell
	if !gather {
		dst, src = src, dst
	}
	// References would be meaningless in the other heap.
	if apart(dst.Heap, src.Heap) {
		p.adopt(block, cell, gather)
		return
	}
	switch {
	case p.Points != nil:
		movePoints(dst, src, p.Points, gather)
	case p.Lists == nil:
		Copy(*dst, *src)
	default:
		m := mover{picks: p, dst: dst, src: src, count: cell.Shape, gather: gather}
		m.plan()
		m.walk(dst.Offset, src.Offset, 0)
	}
}

// adopt is moveAll between views with different heaps. It copies the references to a row
// of their own, where they are replaced by references into the other heap.
func (p *Picks) adopt(block, cell View, gather bool) {
	count := cell.Shape
	if p.Points != nil {
		count = []int64{int64(len(p.Points))}
	}
	// row holds the references of all taken elements in C order.
	row := View{Shape: count, Strides: AppendStrides(nil, count, RefSize), Size: RefSize}
	n := int64(RefSize)
	for _, l := range count {
		n *= l
	}
	row.Data = make([]byte, n)
	from, to := p.numbered(count)
	// Without heaps moveAll copies references as they are.
	into, of := block.Heap, cell.Heap
	block.Heap, cell.Heap = nil, nil
	if gather {
		from.moveAll(row, cell, true)
		into.take(row.Data, of)
		to.moveAll(block, row, true)
		return
	}
	to.moveAll(block, row, false)
	of.take(row.Data, into)
	from.moveAll(row, cell, false)
}

// numbered splits the picks into two steps: from the cell to a row of what is taken, and
// from that row to the places in the block.
func (p *Picks) numbered(count []int64) (from, to *Picks) {
	from, to = new(Picks), new(Picks)
	for k, point := range p.Points {
		from.Points = append(from.Points, Point{At: point.At, Place: int64(k)})
		to.Points = append(to.Points, Point{At: int64(k), Place: point.Place})
	}
	for i, l := range p.Lists {
		a, b := List{}, List{}
		if l.At != nil {
			numbers := make([]int64, count[i])
			for k := range numbers {
				numbers[k] = int64(k)
			}
			a, b = List{At: l.At, Place: numbers, Base: l.Base}, List{At: numbers, Place: l.Place}
		}
		from.Lists, to.Lists = append(from.Lists, a), append(to.Lists, b)
	}
	return from, to
}

// mover copies elements that lists name.
type mover struct {
	picks    *Picks
	dst, src *View
	count    []int64
	gather   bool
	outer    int   // number of axes before those that are copied as one row
	row      int64 // bytes of that row
}

// plan finds the innermost axes that are contiguous on both sides.
func (m *mover) plan() {
	m.outer, m.row = len(m.count), int64(m.dst.Size)
	for m.outer > 0 {
		i := m.outer - 1
		if m.picks.listed(i) || m.count[i] != 1 && (m.dst.Strides[i] != m.row || m.src.Strides[i] != m.row) {
			return
		}
		m.outer--
		m.row *= m.count[i]
	}
}

// walk copies what is taken along the axes from axis on. d and s are byte offsets.
func (m *mover) walk(d, s int64, axis int) {
	if axis == m.outer {
		copy(m.dst.Data[d:d+m.row], m.src.Data[s:s+m.row])
		return
	}
	ds, ss := m.dst.Strides[axis], m.src.Strides[axis]
	last := axis == m.outer-1
	if !m.picks.listed(axis) {
		if last {
			copyEach(m.dst.Data, m.src.Data, d, s, ds, ss, m.count[axis], m.row)
			return
		}
		for range m.count[axis] {
			m.walk(d, s, axis+1)
			d += ds
			s += ss
		}
		return
	}
	// On the side of the cell the positions are At, less Base. On that of the block they
	// are Place.
	l := &m.picks.Lists[axis]
	from, to := l.At, l.Place
	if m.gather {
		s -= l.Base * ss
	} else {
		d -= l.Base * ds
		from, to = to, from
	}
	if last {
		copyListed(m.dst.Data, m.src.Data, d, s, ds, ss, from, to, m.row)
		return
	}
	for k := range from {
		m.walk(d+to[k]*ds, s+from[k]*ss, axis+1)
	}
}

// copyListed copies elements or rows of n bytes, whose positions lists name on both
// sides.
func copyListed(dst, src []byte, d, s, ds, ss int64, from, to []int64, n int64) {
	switch n {
	case 1:
		copyNamed[[1]byte](dst, src, d, s, ds, ss, from, to)
	case 2:
		copyNamed[[2]byte](dst, src, d, s, ds, ss, from, to)
	case 4:
		copyNamed[[4]byte](dst, src, d, s, ds, ss, from, to)
	case 8:
		copyNamed[[8]byte](dst, src, d, s, ds, ss, from, to)
	case 16:
		copyNamed[[16]byte](dst, src, d, s, ds, ss, from, to)
	default:
		for k := range from {
			i, j := d+to[k]*ds, s+from[k]*ss
			copy(dst[i:i+n], src[j:j+n])
		}
	}
}

func copyNamed[E element](dst, src []byte, d, s, ds, ss int64, from, to []int64) {
	to = to[:len(from)]
	for k, i := range from {
		*at[E](dst, d+to[k]*ds) = *at[E](src, s+i*ss)
	}
}

// movePoints copies points between their cell and the block.
func movePoints(dst, src *View, points []Point, gather bool) {
	block, cell := src, dst
	if gather {
		block, cell = dst, src
	}
	b, c := newNumbered(block), newNumbered(cell)
	n := int64(dst.Size)
	// Evenly spaced elements are found without a division per point.
	if b.plain && c.plain {
		switch n {
		case 1:
			copyPoints[[1]byte](b, c, points, gather)
			return
		case 2:
			copyPoints[[2]byte](b, c, points, gather)
			return
		case 4:
			copyPoints[[4]byte](b, c, points, gather)
			return
		case 8:
			copyPoints[[8]byte](b, c, points, gather)
			return
		}
	}
	for _, p := range points {
		i, j := b.offset(p.Place), c.offset(p.At)
		if !gather {
			i, j = j, i
		}
		copy(dst.Data[i:i+n], src.Data[j:j+n])
	}
}

// copyPoints is movePoints for elements of one size in evenly spaced views.
func copyPoints[E element](b, c numbered, points []Point, gather bool) {
	if gather {
		for _, p := range points {
			*at[E](b.Data, b.Offset+p.Place*b.step) = *at[E](c.Data, c.Offset+p.At*c.step)
		}
		return
	}
	for _, p := range points {
		*at[E](c.Data, c.Offset+p.At*c.step) = *at[E](b.Data, b.Offset+p.Place*b.step)
	}
}

// numbered finds the elements of a view by their number in C order.
type numbered struct {
	*View
	step  int64 // bytes between consecutive elements, if plain
	plain bool
}

func newNumbered(v *View) numbered {
	step, plain := v.Step()
	return numbered{v, step, plain}
}

// Step returns the number of bytes between consecutive elements in C order. It returns
// false if they are not evenly spaced.
func (v View) Step() (int64, bool) {
	step, next, found := int64(0), int64(0), false
	for i := len(v.Shape) - 1; i >= 0; i-- {
		switch {
		case v.Shape[i] == 1:
			continue
		case !found:
			step, next, found = v.Strides[i], v.Strides[i], true
		case v.Strides[i] != next:
			return 0, false
		}
		next *= v.Shape[i]
	}
	return step, true
}

func (n *numbered) offset(k int64) int64 {
	if n.plain {
		return n.Offset + k*n.step
	}
	off := n.Offset
	for i := len(n.Shape) - 1; i >= 0; i-- {
		off += k % n.Shape[i] * n.Strides[i]
		k /= n.Shape[i]
	}
	return off
}
