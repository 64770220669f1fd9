package codec

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/store"
)

// Summer is the power of a [Trimmer] to check its bytes as they come, so that they need
// not be in memory together.
type Summer interface {
	Trimmer
	// Sum begins to check the bytes of one stored chunk.
	Sum() Sum
}

// Sum checks the bytes of one stored chunk, which Add takes in their order and in pieces
// of any length. Err, once all were added, is that of Trim.
type Sum interface {
	Add(data []byte)
	Err() error
}

// CheckedInRanges reports whether a stored chunk is looked at in ranges, so that none is
// too large to be checked: its elements stand one behind the other, and nothing follows
// but one checksum that adds them up.
func (c *Chain) CheckedInRanges() bool {
	if !c.elementwise() || len(c.bytes) > 1 {
		return false
	}
	return len(c.bytes) == 0 || c.summer() != nil
}

// summer returns the checksum behind elements that adds them up, nil where there is none.
func (c *Chain) summer() Summer {
	if len(c.bytes) != 1 {
		return nil
	}
	s, _ := c.bytes[0].(Summer)
	return s
}

// CheckRange is how many bytes of a stored chunk are read at a time where it is checked
// in ranges.
const CheckRange = 4 << 20

// checkLength says what is wrong with the length of a stored chunk, nil where it has just
// the bytes that its shape takes.
func (c *Chain) checkLength(shape []int64, size int64) error {
	n, ok := checked.Product(append([]int64{int64(c.spec.Width())}, shape...)...)
	if !ok {
		return fmt.Errorf("%w: no chunk can have the shape %v", ErrCorrupt, shape)
	}
	if want, fixed := c.Fixed(shape, n); fixed && want != size {
		return fmt.Errorf("%w: %d bytes, its shape %v takes %d", ErrCorrupt, size, shape, want)
	}
	return nil
}

// checkRanges is checkWhole of a chunk of n bytes of elements, of which a range is held
// at a time.
func (c *Chain) checkRanges(ctx context.Context, shape []int64, n int64, src Source, deep bool) (*Check, error) {
	_, info, err := src.Read(ctx, store.Request{Range: store.Span(0, 0)}, nil)
	if err != nil {
		return nil, err
	}
	out := &Check{Bytes: info.Size}
	err = c.checkLength(shape, info.Size)
	if err == nil && deep {
		err = c.addUp(ctx, n, info.Size, src)
	}
	switch {
	case errors.Is(err, ErrCorrupt):
		out.Add(Fault{Len: out.Bytes, Err: err})
	case err != nil:
		return nil, err
	}
	return out, nil
}

// addUp reads a stored chunk of so many bytes, of which the first n are elements, range
// after range, and returns what is wrong with it.
func (c *Chain) addUp(ctx context.Context, n, size int64, src Source) error {
	var sum Sum
	if s := c.summer(); s != nil {
		sum = s.Sum()
	}
	var invalid error
	v, validates := c.serial.(Validator)
	width := int64(c.spec.Width())
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
			invalid = c.failSerial(fmt.Errorf("in the bytes from %d on: %w", at, err))
		}
	}
	if sum != nil && sum.Err() != nil {
		return c.failBytes(0, sum.Err()) // which says more than a value that it explains
	}
	return invalid
}
