package codec

import "sync"

// scratch is what coding one chunk takes besides the memory of its bytes. It is used
// again.
type scratch struct {
	numbers        []int64 // of shapes
	shapes         [][]int64
	block          Block   // what is passed to a codec has to be on the heap
	offsets        []int64 // of elements that differ in length
	length, stride [1]int64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newScratch() *scratch { return scratches.Get().(*scratch) }

// free gives s back; nothing that it holds may be used any more. The memory of other
// owners is let go of.
func (s *scratch) free() {
	clear(s.shapes)
	s.block = Block{}
	scratches.Put(s)
}
