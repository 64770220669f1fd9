// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"

	"varve.dev/zarr/grid"
)

// Sizes are the chunk lengths along all axes. JSON has for each axis a list of [size,
// count] runs, or null if the list is too long. The lists may be much longer than the
// rest of the document, so they are written as they are computed.
type Sizes []grid.Axis

// SizesOf returns the chunk lengths of a grid.
func SizesOf(g *grid.Grid) Sizes {
	s := make(Sizes, g.Rank())
	for i := range s {
		s[i] = g.Axis(i)
	}
	return s
}

// IsListed reports whether the runs of an axis are few enough to be listed.
func IsListed(a grid.Axis) bool {
	for range a.Logical() {
		return true
	}
	return false
}

// MarshalJSON implements [json.Marshaler].
func (s Sizes) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	w := bufio.NewWriter(&b)
	if err := s.PrintJSON(w); err != nil {
		return nil, err
	}
	err := w.Flush()
	return b.Bytes(), err
}

// PrintJSON implements [printer].
func (s Sizes) PrintJSON(w *bufio.Writer) error {
	if s == nil {
		_, err := w.WriteString("null")
		return err
	}
	begin, between, end := "[", ", ", "]"
	if slices.ContainsFunc(s, IsListed) { // canonical layout gives each list in a list a line
		begin, between, end = "[\n    ", ",\n    ", "\n  ]"
	}
	w.WriteString(begin) // the error of a bufio.Writer stays until the next call
	for i, a := range s {
		if i > 0 {
			w.WriteString(between)
		}
		if err := printSizes(w, a); err != nil {
			return err
		}
	}
	_, err := w.WriteString(end)
	return err
}

// printSizes writes the runs of one axis on one line.
func printSizes(w *bufio.Writer, a grid.Axis) error {
	if a.Chunks() > 0 && !IsListed(a) {
		_, err := w.WriteString("null")
		return err
	}
	w.WriteByte('[') // the error of a bufio.Writer stays until the next call
	var text []byte
	for r := range a.Logical() {
		text = strconv.AppendInt(append(text, '['), r.Length, 10)
		text = strconv.AppendInt(append(text, ", "...), r.Count, 10)
		if _, err := w.Write(append(text, ']')); err != nil {
			return err
		}
		text = append(text[:0], ", "...)
	}
	return w.WriteByte(']')
}
