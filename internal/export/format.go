// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/npy"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/strictjson"
)

// Unfit is an error for a selection or a format that does not fit the elements. It wraps
// [zarr.ErrInvalidArgument] without its text.
type Unfit string

// Error returns the reason, and what to do.
func (u Unfit) Error() string { return string(u) }

// Unwrap returns [zarr.ErrInvalidArgument].
func (u Unfit) Unwrap() error { return zarr.ErrInvalidArgument }

func unfit(format string, args ...any) error { return Unfit(fmt.Sprintf(format, args...)) }

// CheckFormat returns an error if a format cannot represent the elements of a source.
func CheckFormat(s *Source, f Format) error {
	if f != Raw && f != NPY {
		return nil
	}
	if err := checkOneLength(s, f); err != nil || f == Raw {
		return err
	}
	if err := (npy.Header{Type: s.Type, Shape: s.Shape}).Check(); err != nil {
		return fmt.Errorf("%w: use "+remedy.AsRaw+", csv or json", err)
	}
	return nil
}

// Write writes the elements of a source in a format.
func Write(ctx context.Context, s *Source, f Format, w *bufio.Writer) error {
	if err := CheckFormat(s, f); err != nil {
		return err
	}
	switch f {
	case NPY:
		return writeNPY(ctx, s, w)
	case CSV:
		return writeCSV(ctx, s, w)
	case JSON:
		return writeJSON(ctx, s, w)
	}
	return writeRaw(ctx, s, w)
}

func writeRaw(ctx context.Context, s *Source, w *bufio.Writer) error {
	return s.Blocks(ctx, func(e Values) error {
		LittleEndian(s.Type, e.Data)
		_, err := w.Write(e.Data)
		s.Tell(int64(len(e.Data)))
		return err
	})
}

// CheckOneLength returns an error for elements that differ in length, if the format
// cannot mark where an element ends.
func CheckOneLength(t dtype.Type, f Format) error {
	if !t.Variable() {
		return nil
	}
	return unfit("elements of type %s differ in length, which %s cannot represent: use "+remedy.AsJSON, t, f)
}

// checkOneLength is CheckOneLength for a source. For decoded times, the error explains
// why they are text.
func checkOneLength(s *Source, f Format) error {
	if axis, ok := s.Units.Times(); ok && s.Decoding != nil && s.Type.Variable() {
		why := "datetime64 does not have one of their days"
		if !axis.IsReal() {
			why = fmt.Sprintf("datetime64 does not have the days of the calendar %s", axis.Calendar())
		}
		return unfit("these times are text, because %s, and %s cannot represent text: use "+remedy.AsJSON+" or csv, or omit "+remedy.Decode+" for numbers", why, f)
	}
	return CheckOneLength(s.Type, f)
}

func writeNPY(ctx context.Context, s *Source, w *bufio.Writer) error {
	h := npy.Header{Type: s.Type, Shape: s.Shape}
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	return writeRaw(ctx, s, w)
}

