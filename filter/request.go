// SPDX-License-Identifier: Apache-2.0

package filter

import (
	"cmp"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/budget"
)

// Request says which rows are kept.
type Request struct {
	// Where is the condition that rows fulfil, or nil.
	Where *Expression
	// Mask has one bool for every row, or is nil. Either Where or Mask must be set.
	Mask []bool
	// Dimension is the name of the filtered dimension. All arrays of a group that have it
	// are filtered. "" is the dimension of the arrays that Where names; of a single
	// array, it is that of Axis; and of a sparse matrix of AnnData, that of the rows of
	// indptr, which may be the columns of the matrix.
	Dimension string
	// Axis is the filtered axis of a single array if Dimension is "".
	Axis int
}

func (r *Request) check() error {
	if (r.Where == nil) == (r.Mask == nil) {
		return fmt.Errorf("%w: either a condition or a mask must be given", zarr.ErrInvalidArgument)
	}
	return nil
}

// Options configure [NewPlan] and [Do]. A nil *Options is the zero value.
type Options struct {
	// Options open the nodes, with limits, codecs, durability and observer. Write is not
	// needed.
	zarr.Options
	// Overwrite first removes a node at the destination. That is not atomic: a crash
	// before the result is complete leaves no node there.
	Overwrite bool
	// Memory bounds the bytes of elements, chunks and rows that are held at once. A
	// single chunk may need more. 0 is 512 MiB, or a quarter of the memory limit of the
	// process if that is less.
	Memory int64
	// Progress, if not nil, is called after chunks of filtered arrays are stored, one
	// call at a time.
	Progress func(done, total int64)
}

// defaultMemory is the default of [Options.Memory].
const defaultMemory = 512 << 20

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// memory returns the bytes that may be held.
func (o *Options) memory() int64 {
	return max(1, cmp.Or(o.Memory, min(defaultMemory, 4*budget.Most())))
}

// Parts of the memory. Two blocks are in work at once, so that one is read while the
// other is written.
const tasks = 2

// block returns the bytes of the elements of one block.
func (o *Options) block() int64 { return max(1, o.memory()/(2*tasks)) }

// engine returns the budget of reading or writing one block.
func (o *Options) engine() int64 { return max(1, o.memory()/(4*tasks)) }

// reading returns the options for opening the source.
func (o *Options) reading() *zarr.Options {
	r := o.Options
	r.Write, r.Finish, r.RequireChunks = false, false, false
	return &r
}
