// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"slices"

	"varve.dev/zarr"
)

// Calendar says where the months or years of an axis of times begin. Package calendar
// finds that out.
type Calendar struct {
	// Name says what the calendar is made from, such as "month of time". If it is set, a
	// request with the same name resumes a rechunk that has stopped, although its
	// calendar tells of more elements, because the array has grown.
	Name string `json:"name,omitempty"`
	// Starts are the first elements of the months or years, in order.
	Starts []int64 `json:"starts"`
	// Until is the first element that the starts do not tell of, such as the extent when
	// they were computed. Chunks from there on are not merged.
	Until int64 `json:"until"`
}

// identity returns the part of the calendar that stays when the array grows.
func (c *Calendar) identity() *Calendar {
	if c == nil || c.Name == "" {
		return c
	}
	return &Calendar{Name: c.Name}
}

// bucket returns a function that reports whether elements from start to stop lie in one
// month or year.
func (c *Calendar) bucket() (func(start, stop int64) bool, error) {
	if len(c.Starts) == 0 || c.Until <= 0 || !slices.IsSorted(c.Starts) {
		return nil, fmt.Errorf("%w: a calendar needs the beginnings of months or years in order, and the end of what they tell of", zarr.ErrInvalidArgument)
	}
	return func(start, stop int64) bool {
		// The first beginning after start.
		i, _ := slices.BinarySearch(c.Starts, start+1)
		return stop <= c.Until && (i == len(c.Starts) || c.Starts[i] >= stop)
	}, nil
}
