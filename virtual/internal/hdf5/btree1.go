// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
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
