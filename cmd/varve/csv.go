package main

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// writeCSV writes a line for every index of all axes but the last; of structs a line for every element.
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
	line := make([]int64, len(lines))
	var text []byte
	var column int64
	return s.elements(cmd, func(elem []byte) error {
		text = text[:0]
		if column == 0 && rank > 2 {
			text = appendIndex(text, line)
		}
		text = appendCell(text, s.typ, elem)
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

// appendIndex appends an index as the first cells of a line.
func appendIndex(text []byte, index []int64) []byte {
	for _, i := range index {
		text = append(strconv.AppendInt(text, i, 10), ',')
	}
	return text
}

// appendCell appends an element as a cell, in quotes where it would be taken for something else without (RFC 4180).
func appendCell(dst []byte, t dtype.Type, elem []byte) []byte {
	from := len(dst)
	dst = t.AppendText(dst, elem)
	if text := dst[from:]; len(text) == 0 || bytes.ContainsAny(text, ",\"\r\n") || text[0] == ' ' || text[len(text)-1] == ' ' {
		text = slices.Concat([]byte{'"'}, bytes.ReplaceAll(text, []byte{'"'}, []byte(`""`)), []byte{'"'})
		dst = append(dst[:from], text...)
	}
	return dst
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

// writeRecords writes a line for every struct, with a column for every field, below a line of their names. Where there are several axes,
// the index of the element comes before the fields.
func writeRecords(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	fields := appendFields(nil, s.typ, "", 0)
	var text []byte
	indexed := len(s.shape) > 1
	if indexed {
		for i := range s.shape {
			text = fmt.Appendf(text, "index_%d,", i)
		}
	}
	quoted, _ := dtype.Parse("string", nil)
	for i, f := range fields {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendCell(text, quoted, []byte(f.name))
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return err
	}
	box := grid.BoxOf(s.shape)
	index := make([]int64, len(box))
	return s.elements(cmd, func(elem []byte) error {
		text = text[:0]
		if indexed {
			text = appendIndex(text, index)
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
