package main

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
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/store"
)

// values are elements of one type on their way into an array, in C order.
type values struct {
	typ     dtype.Type
	into    *zarr.Array // nil for one that is not there yet
	shape   []int64     // nil for raw data, which has none
	total   int64       // bytes in memory, -1 where that shows only at the end
	taken   int64       // bytes that were read
	whole   bool        // nothing is missing and nothing follows, as far as the system knows
	name    string      // of the file
	r       io.Reader
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
	watch func(total int64) *progress.Line
}

// close lets go of the file or the node, and of what was set aside.
func (v *values) close() error {
	if v.done != nil {
		return errors.Join(v.done(), v.aside.Close())
	}
	if v.file == nil {
		return v.aside.Close()
	}
	return errors.Join(v.file.Close(), v.aside.Close())
}

// openValues opens a file, a Zarr array, or standard input for "" and "-", whose elements
// are of type t, the zero Type standing for whatever type the file tells. They go into a,
// nil for an array that is not there yet.
func openValues(cmd *cobra.Command, file, formatName string, t dtype.Type, a *zarr.Array) (*values, error) {
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
	v := &values{typ: t, into: a, total: -1, name: "standard input", r: localfile.Patient(cmd.Context(), cmd.InOrStdin())}
	v.watch = func(total int64) *progress.Line { return progress.New(cmd, "reading", total) }
	if file != "" && file != "-" {
		f, err := localfile.Open(cmd.Context(), file)
		if err != nil {
			return nil, err
		}
		v.name, v.r, v.file = file, localfile.Patient(cmd.Context(), f), f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			v.r, v.total, v.whole = f, info.Size(), true // a disk answers
		}
	}
	switch f {
	case format.Raw:
		v.guessed = formatName == ""
		err = v.openRaw(!v.guessed)
	case format.NPY:
		err = v.openNPY()
	case format.JSON:
		err = v.openJSON()
	default:
		err = failure.BadUsage("%s: values are not read from %s, but from raw, npy and json; %s", v.name, f, npyOfCSV(v.name))
	}
	if err != nil {
		return nil, errors.Join(err, v.close())
	}
	return v, nil
}

// npyOfCSV says how numbers of a table become a .npy file.
func npyOfCSV(file string) string {
	return fmt.Sprintf("in Python, numpy.save(%q, numpy.loadtxt(%q, delimiter=\",\")) makes npy of csv (skiprows=1 and usecols of a table with a header)",
		node.WithoutExtension(file)+".npy", filepath.Base(file))
}

