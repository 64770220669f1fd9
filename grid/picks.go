package grid

import "varve.dev/zarr/internal/checked"

// Picks is what a [Part] takes besides steps: elements that lists or points name, and bytes of elements. It is not changed by
// those it is passed to.
type Picks struct {
	// Lists has an entry an axis, or is nil. Along an axis whose list names elements, these are taken and go to the
	// places that it names; Start and Step of the part do not matter there, and Count is how many there are.
	Lists []List
	// Points, where there are any, are all that is taken, and nothing else of the part matters.
	Points []Point
	// Windows are the bytes that are taken of every element; none are all.
	Windows []Window
}

// List names elements along one axis.
type List struct {
	At    []int64 // rising; element k is At[k]-Base
	Place []int64 // where it goes along the axis of the selected block; of those that are one element, in rising order
	Base  int64
}

// Point is an element that is taken, and where it goes.
type Point struct {
	Cell  int64 // a number that rises with the cells of a grid and is the same for all points of one cell
	At    int64 // number in C order of the element in its cell, as the cell is encoded
	Place int64 // number in C order of its place in the selected block
}

// Window is bytes of an element and where they go in another one.
type Window struct{ From, To, Size int64 }

// Bytes returns the bytes of elements that are made of the windows; of elements of size bytes where there are none.
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

// listed reports whether the list of an axis names elements.
func (p *Picks) listed(axis int) bool { return p.Lists != nil && p.Lists[axis].At != nil }

// Gather moves what a part takes of src to its places in dst.
func (p *Picks) Gather(dst, src View) { p.move(&dst, &src, true) }

// Scatter moves elements from their places in src to where a part takes them from in dst. Where it takes one
// several times, the last stays.
func (p *Picks) Scatter(dst, src View) { p.move(&src, &dst, false) }

// move copies between the places of the selected block and the elements of a cell, window by window.
func (p *Picks) move(block, cell *View, gather bool) {
	if len(p.Windows) == 0 {
		p.moveAll(*block, *cell, gather)
		return
	}
	for _, w := range p.Windows {
		p.moveAll(block.window(w.To, w.Size), cell.window(w.From, w.Size), gather)
	}
}

// Fill sets the places of what a part takes to those bytes of elem that it takes. block is as for Gather, and count has the
// number of elements along every axis.
func (p *Picks) Fill(block View, count []int64, elem []byte) {
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
	cell := block
	cell.Data, cell.Offset, cell.Shape, cell.Strides = elem, 0, count, make([]int64, len(count))
	p.moveAll(block, cell, true)
}

// window shows n bytes of every element, from byte from on.
func (v View) window(from, n int64) View {
	v.Offset += from
	v.Size = int(n)
	return v
}

func (p *Picks) moveAll(block, cell View, gather bool) {
	dst, src := &block, &cell
	if !gather {
		dst, src = src, dst
	}
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

// adopt is moveAll between views of two heaps: by way of references in a row, which are replaced there.
func (p *Picks) adopt(block, cell View, gather bool) {
	count := cell.Shape
	if p.Points != nil {
		count = []int64{int64(len(p.Points))}
	}
	row := View{Shape: count, Strides: AppendStrides(nil, count, RefSize), Size: RefSize}
	n := int64(RefSize)
	for _, l := range count {
		n *= l
	}
	row.Data = make([]byte, n)
	from, to := p.numbered(count)
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

// numbered returns the picks in two steps: from the cell to a row of what is taken, and from there to the places in the block.
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

// mover copies along lists.
type mover struct {
	picks    *Picks
	dst, src *View
	count    []int64
	gather   bool
	outer    int   // axes before those that are copied as one row
	row      int64 // bytes
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

// walk copies what is taken from the axis on.
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

// copyListed copies elements, or rows, of n bytes that lists name on both sides.
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

// copyPoints is movePoints of elements of one size, between views whose elements are evenly apart.
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

// numbered finds the elements of a view by their numbers in C order.
type numbered struct {
	*View
	step  int64 // bytes between elements that follow each other, where that is the same for all
	plain bool
}

func newNumbered(v *View) numbered {
	step, plain := v.Step()
	return numbered{v, step, plain}
}

// Step returns how many bytes lie between elements that follow each other in C order; it is false where they are not evenly apart.
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

// distinct returns how many different elements a list names.
func (l List) distinct() int64 {
	n := int64(min(1, len(l.At)))
	for k := 1; k < len(l.At); k++ {
		if l.At[k] != l.At[k-1] {
			n++
		}
	}
	return n
}

// Covers reports whether the part takes every element of a cell of that shape, all bytes of it. encoded is the shape that
// the numbers of points are of.
func (p Part) Covers(shape, encoded []int64) bool {
	switch {
	case p.Picks == nil:
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

// coverAll reports whether the points are all elements of the box from the origin within a cell.
func coverAll(points []Point, shape, encoded []int64) bool {
	want, most := int64(1), 16*int64(len(points))
	all, ok := checked.Product(encoded...)
	if !ok || all > most {
		return false // of a cell that reaches so far beyond the array it is not worth to know
	}
	for _, n := range shape {
		want *= n
	}
	if want > int64(len(points)) {
		return false
	}
	seen := make([]uint64, all/64+1)
	for _, p := range points {
		if bit := uint64(1) << (p.At % 64); seen[p.At/64]&bit == 0 {
			seen[p.At/64] |= bit
			want--
		}
	}
	return want == 0
}

// Permuted returns the picks of a block of that shape as those of one whose axis i is axis order[i] of it.
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
	strides, step := make([]int64, len(shape)), int64(1)
	for i := len(order) - 1; i >= 0; i-- {
		strides[order[i]] = step
		step *= shape[order[i]]
	}
	o.Points = make([]Point, len(p.Points))
	for k, from := range p.Points {
		at, to := from.At, int64(0)
		for i := len(shape) - 1; i >= 0; i-- {
			to += at % shape[i] * strides[i]
			at /= shape[i]
		}
		o.Points[k] = Point{At: to, Place: from.Place}
	}
	return o
}
