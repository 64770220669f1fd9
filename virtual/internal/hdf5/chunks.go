// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"sort"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// chunks gathers the chunks of an array from its index.
type chunks struct {
	*reader
	layout  *layout
	shape   []int64
	most    []int64 // the largest extents, or undefined
	count   []int64 // of chunks along every axis
	whole   int64   // bytes of a chunk that no filter has encoded
	filters int
	list    []scan.Chunk
	mask    uint32 // of filters that all chunks so far have skipped
	refused error
}

// newChunks checks that chunks can be numbered.
func (r *reader) newChunks(l *layout, s *dataspace, filters int) (*chunks, error) {
	if len(l.chunk) != len(s.shape) {
		return nil, scan.Corruptf("chunks of %s, in an array of %d", quantity.Count(len(l.chunk), "axes"), len(s.shape))
	}
	k := &chunks{reader: r, layout: l, shape: s.shape, most: s.most, filters: filters}
	for i, n := range s.shape {
		k.count = append(k.count, checked.CeilDiv(n, l.chunk[i]))
	}
	if _, ok := checked.Product(k.count...); !ok {
		return nil, scan.Unsupportedf("%v chunks are too many", k.count)
	}
	var ok bool
	if k.whole, ok = checked.Product(append([]int64{l.element}, l.chunk...)...); !ok {
		return nil, scan.Unsupportedf("chunks of the shape %v are too large", l.chunk)
	}
	return k, nil
}

// gather reads the index.
func (k *chunks) gather() error {
	// Without any written chunk there is no index: all elements are the fill value.
	if k.layout.address == undefined {
		return nil
	}
	var err error
	switch k.layout.index {
	case indexTree1:
		err = k.fromTree1()
	case indexSingle:
		err = k.fromSingle()
	case indexImplicit:
		err = k.fromImplicit()
	case indexFixed:
		err = k.fromFixed()
	case indexExtensible:
		err = k.fromExtensible()
	case indexTree2:
		err = k.fromTree2()
	default:
		err = scan.Unsupportedf("its chunks have an index of the kind %d", k.layout.index)
	}
	if err != nil {
		return err
	}
	sort.Slice(k.list, func(i, j int) bool { return k.list[i].Number < k.list[j].Number })
	// Which of two chunks counts would depend on the order of reading.
	for i := 1; i < len(k.list); i++ {
		if k.list[i].Number == k.list[i-1].Number {
			return scan.Corruptf("chunk %v is there twice", k.index(k.list[i].Number))
		}
	}
	return nil
}

// index returns the index of a chunk.
func (k *chunks) index(number int64) []int64 {
	index := make([]int64, len(k.count))
	for i := len(index) - 1; i >= 0; i-- {
		index[i] = number % k.count[i]
		number /= k.count[i]
	}
	return index
}

// place is where a chunk is. Its size is undefined if no filter has encoded it.
type place struct {
	address, size int64
	mask          uint32
}

// add adds the chunk with an index. Those beyond the array are left out: an array that
// was made smaller may keep them.
func (k *chunks) add(index []int64, p place) error {
	number := int64(0)
	for i, x := range index {
		if x < 0 || x >= k.count[i] {
			return nil
		}
		number = number*k.count[i] + x
	}
	if p.size == undefined {
		p.size = k.whole
	}
	at, err := k.reader.place(p.address)
	if err != nil {
		return err
	}
	if p.size <= 0 || at > k.file.Size() || p.size > k.file.Size()-at {
		return scan.Corruptf("chunk %v: %s at %d, in a file of %d", index, quantity.Count(p.size, "bytes"), at, k.file.Size())
	}
	if k.filters == 0 && p.size != k.whole {
		return scan.Corruptf("chunk %v has %s, want %d", index, quantity.Count(p.size, "bytes"), k.whole)
	}
	k.checkMask(index, p.mask)
	k.list = append(k.list, scan.Chunk{Number: number, Offset: at, Length: p.size})
	return nil
}

// checkMask refuses the array if a chunk has skipped other filters than those before.
func (k *chunks) checkMask(index []int64, mask uint32) {
	// Bit i is set if filter i was skipped. Bits beyond the pipeline mean nothing.
	mask &= 1<<min(k.filters, 32) - 1
	// The library skips an optional filter that has failed, such as one whose result
	// would be larger than the chunk. Codecs of Zarr are the same for all chunks.
	switch {
	case len(k.list) == 0:
		k.mask = mask
	case mask != k.mask && k.refused == nil:
		// The message names a chunk that has skipped some.
		if mask == 0 {
			mask, index = k.mask, k.index(k.list[0].Number)
		}
		k.refused = scan.Unsupportedf("chunk %v has skipped filters (mask %#x), and others have not", index, mask)
	}
}

