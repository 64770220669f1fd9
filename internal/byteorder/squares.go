// SPDX-License-Identifier: Apache-2.0

package byteorder

import (
	"encoding/binary"
	"unsafe"
)

// side is the side of a square in bytes. The cache lines of a square stay in the cache
// until they are complete.
const side = 128

// squares transposes the plane square by square.
func (p *plane) squares() {
	step := side / p.size
	for i := 0; i < p.n; i += step {
		for j := 0; j < p.m; j += step {
			p.square(i, j, min(step, p.n-i), min(step, p.m-j))
		}
	}
}

// square transposes n rows and m columns. It moves several small elements at a time as
// one number, and the rest one by one.
func (p *plane) square(i, j, n, m int) {
	rows, columns := 0, 0
	if together := 8 / p.size; together > 1 {
		rows, columns = n/together*together, m/together*together
		for k := 0; k < rows; k += together {
			p.numbers(i+k, j, columns)
		}
		if rows > 0 && columns < m {
			p.elements(i, j+columns, rows, m-columns)
		}
	}
	p.elements(i+rows, j, n-rows, m)
}

// numbers transposes m columns of as many rows as eight bytes have elements.
func (p *plane) numbers(i, j, m int) {
	d, s := p.to(i, j), p.from(i, j)
	switch p.size {
	case 1:
		turn8(p.dst.Data, p.src.Data, d, s, p.dst.Stride, p.src.Stride, m)
	case 2:
		turn4(p.dst.Data, p.src.Data, d, s, p.dst.Stride, p.src.Stride, m)
	case 4:
		turn2(p.dst.Data, p.src.Data, d, s, p.dst.Stride, p.src.Stride, m)
	}
}

// elements transposes n rows and m columns element by element.
func (p *plane) elements(i, j, n, m int) {
	for k := range n {
		d, s := p.to(i+k, j), p.from(i+k, j)
		switch p.size {
		case 1:
			spread[[1]byte](p.dst, p.src, d, s, m)
		case 2:
			spread[[2]byte](p.dst, p.src, d, s, m)
		case 4:
			spread[[4]byte](p.dst, p.src, d, s, m)
		case 8:
			spread[[8]byte](p.dst, p.src, d, s, m)
		case 16:
			spread[[16]byte](p.dst, p.src, d, s, m)
		}
	}
}

// element is an array of bytes, which one instruction moves regardless of alignment.
type element interface {
	[1]byte | [2]byte | [4]byte | [8]byte | [16]byte
}

// spread copies m consecutive elements at offset s to a column that begins at offset d.
func spread[E element](dst, src Side, d, s, m int) {
	size := int(unsafe.Sizeof(*new(E)))
	for range m {
		*at[E](dst.Data, d) = *at[E](src.Data, s)
		d, s = d+dst.Stride, s+size
	}
}

// at returns the element at byte off of data; the slice expression checks the bounds.
func at[E element](data []byte, off int) *E {
	return (*E)(unsafe.Pointer(unsafe.SliceData(data[off : off+int(unsafe.Sizeof(*new(E)))])))
}

func load(b []byte, at int) uint64     { return binary.LittleEndian.Uint64(b[at:]) }
func store(b []byte, at int, x uint64) { binary.LittleEndian.PutUint64(b[at:], x) }

// Side is the source or the destination of a copy: rows of consecutive elements.
type Side struct {
	Data   []byte
	Offset int // of the first row, in bytes
	Stride int // bytes from a row to the next; may be negative
}

// in panics if rows are not within the data, because assembly does not check bounds.
func (s Side) in(rows, bytes int) {
	way := (rows - 1) * s.Stride
	_ = s.Data[s.Offset+min(0, way) : s.Offset+max(0, way)+bytes : len(s.Data)]
}

// Plane copies the columns of src, n rows of m elements, to the m rows of dst. Elements
// have size bytes: 1, 2, 4, 8 or 16. The sides must not overlap, and neither must two
// rows of dst.
func Plane(dst, src Side, n, m, size int) {
	if n <= 0 || m <= 0 {
		return
	}
	dst.in(m, n*size)
	src.in(n, m*size)
	p := plane{dst, src, n, m, size}
	// There is no assembly for this plane or this processor.
	if !p.fast() {
		p.squares()
	}
}

// plane has the arguments of [Plane].
type plane struct {
	dst, src Side
	n, m     int // rows and columns of src
	size     int
}

// from and to return the offsets in src and dst of the element at row i and column j of
// src.
func (p *plane) from(i, j int) int { return p.src.Offset + i*p.src.Stride + j*p.size }
func (p *plane) to(i, j int) int   { return p.dst.Offset + j*p.dst.Stride + i*p.size }
