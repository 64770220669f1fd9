// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"encoding/binary"
	"hash/maphash"
	"iter"

	"varve.dev/zarr/icechunk/internal/format"
)

// stagedChunks are the references of those chunks of an array that a session has stored
// or deleted, by the names of the chunks below the array. A reference without a payload
// deletes its chunk. Nil has none.
//
// There may be millions of them, so they are records in few pages, without pointers: a
// garbage collector would take more time for those than a commit does. A record never
// moves, and only its first byte changes: what was found stays valid without a lock.
type stagedChunks struct {
	hash  func(name string) uint64
	at    map[uint64]position // by the hash of the name, or by the next number that was free
	pages [][]byte
	count int    // of the records that hold
	dead  int    // records of chunks that were set again or forgotten
	body  []byte // of the last record that was made
}

// position is where a record begins. A record has a byte, live or 0, and a list of bytes
// after its length. These are the name, after its length, and the reference.
type position struct{ page, at uint32 }

const (
	live      = 1
	firstPage = 1 << 12 // bytes; each page is twice as long as the one before
	longPage  = 1 << 20
	fewDead   = 64 // records, which are not worth a compaction
)

func newStagedChunks() *stagedChunks {
	seed := maphash.MakeSeed()
	return &stagedChunks{hash: func(name string) uint64 { return maphash.String(seed, name) }, at: map[uint64]position{}}
}

// len returns the number of chunks.
func (c *stagedChunks) len() int {
	if c == nil {
		return 0
	}
	return c.count
}

// slot returns the number of a name, and where its record is if there is one.
func (c *stagedChunks) slot(name string) (slot uint64, p position, ok bool) {
	for slot = c.hash(name); ; slot++ {
		if p, ok = c.at[slot]; !ok {
			return slot, p, false
		}
		if is, _ := c.record(p); string(is) == name {
			return slot, p, true
		}
	}
}

// find returns the reference of a chunk. ok is false if the session has not changed it.
func (c *stagedChunks) find(name string) (ref format.ChunkRef, ok bool) {
	if c == nil {
		return ref, false
	}
	_, p, ok := c.slot(name)
	if !ok || c.pages[p.page][p.at] != live {
		return ref, false
	}
	return c.reference(p), true
}

// set sets the reference of a chunk.
func (c *stagedChunks) set(name string, ref format.ChunkRef) {
	if c.dead > c.count+fewDead {
		old := *c
		*c = stagedChunks{hash: c.hash, at: make(map[uint64]position, c.count)}
		for name, p := range old.all() {
			c.set(string(name), old.reference(p))
		}
	}
	slot, p, ok := c.slot(name)
	if ok {
		c.drop(p)
	}
	c.body = appendReference(appendList(c.body[:0], name), ref)
	n, last := 1+binary.MaxVarintLen64+len(c.body), len(c.pages)-1
	if last < 0 || cap(c.pages[last])-len(c.pages[last]) < n {
		last++
		c.pages = append(c.pages, make([]byte, 0, max(n, min(firstPage<<min(last, 16), longPage))))
	}
	page := &c.pages[last]
	c.at[slot] = position{uint32(last), uint32(len(*page))}
	*page = appendList(append(*page, live), c.body)
	c.count++
}

// forget makes a chunk one that the session has not changed. Its record stays: the slots
// of other names may come after its own.
func (c *stagedChunks) forget(name string) {
	if _, p, ok := c.slot(name); ok {
		c.drop(p)
	}
}

// drop makes a record one that does not hold.
func (c *stagedChunks) drop(p position) {
	if first := &c.pages[p.page][p.at]; *first == live {
		*first = 0
		c.count, c.dead = c.count-1, c.dead+1
	}
}

// all yields the names of all chunks, in the order in which they were set, and where
// their records are.
func (c *stagedChunks) all() iter.Seq2[[]byte, position] {
	return func(yield func([]byte, position) bool) {
		if c == nil {
			return
		}
		for i, page := range c.pages {
			for at := 0; at < len(page); {
				body, rest := cutList(page[at+1:])
				name, _ := cutList(body)
				if page[at] == live && !yield(name, position{uint32(i), uint32(at)}) {
					return
				}
				at = len(page) - len(rest)
			}
		}
	}
}

// record returns the name in a record, and the bytes of its reference.
func (c *stagedChunks) record(p position) (name, ref []byte) {
	body, _ := cutList(c.pages[p.page][p.at+1:])
	return cutList(body)
}

// reference returns the reference in a record.
func (c *stagedChunks) reference(p position) format.ChunkRef {
	_, raw := c.record(p)
	ref := format.ChunkRef{Payload: format.Payload(raw[0])}
	raw = raw[1:]
	modified := uint64(0)
	for _, n := range []*uint64{&ref.Offset, &ref.Length, &modified} {
		k := 0
		*n, k = binary.Uvarint(raw)
		raw = raw[k:]
	}
	ref.Modified = uint32(modified)
	raw = raw[copy(ref.ID[:], raw):]
	for _, list := range []*[]byte{&ref.Data, &ref.Location, &ref.ETag, &ref.Extra} {
		if len(raw) == 0 {
			break
		}
		*list, raw = cutList(raw)
	}
	return ref
}

// appendReference appends a reference, without its index.
func appendReference(to []byte, ref format.ChunkRef) []byte {
	to = append(to, byte(ref.Payload))
	for _, n := range []uint64{ref.Offset, ref.Length, uint64(ref.Modified)} {
		to = binary.AppendUvarint(to, n)
	}
	to = append(to, ref.ID[:]...)
	lists := [][]byte{ref.Data, ref.Location, ref.ETag, ref.Extra}
	for len(lists) > 0 && lists[len(lists)-1] == nil {
		lists = lists[:len(lists)-1]
	}
	for _, list := range lists {
		to = appendList(to, list)
	}
	return to
}

// appendList appends a list of bytes after its length.
func appendList[T string | []byte](to []byte, list T) []byte {
	return append(binary.AppendUvarint(to, uint64(len(list))), list...)
}

// cutList returns a list of bytes, which its length precedes, and what follows it.
func cutList(from []byte) (list, rest []byte) {
	n, k := binary.Uvarint(from)
	end := k + int(n)
	return from[k:end:end], from[end:]
}
