// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
)

// fate is the effect of a power cut on the unsynced bytes of one file.
type fate int

const (
	lose  fate = iota // only synced bytes remain
	keep              // all bytes remain
	tear              // the first tornBytes bytes remain
	blank             // the length remains, and all bytes are zero
	fates             // number of fates
)

// tornBytes is the number of bytes that remain of a torn file.
const tornBytes = 4

// policy decides what a power cut leaves: whether change i of n changes of directories
// remains, and which bytes of each file.
type policy struct {
	label string
	name  func(i, n int) bool
	bytes func() fate
}

func always(v bool) func(int, int) bool { return func(int, int) bool { return v } }
func all(f fate) func() fate            { return func() fate { return f } }

// policies are tried for every power cut. Disks may write names in any order, so one
// policy keeps late changes and loses early ones.
var policies = []policy{
	{"nothing that was not synced", always(false), all(lose)},
	{"everything", always(true), all(keep)},
	{"names without their bytes", always(true), all(lose)},
	{"bytes without their names", always(false), all(keep)},
	{"names with torn bytes", always(true), all(tear)},
	{"names with blank bytes", always(true), all(blank)},
	{"the early half of the names", func(i, n int) bool { return i < n/2 }, all(lose)},
	{"the late half of the names", func(i, n int) bool { return i >= n/2 }, all(lose)},
}

// Images yields disks that a power cut at this moment may leave, each with a label: one
// for each fixed policy, then random ones that depend on seed. Everything on an image is
// durable.
func (d *Disk) Images(seed uint64, random int) iter.Seq2[string, *Disk] {
	return func(yield func(string, *Disk) bool) {
		for _, p := range policies {
			if !yield(p.label, d.image(p)) {
				return
			}
		}
		r := rand.New(rand.NewPCG(seed, 0))
		for i := range random {
			p := policy{
				label: fmt.Sprintf("random %d of seed %d", i, seed),
				name:  func(int, int) bool { return r.IntN(2) == 0 },
				bytes: func() fate { return fate(r.IntN(int(fates))) },
			}
			if !yield(p.label, d.image(p)) {
				return
			}
		}
	}
}

// image returns the disk that p leaves.
func (d *Disk) image(p policy) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Keep the counters, so that new inodes and times do not repeat earlier ones.
	out := &Disk{ino: d.ino, clock: d.clock}
	c := copier{p, map[*node]*node{}}
	out.root = c.copy(d.root)
	// Each unsynced change of a directory survives or is lost independently of the
	// others.
	for i, a := range d.pending {
		if !p.name(i, len(d.pending)) {
			continue
		}
		if dir := c.copy(a.dir); a.child == nil {
			delete(dir.names, a.name)
			delete(dir.kept, a.name)
		} else {
			child := c.copy(a.child)
			dir.names[a.name], dir.kept[a.name] = child, child
		}
	}
	return out
}

// copier copies each node once.
type copier struct {
	p    policy
	done map[*node]*node
}

func (c copier) copy(n *node) *node {
	// After a power cut, a file may have its old name and its new one.
	if out := c.done[n]; out != nil {
		return out
	}
	out := &node{dir: n.dir, ino: n.ino, ctime: n.ctime, mtime: n.mtime}
	c.done[n] = out
	if !n.dir {
		out.data = n.survive(c.p.bytes)
		out.safe = out.data
		return out
	}
	out.names, out.kept = map[string]*node{}, map[string]*node{}
	for _, name := range sortedNames(n.kept) {
		child := c.copy(n.kept[name])
		out.names[name], out.kept[name] = child, child
	}
	return out
}

// survive returns the bytes of a file after the power cut. It calls fate only if there
// are bytes to lose.
func (n *node) survive(f func() fate) []byte {
	if len(n.safe) == len(n.data) {
		return slices.Clone(n.safe)
	}
	switch f() {
	case keep:
		return slices.Clone(n.data)
	case tear:
		return slices.Clone(n.data[:min(tornBytes, len(n.data))])
	case blank:
		return make([]byte, len(n.data))
	}
	return slices.Clone(n.safe)
}
