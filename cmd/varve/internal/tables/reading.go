// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"varve.dev/zarr/columnar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// mostHeld bounds the bytes of an array with repeated elements that is read once, before
// the rows. Longer ones are read unit by unit.
const mostHeld = 64 << 20

// reading has the elements of an array in a unit. Its memory is used for many units.
type reading struct {
	*array
	reader  *export.Reader // of stored elements
	absent  *absence
	decoded export.Values
	floats  []float64
	box     grid.Box // of the table
	own     grid.Box // of the array; its elements are in made
	made    []made

	lengths []int64 // of the batch whose index this is
	index   []uint32
	written int64 // elements of the last batch
}

// readings returns the arrays of a unit, without elements.
func (t *table) readings() (list []*reading) {
	for _, a := range t.arrays {
		list = append(list, a.reading())
	}
	return list
}

func (a *array) reading() *reading {
	r := &reading{array: a, made: make([]made, len(a.columns))}
	if a.Source != nil {
		r.reader = a.Undecoded().Reader()
		r.reader.Crowded = true
		if a.absent != nil {
			absent := *a.absent
			r.absent = &absent
		}
	}
	return r
}

// hold reads the short arrays whose elements are in several rows, such as coordinates.
func (t *table) hold(ctx context.Context) error {
	for _, a := range t.arrays {
		if !a.repeat || a.Source == nil || a.Bytes > mostHeld {
			continue
		}
		r := a.reading()
		all := make(grid.Box, len(a.shape))
		for i, n := range a.shape {
			all[i] = grid.Interval{Stop: n}
		}
		err := r.read(ctx, all)
		if errors.Is(err, coding.ErrRoom) {
			continue // long texts are read unit by unit
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		for i := range r.made {
			a.held = append(a.held, r.made[i].Column)
		}
		a.Tell(a.Bytes)
	}
	return nil
}

// load reads the elements that a box of the table needs.
func (r *reading) load(ctx context.Context, box grid.Box) error {
	r.box = box
	switch {
	case r.Source == nil || r.held != nil:
		return nil
	case r.listed:
		return r.read(ctx, grid.Box{{Start: r.offsets[box[0].Start], Stop: r.offsets[box[0].Stop]}})
	}
	return r.read(ctx, r.along(box))
}

// along returns the part of the array in a box of the table.
func (r *reading) along(box grid.Box) grid.Box {
	own := make(grid.Box, len(r.axes))
	for i, axis := range r.axes {
		own[i] = box[axis]
	}
	return own
}

// read reads a box of the array, decodes it, and makes columns of it.
func (r *reading) read(ctx context.Context, box grid.Box) error {
	r.own = box
	e := export.Values{Type: r.Stored}
	if rowsOf(box) > 0 {
		var err error
		if e, err = r.reader.Read(ctx, (*selection.Resolved)((*subset.Elements)(r.Selection).Within(box))); err != nil {
			return err
		}
	}
	absent := r.absent.of(e)
	e = r.decode(e)
	for i, c := range r.columns {
		if err := c.make(&r.made[i], e, absent); err != nil {
			return err
		}
	}
	return nil
}

// decode decodes elements.
func (r *reading) decode(e export.Values) export.Values {
	d := r.Decoding
	// Numbers that are not packed stay as they are: missing ones are null, not NaN.
	if d == nil || r.isWhole() || d.Type() == r.Stored && r.Stored.Kind() == dtype.KindFloat && !d.IsScaled() {
		return e
	}
	n := e.Len()
	r.decoded.Type = d.Type()
	r.decoded.Grow(n)
	switch {
	case d.Type().Variable():
		for i := range n {
			r.decoded.Words[i] = []byte(d.DecodeText(e.At(i)))
		}
	case d.Type() == dtype.Float64 && d.IsScaled():
		r.floats = slices.Grow(r.floats[:0], n)[:n]
		d.Floats(r.floats, e.Data)
		for i, x := range r.floats {
			binary.NativeEndian.PutUint64(r.decoded.Data[8*i:], math.Float64bits(x))
		}
	default:
		d.Decode(r.decoded.Data, e.Data)
	}
	return r.decoded
}

// appendTo appends the columns of an array to a batch, which has the rows of a box.
func (r *reading) appendTo(b *columnar.Batch, box grid.Box) {
	r.written = 0
	switch {
	case r.listed:
		first, end := box[0].Start, box[0].Stop
		for i := range r.made {
			l := columnar.Column{Rows: b.Rows, Elements: &r.made[i].Column, Offsets: make([]int64, 0, b.Rows+1)}
			for _, at := range r.offsets[first : end+1] {
				l.Offsets = append(l.Offsets, at-r.own[0].Start)
			}
			b.Columns = append(b.Columns, l)
		}
		r.written = r.offsets[end] - r.offsets[first]
	case !r.repeat:
		from := int64(0)
		for i, in := range box {
			from = from*r.box[i].Len() + in.Start - r.box[i].Start
		}
		for i := range r.made {
			b.Columns = append(b.Columns, cut(&r.made[i].Column, r.columns[i].field.Type.Bytes(), int(from), b.Rows))
		}
		r.written = int64(b.Rows)
	default:
		for i := range r.columns {
			b.Columns = append(b.Columns, r.repeated(i, b.Rows, box))
		}
	}
}

// tell reports the elements of the last batch as written.
func (r *reading) tell() {
	if r.written > 0 {
		r.Tell(r.written * max(export.Width(r.Stored), export.Width(r.Type)))
	}
}

// repeated returns a column of an array with fewer elements than rows: its elements in
// the box as a dictionary.
func (r *reading) repeated(column, rows int, box grid.Box) columnar.Column {
	own := r.along(box)
	c := columnar.Column{Rows: rows}
	d := &columnar.Column{Rows: int(rowsOf(own))}
	width := r.columns[column].field.Type.Bytes()
	switch {
	case r.Source == nil:
		for place := own[0].Start; place < own[0].Stop; place++ {
			d.Data = binary.LittleEndian.AppendUint64(d.Data, uint64(r.array.index.At(place)))
		}
	case r.held != nil:
		pick(d, &r.held[column], width, r.shape, own)
	default:
		shape := make([]int64, len(own))
		within := make(grid.Box, len(own))
		for i, in := range own {
			shape[i] = r.own[i].Len()
			within[i] = grid.Interval{Start: in.Start - r.own[i].Start, Stop: in.Stop - r.own[i].Start}
		}
		pick(d, &r.made[column].Column, width, shape, within)
	}
	if d.Rows == rows && slices.IsSorted(r.axes) {
		return *d
	}
	c.Dictionary, c.Index = d, r.places(box, own)
	if d.Valid != nil {
		c.Valid = allValid(nil, rows)
		for i, at := range c.Index {
			if !d.IsValid(int(at)) {
				c.Valid[i>>3] &^= 1 << (i & 7)
			}
		}
		d.Valid = nil
	}
	return c
}

// places returns for each row of a box its place among the elements of an array.
func (r *reading) places(box, own grid.Box) []uint32 {
	lengths := make([]int64, len(box))
	for i, in := range box {
		lengths[i] = in.Len()
	}
	if r.index != nil && slices.Equal(lengths, r.lengths) {
		return r.index
	}
	step := make([]uint32, len(box)) // of the place, along each axis of the table
	next := int64(1)
	for i, axis := range slices.Backward(r.axes) {
		step[axis] = uint32(next)
		next *= own[i].Len()
	}
	index := make([]uint32, 1, rowsOf(box))
	for i, length := range slices.Backward(lengths) {
		inner := index
		for k := int64(1); k < length; k++ {
			more := uint32(k) * step[i]
			for _, at := range inner {
				index = append(index, at+more)
			}
		}
	}
	r.index, r.lengths = index, lengths
	return index
}

// cut returns some rows of a column, of which an element has width bytes, or 0.
func cut(c *columnar.Column, width, from, rows int) columnar.Column {
	if from == 0 && rows == c.Rows {
		return *c
	}
	part := columnar.Column{Rows: rows, Data: c.Data}
	if c.Offsets != nil {
		part.Offsets = c.Offsets[from : from+rows+1]
	} else {
		part.Data = c.Data[from*width : (from+rows)*width]
	}
	if c.Valid != nil {
		part.Valid = validIn(nil, 0, c, from, rows)
	}
	return part
}

// validIn appends the bits of some rows of a column to those of the rows before at.
func validIn(dst []byte, at int, c *columnar.Column, from, rows int) []byte {
	for len(dst) < (at+rows+7)/8 {
		dst = append(dst, 0xff)
	}
	for i := range rows {
		if !c.IsValid(from + i) {
			dst[(at+i)>>3] &^= 1 << ((at + i) & 7)
		}
	}
	return dst
}

// pick fills d with the elements of a box of a column, which has elements of a shape.
func pick(d, c *columnar.Column, width int, shape []int64, box grid.Box) {
	run, outer := 1, box
	if last := len(box) - 1; last >= 0 {
		run, outer = int(box[last].Len()), box[:last:last]
	}
	if c.Offsets != nil {
		d.Offsets = append(d.Offsets, 0)
	}
	rows := 0
	for at := range outer.IndicesInto(make([]int64, len(outer))) {
		from := int64(0)
		for i, k := range at {
			from = from*shape[i] + k
		}
		if last := len(box) - 1; last >= 0 {
			from = from*shape[last] + box[last].Start
		}
		part := cut(c, width, int(from), run)
		if c.Offsets == nil {
			d.Data = append(d.Data, part.Data...)
		} else {
			for i := range run {
				d.Data = append(d.Data, c.Data[part.Offsets[i]:part.Offsets[i+1]]...)
				d.Offsets = append(d.Offsets, int64(len(d.Data)))
			}
		}
		if part.Valid != nil || d.Valid != nil {
			d.Valid = validIn(d.Valid, rows, &part, 0, run)
		}
		rows += run
	}
}
