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
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// Values are elements of one type in C order, to be stored in an array.
type Values struct {
	Type         dtype.Type
	target       *zarr.Array                 // nil for a new array
	packing      func() (*cf.Packing, error) // of target
	Shape        []int64                     // nil for raw data
	Total        int64                       // bytes in memory; -1 if unknown before the end
	consumed     int64                       // bytes read so far
	Whole        bool                        // the length is right, if the system knows it
	Name         string                      // of the file
	Reader       io.Reader
	isSwapped    bool     // not in host byte order
	npy          bool     // raw data that begins like a .npy file
	isAssumedRaw bool     // read as raw data because no format is given
	needBytes    int64    // bytes in memory; 0 if unknown
	words        [][]byte // elements that differ in length, in place of Reader
	file         *os.File
	array        *zarr.Array     // a Zarr node; nil for files
	closeNode    func() error    // closes the node
	recoding     *recoding       // of the node; nil if elements stay as they are
	spool        localfile.Spool // spooled bytes of a stream

	// Watch begins a line of progress for a stream of total bytes, or 0 if unknown. It
	// may be nil.
	Watch func(total int64) *progress.Line
}

// Array returns the array whose elements these are, or nil for those of a file.
func (v *Values) Array() *zarr.Array { return v.array }

// Close closes the file or the node, and removes the spool.
func (v *Values) Close() error {
	if v.closeNode != nil {
		return errors.Join(v.closeNode(), v.spool.Close())
	}
	if v.file == nil {
		return v.spool.Close()
	}
	return errors.Join(v.file.Close(), v.spool.Close())
}

// Open opens a file, a Zarr array, or standard input for "" and "-". The elements must be
// of type t; the zero Type accepts the type of the file. They are for array a, which is
// nil for a new array.
func Open(cmd *cobra.Command, file, formatName string, t dtype.Type, a *zarr.Array) (*Values, error) {
	if formatName == "" && node.IsLocation(file) {
		return openNodeValues(cmd, file, t, a)
	}
	f, err := format.Of(formatName, file, true)
	if err != nil {
		return nil, err
	}
	// Someone may have forgotten FILE, and the command would wait for ever.
	if (file == "" || file == "-") && f != export.JSON && console.IsTerminal(cmd.InOrStdin()) {
		return nil, failure.BadUsage("%s cannot be typed at a terminal: name a FILE, send the values through a pipe, or give --format json", f)
	}
	v := &Values{Type: t, target: a, packing: func() (*cf.Packing, error) { return cf.PackingOf(cmd.Context(), a) }, Total: -1, Name: "standard input", Reader: localfile.Patient(cmd.Context(), cmd.InOrStdin())}
	v.Watch = func(total int64) *progress.Line { return progress.New(cmd, "reading", total) }
	if file != "" && file != "-" {
		f, err := localfile.Open(cmd.Context(), file)
		if err != nil {
			return nil, err
		}
		v.Name, v.Reader, v.file = file, localfile.Patient(cmd.Context(), f), f
		// Only a regular file has a length. A pipe or a device is read to its end.
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			v.Reader, v.Total, v.Whole = f, info.Size(), true // a regular file
		}
	}
	switch f {
	case export.Raw:
		v.isAssumedRaw = formatName == ""
		err = v.openRaw(!v.isAssumedRaw)
	case export.NPY:
		err = v.OpenNPY()
	case export.JSON:
		err = v.openJSON()
	default:
		err = failure.BadUsage("%s: values cannot be read from %s, only from raw, npy and json; %s", v.Name, f, NPYOfCSV(v.Name))
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// unread returns the number of unread bytes of a file. ok is false if the file does not
// tell.
func (v *Values) unread() (int64, bool) {
	s, ok := v.Reader.(io.Seeker)
	if !ok || v.Total < 0 {
		return 0, false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return v.Total - at, err == nil
}

// provide replaces the reader by elements in memory.
func (v *Values) provide(e export.Values) {
	v.Reader, v.isSwapped, v.consumed, v.Whole = bytes.NewReader(e.Data), false, 0, true
	v.Type, v.words, v.Total = e.Type, e.Words, int64(e.Len())*export.Width(e.Type)
}

// Secure spools values that come from the array they are written to. Otherwise later
// reads would see elements that were already replaced.
func (v *Values) Secure(cmd *cobra.Command, to *zarr.Array) error {
	if v.array == nil || v.Type.Variable() { // texts are in memory
		return nil
	}
	// Two paths may lead to one array, by links for example.
	same, err := isSameArray(v.array, to)
	// Settle spools what is not whole.
	if same {
		v.Whole = false
		v.Watch = func(total int64) *progress.Line { return progress.New(cmd, "reading", total) }
	}
	return err
}

// isSameArray reports whether two arrays are the same, perhaps under two names, if
// their stores tell.
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
	first, err := store.DirectoriesOf(s).Identify(p)
	if err != nil {
		return false, err
	}
	second, err := store.DirectoriesOf(t).Identify(q)
	if err != nil {
		return false, err
	}
	if !first.IsZero() && !second.IsZero() {
		return first.Same(second), nil
	}
	// The stores cannot identify nodes, so compare places and paths.
	place := store.TraitsOf(s).Place
	return place != "" && place == store.TraitsOf(t).Place && p == q, nil
}

// Settle checks that exactly n bytes are available. It spools a stream to find out.
func (v *Values) Settle(n int64) error {
	if v.Whole {
		return nil
	}
	v.needBytes = max(0, n)
	// The stream is read before the array is changed, so one of a wrong length changes
	// nothing.
	copied, err := v.PutAside(n)
	v.consumed += copied
	if err == nil {
		err = v.End()
	} else {
		err = v.truncated(err)
	}
	if err != nil {
		return err
	}
	// The spooled bytes will be read, and counted, again.
	v.consumed, v.Whole = v.consumed-copied, true
	v.Reader = v.spool.Reader()
	return nil
}

// PutAside spools n bytes of a stream, or all if n is negative, and shows progress.
func (v *Values) PutAside(n int64) (int64, error) {
	r := v.Reader
	if v.Watch != nil {
		p := v.Watch(max(0, n))
		defer p.End()
		r = io.TeeReader(r, p)
	}
	if n < 0 {
		return io.Copy(&v.spool, r)
	}
	return io.CopyN(&v.spool, r, n)
}

// truncated returns the error for a file that ended or failed too early.
func (v *Values) truncated(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return failure.BadArgument("%s ends after %s%s", v.Name, phrase.Plural(v.consumed, "byte"), v.lackText())
	}
	return fmt.Errorf("read %s: %w", v.Name, err)
}

