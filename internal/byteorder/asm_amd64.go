// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package byteorder

import (
	"sync"
	"unsafe"

	"golang.org/x/sys/cpu"
)

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

// orders has the source of each of 16 bytes, by unit.
var orders = [17][16]byte{
	2:  {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14},
	4:  {3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12},
	8:  {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8},
	16: {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
}

// bytesFast reverses numbers with generated code and returns the number of bytes done.
func bytesFast(dst, src []byte, unit int) int {
	groups := len(src) / 128
	if groups == 0 || !hasAVX2 || unit > 16 || unit&(unit-1) != 0 {
		return 0
	}
	swap128(&dst[0], &src[0], &orders[unit][0], groups)
	return 128 * groups
}

// Large planes do not fit into the cache. Their rows are gathered in a small block, and
// whole cache lines are written past the cache, so that no line is read only to be
// overwritten. If rows do not begin at cache lines, the end of each waits in the block
// for its next bytes. Small elements are also gathered from the source, since rows whose
// distance is a power of two evict each other from the cache.

const (
	large   = 1 << 20 // smallest plane that bypasses the cache, in bytes
	ahead   = line    // bytes before a row of the block, for the end of an incomplete line
	pitch   = ahead + width
	small   = 4    // largest size of elements that are gathered from the source, in bytes
	crowded = 1024 // rows with a multiple of this distance in bytes evict each other
)

// blocks are the memory for one tile of the destination, and one strip of the source.
type blocks struct {
	dst [width * pitch]byte
	src [line * pitch]byte
}

var pool = sync.Pool{New: func() any { return new(blocks) }}

// gather copies rows of some bytes to the block.
func (b *blocks) gather(src []byte, at, stride, rows, bytes int) {
	whole := bytes / line * line
	if whole > 0 {
		copyRows(&b.src[0], &src[at], pitch, stride, rows, whole)
	}
	if whole == bytes {
		return
	}
	for i := range rows {
		copy(b.src[i*pitch+whole:i*pitch+bytes], src[at+whole:at+bytes])
		at += stride
	}
}

func (p *plane) isLarge() bool {
	return p.n*p.m*p.size >= large && p.n*p.size >= width && p.m*p.size >= width
}

// isCrowded reports whether rows of src evict each other from the cache.
func (p *plane) isCrowded() bool {
	return p.size <= small && p.n*p.size >= width && p.m*p.size >= width && p.src.Stride%(crowded*p.size) == 0
}

// stream transposes a large plane.
func (p *plane) stream() {
	b := pool.Get().(*blocks)
	for j, step := 0, width/p.size; j < p.m; j += step {
		p.column(b, j, min(step, p.m-j))
	}
	// Stores that bypass the cache are not ordered. Other goroutines may read dst after
	// the return.
	fence()
	pool.Put(b)
}

// column transposes m columns of src from j on, which are rows of dst.
func (p *plane) column(b *blocks, j, m int) {
	step := width / p.size
	for i := 0; i < p.n; i += step {
		n, skip := min(step, p.n-i), 0
		p.tile(b, i, j, n, m)
		if i == 0 {
			// The first line of a row may begin before the row. begin writes its bytes.
			skip = line
			p.begin(b, j, m)
		}
		next := &p.src.Data[p.from(min(i+step, p.n-1), j)]
		stream(&p.dst.Data[p.to(i, j)], &b.dst[ahead], next, p.dst.Stride, pitch, p.src.Stride, m, n*p.size, skip)
	}
	p.end(b, j, m)
}

// tile transposes n rows and m columns of src to the block.
func (p *plane) tile(b *blocks, i, j, n, m int) {
	t := plane{Side{b.dst[:], ahead, pitch}, Side{p.src.Data, p.from(i, j), p.src.Stride}, n, m, p.size}
	switch {
	case n*p.size < half || m*p.size < group:
		t.squares()
	case t.isCrowded():
		t.bands(b)
	default:
		t.bands(nil)
	}
}

// begin writes the bytes before the first line that begins in each row of dst.
func (p *plane) begin(b *blocks, j, m int) {
	for k := range m {
		to := p.to(0, j+k)
		if n := -address(&p.dst.Data[to]) & (line - 1); n > 0 {
			copy(p.dst.Data[to:to+n], b.dst[k*pitch+ahead:])
		}
	}
}

// end writes the bytes after the last whole line of each row of dst.
func (p *plane) end(b *blocks, j, m int) {
	for k := range m {
		to := p.to(p.n, j+k)
		if n := (address(&p.dst.Data[to-1]) + 1) & (line - 1); n > 0 {
			copy(p.dst.Data[to-n:to], b.dst[k*pitch+ahead-n:k*pitch+ahead])
		}
	}
}

// address returns the address of b, to align with cache lines.
func address(b *byte) int { return int(uintptr(unsafe.Pointer(b))) }
