// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"slices"

	"varve.dev/zarr/internal/own"
)

// Checked remembers disks that were checked. Most power cuts leave what others leave, and
// a check that sees only the disk would say the same again. The zero value remembers
// nothing. Use one for checks that expect the same.
type Checked struct{ done map[[sha256.Size]byte]int }

// First reports whether no disk was checked before that programs cannot tell from d, at
// this level or a higher one: a check of some level includes those of lower levels. Then
// it remembers d.
//
// Two disks are told apart by names, bytes, locks, links, and the order in which files
// were changed and modified. Inode numbers and the times themselves are alike, also those
// in lock files, and so are the random parts of names.
func (c *Checked) First(d *Disk, level int) bool {
	sum := d.digest()
	if before, ok := c.done[sum]; ok && before >= level {
		return false
	}
	if c.done == nil {
		c.done = map[[sha256.Size]byte]int{}
	}
	c.done[sum] = level
	return true
}

// random matches names of which a part is random: temporary files, files of writers, and
// journals of transactions.
var random = regexp.MustCompile(`^(?:` + own.Temporary + `|together-)?([0-9a-z]{13}|[A-Z2-7]{26})\b`)

// digest identifies what programs find on a disk.
func (d *Disk) digest() [sha256.Size]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	var l lister
	l.add(".", d.root)
	l.ages(func(n *node) int64 { return n.ctime })
	l.ages(func(n *node) int64 { return n.mtime })
	text := l.text
	for i, name := range l.random {
		text = bytes.ReplaceAll(text, []byte(name), []byte{0xff, byte(i), 0xff})
	}
	return sha256.Sum256(text)
}

// lister writes all that a directory has, and collects random parts of names.
type lister struct {
	text   []byte
	files  []*node // in the order of the text
	random []string
}

func (l *lister) add(name string, n *node) {
	l.name(name)
	l.text = append(l.text, 0, btoi(n.dir), btoi(n.locked))
	if !n.dir {
		if at := slices.Index(l.files, n); at >= 0 { // another name of a file
			l.text = binary.AppendVarint(l.text, int64(-1-at))
			return
		}
		data := n.data
		if name == own.Lock {
			data = since.ReplaceAll(data, nil)
		}
		l.text = binary.AppendVarint(l.text, int64(len(data)))
		l.text = append(l.text, data...)
		l.files = append(l.files, n)
		return
	}
	l.text = binary.AppendVarint(l.text, int64(len(n.names)))
	for _, child := range sortedNames(n.names) {
		l.add(child, n.names[child])
	}
}

// since is when a writer took a lock, which it writes into the file for people.
var since = regexp.MustCompile(`"since":"[^"]*"`)

// ages writes the order of the times of files.
func (l *lister) ages(of func(*node) int64) {
	times := make([]int64, len(l.files))
	for i, n := range l.files {
		times[i] = of(n)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	for _, n := range l.files {
		place, _ := slices.BinarySearch(times, of(n))
		l.text = binary.AppendVarint(l.text, int64(place))
	}
}

// name writes the name of a file or directory.
func (l *lister) name(name string) {
	l.text = append(l.text, name...)
	if m := random.FindStringSubmatch(name); m != nil && !slices.Contains(l.random, m[1]) {
		l.random = append(l.random, m[1])
	}
}

func btoi(b bool) byte {
	if b {
		return 1
	}
	return 0
}
