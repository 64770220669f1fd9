// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/cf"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

// order follows the values of a coordinate, which rise or fall all the way, and remembers
// the first one that does not.
type order struct {
	typ       dtype.Type               // as which the stored bytes are read
	compare   func(a, b []byte) int    // by what the values stand for
	hasValue  func(elem []byte) bool   // false for NaN, NaT and missing values
	text      func(elem []byte) string // for people
	isTime    bool
	direction int    // 1 where the values rise, -1 where they fall, 0 before that is known
	next      int64  // the index of the next element
	last      []byte // the element before it
	at        int64  // its index
	unwritten []byte // elements that do not count but for the first one and before others, nil for none
	skipped   int64  // how many of them came last
	fault     string // what is wrong with the first element that does not follow, "" for none
}

// orderOf returns the order of the values of an array, nil where it has none: labels, and
// numbers of several parts.
func orderOf(ctx context.Context, a *zarr.Array) *order {
	o := &order{typ: a.Type(), isTime: a.Type().Kind() == dtype.Datetime}
	s, err := source.New(ctx, a, "", false)
	if err != nil || a.Rank() != 1 {
		return nil
	}
	o.text = s.Text()
	if o.isTime {
		o.compare = compareWhole[int64]
		o.hasValue = func(e []byte) bool { return int64(binary.NativeEndian.Uint64(e)) != dtype.NaT }
		return o
	}
	p, err := cf.PackingOf(a)
	if err != nil || !element.IsNumeric(a.Type()) {
		return nil
	}
	p = p.OfCoordinate()
	if _, o.isTime = source.TimesOf(a); !o.isTime {
		o.text = p.Text // what a selection takes, and not what is stored
	}
	o.typ, o.compare, o.hasValue = p.Type(), compareBy(p), p.HasValue
	return o
}

// compareWhole compares elements of eight bytes.
func compareWhole[T int64 | uint64](a, b []byte) int {
	return cmp.Compare(T(binary.NativeEndian.Uint64(a)), T(binary.NativeEndian.Uint64(b)))
}

// compareBy returns the comparison of stored numbers by what they stand for, without
// rounding. A negative scale reverses the order.
func compareBy(p *cf.Packing) func(a, b []byte) int {
	compare := func(a, b []byte) int { return cmp.Compare(p.Stored(a), p.Stored(b)) }
	switch p.Type() {
	case dtype.Of[int64]():
		compare = compareWhole[int64]
	case dtype.Of[uint64]():
		compare = compareWhole[uint64]
	}
	if scale, _ := p.Scale(); scale < 0 {
		return func(a, b []byte) int { return compare(b, a) }
	}
	return compare
}

// follow looks at the next elements.
func (o *order) follow(e element.Values) {
	for i := 0; i < e.Len() && o.fault == ""; i++ {
		elem := e.At(i)
		if !bytes.Equal(elem, o.unwritten) || o.next == 0 && o.hasValue(elem) {
			o.step(elem)
			o.bridge(elem)
			o.last, o.at = append(o.last[:0], elem...), o.next
			o.skipped = 0
		} else {
			o.skipped++
		}
		o.next++
	}
}

// bridge looks at elements of a time coordinate that were not written, and that another
// one follows. A single one may be a time that happens to be the fill value.
func (o *order) bridge(elem []byte) {
	if !o.isTime || o.skipped == 0 || o.fault != "" {
		return
	}
	if o.skipped == 1 && o.hasValue(o.unwritten) && o.compare(o.unwritten, o.last)*o.compare(elem, o.unwritten) > 0 {
		return
	}
	o.fault = fmt.Sprintf("%s from %d on %s the fill value, as if never written, and element %d after that is %s",
		phrase.Plural(o.skipped, "element"), o.next-o.skipped, phrase.AreOrIs(o.skipped), o.next, o.text(elem))
}

// step looks at an element that follows the last one.
func (o *order) step(elem []byte) {
	if !o.hasValue(elem) {
		o.fault = fmt.Sprintf("element %d has no value", o.next)
		return
	}
	if len(o.last) == 0 {
		return
	}
	c := o.compare(elem, o.last)
	if o.direction == 0 {
		o.direction = c
	}
	if c == 0 || c != o.direction {
		o.fault = fmt.Sprintf("element %d is %s, and element %d before it %s", o.next, o.text(elem), o.at, o.text(o.last))
	}
}

// errUnordered ends the reading of a coordinate.
var errUnordered = errors.New("the values neither rise nor fall")

// Unordered returns what is wrong with the order of the coordinate that an array is, ""
// for nothing. It reads the values block by block. What cannot be read is for others to
// tell.
func Unordered(ctx context.Context, a *zarr.Array) (fault string, isTime bool) {
	if !source.IsCoordinate(a) {
		return "", false
	}
	o := orderOf(ctx, a)
	s, err := source.New(ctx, a, "", false)
	if o == nil || err != nil {
		return "", false
	}
	o.unwritten = element.Fill(a)
	_ = s.Blocks(ctx, func(e element.Values) error {
		if o.follow(e); o.fault != "" {
			return errUnordered
		}
		return nil
	})
	return o.told(), o.isTime && o.fault != ""
}

// told returns what is wrong with the order, "" for nothing.
func (o *order) told() string {
	switch {
	case o.fault == "":
		return ""
	case o.isTime:
		return "its times do not follow each other: " + o.fault
	}
	return "its values neither rise nor fall all the way: " + o.fault
}

// UnorderedAfter returns what is wrong with the order in which new elements follow those
// of the coordinate that an array is, "" for nothing.
func UnorderedAfter(ctx context.Context, a *zarr.Array, more *Gain) string {
	if !source.IsCoordinate(a) || more.from == nil || more.Planes == 0 {
		return ""
	}
	o := orderOf(ctx, a)
	if o == nil {
		return ""
	}
	if err := o.begin(ctx, a); err != nil {
		return "" // the append fails, too, or the end cannot be held
	}
	part := element.Values{Type: o.typ}
	for at := int64(0); at < more.Planes && o.fault == ""; at += orderSlab {
		n := min(orderSlab, more.Planes-at)
		part.Grow(int(n))
		if err := more.from.Read(ctx, grid.Box{{Start: at, Stop: at + n}}, part.Data); err != nil {
			return "" // which is for the append to say
		}
		o.follow(part)
	}
	if o.fault == "" {
		return ""
	}
	return o.told() + "; was this appended before?"
}

// orderSlab is how many new elements are looked at at a time.
const orderSlab = 1 << 20

// begin makes the last two elements of an array those that others follow. What is wrong
// with these two was told before.
func (o *order) begin(ctx context.Context, a *zarr.Array) error {
	extent := a.Shape()[0]
	if extent == 0 {
		return nil
	}
	chunk, _, _ := a.Grid().Axis(0).Locate(extent - 1)
	if cell, _ := a.Grid().Axis(0).Cell(chunk); cell.Encoded > cf.MaxCoordinate {
		return zarr.ErrLimit // a coordinate is not worth the memory
	}
	end := element.Values{Type: o.typ}
	end.Grow(int(min(extent, 2)))
	if err := end.Read(ctx, a, selection.Box{{extent - int64(end.Len()), extent}}); err != nil {
		return err
	}
	o.follow(end)
	if !o.hasValue(o.last) {
		o.last = nil // which nothing can follow
	}
	if o.isTime && o.direction == 0 {
		o.direction = 1
	}
	o.next, o.at, o.fault = extent, extent-1, ""
	return nil
}
