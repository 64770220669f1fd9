// SPDX-License-Identifier: Apache-2.0

// Package numpy finds the values of .npy files, which package npy describes. Such a file
// has one array without a name; here it is called "array". All its values are one chunk.
package numpy

import (
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// magic begins every file (numpy.lib.format, "Format Version 1.0").
const magic = "\x93NUMPY"

// Matches reports whether a file begins as a .npy file does.
func Matches(f *scan.File) bool {
	head, err := f.Bytes(0, int64(len(magic)))
	return err == nil && string(head) == magic
}

// Scan finds the values of a .npy file. A file may have several arrays, because
// numpy.save writes each where the one before ends. They are "array", "array_2" and so
// on.
func Scan(f *scan.File) (*scan.Dataset, error) {
	d := &scan.Dataset{Format: "NumPy", Groups: []scan.Group{{}}}
	end, err := scanArray(f, d, 0)
	if err != nil {
		return nil, fmt.Errorf("numpy: %w", err)
	}
	// np.save appends to an open file. Other bytes behind an array are only noted.
	for end > 0 && end < f.Size() {
		at := end
		if end, err = scanArray(f, d, at); errors.Is(err, scan.ErrCorrupt) {
			d.Omit(fmt.Sprintf("behind %s", d.Arrays[len(d.Arrays)-1].Path), "%s at %d: %v", quantity.Count(f.Size()-at, "bytes"), at, err)
			break
		}
		if err != nil {
			return nil, fmt.Errorf("numpy: %w", err)
		}
	}
	return d, nil
}

// scanArray adds the array at an offset, and returns where it ends, or 0 if its type is
// not known.
func scanArray(f *scan.File, d *scan.Dataset, at int64) (end int64, err error) {
	a := &scan.Array{Path: "array"}
	if n := len(d.Arrays); n > 0 {
		a.Path = fmt.Sprintf("array_%d", n+1)
	}
	r := io.NewSectionReader(f, at, f.Size()-at)
	h, err := npy.ReadHeader(r)
	switch {
	case err == nil:
		end, err = arrange(a, h, f, at+headerBytes(r))
	case errors.Is(err, dtype.ErrUnsupported):
		// Such as pickled objects. Without a type it is not known where they end.
		a.Refused, err = scan.Unsupportedf("%v", err), nil
	case errors.Is(err, npy.ErrInvalid), errors.Is(err, dtype.ErrInvalid):
		err = scan.Corruptf("%v", err)
	}
	if err == nil {
		d.Arrays = append(d.Arrays, a)
	}
	return end, err
}

// headerBytes returns the bytes of the header that was read.
func headerBytes(r *io.SectionReader) int64 {
	n, _ := r.Seek(0, io.SeekCurrent) // which never fails
	return n
}

// arrange describes the array of a header whose elements begin at an offset. It returns
// where they end.
func arrange(a *scan.Array, h npy.Header, f *scan.File, at int64) (end int64, err error) {
	size, ok := h.Bytes()
	if !ok || size > f.Size()-at {
		return 0, scan.Corruptf("elements of %s in the shape %d from %d on, in a file of %s", h.Type, h.Shape, at, quantity.Count(f.Size(), "bytes"))
	}
	a.Shape, a.Type, a.Codecs = h.Shape, h.Type, codecs(h)
	// The chunk is the whole array. An axis without elements still needs a length.
	for _, n := range h.Shape {
		a.Chunk = append(a.Chunk, max(1, n))
	}
	if size > 0 {
		a.Chunks = []scan.Chunk{{Offset: at, Length: size}}
	}
	return at + size, nil
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
