// SPDX-License-Identifier: Apache-2.0

// Package input reads the elements that commands store, from files, standard input, text
// and arrays.
package input

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/checked"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/npy"
	"varve.dev/zarr/store"
)

// Values are elements of one type on their way into an array, in C order.
type Values struct {
	Type    dtype.Type
	into    *zarr.Array // nil for one that is not there yet
	Shape   []int64     // nil for raw data, which has none
	Total   int64       // bytes in memory, -1 where that shows only at the end
	taken   int64       // bytes that were read
	Whole   bool        // nothing is missing and nothing follows, as far as the system knows
	Name    string      // of the file
	Reader  io.Reader
	swapped bool     // not in host byte order
	npy     bool     // raw data that begin as a .npy file does
	guessed bool     // raw, since nothing says what they are
	needed  int64    // bytes in memory, 0 where it is not known
	words   [][]byte // in place of r, of elements that differ in length
	file    *os.File
	array   *zarr.Array     // a Zarr node; nil for files
	done    func() error    // lets go of it
	aside   localfile.Spool // of a stream

	// watch begins to show how a stream of so many bytes comes in, 0 where nobody knows
	// how many. Nil shows nothing.
	Watch func(total int64) *progress.Line
}

// Close lets go of the file or the node, and of what was set aside.
func (v *Values) Close() error {
	if v.done != nil {
		return errors.Join(v.done(), v.aside.Close())
	}
	if v.file == nil {
		return v.aside.Close()
	}
	return errors.Join(v.file.Close(), v.aside.Close())
}

// Open opens a file, a Zarr array, or standard input for "" and "-", whose elements
// are of type t, the zero Type standing for whatever type the file tells. They go into a,
// nil for an array that is not there yet.
func Open(cmd *cobra.Command, file, formatName string, t dtype.Type, a *zarr.Array) (*Values, error) {
	if formatName == "" && node.IsLocation(file) {
		return openNodeValues(cmd, file, t)
	}
	f, err := format.Of(formatName, file, true)
	if err != nil {
		return nil, err
	}
	if (file == "" || file == "-") && f != format.JSON && console.IsTerminal(cmd.InOrStdin()) {
		return nil, failure.BadUsage("%s is not typed at a terminal: name a FILE, send the values through a pipe, or give --format json", f)
	}
	v := &Values{Type: t, into: a, Total: -1, Name: "standard input", Reader: localfile.Patient(cmd.Context(), cmd.InOrStdin())}
	v.Watch = func(total int64) *progress.Line { return progress.New(cmd, "reading", total) }
	if file != "" && file != "-" {
		f, err := localfile.Open(cmd.Context(), file)
		if err != nil {
			return nil, err
		}
		v.Name, v.Reader, v.file = file, localfile.Patient(cmd.Context(), f), f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			v.Reader, v.Total, v.Whole = f, info.Size(), true // a disk answers
		}
	}
	switch f {
	case format.Raw:
		v.guessed = formatName == ""
		err = v.openRaw(!v.guessed)
	case format.NPY:
		err = v.OpenNPY()
	case format.JSON:
		err = v.OpenJSON()
	default:
		err = failure.BadUsage("%s: values are not read from %s, but from raw, npy and json; %s", v.Name, f, NPYOfCSV(v.Name))
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// NPYOfCSV says how numbers of a table become a .npy file.
func NPYOfCSV(file string) string {
	return fmt.Sprintf("in Python, numpy.save(%q, numpy.loadtxt(%q, delimiter=\",\")) makes npy of csv (skiprows=1 and usecols of a table with a header)",
		node.WithoutExtension(file)+".npy", filepath.Base(file))
}

// OpenNPY reads the header of a file of NumPy.
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
	h.BigEndian = !dtype.LittleEndian() // all has already swapped
	e.Data = h.Arrange(e.Data)
	if worded {
		e = asWords(want, e)
	}
	v.provide(e)
	return nil
}

