// SPDX-License-Identifier: Apache-2.0

package check

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// Share says which of how many equal parts of the chunks a [Part] is for.
//
// The chunks of every array are cut into ranges of consecutive numbers in C order, one
// for each part. Which part gets the first range depends on the path of the array, so
// that many small arrays spread over the parts.
type Share struct {
	Task int64 `json:"task"` // from 0 on
	Of   int64 `json:"of"`   // 0 counts as 1
}

// String returns the number of the part and that of all parts.
func (s Share) String() string { return fmt.Sprintf("part %d of %d", s.Task, s.Of) }

// valid returns an error unless the share is one of its parts.
func (s Share) valid() error {
	if s.Of < 0 || s.Task < 0 || s.Task >= max(1, s.Of) {
		return fmt.Errorf("%w: %v, and parts count from 0", zarr.ErrInvalidArgument, s)
	}
	return nil
}

// portion is the range of the chunks of one array that belongs to a share.
type portion struct {
	from, to int64 // numbers of chunks; both are 0 for all chunks
	size     int64 // number of chunks
	all      int64 // number of chunks of the array
}

// of returns the portion of an array. path is relative to the checked node.
func (s Share) of(path string, g *grid.Grid) portion {
	n, numbered := g.NumChunks()
	if !numbered {
		n = 1 // one range has all chunks, because they have no numbers
	}
	p := portion{all: n}
	place := s.place(path)
	p.from, p.to = share(n, place, s.Of), share(n, place+1, s.Of)
	if p.size = p.to - p.from; !numbered {
		p.from, p.to = 0, 0
	}
	return p
}

// place returns which of the ranges of an array belongs to the share.
func (s Share) place(path string) int64 {
	sum := sha256.Sum256([]byte(path))
	turn := int64(binary.BigEndian.Uint64(sum[:8]) % uint64(s.Of))
	if s.Task < turn {
		return s.Task + (s.Of - turn)
	}
	return s.Task - turn
}

// share returns n*k/of, rounded up. k is at most of.
func share(n, k, of int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(k))
	lo, carry := bits.Add64(lo, uint64(of)-1, 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(of))
	return int64(q)
}