func (v *values) openNPY() error {
	h, err := npy.ReadHeader(v.r)
	if err != nil {
		return failure.BadArgument("%s: %w%s", v.name, err, v.packed(err))
	}
	worded := isWord(h.Type) && v.typ.Variable()
	if !v.typ.IsZero() && v.typ != h.Type && !worded && !sameBytes(v.typ, h.Type) {
		return failure.BadArgument("%s has elements of type %s, the array %s%s", v.name, typeText(h.Type), typeText(v.typ), astype(v.typ, encodeFirst(h.Type, v.into)))
	}
	n, ok := h.Bytes()
	if !ok {
		return fmt.Errorf("%w: %s has shape %v", zarr.ErrOverflow, v.name, h.Shape)
	}
	if have, known := v.left(); known && have != n {
		return failure.BadArgument("%s has %d bytes of elements, its header says %d", v.name, have, n)
	}
	want := v.typ
	v.typ, v.shape, v.total, v.swapped = h.Type, h.Shape, n, h.Swapped()
	if !h.Fortran && !worded {
		return nil
	}
	e, err := v.all()
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
func (v *values) packed(err error) string {
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
		return fmt.Sprintf(" (it is compressed: gunzip -c %s | varve write NODE --format npy)", v.name)
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
func (v *values) left() (int64, bool) {
	s, ok := v.r.(io.Seeker)
	if !ok || v.total < 0 {
		return 0, false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return v.total - at, err == nil
}

// provide makes elements what is read.
func (v *values) provide(e element.Values) {
	v.r, v.swapped, v.taken, v.whole = bytes.NewReader(e.Data), false, 0, true
	v.typ, v.words, v.total = e.Type, e.Words, int64(e.Len())*element.Width(e.Type)
}

// secure makes values of the array that they are to be written to ones that are set aside
// before anything is written: else later parts would be read where earlier ones have been
// replaced.
func (v *values) secure(cmd *cobra.Command, to *zarr.Array) error {
	if v.array == nil {
		return nil
	}
	same, err := isSameArray(v.array, to)
	if same {
		v.whole = false
		v.watch = func(total int64) *progress.Line { return progress.New(cmd, "reading", total) }
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

// settle makes sure that n bytes are there, just as many as are needed: those of a stream
// it sets aside until then.
func (v *values) settle(n int64) error {
	if v.whole {
		return nil
	}
	v.needed = max(0, n)
	copied, err := v.putAside(n)
	v.taken += copied
	if err == nil {
		err = v.end()
	} else {
		err = v.broken(err)
	}
	if err != nil {
		return err
	}
	v.taken, v.whole = v.taken-copied, true
	v.r = v.aside.Reader()
	return nil
}

// putAside sets n bytes of a stream aside, or all where n is negative, and shows how they
// come.
func (v *values) putAside(n int64) (int64, error) {
	r := v.r
	if v.watch != nil {
		p := v.watch(max(0, n))
		defer p.End()
		r = io.TeeReader(r, p)
	}
	if n < 0 {
		return io.Copy(&v.aside, r)
	}
	return io.CopyN(&v.aside, r, n)
}

// broken returns the error for a file that could not be read as far as it is needed.
func (v *values) broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return failure.BadArgument("%s ends after %s%s", v.name, phrase.Plural(v.taken, "byte"), v.lacking())
	}
	return fmt.Errorf("read %s: %w", v.name, err)
}

// lacking says of a stream that ends too early how many bytes are needed, and how text is
// read where raw data was assumed.
func (v *values) lacking() string {
	if v.needed == 0 {
		return ""
	}
	text := fmt.Sprintf(", %s are needed", phrase.Count(v.needed))
	if v.guessed && !v.npy {
		text += fmt.Sprintf(" (it is taken for raw elements of type %s; --format json reads lists as text, --format npy those of NumPy)", v.typ)
	}
	return text
}

// next fills e with the next elements in host byte order.
func (v *values) next(e *element.Values) error {
	if v.typ.Variable() {
		n := copy(e.Words, v.words)
		v.words = v.words[n:]
		return nil // as many are there as are needed
	}
	n, err := io.ReadFull(v.r, e.Data)
	v.taken += int64(n)
	if err != nil {
		return v.broken(err)
	}
	v.arrange(e.Data)
	return nil
}

func (v *values) arrange(block []byte) {
	if v.swapped {
		v.typ.Swap(block, block)
	}
}

// fill fills e as next does. After the last elements there must be nothing more.
func (v *values) fill(e *element.Values, last bool) error {
	err := v.next(e)
	if err == nil && last {
		err = v.end()
	}
	return err
}

// end refuses data that goes on.
func (v *values) end() error {
	n, err := io.ReadFull(v.r, make([]byte, 1))
	if n > 0 {
		return failure.BadArgument("%s has more than the %s needed%s", v.name, phrase.Plural(v.taken, "byte"), v.rawNPY())
	}
	if err != io.EOF {
		return fmt.Errorf("read %s: %w", v.name, err)
	}
	return nil
}

// all returns everything that is left. Memory is taken for what is really there only, and
// once: a stream whose length nobody knows goes aside first.
func (v *values) all() (e element.Values, err error) {
	if v.typ.Variable() {
		return element.Values{Type: v.typ, Words: v.words}, nil
	}
	data, err := v.rest()
	v.taken += int64(len(data))
	if err != nil {
		return e, fmt.Errorf("read %s: %w", v.name, err)
	}
	if v.total >= 0 && v.taken != v.total {
		return e, failure.BadArgument("%s has %d bytes of elements, its header says %d", v.name, v.taken, v.total)
	}
	if len(data)%v.typ.Size() != 0 {
		return e, failure.BadArgument("%s has %d bytes, which is no whole number of elements of type %s", v.name, len(data), v.typ)
	}
	v.arrange(data)
	return element.Values{Type: v.typ, Data: data}, nil
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

// rest returns the bytes that are left.
func (v *values) rest() ([]byte, error) {
	n, err := toEnd(v.r)
	if err != nil {
		if n, err = io.Copy(&v.aside, v.r); err != nil {
			return nil, err
		}
		v.r = v.aside.Reader()
	}
	data := make([]byte, n)
	m, err := io.ReadFull(v.r, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a file that was cut meanwhile: callers count
	}
	return data[:m], err
}

// fits refuses values that are too many or too few for a place of the given shape, or are
// arranged in another way. A single axis fits any shape, and axes of length 1 do not
// count.
func (v *values) fits(shape []int64) error {
	want, ok := checked.Product(shape...)
	if ok {
		want, ok = checked.Mul(want, element.Width(v.typ))
	}
	if !ok {
		return zarr.ErrOverflow
	}
	if size := element.Width(v.typ); v.total >= 0 && v.total != want {
		err := failure.BadArgument("%s has %s (%d bytes), shape %v of type %s takes %s (%d bytes)%s",
			v.name, phrase.Plural(v.total/size, "value"), v.total, shape, v.typ, phrase.Count(want/size), want, v.rawNPY())
		if v.typ.Variable() {
			err = failure.BadArgument("%s has %s, shape %v takes %s", v.name, phrase.Plural(v.total/size, "value"), shape, phrase.Count(want/size))
		}
		return v.onFirstOf(shape, err)
	}
	have, place := squeezed(v.shape), squeezed(shape)
	if len(have) < 2 || slices.Equal(have, place) {
		return nil
	}
	return v.onFirstOf(shape, failure.BadArgument("%s has shape %v, the place has %v", v.name, v.shape, shape))
}

// onFirstOf returns err as one of the first axis along which the values do not fit a
// place of the given shape.
func (v *values) onFirstOf(shape []int64, err error) error {
	if len(v.shape) != len(shape) {
		return err // axes cannot be told apart
	}
	if i := unequal(v.shape, shape, -1); i >= 0 {
		err = &grid.AxisError{Axis: i, Err: err}
	}
	return err
}

// unequal returns the first axis but one that two shapes of one rank differ along, -1
// where there is none.
func unequal(a, b []int64, except int) int {
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

// planesAlong returns how many planes the values are that continue a shape, by what the
// file says of its own shape: their elements do not tell where there are none.
func (v *values) planesAlong(axis int, shape []int64) (int64, error) {
	switch {
	case v.shape == nil:
		return 0, failure.OnAxis(axis, "a plane of shape %v has no elements, so raw data do not tell how many there are: give them as .npy or JSON", shape)
	case len(v.shape) < len(shape):
		return 1, nil
	}
	return v.shape[axis], nil
}

// gather makes sure that all values are there, so that they can be read at any place, and
// returns how many they are. A stream goes aside.
func (v *values) gather() (int64, error) {
	if v.typ.Variable() {
		return int64(len(v.words)), nil
	}
	n := v.total
	if !v.whole {
		copied, err := v.putAside(-1)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", v.name, err)
		}
		if v.total >= 0 && copied != v.total {
			return 0, failure.BadArgument("%s has %d bytes of elements, its header says %d", v.name, copied, v.total)
		}
		n, v.total, v.whole = copied, copied, true
		v.r = v.aside.Reader()
	}
	size := int64(v.typ.Size())
	if n%size != 0 {
		return 0, failure.BadArgument("%s has %d bytes, which is no whole number of elements of type %s", v.name, n, v.typ)
	}
	return n / size, nil
}

// source returns the values, which were gathered, as planes that continue a shape along
// an axis.
func (v *values) source(shape []int64, axis int, planes int64) (*zarr.Source, error) {
	if axis < 0 || axis >= len(shape) {
		return &zarr.Source{}, nil // the library refuses the axis
	}
	shape = slices.Clone(shape)
	shape[axis] = planes
	if v.array != nil {
		return &zarr.Source{Shape: shape, Read: func(ctx context.Context, box grid.Box, dst []byte) error {
			if len(v.shape) < len(box) { // one plane
				box = slices.Delete(slices.Clone(box), axis, axis+1)
			}
			return v.array.ReadBytes(ctx, box, dst)
		}}, nil
	}
	r, ok := v.r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, fmt.Errorf("%s: %w: it cannot be read at any place", v.name, errors.ErrUnsupported)
	}
	at, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	n, _ := checked.Product(append(slices.Clone(shape), int64(v.typ.Size()))...)
	file := zarr.SourceAt(io.NewSectionReader(r, at, n), shape...)
	return &zarr.Source{Shape: shape, Read: func(ctx context.Context, box grid.Box, dst []byte) error {
		err := file.Read(ctx, box, dst)
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: %s became shorter while it was appended: %w", zarr.ErrSourceChanged, v.name, err)
		case err != nil:
			return fmt.Errorf("read %s: %w", v.name, err)
		}
		v.arrange(dst)
		return nil
	}}, nil
}