// packed returns what is to be done with a file that is no .npy file, or has elements
// that are no values.
func (v *Values) packed(err error) string {
	if strings.Contains(err.Error(), `NumPy type "|O"`) {
		return " (elements are objects of Python: x.astype(str), or astype of a type of numbers, makes values of them)"
	}
	if v.file == nil {
		return ""
	}
	magic := make([]byte, 8)
	n, _ := v.file.ReadAt(magic, 0) // of a pipe nothing is known
	switch magic = magic[:n]; {
	case bytes.HasPrefix(magic, []byte("PK")):
		return " (it is a zip archive, as numpy.savez writes; unzip takes the .npy files out)"
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return fmt.Sprintf(" (it is compressed: gunzip -c %s | varve write NODE --format npy)", v.Name)
	case bytes.HasPrefix(magic, []byte("\x89HDF")) || bytes.HasPrefix(magic, []byte("CDF")):
		return " (it is NetCDF or HDF5: xarray.open_dataset reads it)"
	}
	return ""
}

// isWord reports whether elements are text, or bytes, of a fixed length.
func isWord(t dtype.Type) bool { return t.Kind() == dtype.UTF32 || t.Kind() == dtype.Terminated }

// sameBytes reports whether elements of two types are the same bytes without meaning.
func sameBytes(a, b dtype.Type) bool {
	return a.Kind() == dtype.Raw && b.Kind() == dtype.Raw && a.Size() == b.Size()
}

// asWords returns elements of a fixed length as those of a type that may have any.
func asWords(t dtype.Type, e element.Values) element.Values {
	words := make([][]byte, e.Len())
	for i := range words {
		words[i] = e.Type.AppendWord(nil, e.At(i))
	}
	return element.Values{Type: t, Words: words}
}

// left returns how many bytes a file has from where it is read next, if it is one that
// tells.
func (v *Values) left() (int64, bool) {
	s, ok := v.Reader.(io.Seeker)
	if !ok || v.Total < 0 {
		return 0, false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return v.Total - at, err == nil
}

// provide makes elements what is read.
func (v *Values) provide(e element.Values) {
	v.Reader, v.swapped, v.taken, v.Whole = bytes.NewReader(e.Data), false, 0, true
	v.Type, v.words, v.Total = e.Type, e.Words, int64(e.Len())*element.Width(e.Type)
}

// Secure makes values of the array that they are to be written to ones that are set aside
// before anything is written: else later parts would be read where earlier ones have been
// replaced.
func (v *Values) Secure(cmd *cobra.Command, to *zarr.Array) error {
	if v.array == nil {
		return nil
	}
	same, err := isSameArray(v.array, to)
	if same {
		v.Whole = false
		v.Watch = func(total int64) *progress.Line { return progress.New(cmd, "reading", total) }
	}
	return err
}

// isSameArray reports whether two arrays are one, perhaps by two names, as far as their
// stores tell.
func isSameArray(a, b *zarr.Array) (bool, error) {
	s, t := a.Location().Store(), b.Location().Store()
	p, err := store.ParsePath(a.Path())
	if err != nil {
		return false, err
	}
	q, err := store.ParsePath(b.Path())
	if err != nil {
		return false, err
	}
	first, err := store.Identify(s, p)
	if err != nil {
		return false, err
	}
	second, err := store.Identify(t, q)
	if err != nil {
		return false, err
	}
	if first != nil && second != nil {
		return first.Same(second), nil
	}
	place := store.PlaceOf(s)
	return place != "" && place == store.PlaceOf(t) && p == q, nil
}

// Settle makes sure that n bytes are there, just as many as are needed: those of a stream
// it sets aside until then.
func (v *Values) Settle(n int64) error {
	if v.Whole {
		return nil
	}
	v.needed = max(0, n)
	copied, err := v.PutAside(n)
	v.taken += copied
	if err == nil {
		err = v.End()
	} else {
		err = v.broken(err)
	}
	if err != nil {
		return err
	}
	v.taken, v.Whole = v.taken-copied, true
	v.Reader = v.aside.Reader()
	return nil
}

// PutAside sets n bytes of a stream aside, or all where n is negative, and shows how they
// come.
func (v *Values) PutAside(n int64) (int64, error) {
	r := v.Reader
	if v.Watch != nil {
		p := v.Watch(max(0, n))
		defer p.End()
		r = io.TeeReader(r, p)
	}
	if n < 0 {
		return io.Copy(&v.aside, r)
	}
	return io.CopyN(&v.aside, r, n)
}

// broken returns the error for a file that could not be read as far as it is needed.
func (v *Values) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return failure.BadArgument("%s ends after %s%s", v.Name, phrase.Plural(v.taken, "byte"), v.lacking())
	}
	return fmt.Errorf("read %s: %w", v.Name, err)
}