// writeJSON writes the elements as nested lists, in the spelling of fill values.
func writeJSON(ctx context.Context, s *Source, w *bufio.Writer) error {
	if err := WriteLists(ctx, s, w); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// WriteLists is writeJSON without the newline at the end.
func WriteLists(ctx context.Context, s *Source, w *bufio.Writer) error {
	// The loop over elements would write no lists at all.
	if s.Selection.Len() == 0 {
		return writeEmpty(s.Shape, w)
	}
	t := s.Type
	box := grid.BoxOf(s.Shape)
	index := make([]int64, len(box))
	var text []byte
	appendElement := t.AppendJSON
	// Decoded times are dates. Stored ones keep the spelling of metadata.
	if k := t.Kind(); s.Decoding != nil && (k == dtype.KindDatetime || k == dtype.KindTimedelta) {
		appendElement = func(dst, elem []byte) []byte { return append(t.AppendText(append(dst, '"'), elem), '"') }
	}
	isText := t.Kind() == dtype.KindString || t.Kind() == dtype.KindUTF32 || t.Kind() == dtype.KindStruct
	var spelled []byte
	more := false
	return s.Elements(ctx, func(elem []byte) error {
		text = text[:0]
		if more {
			text = append(text, ',')
		}
		// Open a list for every axis that begins here.
		for i := len(index) - 1; i >= 0 && index[i] == 0; i-- {
			text = append(text, '[')
		}
		if isLong(t, elem) {
			if err := cmp.Or(lastError(w.Write(text)), writeLongJSON(w, elem)); err != nil {
				return err
			}
			text = text[:0]
		} else if isText {
			spelled = appendElement(spelled[:0], elem)
			text = strictjson.AppendSafe(text, spelled)
		} else {
			text = appendElement(slices.Grow(text, len(elem)+quotes), elem)
		}
		// Close the list of every axis that ends here.
		for i := len(index) - 1; i >= 0 && index[i] == s.Shape[i]-1; i-- {
			text = append(text, ']')
		}
		more = box.Next(index)
		_, err := w.Write(text)
		return err
	})
}

// lastError returns the second result of a call.
func lastError(_ int, err error) error { return err }

// quotes is the number of bytes of the quotes around a text.
const quotes = 2

// maxEmptyLists bounds the lists that are printed for a selection without elements.
const maxEmptyLists = 1 << 20

// writeEmpty writes the lists of a shape with an axis of length 0.
func writeEmpty(shape []int64, w *bufio.Writer) error {
	depth := 0
	for shape[depth] > 0 {
		depth++
	}
	if n, ok := checked.Product(shape[:depth]...); !ok || n > maxEmptyLists {
		return fmt.Errorf("%w: shape %v has no elements, but more than %s", zarr.ErrLimit, shape, quantity.Count(maxEmptyLists, "empty lists"))
	}
	return writeEmptyLists(shape, w)
}

func writeEmptyLists(shape []int64, w *bufio.Writer) error {
	if err := w.WriteByte('['); err != nil {
		return err
	}
	for i := range shape[0] {
		if i > 0 {
			w.WriteByte(',') // a bufio.Writer keeps its error for the next call
		}
		if err := writeEmptyLists(shape[1:], w); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}

// Format is the format of elements in a file.
type Format string

const (
	Raw  Format = "raw"  // C order, little endian, no header
	NPY  Format = "npy"  // a NumPy file
	CSV  Format = "csv"  // a line for each row
	JSON Format = "json" // nested lists
)

// The formats of files that hold data sets; see [FileFormat].
const (
	NetCDF4  Format = "netcdf4"    // HDF5
	NetCDF3  Format = "netcdf3"    // CDF-1, the classic format
	Offset64 Format = "netcdf3-64" // CDF-2
	CDF5     Format = "cdf5"       // CDF-5
	GeoTIFF  Format = "geotiff"    // one image
	COG      Format = "cog"        // Cloud Optimized GeoTIFF: with overviews
	Parquet  Format = "parquet"    // a table
	Arrow    Format = "arrow"      // a table, as a file of Arrow
	Arrows   Format = "arrows"     // a table, as a stream of Arrow
)

// LeastBytes returns a lower bound of the bytes of the values in a format.
func LeastBytes(s *Source, f Format) int64 {
	switch f {
	case CSV, JSON:
		n := s.Selection.Len()
		return n + min(n, TooMany-n) // at least a digit and a separator each
	case NPY:
		h := npy.Header{Type: s.Type, Shape: s.Shape}
		if h.Check() == nil {
			return s.Bytes + min(int64(len(h.Append(nil))), TooMany-s.Bytes)
		}
	}
	return s.Bytes
}

// longText is the number of bytes of a text that are written at a time. Control
// characters take six times as many bytes in JSON, and a text may be as long as a block.
const longText = 64 << 10

// isLong reports whether an element is a text that is written in parts.
func isLong(t dtype.Type, elem []byte) bool {
	return t.Kind() == dtype.KindString && len(elem) > longText
}

// writeLongJSON writes a text as a JSON string, part by part.
func writeLongJSON(w *bufio.Writer, text []byte) error {
	var spelled, safe []byte // reused for all parts
	w.WriteByte('"')         // the error of a bufio.Writer stays until the next call
	for len(text) > 0 {
		n := partOf(text)
		if part := text[:n]; utf8.Valid(part) {
			spelled = strictjson.AppendQuote(spelled[:0], unsafe.String(unsafe.SliceData(part), n))
		} else {
			spelled = dtype.String.AppendJSON(spelled[:0], part)
		}
		safe = strictjson.AppendSafe(safe[:0], spelled[1:len(spelled)-1])
		if _, err := w.Write(safe); err != nil {
			return err
		}
		text = text[n:]
	}
	return w.WriteByte('"')
}

// writeLongCell writes a text as a cell of CSV, part by part, with the quotes of
// appendCell.
func writeLongCell(w *bufio.Writer, text []byte) error {
	if !needsQuotes(text) {
		_, err := w.Write(text)
		return err
	}
	w.WriteByte('"') // the error of a bufio.Writer stays until the next call
	for len(text) > 0 {
		n := partOf(text)
		if _, err := w.Write(bytes.ReplaceAll(text[:n], []byte{'"'}, []byte(`""`))); err != nil {
			return err
		}
		text = text[n:]
	}
	return w.WriteByte('"')
}

// partOf returns the number of bytes of the next part. It ends between characters if the
// text is valid UTF-8.
func partOf(text []byte) int {
	if len(text) <= longText {
		return len(text)
	}
	for n := longText; n > longText-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	return longText
}
