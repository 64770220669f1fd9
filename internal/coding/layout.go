// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"iter"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Numbering counts inner chunks of one chunk in C order of the encoded array.
type Numbering struct {
	Chunks []int64 // inner chunks along every axis of the encoded array
	order  []int   // of axes in the encoded array
}

// number returns the number of the inner chunk at an index of the decoded array.
func (n *Numbering) number(index []int64) int64 {
	k := int64(0)
	for i, count := range n.Chunks {
		k = k*count + index[n.order[i]]
	}
	return k
}

// index sets index to that of inner chunk k in the decoded array.
func (n *Numbering) index(index []int64, k int64) {
	for i := len(n.Chunks) - 1; i >= 0; i-- {
		index[n.order[i]] = k % n.Chunks[i]
		k /= n.Chunks[i]
	}
}

// Places says where the encoded inner chunks of a stored chunk are.
type Places struct {
	Numbering
	// Info describes the version of the stored chunk.
	Info store.Info
	// Offsets and Lengths are the bytes of every inner chunk, by its number. The length
	// of one that is not stored is negative.
	Offsets, Lengths []int64
}

// Of returns the bytes of the inner chunk at an index, and whether it is stored.
func (p *Places) Of(index []int64) (off, n int64, stored bool) {
	k := p.number(index)
	return p.Offsets[k], p.Lengths[k], p.Lengths[k] >= 0
}

// Arrangement is a chunk that is put together from encoded inner chunks. Its bytes are
// Head, the inner chunks in the order of Order, and Tail.
type Arrangement struct {
	Numbering
	Head, Tail []byte
	Order      []uint32 // numbers of the stored inner chunks
}

// All yields the indices of the stored inner chunks in the order of their bytes. The next
// iteration overwrites the index.
func (a *Arrangement) All() iter.Seq[[]int64] {
	return func(yield func([]int64) bool) {
		index := make([]int64, len(a.Chunks))
		for _, k := range a.Order {
			if a.index(index, int64(k)); !yield(index) {
				return
			}
		}
	}
}

// Places reads where the inner chunks of a stored chunk are, which takes a request for
// the index. If an entry of the index leaves the chunk, has an impossible length or
// overlaps another one, the error wraps [codec.ErrCorrupt]: copying such inner chunks
// would preserve the damage. The chain must be [Chain.Divided].
func (c *Chain) Places(ctx context.Context, w *Work, shape []int64, src Source) (*Places, error) {
	p, err := c.divider().Places(ctx, w, c.permuted(shape), src)
	if err != nil {
		return nil, c.failSerial(err)
	}
	p.order = c.order
	return p, nil
}

// Arrange puts a chunk of the given shape together from inner chunks. place returns the
// rank and the bytes of the encoded inner chunk at an index. The bytes are negative if
// the inner chunk has only the fill value and is not stored. Inner chunks come in the
// order of their ranks, and those of one rank in that of the codec. The chain must be
// [Chain.Divided].
func (c *Chain) Arrange(shape []int64, place func(index []int64) (rank uint64, n int64)) (*Arrangement, error) {
	a := &Arrangement{Numbering: Numbering{order: c.order}}
	index := make([]int64, len(shape))
	err := c.divider().Arrange(c.permuted(shape), a, func(k int64) (uint64, int64) {
		a.index(index, k)
		return place(index)
	})
	return a, c.failSerial(err)
}

// UnitCodecs returns the codecs that encode the smallest part of a chunk that is stored
// as a whole: an inner chunk, or the chunk if it has none. exts are the codecs of the
// chain. Two arrays of the same data type and fill value store equal parts as equal bytes
// if these codecs are equal.
func (c *Chain) UnitCodecs(exts []metadata.Extension) []metadata.Extension {
	if !c.Divided() {
		return exts
	}
	// The codecs before the shards only reorder axes, so they apply to inner chunks too.
	return append(exts[:len(c.arrays):len(c.arrays)], c.divider().InnerCodecs()...)
}
