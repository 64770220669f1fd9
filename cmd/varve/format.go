package main

import (
	"bufio"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/npy"
)

func writeRaw(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	p := newProgress(cmd, "exporting", s.bytes)
	defer p.end()
	return s.blocks(cmd.Context(), func(block []byte) error {
		littleEndian(s.array.Type(), block)
		_, err := w.Write(block)
		p.add(int64(len(block)))
		return err
	})
}

func writeNPY(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	h := npy.Header{Type: s.array.Type(), Shape: s.shape}
	if err := h.Check(); err != nil {
		return err
	}
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	return writeRaw(cmd, s, w)
}

// writeCSV writes a line for every index of all axes but the last.
func writeCSV(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	t, rank := s.array.Type(), len(s.shape)
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
			for _, i := range line {
				text = append(strconv.AppendInt(text, i, 10), ',')
			}
		}
		text = t.AppendText(text, elem)
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

func writeNested(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	if err := writeLists(cmd, s, w); err != nil {
		return err
	}
	return w.WriteByte('\n')
}

// writeLists writes the elements as nested lists, without an end of line.
func writeLists(cmd *cobra.Command, s *source, w *bufio.Writer) error {
	if s.bytes == 0 {
		return writeEmpty(s.shape, w)
	}
	t := s.array.Type()
	box := grid.BoxOf(s.shape)
	index := make([]int64, len(box))
	var text []byte
	more := false
	return s.elements(cmd, func(elem []byte) error {
		text = text[:0]
		if more {
			text = append(text, ',')
		}
		for i := len(index) - 1; i >= 0 && index[i] == 0; i-- {
			text = append(text, '[')
		}
		text = t.AppendJSON(text, elem)
		for i := len(index) - 1; i >= 0 && index[i] == s.shape[i]-1; i-- {
			text = append(text, ']')
		}
		more = box.Next(index)
		_, err := w.Write(text)
		return err
	})
}

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
