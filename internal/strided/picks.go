// SPDX-License-Identifier: Apache-2.0

package strided

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
