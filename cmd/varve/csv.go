package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// writeCSV writes a line for every index of all axes but the last; of structs a line for
// every element. Where there are headings, one axis has a line for every element, too,
// and lines begin with the coordinates.
func writeCSV(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	if s.typ.Kind() == dtype.Struct {
		return writeRecords(cmd, s, w)
	}
	rank := len(s.shape)
	columns := int64(1) // values a line
	if rank > 1 {
		columns = s.shape[rank-1]
	}
	lines := grid.BoxOf(s.shape[:max(0, rank-1)])
	if rank == 1 {
		lines = grid.BoxOf(s.shape)
	}
	if err := s.writeTitles(w, len(lines)); err != nil {
		return err
	}
	line := make([]int64, len(lines))
	indexed := rank > 2 || s.headings != nil
	var text []byte
	var column int64
	return s.elements(cmd, func(elem []byte) error {
		text = text[:0]
		if column == 0 && indexed {
			text = s.appendIndex(text, line)
		}
		if isLong(s.typ, elem) {
			if err := cmp.Or(second(w.Write(text)), writeLongCell(w, elem)); err != nil {
				return err
			}
			text = text[:0]
		} else {
			text = appendCell(text, s.typ, elem)
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

// appendIndex appends an index, or the coordinates that it stands for, as the first cells
// of a line.
func (s *source) appendIndex(text []byte, index []int64) []byte {
	for axis, i := range index {
		if s.headings != nil {
			text = s.headings[axis].appendCell(text, i)
		} else {
			text = strconv.AppendInt(text, i, 10)
		}
		text = append(text, ',')
	}
	return text
}

// writeTitles writes the line of names, if there are headings: of the axes that lines
// begin with, and then of the array, or the coordinates along the last axis.
func (s *source) writeTitles(w *bufio.Writer, axes int) error {
	if s.headings == nil {
		return nil
	}
	text := s.appendNames(nil, axes)
	if axes == len(s.headings) {
		text = appendText(text, s.valueName())
	}
	for i := range s.columns(axes) {
		if i > 0 {
			text = append(text, ',')
		}
		text = s.headings[axes].appendCell(text, i)
		if _, err := w.Write(text); err != nil {
			return err
		}
		text = text[:0]
	}
	_, err := w.Write(append(text, '\n'))
	return err
}

// columns returns how many values follow those of the first axes on a line, 0 where there
// is one alone.
func (s *source) columns(axes int) int64 {
	if axes == len(s.shape) {
		return 0
	}
	return s.shape[axes]
}

// appendNames appends the names of the first axes as cells.
func (s *source) appendNames(text []byte, axes int) []byte {
	for i := range axes {
		name := fmt.Sprintf("index_%d", i)
		if s.headings != nil {
			name = s.headings[i].name
		}
		text = append(appendText(text, name), ',')
	}
	return text
}

// appendText appends a text as a cell.
func appendText(text []byte, word string) []byte {
	return appendCell(text, dtype.Of[string](), []byte(word))
}

// appendCell appends an element as a cell, in quotes where it would be taken for
// something else without (RFC 4180).
func appendCell(dst []byte, t dtype.Type, elem []byte) []byte {
	from := len(dst)
	dst = t.AppendText(dst, elem)
	if text := dst[from:]; needsQuotes(text) {
		text = slices.Concat([]byte{'"'}, bytes.ReplaceAll(text, []byte{'"'}, []byte(`""`)), []byte{'"'})
		dst = append(dst[:from], text...)
	}
	return dst
}

// needsQuotes reports whether a cell would be taken for something else without quotes.
func needsQuotes(text []byte) bool {
	return len(text) == 0 || bytes.ContainsAny(text, ",\"\r\n") || text[0] == ' ' || text[len(text)-1] == ' '
}

// field is a field of a struct, or of a struct in it, that is none itself.
type field struct {
	name string // with those of the structs that it is in before it: a.b
	typ  dtype.Type
	at   int // bytes from the start of the element
}

// appendFields appends the fields of a struct in their order.
func appendFields(list []field, t dtype.Type, prefix string, at int) []field {
	for _, f := range t.Fields() {
		if f.Type.Kind() == dtype.Struct {
			list = appendFields(list, f.Type, prefix+f.Name+".", at+f.Offset)
			continue
		}
		list = append(list, field{prefix + f.Name, f.Type, at + f.Offset})
	}
	return list
}

// writeRecords writes a line for every struct, with a column for every field, below a
// line of their names. Where there are several axes, the index of the element comes
// before the fields.
func writeRecords(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	fields := appendFields(nil, s.typ, "", 0)
	var text []byte
	indexed := len(s.shape) > 1 || s.headings != nil
	if indexed {
		text = s.appendNames(text, len(s.shape))
	}
	for i, f := range fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendText(text, f.name)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return err
	}
	box := grid.BoxOf(s.shape)
	index := make([]int64, len(box))
	return s.elements(cmd, func(elem []byte) error {
		text = text[:0]
		if indexed {
			text = s.appendIndex(text, index)
			box.Next(index)
		}
		for i, f := range fields {
			if i > 0 {
				text = append(text, ',')
			}
			text = appendCell(text, f.typ, elem[f.at:f.at+f.typ.Size()])
		}
		_, err := w.Write(append(text, '\n'))
		return err
	})
}
