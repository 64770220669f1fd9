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

// order checks that the values of a coordinate rise or fall throughout, and remembers
// the first violation.
type order struct {
	typ       dtype.Type               // type that the stored bytes are read as
	compare   func(a, b []byte) int    // compares decoded values
	hasValue  func(elem []byte) bool   // false for NaN, NaT and missing values
	text      func(elem []byte) string // for people
	isTime    bool
	direction int    // 1 if the values rise, -1 if they fall, 0 while unknown
	next      int64  // index of the next element
	last      []byte // last element that counted
	at        int64  // its index
	unwritten []byte // fill value: such elements are skipped, except at index 0; nil skips none
	skipped   int64  // number of elements skipped since last
	fault     string // description of the first violation, or ""
}

// orderOf returns the order of the values of an array. It returns nil for values
// without an order, such as labels and complex numbers.
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
		o.text = p.Text // the unpacked number, as in a selection
	}
	o.typ, o.compare, o.hasValue = p.Type(), compareBy(p), p.HasValue
	return o
}

// compareWhole compares elements of eight bytes.
func compareWhole[T int64 | uint64](a, b []byte) int {
	return cmp.Compare(T(binary.NativeEndian.Uint64(a)), T(binary.NativeEndian.Uint64(b)))
}

// compareBy returns a function that compares stored numbers in the order of their
// unpacked values, without rounding. A negative scale reverses the order.
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

// bridge reports elements of a time coordinate that were apparently never written, if a
// written element follows. A single one may be a time that happens to equal the fill
// value.
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

// step checks that an element follows the last one.
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

// Unordered returns the first violation of the order of a coordinate, or "" if there is
// none or the array is not a coordinate. It reads the values block by block, and
// ignores errors, because callers find them elsewhere.
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

// told returns a description of the violation, or "".
func (o *order) told() string {
	switch {
	case o.fault == "":
		return ""
	case o.isTime:
		return "its times are not in order: " + o.fault
	}
	return "its values neither rise nor fall throughout: " + o.fault
}

// UnorderedAfter returns the first violation of the order if the new elements are
// appended to a coordinate, or "".
func UnorderedAfter(ctx context.Context, a *zarr.Array, more *Gain) string {
	if !source.IsCoordinate(a) || more.from == nil || more.Planes == 0 {
		return ""
	}
	o := orderOf(ctx, a)
	if o == nil {
		return ""
	}
	if err := o.begin(ctx, a); err != nil {
		return "" // the append reports the error; or the last chunk is too large to read
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

// begin starts the order with the last two elements of an array. It ignores violations
// by these two, which were reported earlier.
func (o *order) begin(ctx context.Context, a *zarr.Array) error {
	extent := a.Shape()[0]
	if extent == 0 {
		return nil
	}
	chunk, _, _ := a.Grid().Axis(0).Locate(extent - 1)
	if cell, _ := a.Grid().Axis(0).Cell(chunk); cell.Encoded > cf.MaxCoordinate {
		return zarr.ErrLimit // too much memory for a check
	}
	end := element.Values{Type: o.typ}
	end.Grow(int(min(extent, 2)))
	if err := end.Read(ctx, a, selection.Box{{extent - int64(end.Len()), extent}}); err != nil {
		return err
	}
	o.follow(end)
	if !o.hasValue(o.last) {
		o.last = nil // nothing can be compared with a missing value
	}
	if o.isTime && o.direction == 0 {
		o.direction = 1
	}
	o.next, o.at, o.fault = extent, extent-1, ""
	return nil
}
