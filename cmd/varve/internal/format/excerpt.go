// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

const (
	edgeItems = 3       // shown at each end of a long axis
	threshold = 1000    // up to so many values are shown in full
	maxShown  = 1 << 20 // most values that are shown
)

// excerpt is the shown part of a selection: all of it, or the ends of its long axes.
type excerpt struct {
	shape     []int64 // of the shown part
	isCut     []bool  // axes whose middle is left out
	texts     []string
	width     int // of the longest text, in characters
	fullShape []int64
}

// NewExcerpt reads the shown part of a selection.
func NewExcerpt(ctx context.Context, s *export.Source) (*excerpt, error) {
	// s.Shape lacks the axes at which a single index is selected.
	full := (*subset.Elements)(s.Selection).FullShape()
	n := s.Selection.Len()
	shown := shownShape(full, n)
	places, ok := checked.Product(shown...)
	if !ok || places > maxShown {
		return nil, fmt.Errorf("%w: even the ends of %s have %s; select fewer (--select)", zarr.ErrLimit, quantity.Count(len(full), "axes"), quantity.Count(places, "values"))
	}
	e := &excerpt{shape: shownShape(s.Shape, n), fullShape: s.Shape, texts: make([]string, places)}
	e.isCut = make([]bool, len(e.shape))
	for i := range e.isCut {
		e.isCut[i] = e.shape[i] < s.Shape[i]
	}
	if err := settleEnds(ctx, s, full, shown); err != nil {
		return nil, err
	}
	text := source.Text(ctx, s)
	r := &ends{s.Reader(), full, shown, func(place int64, elem []byte) { e.texts[place] = text(elem) }}
	if err := r.readAll(ctx); err != nil {
		return nil, err
	}
	for _, text := range e.texts {
		e.width = max(e.width, utf8.RuneCountInString(text))
	}
	return e, nil
}

// settleEnds is settle for the shown part of a selection.
func settleEnds(ctx context.Context, s *export.Source, full, shown []int64) error {
	if s.Decoding == nil || !s.Decoding.MayOverflow() {
		return nil
	}
	said := true
	r := &ends{s.Undecoded().Reader(), full, shown, func(_ int64, elem []byte) { said = said && s.Decoding.Fits(elem) }}
	if err := r.readAll(ctx); err != nil || said {
		return err
	}
	return s.BecomeText()
}

// shownShape returns the number of shown values along every axis of a selection of n
// values.
func shownShape(shape []int64, n int64) []int64 {
	shown := slices.Clone(shape)
	for i := range shown {
		if n > threshold {
			shown[i] = min(shown[i], 2*edgeItems)
		}
	}
	return shown
}

// ends reads the ends of every axis of a selection.
type ends struct {
	*export.Reader
	full, shown []int64 // shapes of the selection and of the ends, with every axis of the array
	store       func(place int64, elem []byte)
}

// readAll reads each combination of ends.
func (r *ends) readAll(ctx context.Context) error {
	halves := make([]int64, len(r.full))
	for i := range r.full {
		halves[i] = 1
		if r.shown[i] < r.full[i] {
			halves[i] = 2
		}
	}
	// A cut axis has two ends, any other axis one part. Read every combination.
	for half := range grid.BoxOf(halves).IndicesInto(make([]int64, len(halves))) {
		from, to := make(grid.Box, len(r.full)), make(grid.Box, len(r.full))
		for i, n := range r.full {
			from[i], to[i] = grid.Interval{Stop: n}, grid.Interval{Stop: n}
			// The second end is at the end of the axis, and follows the first one in the
			// excerpt.
			if halves[i] == 2 {
				from[i] = grid.Interval{Start: half[i] * (n - edgeItems), Stop: half[i]*(n-edgeItems) + edgeItems}
				to[i] = grid.Interval{Start: half[i] * edgeItems, Stop: (half[i] + 1) * edgeItems}
			}
		}
		if err := r.readBox(ctx, from, to); err != nil {
			return err
		}
	}
	return nil
}