// lackText returns how many bytes a stream lacks. If raw data was assumed, it says how
// text is read.
func (v *Values) lackText() string {
	if v.needBytes == 0 {
		return ""
	}
	text := fmt.Sprintf(", %s are needed", phrase.Count(v.needBytes))
	if v.isAssumedRaw {
		text += v.Reading()
	}
	return text
}

// read fills e with the next elements in host byte order.
func (v *Values) read(e *export.Values) error {
	if v.Type.Variable() {
		n := copy(e.Words, v.words)
		v.words = v.words[n:]
		return nil // the number of bytes was checked
	}
	n, err := io.ReadFull(v.Reader, e.Data)
	v.consumed += int64(n)
	if err != nil {
		return v.truncated(err)
	}
	v.arrange(e.Data)
	return nil
}

func (v *Values) arrange(block []byte) {
	if v.isSwapped {
		v.Type.Swap(block, block)
	}
}

// Fill fills e as next does. If last is true, no more data may follow.
func (v *Values) Fill(e *export.Values, last bool) error {
	err := v.read(e)
	if err == nil && last {
		err = v.End()
	}
	return err
}

// End returns an error if more data follows.
func (v *Values) End() error {
	// One byte more shows that the stream is too long.
	n, err := io.ReadFull(v.Reader, make([]byte, 1))
	if n > 0 {
		return failure.BadArgument("%s has more than the %s needed%s", v.Name, phrase.Plural(v.consumed, "byte"), v.Reading())
	}
	if err != io.EOF {
		return fmt.Errorf("read %s: %w", v.Name, err)
	}
	return nil
}

