// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/checked"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/grid"
)

// PlanesAlong returns the number of planes that the values form when they extend a
// shape with no elements per plane. It takes the number from the shape in the file,
// because it cannot be computed from the count of elements.
func (v *Values) PlanesAlong(axis int, shape []int64) (int64, error) {
	switch {
	case v.Shape == nil:
		return 0, failure.OnAxis(axis, "a plane of shape %v has no elements, so raw data does not define the number of planes: use .npy or JSON", shape)
	case len(v.Shape) < len(shape):
		return 1, nil
	}
	return v.Shape[axis], nil
}

// Gather makes all values available for random access and returns their number. It
// spools a stream.
func (v *Values) Gather() (int64, error) {
	if v.Type.Variable() {
		return int64(len(v.words)), nil
	}
	n := v.Total
	if !v.Whole {
		copied, err := v.PutAside(-1)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", v.Name, err)
		}
		if v.Total >= 0 && copied != v.Total {
			return 0, failure.BadArgument("%s has %d bytes of elements, its header says %d", v.Name, copied, v.Total)
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

// Source returns the values as planes that extend a shape along an axis. Gather must
// have been called.
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
			return v.array.ReadBytes(ctx, box, dst)
		}}, nil
	}
	r, ok := v.Reader.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, fmt.Errorf("%s: %w: it does not support random access", v.Name, errors.ErrUnsupported)
	}
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
			// Another program truncated the file after Gather measured it.
			return fmt.Errorf("%w: %s was truncated while it was appended: %w", zarr.ErrSourceChanged, v.Name, err)
		case err != nil:
			return fmt.Errorf("read %s: %w", v.Name, err)
		}
		v.arrange(dst)
		return nil
	}}, nil
}