// readBox reads one box of the selection into a box of the shown part. Places of the
// selection are counted without its steps.
func (r *ends) readBox(ctx context.Context, from, to grid.Box) error {
	if n, _ := from.Len(); n == 0 {
		return nil
	}
	e, err := r.Read(ctx, (*selection.Resolved)((*subset.Elements)(r.Selection).Part(from)))
	if errors.Is(err, coding.ErrRoom) {
		return r.readHalves(ctx, from, to, err)
	}
	if err != nil {
		return err
	}
	i := 0
	for index := range to.IndicesInto(make([]int64, len(to))) {
		place := int64(0)
		for axis, k := range index {
			place = place*r.shown[axis] + k
		}
		r.store(place, e.At(i))
		i++
	}
	return nil
}

// readHalves reads a box whose texts are together too long for a block, in two parts.
// Of each text only the beginning is kept, so the excerpt itself is small. cause is the
// error of the whole box.
func (r *ends) readHalves(ctx context.Context, from, to grid.Box, cause error) error {
	for axis := range from {
		n := from[axis].Len()
		if n < 2 {
			continue
		}
		for _, half := range [...]grid.Interval{{Stop: n / 2}, {Start: n / 2, Stop: n}} {
			from, to := slices.Clone(from), slices.Clone(to)
			from[axis] = grid.Interval{Start: from[axis].Start + half.Start, Stop: from[axis].Start + half.Stop}
			to[axis] = grid.Interval{Start: to[axis].Start + half.Start, Stop: to[axis].Start + half.Stop}
			if err := r.readBox(ctx, from, to); err != nil {
				return err
			}
		}
		return nil
	}
	return export.TooLong(cause)
}

// lineWidth bounds the characters of a line with more than one value.
const lineWidth = 78

// Print writes the values as NumPy does: nested brackets, aligned, with … for the omitted
// middle.
func (e *excerpt) Print(w *bufio.Writer) error {
	if slices.Contains(e.shape, 0) {
		_, err := fmt.Fprintf(w, "[]  (shape %s)\n", phrase.Shape(e.fullShape))
		return err
	}
	e.printAxis(w, 0, e.texts)
	return w.WriteByte('\n') // also returns errors of earlier writes
}

// printAxis writes the values of the axes from axis to the last.
func (e *excerpt) printAxis(w *bufio.Writer, axis int, texts []string) {
	if axis == len(e.shape) {
		fmt.Fprintf(w, "%*s", e.width, texts[0])
		return
	}
	w.WriteByte('[')
	if axis == len(e.shape)-1 {
		e.printLine(w, axis, texts)
	} else {
		e.printBlocks(w, axis, texts)
	}
	w.WriteByte(']')
}

// printLine writes the values along the last axis, wrapped into lines.
func (e *excerpt) printLine(w *bufio.Writer, axis int, texts []string) {
	column := axis + 1
	put := func(i int, text string, width int) {
		if i > 0 && column+1+width > lineWidth {
			fmt.Fprintf(w, "\n%*s", axis+1, "")
			column = axis + 1
		} else if i > 0 {
			w.WriteByte(' ')
			column++
		}
		fmt.Fprintf(w, "%*s", width, text)
		column += width
	}
	for i, text := range texts {
		if e.isCut[axis] && i == edgeItems {
			put(i, "…", 1)
		}
		put(i, text, e.width)
	}
}

// printBlocks writes the entries of an axis that is not the last, with an empty line
// between blocks of several lines.
func (e *excerpt) printBlocks(w *bufio.Writer, axis int, texts []string) {
	n := len(texts) / int(e.shape[axis])
	newLine := func() {
		for range len(e.shape) - axis - 1 {
			w.WriteByte('\n')
		}
		fmt.Fprintf(w, "%*s", axis+1, "")
	}
	for i := range int(e.shape[axis]) {
		if i > 0 {
			newLine()
		}
		if e.isCut[axis] && i == edgeItems {
			fmt.Fprint(w, "…")
			newLine()
		}
		e.printAxis(w, axis+1, texts[i*n:(i+1)*n])
	}
}
