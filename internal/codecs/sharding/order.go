// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"math/bits"

	"varve.dev/zarr/codec"
)

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
