// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"varve.dev/zarr/virtual/scan"
)

// fromTree1 adds the chunks of a B-tree of version 1. Its keys have the size, the mask
// and the first element of a chunk, always in 64 bits.
func (k *chunks) fromTree1() error {
	index := make([]int64, len(k.count))
	t := tree1{reader: k.reader, kind: treeOfChunks, key: 8 + 8*(len(index)+1)}
	t.leaf = func(key []byte, child int64) error {
		c := k.over(key)
		p := place{address: child, size: int64(c.uint32()), mask: c.uint32()}
		for i := range index {
			at := int64(c.uint(8))
			if at < 0 || at%k.layout.chunk[i] != 0 {
				return scan.Corruptf("a chunk begins at %d along axis %d, where they have %d", at, i, k.layout.chunk[i])
			}
			index[i] = at / k.layout.chunk[i]
		}
		if child == undefined {
			return nil
		}
		return k.add(index, p)
	}
	return t.visit(k.layout.address, anyLevel)
}

// fromTree2 adds the chunks of a B-tree of version 2 (specification, III.A.2, records of
// the kinds 10 and 11).
func (k *chunks) fromTree2() error {
	const plain, filtered = 10, 11
	kind := byte(plain)
	if k.filters > 0 {
		kind = filtered
	}
	index := make([]int64, len(k.count))
	return k.tree2(k.layout.address, kind, func(record []byte) error {
		c := k.over(record)
		bytes := len(record) - 8*len(index)
		if err := k.checkElement(bytes, kind-plain); err != nil {
			return err
		}
		p := k.element(c, bytes)
		for i := range index {
			index[i] = c.int(8)
		}
		if err := c.err(); err != nil || p.address == undefined {
			return err
		}
		return k.add(index, p)
	})
}
