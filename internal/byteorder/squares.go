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
