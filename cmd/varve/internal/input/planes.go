// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
)

// PlanesAlong returns the number of planes that continue a shape, from the shape of the
// file. It is for planes without elements, whose number the data does not tell.
func (v *Values) PlanesAlong(axis int, shape []int64) (int64, error) {
	switch {
	case v.Shape == nil:
		return 0, failure.OnAxis(axis, "a plane of shape %v has no elements, so raw data do not tell how many there are: give them as .npy or JSON", shape)
	case len(v.Shape) < len(shape):
		return 1, nil
	}
	return v.Shape[axis], nil
}

// Gather makes all values available at any offset, and returns their number. It spools a
// stream.
func (v *Values) Gather() (int64, error) {
	if v.Type.Variable() {
		return int64(len(v.words)), nil
	}
	n := v.Total
	if !v.Whole {
		// The append needs the number of planes before it writes the first. The length of
		// a pipe is known only at its end.
		copied, err := v.PutAside(-1)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", v.Name, err)
		}
		if v.Total >= 0 && copied != v.Total {
			return 0, failure.BadArgument("%s has %d bytes of elements, but its header requires %d", v.Name, copied, v.Total)
		}
		n, v.Total, v.Whole = copied, copied, true
		v.Reader = v.aside.Reader()
	}
	size := int64(v.Type.Size())
	if n%size != 0 {
		return 0, failure.BadArgument("%s has %d bytes, which is not a whole number of elements of type %s", v.Name, n, v.Type)
	}
	return n / size, nil
}

// Source returns gathered values as planes that continue a shape along an axis.
func (v *Values) Source(shape []int64, axis int, planes int64) (*zarr.Source, error) {
	if axis < 0 || axis >= len(shape) {
		return &zarr.Source{}, nil // the library refuses the axis
	}
	shape = slices.Clone(shape)
	shape[axis] = planes
	if v.array != nil {
		return &zarr.Source{Shape: shape, Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			if len(v.Shape) < len(box) { // one plane
				box = slices.Delete(slices.Clone(box), axis, axis+1)
			}
			if v.times == nil {
				return v.array.ReadBytes(ctx, box, dst)
			}
			src := make([]byte, len(dst)/v.times.dst.Size()*v.times.src.Size())
			if err := v.array.ReadBytes(ctx, box, src); err != nil {
				return err
			}
			return v.times.convert(dst, src)
		}}, nil
	}
	r, ok := v.Reader.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, fmt.Errorf("%s: %w: it cannot be read at an offset", v.Name, errors.ErrUnsupported)
	}
	// The elements of a .npy file begin after its header.
	at, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	n, _ := checked.Product(append(slices.Clone(shape), int64(v.Type.Size()))...)
	file := zarr.SourceAt(io.NewSectionReader(r, at, n), shape...)
	return &zarr.Source{Shape: shape, Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		err := file.Read(ctx, box, dst)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: %s was truncated while it was appended: %w", zarr.ErrSourceChanged, v.Name, err)
		case err != nil:
			return fmt.Errorf("read %s: %w", v.Name, err)
		}
		v.arrange(dst)
		return nil
	}}, nil
}