// lacking says of a stream that ends too early how many bytes are needed, and how text is
// read where raw data was assumed.
func (v *Values) lacking() string {
	if v.needed == 0 {
		return ""
	}
	text := fmt.Sprintf(", %s are needed", phrase.Count(v.needed))
	if v.guessed && !v.npy {
		text += fmt.Sprintf(" (it is taken for raw elements of type %s; --format json reads lists as text, --format npy those of NumPy)", v.Type)
	}
	return text
}

// next fills e with the next elements in host byte order.
func (v *Values) next(e *element.Values) error {
	if v.Type.Variable() {
		n := copy(e.Words, v.words)
		v.words = v.words[n:]
		return nil // as many are there as are needed
	}
	n, err := io.ReadFull(v.Reader, e.Data)
	v.taken += int64(n)
	if err != nil {
		return v.broken(err)
	}
	v.arrange(e.Data)
	return nil
}

func (v *Values) arrange(block []byte) {
	if v.swapped {
		v.Type.Swap(block, block)
	}
}

// Fill fills e as next does. After the last elements there must be nothing more.
func (v *Values) Fill(e *element.Values, last bool) error {
	err := v.next(e)
	if err == nil && last {
		err = v.End()
	}
	return err
}

// End refuses data that goes on.
func (v *Values) End() error {
	n, err := io.ReadFull(v.Reader, make([]byte, 1))
	if n > 0 {
		return failure.BadArgument("%s has more than the %s needed%s", v.Name, phrase.Plural(v.taken, "byte"), v.RawNPY())
	}
	if err != io.EOF {
		return fmt.Errorf("read %s: %w", v.Name, err)
	}
	return nil
}

// All returns everything that is left. Memory is taken for what is really there only, and
// once: a stream whose length nobody knows goes aside first.
func (v *Values) All() (e element.Values, err error) {
	if v.Type.Variable() {
		return element.Values{Type: v.Type, Words: v.words}, nil
	}
	data, err := v.Rest()
	v.taken += int64(len(data))
	if err != nil {
		return e, fmt.Errorf("read %s: %w", v.Name, err)
	}
	if v.Total >= 0 && v.taken != v.Total {
		return e, failure.BadArgument("%s has %d bytes of elements, its header says %d", v.Name, v.taken, v.Total)
	}
	if len(data)%v.Type.Size() != 0 {
		return e, failure.BadArgument("%s has %d bytes, which is no whole number of elements of type %s", v.Name, len(data), v.Type)
	}
	v.arrange(data)
	return element.Values{Type: v.Type, Data: data}, nil
}

// toEnd returns how many bytes follow, of a file or of memory; streams do not tell.
func toEnd(r io.Reader) (int64, error) {
	s, ok := r.(io.Seeker)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	at, err := s.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, err
	}
	end, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, err
	}
	_, err = s.Seek(at, io.SeekStart)
	return max(0, end-at), err
}

// Rest returns the bytes that are left.
func (v *Values) Rest() ([]byte, error) {
	n, err := toEnd(v.Reader)
	if err != nil {
		if n, err = io.Copy(&v.aside, v.Reader); err != nil {
			return nil, err
		}
		v.Reader = v.aside.Reader()
	}
	data := make([]byte, n)
	m, err := io.ReadFull(v.Reader, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a file that was cut meanwhile: callers count
	}
	return data[:m], err
}

