package sharding

import (
	"cmp"
	"slices"

	"varve.dev/zarr/internal/checked"
)

// sound returns what is wrong with the index of the stored shard: an entry that leads out
// of it or has a length that no inner chunk has, or bytes that several inner chunks
// claim. To put such a shard in order would take over what is wrong, and drop bytes that
// may be the only copy of what is right.
func (d *editor) sound() error {
	stop, ascending := int64(0), true
	for k := range d.n {
		off, n, stored, err := d.old.span(k)
		if err == nil && stored {
			err = d.hasLength(k, n)
		}
		if err != nil {
			return d.fail(k, err)
		}
		if stored {
			ascending = ascending && off >= stop
			stop = max(stop, off+n)
		}
	}
	if ascending {
		return nil
	}
	return d.apart(d.old.stored())
}

// apart returns an error where inner chunks, in the order of their bytes, have some in
// common.
func (d *editor) apart(stored []uint32) error {
	stop, last := int64(0), int64(0)
	for _, k := range stored {
		w := d.old.want(k)
		if w.off < stop {
			return d.fail(w.k, corrupt("inner chunk %v has some of its bytes too", d.place(nil, last)))
		}
		stop, last = w.off+w.n, w.k
	}
	return nil
}

// hasLength returns an error where the codecs never encode inner chunk k to n bytes. No
// codec encodes elements to none.
func (d *editor) hasLength(k, n int64) error {
	if n == d.fixed {
		return nil
	}
	if d.fixed >= 0 {
		cell, _ := d.grid.Chunk(d.place(nil, k)) // the others may have other shapes
		size, _ := checked.Product(append([]int64{d.coder.size}, cell.Encoded...)...)
		want, _ := d.chain.Fixed(cell.Encoded, size)
		if n == want {
			return nil
		}
		return corrupt("the index says %d bytes, an inner chunk of shape %v takes %d", n, cell.Encoded, want)
	}
	if n == 0 {
		return corrupt("the index says 0 bytes, which no inner chunk takes")
	}
	return nil
}

// stored returns the numbers of the inner chunks that are stored, and whose entries fit,
// in the order of their bytes.
func (x *index) stored() []uint32 {
	n := 0
	for k := range int64(len(x.entries) / 2) {
		if x.has(k) {
			n++
		}
	}
	list := make([]uint32, 0, n) // of each a number alone: a shard may have very many
	for k := range int64(len(x.entries) / 2) {
		if x.has(k) {
			list = append(list, uint32(k))
		}
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Or(x.want(a).compare(x.want(b)), cmp.Compare(a, b)) })
	return list
}
