// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strided"
)

// layout is what all shards of one shape have in common.
type layout struct {
	shape  []int64
	grid   *grid.Grid // of the inner chunks
	chunks []int64    // inner chunks along every axis
	n      int64      // inner chunks
	index  int64      // bytes of the encoded index
	packed int64      // most bytes of a shard without gaps
	likely int64      // as packed, but for elements of likely length if they differ
	inner  int64      // most bytes of a decoded inner chunk
	most   int64      // most bytes of an encoded inner chunk
	fixed  int64      // bytes of the longest inner chunk encoded, -1 where they vary
	entry  []int64    // shape of the index
	varies bool       // elements differ in length

	ordered sync.Once
	order   []uint32 // see coder.inOrder
}

// layouts caches layouts: the shards of an array have few shapes, or runs of one shape.
type layouts struct {
	last atomic.Pointer[layout]

	mu   sync.Mutex
	kept []*layout
	n    int64 // inner chunks of all cached layouts
}

// Limits of the cached layouts and of their inner chunks.
const (
	keptLayouts = 32
	keptInner   = 1 << 22
)

// layout returns the layout of shards of the given shape. It fails if they have too many
// inner chunks.
func (c *coder) layout(shape []int64) (*layout, error) {
	hasShape := func(l *layout) bool { return slices.Equal(l.shape, shape) }
	// Fast path: nearly all calls are for the same shape.
	if l := c.layouts.last.Load(); l != nil && hasShape(l) {
		return l, nil
	}
	c.layouts.mu.Lock()
	defer c.layouts.mu.Unlock()
	if i := slices.IndexFunc(c.layouts.kept, hasShape); i >= 0 {
		c.layouts.last.Store(c.layouts.kept[i])
		return c.layouts.kept[i], nil
	}
	l, err := c.newLayout(shape)
	if err != nil {
		return nil, err
	}
	c.layouts.keep(l)
	return l, nil
}

func (k *layouts) keep(l *layout) {
	k.last.Store(l)
	k.kept = append(k.kept, l)
	k.n += l.n
	// Keep the latest layout, even if it exceeds the limit alone.
	for len(k.kept) > 1 && (len(k.kept) > keptLayouts || k.n > keptInner) {
		k.n -= k.kept[0].n
		k.kept = slices.Delete(k.kept, 0, 1)
	}
}

func (c *coder) newLayout(shape []int64) (*layout, error) {
	g, err := c.cut.of(shape)
	if err != nil {
		return nil, err
	}
	l := &layout{shape: slices.Clone(shape), grid: g, chunks: g.Chunks()}
	// Inner chunks are numbered by uint32.
	most := min(cmp.Or(c.env.Inner, coding.DefaultInner), math.MaxUint32)
	var ok bool
	if l.n, ok = checked.Product(l.chunks...); !ok || l.n > most {
		return nil, fmt.Errorf("%w: a shard of %v inner chunks, at most %d are read"+remedy.LimitsInnerChunks, codec.ErrLimit, l.chunks, most)
	}
	l.entry = append(slices.Clone(l.chunks), 2)
	l.index, _ = c.index.Fixed(l.entry, 16*l.n)
	c.measure(l)
	longest := cmp.Or(c.env.Chunk, coding.DefaultChunk)
	if l.index > longest {
		return nil, fmt.Errorf("%w: the index of %s has %s, at most %d are read ("+remedy.LimitsChunk+")", codec.ErrLimit, quantity.Count(l.n, "inner chunks"), quantity.Count(l.index, "bytes"), longest)
	}
	if l.inner > longest {
		return nil, fmt.Errorf("%w: an inner chunk of more bytes than are read, at most %d ("+remedy.LimitsChunk+")", codec.ErrLimit, longest)
	}
	return l, nil
}

// mostReady limits the memory that is taken for a shard, or for encoded inner chunks,
// before their length is known. Metadata may permit far more than is stored. The memory
// grows if they turn out to be longer.
const mostReady = 64 << 20

// wordBytes is the assumed length in bytes of an element without a fixed one.
const wordBytes = 64

// tooLarge is a number of bytes that exceeds any length.
const tooLarge = math.MaxInt64 / 4