// encoding returns the filters that all chunks have passed, or why there are none.
func (k *chunks) encoding(filters []filter) ([]filter, error) {
	if k.refused != nil {
		return nil, k.refused
	}
	// Programs ask for it (H5Pset_chunk_opts) to append to edges without encoding the
	// whole chunk each time.
	if k.layout.wholeOnly && len(filters) > 0 {
		for i, n := range k.shape {
			if n%k.layout.chunk[i] != 0 {
				return nil, scan.Unsupportedf("its chunks at the edges have skipped the filters, and others have not")
			}
		}
	}
	var list []filter
	for i, f := range filters {
		if i >= 32 || k.mask&(1<<i) == 0 {
			list = append(list, f)
		}
	}
	return list, nil
}

// fromSingle adds the only chunk.
func (k *chunks) fromSingle() error {
	// The address is that of the chunk itself (VII.A).
	p := place{address: k.layout.address, size: undefined}
	if k.layout.filtered {
		p.size, p.mask = k.layout.singleSize, k.layout.singleMask
	}
	return k.add(make([]int64, len(k.count)), p)
}

// fromImplicit adds chunks that follow each other (specification, VII.B).
func (k *chunks) fromImplicit() error {
	s, err := k.slots(-1)
	if err != nil {
		return err
	}
	// The index has no bytes of its own. A short header could promise any number of
	// chunks, if they did not have to be in the file.
	n, ok := checked.Product(s.count...)
	var all int64
	if ok {
		all, ok = checked.Mul(n, k.whole)
	}
	if !ok || all > k.file.Size() {
		return scan.Corruptf("%v chunks of %s, in a file of %d", s.count, quantity.Count(k.whole, "bytes"), k.file.Size())
	}
	const cost = 4 // of a chunk that no bytes of metadata stand for
	if err := k.spend(min(n, k.file.Size()) * cost); err != nil {
		return err
	}
	for slot := range n {
		if err := k.add(s.index(slot), place{k.layout.address + slot*k.whole, undefined, 0}); err != nil {
			return err
		}
	}
	return nil
}

// slots numbers the slots of an index. They stand for all chunks that the array may ever
// have, not only those that it has.
type slots struct {
	axes  []int   // in the order of C: the last one runs fastest
	count []int64 // of chunks along each of axes
	at    []int64 // the last index
}

// slots returns the numbers of an index whose first axis, if it is not -1, is unlimited.
func (k *chunks) slots(first int) (*slots, error) {
	s := &slots{at: make([]int64, len(k.count))}
	if first >= 0 {
		s.axes, s.count = []int{first}, []int64{1} // not used
	}
	for i, n := range k.most {
		if i == first {
			continue
		}
		if n == undefined {
			return nil, scan.Corruptf("an unlimited axis %d, for which the index of chunks has no room", i)
		}
		s.axes = append(s.axes, i)
		s.count = append(s.count, checked.CeilDiv(n, k.layout.chunk[i]))
	}
	return s, nil
}

// index returns the index of the chunk of a slot. It is valid until the next call.
func (s *slots) index(slot int64) []int64 {
	for i := len(s.axes) - 1; i > 0; i-- {
		// An axis whose greatest extent is 0 has no chunks. It must not divide by zero.
		n := max(1, s.count[i])
		s.at[s.axes[i]] = slot % n
		slot /= n
	}
	if len(s.axes) > 0 {
		s.at[s.axes[0]] = slot
	}
	return s.at
}

// element reads a slot of an index: an address and, after filters, a size and a mask.
func (k *chunks) element(c *cursor, bytes int) place {
	p := place{address: c.address(), size: undefined}
	// How many bytes the size has depends on the chunk, and only the slot tells.
	if n := bytes - k.sizes.address - 4; n > 0 {
		p.size, p.mask = int64(c.uint(n)), c.uint32()
	}
	return p
}

// checkElement checks the bytes of a slot.
func (k *chunks) checkElement(bytes int, client byte) error {
	const filtered = 1
	// Behind the address are a size of 1 to 8 bytes, and 4 bytes of the mask.
	n := bytes - k.sizes.address
	if client > filtered || client == filtered && (n < 5 || n > 12) || client != filtered && n != 0 {
		return scan.Corruptf("slots of %s, of the kind %d", quantity.Count(bytes, "bytes"), client)
	}
	return nil
}

// addSlot reads a slot and adds its chunk.
func (k *chunks) addSlot(c *cursor, s *slots, slot int64, bytes int) error {
	p := k.element(c, bytes)
	if p.address == undefined || c.short {
		return c.err()
	}
	return k.add(s.index(slot), p)
}
