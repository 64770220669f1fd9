// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"cmp"

	"varve.dev/zarr/internal/budget"
)

// Options are the options of making a pyramid. A nil *Options is the zero value, which
// brings a pyramid up to date.
type Options struct {
	// Method is how elements are made. The zero value is that of the last time. The first
	// time it is [Mode] for names: booleans, arrays with the attribute flag_values or
	// flag_masks of CF, and label images of OME-Zarr; and else [Mean].
	Method Method
	// Factors has the number by which each axis is divided from one level to the next, 1
	// for axes that stay. Nil takes those of the last time. The first time it divides two
	// axes by 2: those named y and x, lat and lon, or latitude and longitude, or else the
	// last two.
	Factors []int64
	// Levels is the number of levels, without the array itself. 0 is that of the last
	// time. The first time it makes levels until one has a single chunk along the axes
	// that are divided, and more of them when the array has grown. A negative number
	// makes none, and removes those that were made. There are at most [MaxLevels].
	Levels int
	// Memory bounds the bytes of elements that are held at once; encoded chunks count
	// with [zarr.Options.Budget]. If a tile of every level needs more, the error wraps
	// [zarr.ErrLimit] and says how much suffices. 0 is 512 MiB, or a quarter of the
	// memory limit of the process if that is less, and more if the tiles need it.
	Memory int64
	// Progress, if not nil, is called after every tile, one call at a time.
	Progress func(done, total int64)
}

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// defaultMemory is the default of [Options.Memory].
const defaultMemory = 512 << 20

// memory returns the bytes that may be held.
func (o Options) memory() int64 { return cmp.Or(o.Memory, min(defaultMemory, 4*budget.Most())) }

// over returns the options with what is not given taken from the last time. first is the
// method of the first time.
func (o Options) over(last *record, first Method) Options {
	o.Method = cmp.Or(o.Method, last.Made.Method, first)
	if o.Levels == 0 {
		o.Levels = last.Asked
	}
	if o.Factors == nil {
		o.Factors = last.Made.Factors
	}
	return o
}
