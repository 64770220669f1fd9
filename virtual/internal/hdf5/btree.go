// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"math"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/virtual/scan"
)

// The kinds of trees of version 1.
const (
	treeOfLinks  = 0
	treeOfChunks = 1
)

// tree1 visits the leaves of a B-tree of version 1 (specification, III.A.1).
type tree1 struct {
	*reader
	kind byte
	key  int // bytes of a key
	leaf func(key []byte, child int64) error
}

// visit visits the node at an address. Its level is below the one of its parent, which
// ends circles; the budget ends trees whose nodes are shared.
func (t *tree1) visit(address int64, parent int) error {
	return within(t.visitNode(address, parent), "B-tree", address)
}

// anyLevel is the level above a root.
const anyLevel = 256

func (t *tree1) visitNode(address int64, parent int) error {
	// Signature, kind, level, number of entries, and the addresses of both siblings.
	head := int64(8 + 2*t.sizes.address)
	c, err := t.cursor(address, head)
	if err != nil {
		return err
	}
	if err := c.signature("TREE"); err != nil {
		return err
	}
	kind, level, n := c.byte(), int(c.byte()), int64(c.uint16())
	if kind != t.kind || level >= parent || parent != anyLevel && level != parent-1 {
		return scan.Corruptf("a node of the kind %d and level %d, below level %d", kind, level, parent)
	}
	// Keys and children alternate. A last key, behind all children, is the upper bound of
	// the node, and is not read.
	entry := int64(t.key + t.sizes.address)
	if c, err = t.cursor(address+head, n*entry); err != nil {
		return err
	}
	for range n {
		key, child := c.take(t.key), c.address()
		if level == 0 {
			err = t.leaf(key, child)
		} else {
			err = t.visit(child, level)
		}
		if err != nil {
			return err
		}
	}
	return c.err()
}

// tree2 is a B-tree of version 2 (specification, III.A.2).
type tree2 struct {
	*reader
	kind   byte
	node   int64 // bytes of a node
	record int64 // bytes of a record
	levels []treeLevel
	visit  func(record []byte) error
}

// treeLevel is what the nodes of a level may hold, leaves first.
type treeLevel struct {
	records int64  // in a node, at most
	below   uint64 // in a node and all below it, at most
	bytes   int    // of the number of records below a child
}

// tree2 visits the records of a tree in their order.
func (r *reader) tree2(address int64, kind byte, visit func(record []byte) error) error {
	return within(r.readTree2(address, kind, visit), "B-tree", address)
}

func (r *reader) readTree2(address int64, kind byte, visit func(record []byte) error) error {
	// Indexes that never had a record, such as that of huge objects, do not exist.
	if address == undefined {
		return nil
	}
	c, err := r.signed(address, int64(4+2+4+2+2+2+r.sizes.address+2+r.sizes.length+checksum), "BTHD")
	if err != nil {
		return err
	}
	if _, err := c.version(0); err != nil {
		return err
	}
	t := tree2{reader: r, kind: kind, visit: visit}
	if got := c.byte(); got != kind {
		return scan.Corruptf("a tree of the kind %d, where %d is needed", got, kind)
	}
	t.node, t.record = int64(c.uint32()), int64(c.uint16())
	depth := int(c.uint16())
	c.skip(2) // when nodes are split and merged
	root, n := c.address(), int64(c.uint16())
	if err := c.err(); err != nil {
		return err
	}
	if root == undefined {
		return nil
	}
	if err := t.plan(depth); err != nil {
		return err
	}
	return t.visitNode(root, n, depth)
}

// treePrefix is the bytes of a node other than records and children.
const treePrefix = 4 + 2 + checksum

// plan computes what the nodes of each level may hold.
func (t *tree2) plan(depth int) error {
	const most = 64
	if t.record == 0 || t.node < treePrefix+t.record || depth > most {
		return scan.Corruptf("records of %s in nodes of %d, %s", quantity.Count(t.record, "bytes"), t.node, quantity.Count(depth, "levels"))
	}
	// The width of the counts beside a child follows from the most records that the child
	// may hold. So the plan begins with the leaves.
	leaf := treeLevel{records: (t.node - treePrefix) / t.record}
	leaf.below = uint64(leaf.records)
	t.levels = []treeLevel{leaf}
	for range depth {
		last := t.levels[len(t.levels)-1]
		pointer := t.pointer(last)
		l := treeLevel{records: (t.node - treePrefix - pointer) / (t.record + pointer)}
		if t.node < treePrefix+pointer || l.records < 1 {
			return scan.Corruptf("nodes of %s", quantity.Count(t.node, "bytes"))
		}
		children := uint64(l.records) + 1
		if last.below > (math.MaxUint64-uint64(l.records))/children {
			return scan.Corruptf("%s", quantity.Count(depth, "levels"))
		}
		l.below = children*last.below + uint64(l.records)
		l.bytes = bytesFor(l.below)
		t.levels = append(t.levels, l)
	}
	return nil
}

// pointer returns the bytes of a child of a level: its address, its number of records,
// and that of all below it.
func (t *tree2) pointer(child treeLevel) int64 {
	return int64(t.sizes.address + bytesFor(uint64(t.levels[0].records)) + child.bytes)
}

func (t *tree2) visitNode(address, n int64, level int) error {
	return within(t.readNode(address, n, level), "node", address)
}

// readNode visits the records of a node and those below it.
func (t *tree2) readNode(address, n int64, level int) error {
	if n > t.levels[level].records {
		return scan.Corruptf("%s, and at most %d have room", quantity.Count(n, "records"), t.levels[level].records)
	}
	// A node takes t.node bytes. Those behind the checksum are not in use.
	bytes, mark := treePrefix+n*t.record, "BTLF"
	if level > 0 {
		bytes, mark = bytes+(n+1)*t.pointer(t.levels[level-1]), "BTIN"
	}
	c, err := t.signed(address, bytes, mark)
	if err != nil {
		return err
	}
	if _, err := c.version(0); err != nil {
		return err
	}
	if kind := c.byte(); kind != t.kind {
		return scan.Corruptf("a node of the kind %d in a tree of the kind %d", kind, t.kind)
	}
	// All records come first, all children behind them. The order of keys alternates: a
	// child, a record, a child and so on.
	records := c.take(int(n * t.record))
	for i := range n + 1 {
		if level > 0 {
			child, below := c.address(), int64(c.uint(bytesFor(uint64(t.levels[0].records))))
			// The number of all records below. Parents of leaves lack it: it is the
			// number before.
			c.skip(t.levels[level-1].bytes)
			if err := t.visitNode(child, below, level-1); err != nil {
				return err
			}
		}
		if i < n {
			if err := t.visit(records[i*t.record:][:t.record]); err != nil {
				return err
			}
		}
	}
	return c.err()
}

// fromTree1 adds the chunks of a B-tree of version 1. Its keys have the size, the mask
// and the first element of a chunk, always in 64 bits.
func (k *chunks) fromTree1() error {
	index := make([]int64, len(k.count))
	t := tree1{reader: k.reader, kind: treeOfChunks, key: 8 + 8*(len(index)+1)}
	t.leaf = func(key []byte, child int64) error {
		c := k.over(key)
		p := place{address: child, size: int64(c.uint32()), mask: c.uint32()}
		// Offsets count elements. A last one, for the bytes of an element, is always 0.
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
		// Offsets are scaled: they count chunks, and those of version 1 elements.
		for i := range index {
			index[i] = c.int(8)
		}
		if err := c.err(); err != nil || p.address == undefined {
			return err
		}
		return k.add(index, p)
	})
}
