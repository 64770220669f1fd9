package sharding

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// What is allowed where nothing is said.
const (
	defaultInner int64 = 1 << 24 // inner chunks of a shard; their index has 256 MiB
	defaultChunk int64 = 1 << 30 // bytes of a decoded inner chunk
)

// layout is what all shards of one shape have in common.
type layout struct {
	shape  []int64
	grid   *grid.Grid // of the inner chunks
	chunks []int64    // inner chunks along every axis
	n      int64      // inner chunks
	index  int64      // bytes of the encoded index
	packed int64      // most bytes of a shard without gaps
	inner  int64      // most bytes of a decoded inner chunk
	most   int64      // most bytes of an encoded inner chunk
	entry  []int64    // shape of the index

	ordered sync.Once
	order   []uint32 // see coder.order
}

// layouts keeps the layout that was used last: shards of one shape often follow each other.
type layouts struct{ last atomic.Pointer[layout] }

// layout returns the layout of shards of a shape. A shard of too many inner chunks is an error.
func (c *coder) layout(shape []int64) (*layout, error) {
	if l := c.layouts.last.Load(); l != nil && slices.Equal(l.shape, shape) {
		return l, nil
	}
	l, err := c.newLayout(shape)
	if err != nil {
		return nil, err
	}
	c.layouts.last.Store(l)
	return l, nil
}

func (c *coder) newLayout(shape []int64) (*layout, error) {
	g, err := c.cut.of(shape)
	if err != nil {
		return nil, err
	}
	l := &layout{shape: slices.Clone(shape), grid: g, chunks: g.Chunks()}
	most := min(cmp.Or(c.env.Inner, defaultInner), math.MaxUint32)
	var ok bool
	if l.n, ok = checked.Product(l.chunks...); !ok || l.n > most {
		return nil, fmt.Errorf("%w: a shard of %v inner chunks, at most %d are read (Limits.InnerChunks)", codec.ErrLimit, l.chunks, most)
	}
	l.entry = append(slices.Clone(l.chunks), 2)
	l.index, _ = c.index.Fixed(l.entry, 16*l.n)
	c.measure(l)
	if most := cmp.Or(c.env.Chunk, defaultChunk); l.inner > most {
		return nil, fmt.Errorf("%w: an inner chunk of %d bytes, at most %d are read (Limits.Chunk)", codec.ErrLimit, l.inner, most)
	}
	return l, nil
}

// tooLarge stands for a number of bytes that nothing has.
const tooLarge = math.MaxInt64 / 4

// measure notes how long inner chunks, and shards of them, can be. Inner chunks that are shards themselves may have gaps.
func (c *coder) measure(l *layout) {
	longest := make([]int64, len(l.chunks))
	for i, n := range l.chunks {
		longest[i] = l.grid.Axis(i).Longest(grid.Interval{Stop: n})
	}
	l.inner, l.most, l.packed = tooLarge, tooLarge, tooLarge
	inner, ok := checked.Product(append(longest, c.size)...)
	if !ok || inner > tooLarge {
		return
	}
	l.inner, l.most = inner, c.chain.MaxEncoded(longest, inner)
	if packed, ok := checked.Mul(l.most, l.n); ok && packed <= tooLarge {
		l.packed = packed + l.index
	}
	if c.chain.Divided() {
		l.most = 2 * max(l.most, manyBytes)
	}
}

// place appends the coordinates of inner chunk k, counted in C order, to dst.
func (l *layout) place(dst []int64, k int64) []int64 {
	dst = append(dst, l.chunks...)
	at := dst[len(dst)-len(l.chunks):]
	for i := len(at) - 1; i >= 0; i-- {
		n := at[i]
		at[i] = k % n
		k /= n
	}
	return dst
}

// number returns the number in C order of an inner chunk.
func (l *layout) number(at []int64) int64 {
	k := int64(0)
	for i, n := range l.chunks {
		k = k*n + at[i]
	}
	return k
}
