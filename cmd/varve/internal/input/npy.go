// SPDX-License-Identifier: Apache-2.0

package input

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/quantity"
)

// NPYOfCSV returns the Python code that turns a table of numbers into a .npy file.
func NPYOfCSV(file string) string {
	return fmt.Sprintf("in Python, numpy.save(%q, numpy.loadtxt(%q, delimiter=\",\")) converts csv to npy (with skiprows=1 and usecols for a table with a header)",
		node.WithoutExtension(file)+".npy", filepath.Base(file))
}

// OpenNPY reads the header of a .npy file.
func (v *Values) OpenNPY() error {
	h, err := npy.ReadHeader(v.Reader)
	if err != nil {
		return failure.BadArgument("%s: %w%s", v.Name, err, v.packedHint(err))
	}
	// NumPy pads texts to one length. The array has texts of any length.
	worded := isWord(h.Type) && v.Type.Variable()
	// Converting numbers silently would hide a mistake, so the types must agree.
	if !v.Type.IsZero() && v.Type != h.Type && !worded && !sameBytes(v.Type, h.Type) {
		return failure.BadArgument("%s has elements of type %s, the array %s%s", v.Name, typeText(h.Type), typeText(v.Type), v.convertFile(h.Type))
	}
	n, ok := h.Bytes()
	if !ok {
		return fmt.Errorf("%w: %s has shape %v", zarr.ErrOverflow, v.Name, h.Shape)
	}
	// Detect a truncated file before anything is written.
	if have, known := v.unread(); known && have != n {
		return failure.BadArgument("%s has %s of elements, but its header requires %d", v.Name, quantity.Count(have, "bytes"), n)
	}
	want := v.Type
	v.Type, v.Shape, v.Total, v.isSwapped = h.Type, h.Shape, n, h.Swapped()
	if !h.Fortran && !worded {
		return nil
	}
	// Texts and Fortran order are converted as a whole.
	e, err := v.All()
	if err != nil {
		return err
	}
	h.BigEndian = !byteorder.Little() // All has swapped the bytes already
	e.Data = h.Arrange(e.Data)
	if worded {
		e = asWords(want, e)
	}
	v.provide(e)
	return nil
}

// packedHint returns a hint for a file that is not a .npy file, or whose elements are
// Python objects.
func (v *Values) packedHint(err error) string {
	if strings.Contains(err.Error(), `NumPy type "|O"`) {
		return " (elements are objects of Python: x.astype(str), or astype of a type of numbers, makes values of them)"
	}
	if v.file == nil {
		return ""
	}
	magic := make([]byte, 8)
	n, _ := v.file.ReadAt(magic, 0) // a pipe has no magic
	switch magic = magic[:n]; {
	case bytes.HasPrefix(magic, []byte("PK")):
		return " (it is a zip archive, as numpy.savez writes; unzip takes the .npy files out)"
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return fmt.Sprintf(" (it is compressed: gunzip -c %s | varve write NODE --format npy)", v.Name)
	case bytes.HasPrefix(magic, []byte("\x89HDF")) || bytes.HasPrefix(magic, []byte("CDF")):
		return " (it is NetCDF or HDF5: give it a name that ends in .nc or .h5)"
	}
	return ""
}

// isWord reports whether elements are text or bytes of a fixed length.
func isWord(t dtype.Type) bool {
	return t.Kind() == dtype.KindUTF32 || t.Kind() == dtype.KindTerminated
}

// sameBytes reports whether elements of two types are plain bytes of the same length.
func sameBytes(a, b dtype.Type) bool {
	return a.Kind() == dtype.KindRaw && b.Kind() == dtype.KindRaw && a.Size() == b.Size()
}

// asWords returns elements of fixed length as elements of a type of variable length.
func asWords(t dtype.Type, e export.Values) export.Values {
	words := make([][]byte, e.Len())
	for i := range words {
		words[i] = packed.AppendWord(e.Type, nil, e.At(i))
	}
	return export.Values{Type: t, Words: words}
}

// convertFile returns how NumPy converts values of another type for the array. astype
// alone would truncate scaled values, count times in other units, and turn NaN into some
// number.
func (v *Values) convertFile(from dtype.Type) string {
	if v.target == nil || !cf.IsNumeric(v.target.Type()) {
		return astype(v.Type, "")
	}
	q, err := v.packing()
	if err != nil {
		return ""
	}
	return encoding{into: v.target, packing: q, from: from}.text("")
}

// magicNPY is the beginning of every .npy file.
const magicNPY = "\x93NUMPY"

// peekNPY reports whether the next bytes are the beginning of a .npy file. The bytes are
// not consumed. It reads no more of a stream than necessary.
func (v *Values) peekNPY() (bool, error) {
	seen := make([]byte, 0, len(magicNPY))
	for len(seen) < len(magicNPY) && magicNPY[:len(seen)] == string(seen) {
		n, err := v.Reader.Read(seen[len(seen):cap(seen)])
		seen = seen[:len(seen)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", v.Name, err)
		}
	}
	if s, ok := v.Reader.(io.Seeker); ok { // keep the file, because its length is known
		if _, err := s.Seek(-int64(len(seen)), io.SeekCurrent); err != nil {
			return false, fmt.Errorf("read %s: %w", v.Name, err)
		}
	} else {
		v.Reader = io.MultiReader(bytes.NewReader(seen), v.Reader)
	}
	return magicNPY == string(seen), nil
}

// openRaw starts to read bytes without a header. A .npy file without --format is read as
// such, whatever its name is: as raw data, its header would become values.
func (v *Values) openRaw(named bool) (err error) {
	if v.npy, err = v.peekNPY(); err != nil {
		return err
	}
	// The elements of a raw file have the type of the array, and a header is no element.
	if v.npy && !named {
		return v.OpenNPY()
	}
	v.isSwapped = !byteorder.Little()
	return export.CheckOneLength(v.Type, export.Raw)
}

// Reading says how raw data was read, if another --format may be meant, or returns "".
func (v *Values) Reading() string {
	switch {
	case v.npy && !v.isAssumedRaw:
		return " (it is a .npy file; omit --format raw to read it as one)"
	case !v.npy && v.isAssumedRaw:
		return fmt.Sprintf(" (it was read as raw elements of type %s; use --format json for lists as text, --format npy for NumPy files)", v.Type)
	}
	return ""
}
