// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// background is the fill value of the arrays of the models. No element is written with
// it.
const background = -7

// place is an element of an array of at most four axes.
type place [4]int64

func placeOf(index []int64) (p place) {
	copy(p[:], index)
	return p
}

// spell is a time during which an element had a value.
type spell struct {
	value    int32
	from, to int64
}

// chronicle knows every value that each element of an array has had, and when. Time is
// counted in changes.
type chronicle struct {
	mu     sync.Mutex
	shape  []int64 // what every reader may select: during a change, the smaller extents
	clock  int64
	spells map[place][]spell
	latest int32 // the last value that was given out; all are different
}

func newChronicle(shape []int64) *chronicle {
	c := &chronicle{shape: make([]int64, len(shape)), spells: map[place][]spell{}}
	c.resize(shape)()
	return c
}

// values returns n values that no element has had.
func (c *chronicle) values(n int64) []int32 {
	list := make([]int32, n)
	for i := range list {
		c.latest++
		list[i] = c.latest
	}
	return list
}

// write begins a change of a box of elements. From now on a reader may find the new
// values; the old ones end when the returned function is called.
func (c *chronicle) write(box grid.Box, values []int32) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	var places []place
	for index := range box.Indices() {
		p := placeOf(index)
		c.spells[p] = append(c.spells[p], spell{values[len(places)], c.clock, math.MaxInt64})
		places = append(places, p)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.clock++
		for _, p := range places {
			for i := range c.spells[p][:len(c.spells[p])-1] {
				s := &c.spells[p][i]
				s.to = min(s.to, c.clock)
			}
		}
	}
}

// append begins an append of values along an axis.
func (c *chronicle) append(axis int, n int64, values []int32) (end func()) {
	shape := slices.Clone(c.shape)
	box := grid.BoxOf(shape)
	box[axis] = grid.Interval{Start: shape[axis], Stop: shape[axis] + n}
	shape[axis] += n
	done := c.write(box, values)
	return func() {
		done()
		c.reshape(shape)
	}
}

// resize begins a change of the shape. Elements that appear have the fill value.
func (c *chronicle) resize(shape []int64) (end func()) {
	was := c.shape
	least := make([]int64, len(was))
	for i := range least {
		least[i] = min(was[i], shape[i])
	}
	c.reshape(least)
	var ends []func()
	for box := range grid.BoxOf(shape).Subtract(grid.BoxOf(was)) {
		n, _ := box.Len()
		ends = append(ends, c.write(box, slices.Repeat([]int32{background}, int(n))))
	}
	return func() {
		for _, end := range ends {
			end()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.clock++
		for box := range grid.BoxOf(was).Subtract(grid.BoxOf(shape)) {
			for index := range box.Indices() {
				list := c.spells[placeOf(index)]
				for i := range list {
					list[i].to = min(list[i].to, c.clock)
				}
			}
		}
		c.shape = slices.Clone(shape)
	}
}

func (c *chronicle) reshape(shape []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shape = slices.Clone(shape)
}

// outcome is what a read returned.
type outcome int

const (
	right  outcome = iota // values that the elements had since the reader opened the array
	loud                  // an error
	filled                // the fill value instead of a value
	silent                // another wrong value
)

// outcomes counts reads by what they returned.
type outcomes [4]int

func (o outcomes) String() string {
	return fmt.Sprintf("ok %d, error %d, fill %d, silent %d", o[right], o[loud], o[filled], o[silent])
}

func (o *outcomes) add(p outcomes) {
	for i, n := range p {
		o[i] += n
	}
}

// judge compares the values that a reader has read with those that the elements had since
// it opened the array.
func (c *chronicle) judge(box grid.Box, values []int32, since int64) (o outcome, wrong string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := 0
	for index := range box.Indices() {
		v := values[i]
		i++
		had := c.spells[placeOf(index)]
		if slices.ContainsFunc(had, func(s spell) bool { return s.value == v && s.to >= since }) {
			continue
		}
		is := silent
		if v == background {
			is = filled
		}
		if is > o {
			o, wrong = is, fmt.Sprintf("element %v is %d since %d, had %v", index, v, since, had)
		}
	}
	return o, wrong
}

// holds reports whether a box lies within what every reader may select.
func (c *chronicle) holds(box grid.Box) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range c.shape {
		if box[i].Stop > n {
			return false
		}
	}
	return true
}

// exactly returns an error unless a block has all elements and their present values.
func (c *chronicle) exactly(b zarr.Block[int32]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(b.Shape, c.shape) {
		return fmt.Errorf("the shape is %v, want %v", b.Shape, c.shape)
	}
	i := 0
	for index := range grid.BoxOf(c.shape).Indices() {
		had := c.spells[placeOf(index)]
		if last := had[len(had)-1]; b.Data[i] != last.value || last.to != math.MaxInt64 {
			return fmt.Errorf("element %v is %d, want the last of %v", index, b.Data[i], had)
		}
		i++
	}
	return nil
}
