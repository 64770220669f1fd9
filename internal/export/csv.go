// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// writeCSV writes one line for every index of all axes but the last, and one line for
// every struct. With headings, an array with one axis also has one line per element, and
// lines begin with the coordinates.
func writeCSV(ctx context.Context, s *Source, w *bufio.Writer) error {
	if s.Type.Kind() == dtype.KindStruct {
		return writeRecords(ctx, s, w)
	}
	rank := len(s.Shape)
	columns := int64(1) // values per line
	if rank > 1 {
		columns = s.Shape[rank-1]
	}
	lines := grid.BoxOf(s.Shape[:max(0, rank-1)])
	// A single axis has one value per line.
	if rank == 1 {
		lines = grid.BoxOf(s.Shape)
	}
	if err := writeTitles(s, w, len(lines)); err != nil {
		return err
	}
	line := make([]int64, len(lines))
	indexed := rank > 2 || s.Headings != nil
	var text []byte
	var column int64
	return s.Elements(ctx, func(elem []byte) error {
		text = text[:0]
		if column == 0 && indexed {
			text = appendIndex(s, text, line)
		}
		// Write a long text part by part, without another copy in memory.
		if isLong(s.Type, elem) {
			if err := cmp.Or(lastError(w.Write(text)), writeLongCell(w, elem)); err != nil {
				return err
			}
			text = text[:0]
		} else {
			text = appendCell(text, s.Type, elem)
		}
		if column++; column < columns {
			text = append(text, ',')
		} else {
			text = append(text, '\n')
			column = 0
			lines.Next(line)
		}
		_, err := w.Write(text)
		return err
	})
}

// Column is a column of a table: an array with one axis.
type Column struct {
	Name string
	*Source
}

// tableBytes is the number of bytes of all columns that are in memory at a time, unless
// chunks are longer.
const tableBytes = 64 << 20

