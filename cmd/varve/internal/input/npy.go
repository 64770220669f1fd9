// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/npy"
)

// NPYOfCSV returns advice how to convert a table of numbers to a .npy file.
func NPYOfCSV(file string) string {
	return fmt.Sprintf("in Python, numpy.save(%q, numpy.loadtxt(%q, delimiter=\",\")) makes npy of csv (skiprows=1 and usecols of a table with a header)",
		node.WithoutExtension(file)+".npy", filepath.Base(file))
}

// OpenNPY reads the header of a .npy file.
func (v *Values) OpenNPY() error {
	h, err := npy.ReadHeader(v.Reader)
	if err != nil {
		return failure.BadArgument("%s: %w%s", v.Name, err, v.packed(err))
	}
	worded := isWord(h.Type) && v.Type.Variable()
	if !v.Type.IsZero() && v.Type != h.Type && !worded && !sameBytes(v.Type, h.Type) {
		return failure.BadArgument("%s has elements of type %s, the array %s%s", v.Name, typeText(h.Type), typeText(v.Type), astype(v.Type, encodeFirst(h.Type, v.into)))
	}
	n, ok := h.Bytes()
	if !ok {
		return fmt.Errorf("%w: %s has shape %v", zarr.ErrOverflow, v.Name, h.Shape)
	}
	if have, known := v.left(); known && have != n {
		return failure.BadArgument("%s has %d bytes of elements, its header says %d", v.Name, have, n)
	}
	want := v.Type
	v.Type, v.Shape, v.Total, v.swapped = h.Type, h.Shape, n, h.Swapped()
	if !h.Fortran && !worded {
		return nil
	}
	e, err := v.All()
	if err != nil {
		return err
	}
	h.BigEndian = !dtype.LittleEndian() // All has already swapped the bytes
	e.Data = h.Arrange(e.Data)
	if worded {
		e = asWords(want, e)
	}
	v.provide(e)
	return nil
}

// packed returns advice for a file that is not a .npy file, or that holds Python
// objects.
func (v *Values) packed(err error) string {
	if strings.Contains(err.Error(), `NumPy type "|O"`) {
		return " (elements are Python objects; convert them with x.astype(str), or with astype and a numeric type)"
	}
	if v.file == nil {
		return ""
	}
	magic := make([]byte, 8)
	n, _ := v.file.ReadAt(magic, 0) // fails for a pipe, about which nothing is known
	switch magic = magic[:n]; {
	case bytes.HasPrefix(magic, []byte("PK")):
		return " (it is a zip archive, as numpy.savez writes; unzip extracts the .npy files)"
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return fmt.Sprintf(" (it is compressed: gunzip -c %s | varve write NODE --format npy)", v.Name)
	case bytes.HasPrefix(magic, []byte("\x89HDF")) || bytes.HasPrefix(magic, []byte("CDF")):
		return " (it is NetCDF or HDF5: xarray.open_dataset reads it)"
	}
	return ""
}

// isWord reports whether elements are text or bytes of a fixed length.
func isWord(t dtype.Type) bool { return t.Kind() == dtype.UTF32 || t.Kind() == dtype.Terminated }

// sameBytes reports whether both types are raw bytes of the same length.
func sameBytes(a, b dtype.Type) bool {
	return a.Kind() == dtype.Raw && b.Kind() == dtype.Raw && a.Size() == b.Size()
}

// asWords converts fixed-length elements to a variable-length type.
func asWords(t dtype.Type, e element.Values) element.Values {
	words := make([][]byte, e.Len())
	for i := range words {
		words[i] = e.Type.AppendWord(nil, e.At(i))
	}
	return element.Values{Type: t, Words: words}
}

// encodeFirst returns advice how to encode values of another type as the attributes of
// an array require, or "". The astype method of NumPy alone ignores scale and units,
// and turns NaN into an arbitrary number.
func encodeFirst(from dtype.Type, a *zarr.Array) string {
	if a == nil || !element.IsNumeric(a.Type()) {
		return ""
	}
	p, err := cf.PackingOf(a)
	if err != nil {
		return ""
	}
	var steps []string
	if k := from.Kind(); (k == dtype.Datetime || k == dtype.Timedelta) && source.Attribute(a, "units") != "" {
		steps = append(steps, "count in "+phrase.Shorten(source.Attribute(a, "units"), 60))
	}
	if p.IsScaled() {
		scale, offset := p.Scale()
		steps = append(steps, fmt.Sprintf("subtract add_offset %v, divide by scale_factor %v, and round", offset, scale))
	}
	if from.Kind() == dtype.Float && p.Type().Kind() != dtype.Float && p.IsMasked() {
		steps = append(steps, "replace NaN by the missing value")
	}
	if len(steps) == 0 {
		return ""
	}
	return "encode them first as the attributes of the array require (" + strings.Join(steps, "; ") + ")"
}
