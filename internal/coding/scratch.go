// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"math"
	"sync"
	"sync/atomic"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
)

// scratch is the small memory that coding one chunk takes. It comes from a pool, so that
// coding a chunk allocates nothing.
type scratch struct {
	numbers        []int64 // of shapes
	shapes         [][]int64
	block          codec.Block // passed to a codec by pointer, so it would escape
	offsets        []int64     // of elements that differ in length
	length, stride [1]int64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func newScratch() *scratch { return scratches.Get().(*scratch) }

// free puts s back; the caller must not use its memory again. It drops references to the
// memory of others.
func (s *scratch) free() {
	clear(s.shapes)
	s.block = codec.Block{}
	scratches.Put(s)
}

// longer is the ratio of decoded to stored length of the last chunk, in units of 1/256.
// It is zero before the first chunk.
type longer struct{ atomic.Int64 }

// times estimates the decoded length of a chunk of n stored bytes, plus an eighth.
func (l *longer) times(n int64) int64 {
	ratio := l.Load()
	if ratio == 0 {
		return firstTry * n
	}
	more, ok := checked.Mul(n, ratio+ratio/8)
	if !ok {
		return math.MaxInt64
	}
	return more>>8 + lengthBytes
}

// saw records the decoded and stored length of a chunk.
func (l *longer) saw(decoded, stored int64) {
	if more, ok := checked.Mul(decoded, 1<<8); ok && stored > 0 {
		l.Store(more/stored + 1)
	}
}

// lengthBytes is the number of bytes in which codecs store the length of an element.
const lengthBytes = 4

// firstTry is the first guess of the ratio of decoded to stored length.
const firstTry = 8
