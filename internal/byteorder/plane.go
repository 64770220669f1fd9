// SPDX-License-Identifier: Apache-2.0

package byteorder

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
