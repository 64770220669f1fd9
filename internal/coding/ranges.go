// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// Summer is implemented by a [codec.Trimmer] that can check a chunk range by range,
// without the whole chunk in memory.
type Summer interface {
	codec.Trimmer
	// Sum returns a new Sum for one stored chunk.
	Sum() Sum
}

// Sum checks the bytes of one stored chunk. Add takes them in order, in ranges of any
// length. After the last range, Err returns the error that Trim would return.
type Sum interface {
	Add(data []byte)
	Err() error
}

// CheckedInRanges reports whether stored chunks of any size can be checked range by
// range. This requires that they consist of their elements, one after the other, and that
// no codec follows except one [Summer].
func (c *Chain) CheckedInRanges() bool {
	if !c.elementwise() || len(c.bytes) > 1 {
		return false
	}
	return len(c.bytes) == 0 || c.summer() != nil
}

// summer returns the only bytes codec if it is a Summer, else nil.
func (c *Chain) summer() Summer {
	if len(c.bytes) != 1 {
		return nil
	}
	s, _ := c.bytes[0].(Summer)
	return s
}

// CheckRange is the length, in bytes, of the ranges in which a chunk is checked.
const CheckRange = 4 << 20

// checkLength returns an error if the size of a stored chunk does not match its shape.
func (c *Chain) checkLength(shape []int64, size int64) error {
	n, ok := checked.Product(append([]int64{int64(Width(c.spec))}, shape...)...)
	if !ok {
		return fmt.Errorf("%w: no chunk can have the shape %v", codec.ErrCorrupt, shape)
	}
	if want, fixed := c.Fixed(shape, n); fixed && want != size {
		return fmt.Errorf("%w: the chunk has %s, but its shape %v needs %d", codec.ErrCorrupt, quantity.Count(size, "bytes"), shape, want)
	}
	return nil
}

// checkRanges is checkWhole for a chunk of n bytes of elements. It has one range in
// memory at a time.
func (c *Chain) checkRanges(ctx context.Context, shape []int64, n int64, src Source, deep bool) (*codec.Check, error) {
	_, info, err := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
	if err != nil {
		return nil, err
	}
	out := &codec.Check{Bytes: info.Size}
	err = c.checkLength(shape, info.Size)
	if err == nil && deep {
		err = c.readRanges(ctx, n, info.Size, src)
	}
	switch {
	case errors.Is(err, codec.ErrCorrupt):
		AddFault(out, codec.Fault{Len: out.Bytes, Err: err})
	case err != nil:
		return nil, err
	}
	return out, nil
}

// readRanges reads a stored chunk of size bytes, of which the first n are elements, and
// returns an error if a checksum does not match or an element is invalid.
func (c *Chain) readRanges(ctx context.Context, n, size int64, src Source) error {
	var sum Sum
	if s := c.summer(); s != nil {
		sum = s.Sum()
	}
	var invalid error
	v, validates := c.serial.(Validator)
	width := int64(Width(c.spec))
	step := max(1, CheckRange/width) * width
	b := budget.Get(step)
	defer b.Put()
	for at := int64(0); at < size; at += step {
		data, _, err := src.Read(ctx, store.Request{Range: store.Span(at, min(step, size-at))}, b.B)
		if err != nil {
			return err
		}
		if sum != nil {
			sum.Add(data)
		}
		if !validates || at >= n || invalid != nil {
			continue
		}
		if err := v.Validate(data[:min(int64(len(data)), n-at)]); err != nil {
			// Continue with the checksum, which may be the cause.
			invalid = c.failSerial(fmt.Errorf("in the range of bytes that begins at %d: %w", at, err))
		}
	}
	if sum != nil && sum.Err() != nil {
		return c.failBytes(0, sum.Err()) // the cause of an invalid element, if there is one
	}
	return invalid
}
