package grid

import (
	"slices"

	"varve.dev/zarr/internal/checked"
)

// Run is a stretch of neighbouring cells of equal length.
type Run struct {
	Length int64 // elements a cell
	Count  int64 // cells
}

// edges is an explicit list of cell lengths with prefix sums: one entry a run of equal lengths or, where hardly any
// lengths repeat, one number a cell. It is immutable.
type edges struct {
	start  []int64 // start[r] is the first element of run r; the last entry is the sum
	first  []int64 // first[r] is the first cell of run r; nil where every run is one cell
	length []int64 // length of the cells of run r; nil where first is
	cells  int64
	sum    int64 // elements covered by all cells
}

// runSource calls add for every run of a list, in order, until add fails. Runs of one length may follow each other.
type runSource func(add func(length, count int64) error) error

// newEdges reads the source twice: to check and to measure it, then to keep it in the smaller form.
func newEdges(source runSource) (*edges, error) {
	e := new(edges)
	runs, last := int64(0), int64(0)
	err := source(func(length, count int64) error {
		if length < 1 {
			return invalid("edge length must be at least 1, got %d", length)
		}
		if count < 1 {
			return invalid("repeat count must be at least 1, got %d", count)
		}
		span, ok := checked.Mul(length, count)
		if ok {
			e.sum, ok = checked.Add(e.sum, span)
		}
		if !ok {
			return ErrOverflow
		}
		e.cells += count // cannot exceed the sum
		if length != last {
			runs, last = runs+1, length
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if e.cells == 0 {
		return nil, invalid("an axis needs at least one edge")
	}
	if runs > e.cells/2 && runs > 4 {
		return e, e.keepCells(source)
	}
	return e, e.keepRuns(source, runs)
}

func (e *edges) keepCells(source runSource) error {
	e.start = make([]int64, 1, e.cells+1)
	return source(func(length, count int64) error {
		for range count {
			e.start = append(e.start, e.start[len(e.start)-1]+length)
		}
		return nil
	})
}

func (e *edges) keepRuns(source runSource, runs int64) error {
	e.start = make([]int64, 0, runs+1)
	e.first = make([]int64, 0, runs)
	e.length = make([]int64, 0, runs)
	var start, first int64
	err := source(func(length, count int64) error {
		if n := len(e.length); n == 0 || e.length[n-1] != length {
			e.start = append(e.start, start)
			e.first = append(e.first, first)
			e.length = append(e.length, length)
		}
		start, first = start+length*count, first+count
		return nil
	})
	e.start = append(e.start, e.sum)
	return err
}

// find returns the cell that holds element i, which has to lie within [0, sum), and the cell's first element.
func (e *edges) find(i int64) (cell, start int64) {
	r := search(e.start[:len(e.start)-1], i)
	if e.first == nil {
		return int64(r), e.start[r]
	}
	q := quotient(i-e.start[r], e.length[r])
	return e.first[r] + q, e.start[r] + q*e.length[r]
}

// at returns first element and length of cell k, which has to lie within [0, cells).
func (e *edges) at(k int64) (start, length int64) {
	if e.first == nil {
		return e.start[k], e.start[k+1] - e.start[k]
	}
	r := search(e.first, k)
	return e.start[r] + (k-e.first[r])*e.length[r], e.length[r]
}

// longest returns the largest length of the cells in the interval, which is not empty.
func (e *edges) longest(cells Interval) int64 {
	var longest int64
	if e.first == nil {
		for k := cells.Start; k < cells.Stop; k++ {
			longest = max(longest, e.start[k+1]-e.start[k])
		}
		return longest
	}
	for r := search(e.first, cells.Start); r < len(e.first) && e.first[r] < cells.Stop; r++ {
		longest = max(longest, e.length[r])
	}
	return longest
}

// search returns the largest k with sorted[k] <= i; sorted[0] has to be one, and no number is negative.
// It has no branch that depends on the numbers, since such branches are guessed wrong half of the time.
func search(sorted []int64, i int64) int {
	lo, n := 0, len(sorted)
	for n > 1 {
		half := n / 2
		notPast := (sorted[lo+half] - i - 1) >> 63 // all ones where sorted[lo+half] <= i
		lo += half & int(notPast)
		n -= half
	}
	return lo
}

// quotient returns a/b of numbers that are not negative; small numbers divide faster.
func quotient(a, b int64) int64 {
	if uint64(a|b)>>32 == 0 {
		return int64(uint32(a) / uint32(b))
	}
	return a / b
}

// source returns the runs as a source, with neighbours of one length merged.
func (e *edges) source() runSource {
	if e.first != nil {
		return func(add func(length, count int64) error) error {
			for r, length := range e.length {
				if err := add(length, (e.start[r+1]-e.start[r])/length); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return func(add func(length, count int64) error) error {
		for k := 1; k < len(e.start); {
			length, first := e.start[k]-e.start[k-1], k
			for k < len(e.start) && e.start[k]-e.start[k-1] == length {
				k++
			}
			if err := add(length, int64(k-first)); err != nil {
				return err
			}
		}
		return nil
	}
}

// appended returns the list with one more edge.
func (e *edges) appended(length int64) (*edges, error) {
	old := e.source()
	return newEdges(func(add func(length, count int64) error) error {
		if err := old(add); err != nil {
			return err
		}
		return add(length, 1)
	})
}

func (e *edges) equal(o *edges) bool {
	return slices.Equal(e.start, o.start) && slices.Equal(e.first, o.first) && slices.Equal(e.length, o.length)
}
