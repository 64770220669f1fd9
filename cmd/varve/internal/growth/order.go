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

// order checks that the values of a coordinate rise or fall all the way, and records the
// first one that does not.
type order struct {
	typ       dtype.Type               // of the stored bytes
	compare   func(a, b []byte) int    // by decoded values
	hasValue  func(elem []byte) bool   // false for NaN, NaT and missing values
	text      func(elem []byte) string // for people
	isTime    bool
	direction int    // 1 if the values rise, -1 if they fall, 0 if unknown
	next      int64  // index of the next element
	last      []byte // the last element with a value
	at        int64  // index of last
	unwritten []byte // the fill value, if elements that have it may never have been written; else nil
	skipped   int64  // elements with that value since last
	fault     string // of the first element out of order; "" for none
}

// orderOf returns the order of the values of an array. It returns nil for types without
// an order: labels, complex numbers and structs.
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
		o.text = p.Text // the form that a selection accepts
	}
	o.typ, o.compare, o.hasValue = p.Type(), compareBy(p), p.HasValue
	return o
}

// compareWhole compares elements of eight bytes.
func compareWhole[T int64 | uint64](a, b []byte) int {
	return cmp.Compare(T(binary.NativeEndian.Uint64(a)), T(binary.NativeEndian.Uint64(b)))
}

// compareBy returns the comparison of stored numbers by their decoded values, without
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

// follow checks the next elements.
func (o *order) follow(e element.Values) {
	for i := 0; i < e.Len() && o.fault == ""; i++ {
		elem := e.At(i)
		// The first time is often 0, which is also the usual fill value. So element 0
		// counts as written.
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

// bridge checks the element after elements of a time coordinate that were not written. A
// single one of those may be a time that equals the fill value.
func (o *order) bridge(elem []byte) {
	if !o.isTime || o.skipped == 0 || o.fault != "" {
		return
	}
	if o.skipped == 1 && o.hasValue(o.unwritten) && o.compare(o.unwritten, o.last)*o.compare(elem, o.unwritten) > 0 {
		return
	}
	o.fault = fmt.Sprintf("%s from %d on %s the fill value, as if never written, but element %d after that is %s",
		phrase.Plural(o.skipped, "element"), o.next-o.skipped, phrase.AreOrIs(o.skipped), o.next, o.text(elem))
}

// step checks an element that follows the last one.
func (o *order) step(elem []byte) {
	if !o.hasValue(elem) {
		o.fault = fmt.Sprintf("element %d is missing", o.next)
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
		o.fault = fmt.Sprintf("element %d is %s, but element %d before it is %s", o.next, o.text(elem), o.at, o.text(o.last))
	}
}

// errUnordered stops reading a coordinate at the first violation.
var errUnordered = errors.New("the values neither rise nor fall")

// Unordered returns a text about the first value of a coordinate that is out of order, or
// "". It reads the values block by block. Errors of reading are for other code to report.
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

// told returns the fault, or "" if there is none.
func (o *order) told() string {
	switch {
	case o.fault == "":
		return ""
	case o.isTime:
		return "its times are not in order: " + o.fault
	}
	return "its values neither rise nor fall throughout: " + o.fault
}

// UnorderedAfter returns a text about the first new element that is out of order after
// those of a coordinate, or "".
func UnorderedAfter(ctx context.Context, a *zarr.Array, more *Gain) string {
	if !source.IsCoordinate(a) || more.from == nil || more.Planes == 0 {
		return ""
	}
	o := orderOf(ctx, a)
	if o == nil {
		return ""
	}
	if err := o.begin(ctx, a); err != nil {
		return "" // the append fails, too, or the elements do not fit into memory
	}
	part := element.Values{Type: o.typ}
	for at := int64(0); at < more.Planes && o.fault == ""; at += orderSlab {
		n := min(orderSlab, more.Planes-at)
		part.Grow(int(n))
		if err := more.from.Read(ctx, grid.Box{{Start: at, Stop: at + n}}, part.Data); err != nil {
			return "" // the append reports the error
		}
		o.follow(part)
	}
	if o.fault == "" {
		return ""
	}
	return o.told() + "; was this appended before?"
}

// orderSlab is the number of new elements that are checked at a time.
const orderSlab = 1 << 20

// begin sets the last two elements of an array as the ones before the new elements. A
// fault between these two was reported before.
func (o *order) begin(ctx context.Context, a *zarr.Array) error {
	extent := a.Shape()[0]
	if extent == 0 {
		return nil
	}
	chunk, _, _ := a.Grid().Axis(0).Locate(extent - 1)
	if cell, _ := a.Grid().Axis(0).Cell(chunk); cell.Encoded > cf.MaxCoordinate {
		return zarr.ErrLimit // too much memory for a check of a coordinate
	}
	end := element.Values{Type: o.typ}
	end.Grow(int(min(extent, 2)))
	if err := end.Read(ctx, a, selection.Box{{extent - int64(end.Len()), extent}}); err != nil {
		return err
	}
	o.follow(end)
	if !o.hasValue(o.last) {
		o.last = nil // nothing to compare with
	}
	// One element has no direction. Times are expected to rise.
	if o.isTime && o.direction == 0 {
		o.direction = 1
	}
	o.next, o.at, o.fault = extent, extent-1, ""
	return nil
}
