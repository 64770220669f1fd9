package output

import (
	"bufio"
	"bytes"
	"slices"
	"strconv"

	"varve.dev/zarr/grid"
)

// Sizes are the lengths of the chunks along axes: of each axis a list of [size,
// count] runs, null if it is too long. The lists may be many times as long as the
// document, so they are written as they are found.
type Sizes []grid.Axis

// SizesOf returns the lengths of the chunks of a grid.
func SizesOf(g *grid.Grid) Sizes {
	s := make(Sizes, g.Rank())
	for i := range s {
		s[i] = g.Axis(i)
	}
	return s
}

// IsListed reports whether an axis has runs, and not too many of them to list.
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
	if slices.ContainsFunc(s, IsListed) { // in canonical layout, lists of lists have lines of their own
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

// printSizes writes the runs along an axis on one line.
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
