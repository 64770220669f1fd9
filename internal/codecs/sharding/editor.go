// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"context"
	"slices"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
)

// stays reports whether inner chunk k stays as it is stored.
func (d *editor) stays(k int64) bool { return d.todo[k] == stays || d.todo[k] == remains }

// editor makes the next version of one shard.
type editor struct {
	*coder
	*layout
	coding.Edit
	ctx  context.Context
	work *coding.Work
	out  *coding.Revision

	old   *index           // of the stored shard, nil if nothing of it stays
	reads []stretch        // of the stored shard by offset, if it was not read whole
	todo  []uint8          // for every inner chunk, what happens to it
	given [][]byte         // inner chunks from insets, nil if there are no insets
	list  []uint32         // inner chunks to encode, in the order to store them
	made  []int64          // for each in list: bytes, 0 for only the fill value, or unchanged
	size  int64            // inner chunks of list in one segment
	parts []*budget.Buffer // the encoded segments
}

// unchanged is the length of an encoded inner chunk that proved to be as it is stored.
const unchanged = -1

// What happens to an inner chunk. Later values take precedence.
const (
	stays   uint8 = iota // stays as it is stored, or absent
	goes                 // becomes the fill value
	changes              // is encoded again
	remains              // was to change, but proved to be as it is stored
	comes                // is copied from an inset
)

// replaces reports whether inner chunks go, or come from insets.
func (d *editor) replaces() bool { return d.given != nil || slices.Contains(d.todo, goes) }

func (d *editor) isStored(k int64) bool { return d.old.entries[2*k] != absent }

// each calls do for every inner chunk in the order to store them.
func (d *editor) each(do func(k int64) error) error {
	order := d.inOrder(d.layout)
	for i := range d.n {
		k := i
		if order != nil {
			k = int64(order[i])
		}
		if err := do(k); err != nil {
			return err
		}
	}
	return nil
}

// manyBytes is the size in bytes from which reading only ranges of a shard pays. Tests
// lower it.
var manyBytes int64 = 1 << 20

// oldBytes returns the stored bytes of inner chunk k, nil if it is not stored.
func (d *editor) oldBytes(k int64) ([]byte, error) {
	in, off, n, err := d.oldPlace(k)
	if in == nil || err != nil {
		return nil, err
	}
	return in[off : off+n : off+n], nil
}

// oldPlace returns the memory that has the stored bytes of inner chunk k, and their range
// in it. in is nil if the inner chunk is not stored.
func (d *editor) oldPlace(k int64) (in []byte, off, n int64, err error) {
	if d.old == nil {
		return nil, 0, 0, nil
	}
	off, n, stored, err := d.old.span(k)
	if err != nil || !stored {
		return nil, 0, 0, err
	}
	if d.out.Old != nil {
		return d.out.Old, off, n, nil
	}
	i, found := slices.BinarySearchFunc(d.reads, off, func(s stretch, off int64) int { return cmp.Compare(s.off, off) })
	if !found {
		i-- // the last stretch that begins before off holds it
	}
	return d.reads[i].data, off - d.reads[i].off, n, nil
}