// measure sets how long inner chunks and shards can be. Inner chunks that are shards
// themselves may have gaps.
func (c *coder) measure(l *layout) {
	longest := make([]int64, len(l.chunks))
	for i, n := range l.chunks {
		longest[i] = l.grid.Axis(i).Longest(grid.Interval{Stop: n})
	}
	l.varies = c.chain.Varies()
	l.inner, l.most, l.packed, l.likely, l.fixed = tooLarge, tooLarge, tooLarge, tooLarge, -1
	// If a length overflows, all lengths stay tooLarge.
	inner, ok := checked.Product(append(longest, c.size)...)
	if !ok || inner > tooLarge {
		return
	}
	l.inner, l.most = inner, c.chain.MaxEncoded(longest, inner)
	if n, fixed := c.chain.Fixed(longest, inner); fixed {
		l.fixed = n
	}
	if packed, ok := checked.Mul(l.most, l.n); ok && packed <= tooLarge {
		l.packed = packed + l.index
	}
	l.likely = l.packed
	// Elements without a fixed length are assumed to be short.
	if likely, ok := checked.Mul(wordBytes*l.inner/c.size, l.n); ok && c.heap != nil {
		l.likely = min(l.packed, likely+l.index)
	}
	// Inner chunks that are shards may have dead bytes.
	if c.chain.Divided() {
		l.most = 2 * max(l.most, manyBytes)
	}
}

// place appends the index of inner chunk k, counted in C order, to dst.
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

// number returns the number in C order of the inner chunk at an index.
func (l *layout) number(at []int64) int64 {
	k := int64(0)
	for i, n := range l.chunks {
		k = k*n + at[i]
	}
	return k
}

// wholePart returns the part that is a whole chunk of the given shape.
func wholePart(shape []int64) strided.Part {
	n := make([]int64, 2*len(shape))
	start, step := n[:len(shape)], n[len(shape):]
	for i := range step {
		step[i] = 1
	}
	return strided.Part{Start: start, Step: step, Count: shape}
}

// bytes returns the bytes of the elements of an inner chunk.
func (c *coder) bytes(shape []int64) int64 {
	n := c.size
	for _, l := range shape {
		n *= l
	}
	return n
}

// inOrder returns the numbers of the inner chunks in the order to store them, nil for C
// order.
func (c *coder) inOrder(l *layout) []uint32 {
	if c.env.Order == codec.C || len(l.chunks) < 2 || l.n < 2 {
		return nil
	}
	l.ordered.Do(func() {
		o := orderer{l: l, order: make([]uint32, 0, l.n)}
		if c.env.Order == codec.Fortran {
			o.fortran(len(l.chunks)-1, 0)
		} else {
			o.morton()
		}
		l.order = o.order
	})
	return l.order
}

type orderer struct {
	l     *layout
	order []uint32
}

// fortran appends the inner chunks whose index along all axes after axis is given by k.
func (o *orderer) fortran(axis int, k int64) {
	if axis < 0 {
		o.order = append(o.order, uint32(k))
		return
	}
	step := int64(1)
	for _, n := range o.l.chunks[axis+1:] {
		step *= n
	}
	for i := range o.l.chunks[axis] {
		o.fortran(axis-1, k+i*step)
	}
}

// bit is one bit of a Morton code: a bit of the index along an axis.
type bit struct {
	axis int
	by   int64
}

// morton appends all inner chunks in the order of their Morton codes. A code interleaves
// the bits of the index, beginning with the lowest bit of the first axis. An axis without
// further bits is skipped, as in zarr-python.
func (o *orderer) morton() {
	var code []bit
	for b := 0; ; b++ {
		more := false
		for axis, n := range o.l.chunks {
			if b < bits.Len64(uint64(n-1)) {
				code = append(code, bit{axis, 1 << b})
				more = true
			}
		}
		if !more {
			break
		}
	}
	o.split(code, make([]int64, len(o.l.chunks)))
}

// split appends the inner chunks that the bits of the code lead to, the highest bit
// first. Setting a bit only increases an index, so split prunes what lies outside of the
// shard.
func (o *orderer) split(code []bit, at []int64) {
	if len(code) == 0 {
		o.order = append(o.order, uint32(o.l.number(at)))
		return
	}
	high, rest := code[len(code)-1], code[:len(code)-1]
	o.split(rest, at)
	if at[high.axis]+high.by < o.l.chunks[high.axis] {
		at[high.axis] += high.by
		o.split(rest, at)
		at[high.axis] -= high.by
	}
}