// Fits refuses values that are too many or too few for a place of the given shape, or are
// arranged in another way. A single axis fits any shape, and axes of length 1 do not
// count.
func (v *Values) Fits(shape []int64) error {
	want, ok := checked.Product(shape...)
	if ok {
		want, ok = checked.Mul(want, element.Width(v.Type))
	}
	if !ok {
		return zarr.ErrOverflow
	}
	if size := element.Width(v.Type); v.Total >= 0 && v.Total != want {
		err := failure.BadArgument("%s has %s (%d bytes), shape %v of type %s takes %s (%d bytes)%s",
			v.Name, phrase.Plural(v.Total/size, "value"), v.Total, shape, v.Type, phrase.Count(want/size), want, v.RawNPY())
		if v.Type.Variable() {
			err = failure.BadArgument("%s has %s, shape %v takes %s", v.Name, phrase.Plural(v.Total/size, "value"), shape, phrase.Count(want/size))
		}
		return v.onFirstOf(shape, err)
	}
	have, place := squeezed(v.Shape), squeezed(shape)
	if len(have) < 2 || slices.Equal(have, place) {
		return nil
	}
	return v.onFirstOf(shape, failure.BadArgument("%s has shape %v, the place has %v", v.Name, v.Shape, shape))
}

// onFirstOf returns err as one of the first axis along which the values do not fit a
// place of the given shape.
func (v *Values) onFirstOf(shape []int64, err error) error {
	if len(v.Shape) != len(shape) {
		return err // axes cannot be told apart
	}
	if i := Unequal(v.Shape, shape, -1); i >= 0 {
		err = &grid.AxisError{Axis: i, Err: err}
	}
	return err
}

// Unequal returns the first axis but one that two shapes of one rank differ along, -1
// where there is none.
func Unequal(a, b []int64, except int) int {
	for i := range a {
		if i != except && a[i] != b[i] {
			return i
		}
	}
	return -1
}

// squeezed returns a shape without axes of length 1.
func squeezed(shape []int64) []int64 {
	var s []int64
	for _, n := range shape {
		if n != 1 {
			s = append(s, n)
		}
	}
	return s
}

// encodeFirst says what makes the stored numbers of an array of values of another type,
// "" for nothing: astype alone would cut off what a scale keeps, count times in units of
// its own, and make some number of NaN.
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
		steps = append(steps, "put the missing value in place of NaN")
	}
	if len(steps) == 0 {
		return ""
	}
	return "encode them first as the attributes of the array say (" + strings.Join(steps, "; ") + ")"
}

// PlanesAlong returns how many planes the values are that continue a shape, by what the
// file says of its own shape: their elements do not tell where there are none.
func (v *Values) PlanesAlong(axis int, shape []int64) (int64, error) {
	switch {
	case v.Shape == nil:
		return 0, failure.OnAxis(axis, "a plane of shape %v has no elements, so raw data do not tell how many there are: give them as .npy or JSON", shape)
	case len(v.Shape) < len(shape):
		return 1, nil
	}
	return v.Shape[axis], nil
}

// Gather makes sure that all values are there, so that they can be read at any place, and
// returns how many they are. A stream goes aside.
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
		return 0, failure.BadArgument("%s has %d bytes, which is no whole number of elements of type %s", v.Name, n, v.Type)
	}
	return n / size, nil
}

// Source returns the values, which were gathered, as planes that continue a shape along
// an axis.
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
		return nil, fmt.Errorf("%s: %w: it cannot be read at any place", v.Name, errors.ErrUnsupported)
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
			return fmt.Errorf("%w: %s became shorter while it was appended: %w", zarr.ErrSourceChanged, v.Name, err)
		case err != nil:
			return fmt.Errorf("read %s: %w", v.Name, err)
		}
		v.arrange(dst)
		return nil
	}}, nil
}