// All returns all remaining elements. It allocates memory only for bytes that exist, and
// once: it spools a stream of unknown length first.
func (v *Values) All() (e export.Values, err error) {
	if v.Type.Variable() {
		return export.Values{Type: v.Type, Words: v.words}, nil
	}
	data, err := v.readRest()
	v.consumed += int64(len(data))
	if err != nil {
		return e, fmt.Errorf("read %s: %w", v.Name, err)
	}
	// The file may have been truncated or have grown since its header was read.
	if v.Total >= 0 && v.consumed != v.Total {
		return e, failure.BadArgument("%s has %s of elements, but its header requires %d", v.Name, quantity.Count(v.consumed, "bytes"), v.Total)
	}
	if len(data)%v.Type.Size() != 0 {
		return e, failure.BadArgument("%s has %s, which is not a whole number of elements of type %s%s", v.Name, quantity.Count(len(data), "bytes"), v.Type, v.Reading())
	}
	v.arrange(data)
	return export.Values{Type: v.Type, Data: data}, nil
}

// toEnd returns the number of remaining bytes of a file or of memory, or an error for a
// stream.
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

// readRest returns the remaining bytes.
func (v *Values) readRest() ([]byte, error) {
	n, err := toEnd(v.Reader)
	if err != nil {
		// The length of a stream is known only at its end.
		if n, err = io.Copy(&v.spool, v.Reader); err != nil {
			return nil, err
		}
		v.Reader = v.spool.Reader()
	}
	// n is the number of bytes that exist, not one from a header that may lie.
	data := make([]byte, n)
	m, err := io.ReadFull(v.Reader, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the file was truncated meanwhile; callers check the length
	}
	return data[:m], err
}

// Fits returns an error if values do not fit a place of the given shape, in number or in
// arrangement. A single axis fits any shape, and axes of length 1 are ignored.
func (v *Values) Fits(shape []int64) error {
	want, ok := checked.Product(shape...)
	if ok {
		want, ok = checked.Mul(want, export.Width(v.Type))
	}
	if !ok {
		return zarr.ErrOverflow
	}
	if size := export.Width(v.Type); v.Total >= 0 && v.Total != want {
		err := failure.BadArgument("%s has %s (%s), shape %v of type %s takes %s (%s)%s",
			v.Name, phrase.Plural(v.Total/size, "value"), quantity.Count(v.Total, "bytes"), shape, v.Type, phrase.Count(want/size), quantity.Count(want, "bytes"), v.Reading())
		if v.Type.Variable() {
			err = failure.BadArgument("%s has %s, shape %v takes %s", v.Name, phrase.Plural(v.Total/size, "value"), shape, phrase.Count(want/size))
		}
		return v.onFirstMisfit(shape, err)
	}
	have, place := squeezed(v.Shape), squeezed(shape)
	// A flat list fits any shape with as many elements, as raw data does.
	if len(have) < 2 || slices.Equal(have, place) {
		return nil
	}
	return v.onFirstMisfit(shape, failure.BadArgument("%s has shape %v, the place has %v", v.Name, v.Shape, shape))
}

// onFirstMisfit returns err as an error of the first axis that does not fit a place of
// the given shape.
func (v *Values) onFirstMisfit(shape []int64, err error) error {
	if len(v.Shape) != len(shape) {
		return err // the axes do not correspond
	}
	if i := Unequal(v.Shape, shape, -1); i >= 0 {
		err = &grid.AxisError{Axis: i, Err: err}
	}
	return err
}

// Unequal returns the first axis other than except along which two shapes of one rank
// differ, or -1.
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
			return 0, failure.BadArgument("%s has %s of elements, but its header requires %d", v.Name, quantity.Count(copied, "bytes"), v.Total)
		}
		n, v.Total, v.Whole = copied, copied, true
		v.Reader = v.spool.Reader()
	}
	size := int64(v.Type.Size())
	if n%size != 0 {
		return 0, failure.BadArgument("%s has %s, which is not a whole number of elements of type %s%s", v.Name, quantity.Count(n, "bytes"), v.Type, v.Reading())
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
			if v.recoding == nil {
				return v.array.ReadBytes(ctx, selection.BoxOf(box), dst)
			}
			src := make([]byte, len(dst)/v.recoding.dst.Size()*v.recoding.src.Size())
			if err := v.array.ReadBytes(ctx, selection.BoxOf(box), src); err != nil {
				return err
			}
			return v.recoding.recode(dst, src, func(i int64) []int64 { return indexIn(box, i) })
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
