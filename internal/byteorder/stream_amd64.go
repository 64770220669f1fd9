// SPDX-License-Identifier: Apache-2.0

//go:build !purego

package byteorder

import (
	"sync"
	"unsafe"
)

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
