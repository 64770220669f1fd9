// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package byteorder

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether the processor runs the generated code.
var hasAVX2 = cpu.X86.HasAVX2

const (
	group = 16  // bytes of a row of src that the generated code takes at a time
	half  = 32  // bytes of a row of dst that it writes
	line  = 64  // or a cache line, which is faster
	width = 256 // bytes of a band of src: lines of dst that two bands share stay in the cache
)

// fast transposes the plane with generated code, and returns false if the plane is too
// small. The last rows and columns are transposed together with some before them, which
// are then written twice.
func (p *plane) fast() bool {
	switch {
	case !hasAVX2 || p.n*p.size < half || p.m*p.size < group:
		return false
	case p.isLarge():
		p.stream()
	case p.isCrowded():
		b := pool.Get().(*blocks)
		p.bands(b)
		pool.Put(b)
	default:
		p.bands(nil)
	}
	return true
}

// bands transposes the plane some columns at a time.
func (p *plane) bands(b *blocks) {
	for j, step := 0, width/p.size; j < p.m; j += step {
		p.band(b, j, min(step, p.m-j))
	}
}

// band transposes m columns from j on.
func (p *plane) band(b *blocks, j, m int) {
	i, whole, part := 0, line/p.size, half/p.size
	for ; i+whole <= p.n; i += whole {
		p.strip(b, i, j, m, line)
	}
	for ; i+part <= p.n; i += part {
		p.strip(b, i, j, m, half)
	}
	// The last rows, and some before them, which are written twice.
	if i < p.n {
		p.strip(b, p.n-part, j, m, half)
	}
}

// strip transposes m columns from j on of the rows from i on. There are as many rows as
// fill half or line bytes of a row of dst. With blocks it gathers them first.
func (p *plane) strip(b *blocks, i, j, m, bytes int) {
	columns := group / p.size
	if m < columns { // the last ones, and some before them
		j, m = j+m-columns, columns
	}
	src, ss, at := p.src.Data, p.src.Stride, p.from(i, j)
	if b != nil {
		// Then the rows of src no longer evict each other from the cache.
		b.gather(src, at, ss, bytes/p.size, m*p.size)
		src, ss, at = b.src[:], pitch, 0
	}
	to, groups := p.to(i, j), m/columns
	turnGroups(&p.dst.Data[to], &src[at], p.dst.Stride, ss, groups, p.size+bytes)
	if over := m % columns; over > 0 {
		turnGroups(&p.dst.Data[p.to(i, j+m-columns)], &src[at+(m-columns)*p.size], p.dst.Stride, ss, 1, p.size+bytes)
	}
}

// turnGroups transposes groups of columns. which is the sum of the bytes of an element
// and the bytes of each row of dst.
func turnGroups(dst, src *byte, ds, ss, groups, which int) {
	switch which {
	case 1 + half:
		turn1to32(dst, src, ds, ss, groups)
	case 2 + half:
		turn2to32(dst, src, ds, ss, groups)
	case 4 + half:
		turn4to32(dst, src, ds, ss, groups)
	case 8 + half:
		turn8to32(dst, src, ds, ss, groups)
	case 16 + half:
		turn16to32(dst, src, ds, ss, groups)
	case 1 + line:
		turn1to64(dst, src, ds, ss, groups)
	case 2 + line:
		turn2to64(dst, src, ds, ss, groups)
	case 4 + line:
		turn4to64(dst, src, ds, ss, groups)
	case 8 + line:
		turn8to64(dst, src, ds, ss, groups)
	case 16 + line:
		turn16to64(dst, src, ds, ss, groups)
	}
}
