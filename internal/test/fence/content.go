// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
)

// content is the expected content of an array: its elements in a model.
type content struct {
	shape []int64
	rows  []int32
	attrs string
}

func (c content) String() string { return fmt.Sprintf("%v %v %s", c.shape, c.rows, c.attrs) }

// resized returns the content with another shape, with zeros where it grew.
func (c content) resized(shape ...int64) content {
	next := content{shape, make([]int32, fixture.Count(shape)), c.attrs}
	for i := range c.rows {
		if at, ok := offset(index(int64(i), c.shape), shape); ok {
			next.rows[at] = c.rows[i]
		}
	}
	return next
}

// appended returns the content with more elements at the end of an axis. It returns
// false if they do not fit.
func (c content) appended(axis int, data []int32) (content, bool) {
	added := slices.Clone(c.shape)
	added[axis] = 1
	if int64(len(data))%fixture.Count(added) != 0 {
		return content{}, false
	}
	added[axis] = int64(len(data)) / fixture.Count(added)
	shape := slices.Clone(c.shape)
	shape[axis] += added[axis]
	next := c.resized(shape...)
	for i, v := range data {
		at := index(int64(i), added)
		at[axis] += c.shape[axis]
		to, _ := offset(at, shape)
		next.rows[to] = v
	}
	return next, true
}

// index returns the indices of element i in C order.
func index(i int64, shape []int64) []int64 {
	at := make([]int64, len(shape))
	for k := len(shape) - 1; k >= 0; k-- {
		at[k], i = i%shape[k], i/shape[k]
	}
	return at
}

// offset is the inverse of index. It returns false for an index outside the shape.
func offset(at, shape []int64) (i int64, ok bool) {
	for k, n := range shape {
		if at[k] >= n {
			return 0, false
		}
		i = i*n + at[k]
	}
	return i, true
}

// begins reports whether a block equals the start of the content along every axis.
func (c content) begins(b zarr.Block[int32]) bool {
	for i, n := range b.Shape {
		if n > c.shape[i] {
			return false
		}
	}
	return slices.Equal(c.resized(b.Shape...).rows, b.Data)
}

func (c content) equal(d content) bool {
	return slices.Equal(c.shape, d.shape) && slices.Equal(c.rows, d.rows) && c.attrs == d.attrs
}

// contentOf opens and reads the array as a new program.
func contentOf(s store.Store) (content, error) {
	a, err := zarr.At(s, "a").OpenArray(context.Background(), &zarr.Options{Concurrency: 1})
	if err != nil {
		return content{}, err
	}
	b, err := zarr.Read[int32](context.Background(), a, nil)
	return content{a.Shape(), b.Data, fixture.Compact(a.Attributes())}, err
}