// WriteTable writes arrays of one length side by side: a line of their names, and one for
// every element.
func WriteTable(ctx context.Context, columns []Column, w *bufio.Writer) error {
	var text []byte
	next := make([]func() ([]byte, error, bool), len(columns))
	for i, c := range columns {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendText(text, c.Name)
		elems, stop := iter.Pull2(c.each(ctx, tableBytes/int64(len(columns))))
		defer stop()
		next[i] = elems
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return err
	}
	for n := columns[0].Shape[0]; n > 0; n-- {
		for i, c := range columns {
			elem, err, ok := next[i]()
			if err == nil && !ok {
				err = fmt.Errorf("%s: %w: it has become shorter", c.Name, zarr.ErrSourceChanged)
			}
			if err != nil {
				return err
			}
			if text = text[:0]; i > 0 {
				text = append(text, ',')
			}
			if isLong(c.Type, elem) {
				err = cmp.Or(lastError(w.Write(text)), writeLongCell(w, elem))
			} else {
				_, err = w.Write(appendCell(text, c.Type, elem))
			}
			if err != nil {
				return err
			}
			c.Tell(Width(c.Type))
		}
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

// each yields the elements of a column, which are read in blocks of at least size bytes.
func (c Column) each(ctx context.Context, size int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		err := c.BlocksOf(ctx, size, func(e Values) error {
			for i := range e.Len() {
				if !yield(e.At(i), ctx.Err()) {
					return errEnough
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough ends the reading of a column.
var errEnough = errors.New("no more elements are wanted")

// appendIndex appends an index, or its coordinates, as the first cells of a line.
func appendIndex(s *Source, text []byte, index []int64) []byte {
	for axis, i := range index {
		if s.Headings != nil {
			text = appendHeading(text, s.Headings[axis], i)
		} else {
			text = strconv.AppendInt(text, i, 10)
		}
		text = append(text, ',')
	}
	return text
}

// writeTitles writes the line of names, if there are headings: first the axes whose
// indices begin a line, then the array or the coordinates along the last axis.
func writeTitles(s *Source, w *bufio.Writer, axes int) error {
	if s.Headings == nil {
		return nil
	}
	text := appendNames(s, nil, axes)
	if axes == len(s.Headings) {
		text = appendText(text, valueNameOf(s))
	}
	for i := range columnsOf(s, axes) {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendHeading(text, s.Headings[axes], i)
		if _, err := w.Write(text); err != nil {
			return err
		}
		text = text[:0]
	}
	_, err := w.Write(append(text, '\n'))
	return err
}

// columnsOf returns the number of values on a line after the indices, or 0 if there is
// only one.
func columnsOf(s *Source, axes int) int64 {
	if axes == len(s.Shape) {
		return 0
	}
	return s.Shape[axes]
}

// appendNames appends the names of the first axes as cells.
func appendNames(s *Source, text []byte, axes int) []byte {
	for i := range axes {
		name := fmt.Sprintf("index_%d", i)
		if s.Headings != nil {
			name = s.Headings[i].Name
		}
		text = append(appendText(text, name), ',')
	}
	return text
}

// appendText appends a text as a cell.
func appendText(text []byte, word string) []byte {
	return appendCell(text, dtype.String, []byte(word))
}

// appendCell appends an element as a cell. A float that is an integer has no ".0": cells
// have no types. Only -0.0 keeps it, because -0 would be read as the integer 0.
func appendCell(dst []byte, t dtype.Type, elem []byte) []byte {
	from := len(dst)
	dst = t.AppendText(dst, elem)
	if t.Kind() == dtype.KindFloat && string(dst[from:]) != "-0.0" {
		dst = bytes.TrimSuffix(dst, []byte(".0"))
	}
	return quoted(dst, from)
}

// quoted adds quotes to the text from an index on if it would be misread without them
// (RFC 4180).
func quoted(dst []byte, from int) []byte {
	if text := dst[from:]; needsQuotes(text) {
		text = slices.Concat([]byte{'"'}, bytes.ReplaceAll(text, []byte{'"'}, []byte(`""`)), []byte{'"'})
		dst = append(dst[:from], text...)
	}
	return dst
}

// needsQuotes reports whether a cell would be misread without quotes.
func needsQuotes(text []byte) bool {
	return len(text) == 0 || bytes.ContainsAny(text, ",\"\r\n") || text[0] == ' ' || text[len(text)-1] == ' '
}

// Field is a field of a struct, perhaps inside another struct, that is not a struct.
type Field struct {
	Name string // with the names of the structs around it: a.b
	Type dtype.Type
	At   int // bytes from the start of the element
}

// AppendFields appends the fields of a struct in their order. at is the place of the
// struct in the element, and prefix goes before the names.
func AppendFields(list []Field, t dtype.Type, prefix string, at int) []Field {
	for _, f := range t.Fields() {
		// A nested struct has one column for each of its fields.
		if f.Type.Kind() == dtype.KindStruct {
			list = AppendFields(list, f.Type, prefix+f.Name+".", at+f.Offset)
			continue
		}
		list = append(list, Field{prefix + f.Name, f.Type, at + f.Offset})
	}
	return list
}

// writeRecords writes a line of field names, and then one line for every struct. If there
// are several axes, the index of the element comes before the fields.
func writeRecords(ctx context.Context, s *Source, w *bufio.Writer) error {
	fields := AppendFields(nil, s.Type, "", 0)
	var text []byte
	indexed := len(s.Shape) > 1 || s.Headings != nil
	if indexed {
		text = appendNames(s, text, len(s.Shape))
	}
	for i, f := range fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendText(text, f.Name)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return err
	}
	box := grid.BoxOf(s.Shape)
	index := make([]int64, len(box))
	return s.Elements(ctx, func(elem []byte) error {
		text = text[:0]
		if indexed {
			text = appendIndex(s, text, index)
			box.Next(index)
		}
		for i, f := range fields {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendCell(text, f.Type, elem[f.At:f.At+f.Type.Size()])
		}
		_, err := w.Write(append(text, '\n'))
		return err
	})
}

// appendHeading appends the cell of a heading for element i. Floats keep their ".0": they
// are labels, and other programs compare their text.
func appendHeading(dst []byte, h Heading, i int64) []byte {
	switch {
	case !h.Cells.Type.IsZero():
		from := len(dst)
		return quoted(h.Cells.Type.AppendText(dst, h.Cells.At(int(i))), from)
	case h.Index != nil:
		i = h.Index[i]
	}
	return strconv.AppendInt(dst, i, 10)
}

// AddHeadings adds a line of names and the values of coordinates to the CSV of a source.
// note gets one line about each coordinate that cannot be used. Those for which use
// returns false are left out.
func AddHeadings(ctx context.Context, s *Source, use func(coordinate *zarr.Array) bool, note func(text string)) error {
	s.Headings = make([]Heading, len(s.Shape))
	axes, names := (*subset.Elements)(s.Selection).Axes(), s.Array.DimensionNames()
	for i := range s.Headings {
		h := &s.Headings[i]
		h.Name = fmt.Sprintf("index_%d", i)
		if i >= len(axes) {
			continue // points are not along an axis
		}
		// The values of a coordinate itself are in the table anyway.
		coordinate := len(names) > 0 && names[axes[i]] != "" && names[axes[i]] != nameOf(s)
		if coordinate {
			h.Name = names[axes[i]]
		}
		if s.Selection.Len() == 0 {
			continue
		}
		if err := findAlong(h, s, axes[i], i); err != nil {
			return err
		}
		if !coordinate {
			continue
		}
		var unfit *cf.UnfitError
		if err := readHeading(ctx, h, s.Array, use); errors.As(err, &unfit) {
			// Indices look like labels, so say that they are none.
			note(fmt.Sprintf("%s, so the column %s has indices", unfit.Reason, h.Name))
		} else if err != nil {
			return err
		}
	}
	return nil
}

// nameOf returns the name of the array.
func nameOf(s *Source) string {
	if at := path.Base(s.Array.Path()); at != "." && at != "/" {
		return at
	}
	return "value"
}

// valueNameOf returns the title of the values: the name of the array, or of the one
// selected field of its structs.
func valueNameOf(s *Source) string {
	if f := s.Selection.Fields(); len(f) == 1 {
		return strings.Join(f[0], ".")
	}
	return nameOf(s)
}

// findAlong sets the indices of the selected elements along an axis of an array. i is the
// axis of the source.
func findAlong(h *Heading, s *Source, axis, i int) error {
	if s.Shape[i] > cf.MaxCoordinate {
		return fmt.Errorf("%w: "+remedy.Header+" supports axes of at most %s, but axis %d has %s selected; "+remedy.SelectPart,
			zarr.ErrLimit, quantity.Of(cf.MaxCoordinate, "element"), axis, quantity.Number(s.Shape[i]))
	}
	line := make(selection.Basic, len(s.Shape))
	for k := range line {
		line[k] = selection.At(0)
	}
	line[i] = selection.Span(0, s.Shape[i])
	v, err := s.Array.View(s.Selection)
	if err == nil {
		v, err = v.View(line)
	}
	if err != nil {
		return err
	}
	shape := s.Array.Shape()
	if _, ok := checked.Product(shape...); !ok { // places in the whole array must not overflow
		return fmt.Errorf("%w: "+remedy.Header+" takes arrays of less than 2^63 elements", zarr.ErrOverflow)
	}
	// Reduce each place in the whole array to its index along this axis.
	step, _ := checked.Product(shape[axis:]...)
	h.Index = (*subset.Elements)(v.Selection()).Places()
	for k, place := range h.Index {
		h.Index[k] = place % step / (step / shape[axis])
	}
	return nil
}

// readHeading reads the values of the coordinate of a dimension, if it exists.
func readHeading(ctx context.Context, h *Heading, a *zarr.Array, use func(coordinate *zarr.Array) bool) error {
	c, err := cf.Coordinate(ctx, a, h.Name)
	if errors.Is(err, zarr.ErrInvalidArgument) && !errors.As(err, new(*cf.UnfitError)) {
		return nil // there is no coordinate of that name
	}
	if err != nil {
		return err
	}
	defer c.Close()
	if !use(c) {
		return nil
	}
	v, err := c.View(selection.Orthogonal{selection.List(h.Index...)})
	if err != nil {
		return err
	}
	s, err := Of(ctx, v, true)
	if err == nil {
		err = s.Settle(ctx)
	}
	if err != nil {
		return err
	}
	h.Cells, h.Index = Values{Type: s.Type}, nil
	return s.Blocks(ctx, func(e Values) error {
		h.Cells.Data = append(h.Cells.Data, e.Data...)
		for _, w := range e.Words {
			// The next block reuses the memory of this one.
			h.Cells.Words = append(h.Cells.Words, bytes.Clone(w))
		}
		return nil
	})
}
