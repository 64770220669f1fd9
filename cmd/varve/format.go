package main

import (
	"bufio"
	"cmp"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/output"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/npy"
)

func writeRaw(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if err := checkOneLength(s, rawFormat); err != nil {
		return err
	}
	p := progress.New(cmd, "exporting", s.Bytes)
	defer p.End()
	return s.Blocks(cmd.Context(), func(e element.Values) error {
		source.LittleEndian(s.Type, e.Data)
		_, err := w.Write(e.Data)
		p.Add(int64(len(e.Data)))
		return err
	})
}

// oneLength refuses elements that differ in length, for formats that have no ends of
// elements.
func oneLength(t dtype.Type, f format) error {
	if !t.Variable() {
		return nil
	}
	return failure.BadArgument("elements of type %s differ in length, which %s cannot say: --format json can", t, f)
}

// checkOneLength refuses texts, and says of times why they are some.
func checkOneLength(s *source.Source, f format) error {
	if axis, ok := s.Units.Times(); ok && s.Decoding != nil && s.Type.Variable() {
		why := "one of them is a day that datetime64 has not"
		if !axis.IsReal() {
			why = fmt.Sprintf("datetime64 has not the days of the calendar %s", axis.Calendar())
		}
		return failure.BadArgument("these times are text, since %s, and %s has no text of any length: --format json or csv has it, and without --decode they are numbers", why, f)
	}
	return oneLength(s.Type, f)
}

func writeNPY(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if err := checkOneLength(s, npyFormat); err != nil {
		return err
	}
	h := npy.Header{Type: s.Type, Shape: s.Shape}
	if err := h.Check(); err != nil {
		return failure.Unsupported("%w: --format raw, csv and json take it", err)
	}
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	return writeRaw(cmd, s, w)
}

func writeNested(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if err := writeLists(cmd, s, w); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// writeLists writes the elements as nested lists, without an end of line.
func writeLists(cmd *cobra.Command, s *source.Source, w *bufio.Writer) error {
	if s.Selection.Len() == 0 {
		return writeEmpty(s.Shape, w)
	}
	t := s.Type
	box := grid.BoxOf(s.Shape)
	index := make([]int64, len(box))
	var text []byte
	appendElement := t.AppendJSON
	if k := t.Kind(); s.Decoding != nil && (k == dtype.Datetime || k == dtype.Timedelta) {
		appendElement = func(dst, elem []byte) []byte { return append(t.AppendText(append(dst, '"'), elem), '"') }
	}
	isText := t.Kind() == dtype.String || t.Kind() == dtype.UTF32 || t.Kind() == dtype.Struct
	var spelled []byte
	more := false
	return s.Elements(cmd, func(elem []byte) error {
		text = text[:0]
		if more {
			text = append(text, ',')
		}
		for i := len(index) - 1; i >= 0 && index[i] == 0; i-- {
			text = append(text, '[')
		}
		if isLong(t, elem) {
			if err := cmp.Or(second(w.Write(text)), writeLongJSON(w, elem)); err != nil {
				return err
			}
			text = text[:0]
		} else if isText {
			spelled = appendElement(spelled[:0], elem)
			text = output.AppendSafe(text, spelled)
		} else {
			text = appendElement(slices.Grow(text, len(elem)+quotes), elem)
		}
		for i := len(index) - 1; i >= 0 && index[i] == s.Shape[i]-1; i-- {
			text = append(text, ']')
		}
		more = box.Next(index)
		_, err := w.Write(text)
		return err
	})
}

// second returns the error of a call that also returns a number.
func second(_ int, err error) error { return err }

// quotes is how many bytes stand around a text.
const quotes = 2

// maxEmptyLists is how many lists are printed of a selection that has no element.
const maxEmptyLists = 1 << 20

// writeEmpty writes the lists of a shape with an axis of length 0.
func writeEmpty(shape []int64, w *bufio.Writer) error {
	depth := 0
	for shape[depth] > 0 {
		depth++
	}
	if n, ok := checked.Product(shape[:depth]...); !ok || n > maxEmptyLists {
		return fmt.Errorf("%w: shape %v has no element but more than %d empty lists", zarr.ErrLimit, shape, maxEmptyLists)
	}
	return writeEmptyLists(shape, w)
}

func writeEmptyLists(shape []int64, w *bufio.Writer) error {
	if err := w.WriteByte('['); err != nil {
		return err
	}
	for i := range shape[0] {
		if i > 0 {
			w.WriteByte(',') // the error of a bufio.Writer stays until the next call
		}
		if err := writeEmptyLists(shape[1:], w); err != nil {
			return err
		}
	}
	return w.WriteByte(']')
}
