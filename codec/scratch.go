package codec

import "sync"

// scratch is the small memory that coding one chunk takes. It comes from a pool, so that
// coding a chunk allocates nothing.
type scratch struct {
	numbers        []int64 // of shapes
	shapes         [][]int64
	block          Block   // passed to a codec by pointer, so it would escape
	offsets        []int64 // of elements that differ in length
	length, stride [1]int64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newScratch() *scratch { return scratches.Get().(*scratch) }

// free puts s back; the caller must not use its memory again. It drops references to the
// memory of others.
func (s *scratch) free() {
	clear(s.shapes)
	s.block = Block{}
	scratches.Put(s)
}
