// SPDX-License-Identifier: Apache-2.0

package numpy

import (
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/npy"
	"varve.dev/zarr/virtual/scan"
)

// magic begins every file (numpy.lib.format, "Format Version 1.0").
const magic = "\x93NUMPY"

// Is reports whether a file begins as a .npy file does.
func Is(f *scan.File) bool {
	head, err := f.Bytes(0, int64(len(magic)))
	return err == nil && string(head) == magic
}

// Scan finds the values of a .npy file.
func Scan(f *scan.File) (*scan.Dataset, error) {
	a := &scan.Array{Path: "array"}
	r := io.NewSectionReader(f, 0, f.Size())
	h, err := npy.ReadHeader(r)
	switch {
	case err == nil:
		err = arrange(a, h, r, f.Size())
	case errors.Is(err, dtype.ErrUnsupported):
		a.Refused, err = scan.Unsupportedf("%v", err), nil
	case errors.Is(err, npy.ErrInvalid), errors.Is(err, dtype.ErrInvalid):
		err = scan.Corruptf("%v", err)
	}
	if err != nil {
		return nil, fmt.Errorf("numpy: %w", err)
	}
	return &scan.Dataset{Format: "NumPy", Groups: []scan.Group{{}}, Arrays: []*scan.Array{a}}, nil
}

// arrange describes the array of a header after which r stands.
func arrange(a *scan.Array, h npy.Header, r io.Seeker, fileSize int64) error {
	at, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	size, ok := h.Bytes()
	if !ok || size > fileSize-at {
		return scan.Corruptf("elements of %s in the shape %d from %d on, in a file of %d bytes", h.Type, h.Shape, at, fileSize)
	}
	a.Shape, a.Type, a.Codecs = h.Shape, h.Type, codecs(h)
	for _, n := range h.Shape {
		a.Chunk = append(a.Chunk, max(1, n))
	}
	if size > 0 {
		a.Chunks = []scan.Chunk{{Offset: at, Length: size}}
	}
	return nil
}

// codecs returns the codecs of the chunk. In Fortran order the first axis varies fastest,
// as in a chunk in C order whose axes are reversed.
func codecs(h npy.Header) []metadata.Extension {
	plain := scan.Plain(h.Type, h.BigEndian)
	if !h.Fortran || len(h.Shape) < 2 {
		return []metadata.Extension{plain}
	}
	order := []byte(`{"order":[`)
	for i := len(h.Shape) - 1; i >= 0; i-- {
		order = fmt.Appendf(order, "%d,", i)
	}
	order = append(order[:len(order)-1], "]}"...)
	return []metadata.Extension{{Name: "transpose", Configuration: order}, plain}
}
