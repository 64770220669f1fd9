package grid

import "encoding/binary"

// Where the axis along which elements follow each other is not the same on both sides, as in a transpose, rows of one are columns
// of the other. To copy along either would use one element of every cache line that is touched, so squares are copied, whose lines
// stay in the cache, and of small elements several at a time as one number.

// tileBytes is the length of a side of a square in bytes.
const tileBytes = 128

// tiles copies squares of two axes: along one the elements of dst follow each other, along the other those of src.
type tiles struct {
	dst, src *View
	a, b     int   // the axes: of dst, of src
	size     int64 // bytes an element
}

// copyTiles copies src to dst if that is of use, and reports whether it is.
func copyTiles(dst, src *View) bool {
	t := tiles{dst, src, -1, -1, int64(dst.Size)}
	for i, n := range dst.Shape {
		if n > 1 && dst.Strides[i] == t.size && t.a < 0 {
			t.a = i
		}
		if n > 1 && src.Strides[i] == t.size && t.b < 0 {
			t.b = i
		}
	}
	if t.a < 0 || t.b < 0 || t.a == t.b || t.size > 16 || t.size&(t.size-1) != 0 || dst.Shape[t.a] < 8 || dst.Shape[t.b] < 8 {
		return false
	}
	t.walk(dst.Offset, src.Offset, 0)
	return true
}

// walk goes along all other axes.
func (t *tiles) walk(d, s int64, axis int) {
	if axis == len(t.dst.Shape) {
		t.plane(d, s)
		return
	}
	if axis == t.a || axis == t.b {
		t.walk(d, s, axis+1)
		return
	}
	for range t.dst.Shape[axis] {
		t.walk(d, s, axis+1)
		d += t.dst.Strides[axis]
		s += t.src.Strides[axis]
	}
}

// plane copies what lies along the two axes, square by square.
func (t *tiles) plane(d, s int64) {
	n, m := t.dst.Shape[t.a], t.dst.Shape[t.b]
	side := tileBytes / t.size
	for i := int64(0); i < n; i += side {
		for j := int64(0); j < m; j += side {
			t.tile(d+i*t.size+j*t.dst.Strides[t.b], s+j*t.size+i*t.src.Strides[t.a], min(side, n-i), min(side, m-j))
		}
	}
}

// tile copies a square of n elements along a and m along b.
func (t *tiles) tile(d, s, n, m int64) {
	dst, src, ds, ss := t.dst.Data, t.src.Data, t.dst.Strides[t.b], t.src.Strides[t.a]
	at, step := int64(0), int64(1)
	switch t.size {
	case 1:
		step = 8
	case 2:
		step = 4
	case 4:
		step = 2
	}
	rows, columns := n/step*step, m/step*step
	for ; at < rows && step > 1; at += step {
		switch t.size {
		case 1:
			turn8(dst, src, d+at, s+at*ss, ds, ss, columns)
		case 2:
			turn4(dst, src, d+2*at, s+at*ss, ds, ss, columns)
		case 4:
			turn2(dst, src, d+4*at, s+at*ss, ds, ss, columns)
		}
		for k := at; k < at+step && columns < m; k++ {
			copyEach(dst, src, d+k*t.size+columns*ds, s+k*ss+columns*t.size, ds, t.size, m-columns, t.size)
		}
	}
	for ; at < n; at++ {
		copyEach(dst, src, d+at*t.size, s+at*ss, ds, t.size, m, t.size)
	}
}

func load(b []byte, off int64) uint64      { return binary.LittleEndian.Uint64(b[off:]) }
func store8(b []byte, off int64, x uint64) { binary.LittleEndian.PutUint64(b[off:], x) }

// turn8 copies m columns of eight rows of bytes, eight at a time.
func turn8(dst, src []byte, d, s, ds, ss, m int64) {
	for ; m > 0; m -= 8 {
		x0, x1, x2, x3 := load(src, s), load(src, s+ss), load(src, s+2*ss), load(src, s+3*ss)
		x4, x5, x6, x7 := load(src, s+4*ss), load(src, s+5*ss), load(src, s+6*ss), load(src, s+7*ss)
		x0, x4 = swapHalves(x0, x4)
		x1, x5 = swapHalves(x1, x5)
		x2, x6 = swapHalves(x2, x6)
		x3, x7 = swapHalves(x3, x7)
		x0, x2 = swapQuarters(x0, x2)
		x1, x3 = swapQuarters(x1, x3)
		x4, x6 = swapQuarters(x4, x6)
		x5, x7 = swapQuarters(x5, x7)
		x0, x1 = swapEighths(x0, x1)
		x2, x3 = swapEighths(x2, x3)
		x4, x5 = swapEighths(x4, x5)
		x6, x7 = swapEighths(x6, x7)
		store8(dst, d, x0)
		store8(dst, d+ds, x1)
		store8(dst, d+2*ds, x2)
		store8(dst, d+3*ds, x3)
		store8(dst, d+4*ds, x4)
		store8(dst, d+5*ds, x5)
		store8(dst, d+6*ds, x6)
		store8(dst, d+7*ds, x7)
		d, s = d+8*ds, s+8
	}
}

// turn4 copies m columns of four rows of two-byte elements, four at a time.
func turn4(dst, src []byte, d, s, ds, ss, m int64) {
	for ; m > 0; m -= 4 {
		x0, x1, x2, x3 := load(src, s), load(src, s+ss), load(src, s+2*ss), load(src, s+3*ss)
		x0, x2 = swapHalves(x0, x2)
		x1, x3 = swapHalves(x1, x3)
		x0, x1 = swapQuarters(x0, x1)
		x2, x3 = swapQuarters(x2, x3)
		store8(dst, d, x0)
		store8(dst, d+ds, x1)
		store8(dst, d+2*ds, x2)
		store8(dst, d+3*ds, x3)
		d, s = d+4*ds, s+8
	}
}

// turn2 copies m columns of two rows of four-byte elements, two at a time.
func turn2(dst, src []byte, d, s, ds, ss, m int64) {
	for ; m > 0; m -= 2 {
		x0, x1 := swapHalves(load(src, s), load(src, s+ss))
		store8(dst, d, x0)
		store8(dst, d+ds, x1)
		d, s = d+2*ds, s+8
	}
}

// The upper part of every two of x changes places with the lower part of those of y.

func swapHalves(x, y uint64) (uint64, uint64) {
	return x&0xffffffff | y<<32, x>>32 | y&^0xffffffff
}

func swapQuarters(x, y uint64) (uint64, uint64) {
	const low = 0x0000ffff0000ffff
	return x&low | y&low<<16, x>>16&low | y&^low
}

func swapEighths(x, y uint64) (uint64, uint64) {
	const low = 0x00ff00ff00ff00ff
	return x&low | y&low<<8, x>>8&low | y&^low
}
