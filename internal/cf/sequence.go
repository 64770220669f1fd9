// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/selection"
)

// sequence checks that the values of a coordinate are strictly monotonic, and records the
// first value that is out of order.
type sequence struct {
	typ       dtype.Type               // of the stored bytes
	compare   func(a, b []byte) int    // by decoded values
	hasValue  func(elem []byte) bool   // false for NaN, NaT and missing values
	text      func(elem []byte) string // for people
	isTime    bool
	direction int    // 1 if the values rise, -1 if they fall, 0 if unknown
	index     int64  // index of the next element
	last      []byte // the last element with a value
	at        int64  // index of last
	unwritten []byte // the fill value, if elements that have it may never have been written; else nil
	skipped   int64  // elements with that value since last
	fault     string // of the first element out of order; "" for none
}

// sequenceOf returns the sequence of the values of an array. It returns nil for types
// without an order: labels, complex numbers and structs.
func sequenceOf(ctx context.Context, a *zarr.Array) (*sequence, error) {
	s := &sequence{typ: a.Type(), isTime: a.Type().Kind() == dtype.KindDatetime}
	// Elements of several axes have no order.
	if a.Rank() != 1 {
		return nil, nil
	}
	plain := func(elem []byte) string { return string(s.typ.AppendText(nil, elem)) }
	if s.isTime {
		s.text, s.compare = plain, compareWhole[int64]
		s.hasValue = func(e []byte) bool { return int64(binary.NativeEndian.Uint64(e)) != dtype.NaT }
		return s, nil
	}
	if !IsNumeric(a.Type()) {
		return nil, nil
	}
	p, err := PackingOf(ctx, a)
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return nil, nil // malformed attributes leave the numbers without a meaning
	}
	if err != nil {
		return nil, err
	}
	p = p.OfCoordinate()
	s.compare, s.hasValue = compareBy(p), p.HasValue
	s.text = p.Text // the form that a selection accepts
	if axis, ok := UnitsOf(a).Times(); ok {
		s.isTime, s.text = true, func(elem []byte) string { return timeText(axis, p, plain, elem) }
	}
	return s, nil
}

// timeText returns the time that a number stands for.
func timeText(axis Times, p *Packing, plain func([]byte) string, elem []byte) string {
	if !p.HasValue(elem) {
		return "NaT"
	}
	if at, ok := axis.Text(p.Text(elem)); ok {
		return at
	}
	return plain(elem)
}

// compareWhole compares elements of eight bytes.
func compareWhole[T int64 | uint64](a, b []byte) int {
	return cmp.Compare(T(binary.NativeEndian.Uint64(a)), T(binary.NativeEndian.Uint64(b)))
}

// compareBy returns the comparison of stored numbers by their decoded values, without
// rounding. A negative scale reverses the order.
func compareBy(p *Packing) func(a, b []byte) int {
	compare := func(a, b []byte) int { return cmp.Compare(p.Stored(a), p.Stored(b)) }
	switch p.Type() {
	case dtype.Int64:
		compare = compareWhole[int64]
	case dtype.Uint64:
		compare = compareWhole[uint64]
	}
	if scale, _ := p.Scale(); scale < 0 {
		return func(a, b []byte) int { return compare(b, a) }
	}
	return compare
}

// follow checks the next elements, which are in host byte order.
func (s *sequence) follow(elems []byte) {
	for size := s.typ.Size(); len(elems) > 0 && s.fault == ""; elems = elems[size:] {
		elem := elems[:size]
		// The first time is often 0, which is also the usual fill value. So element 0
		// counts as written.
		if !bytes.Equal(elem, s.unwritten) || s.index == 0 && s.hasValue(elem) {
			s.step(elem)
			s.bridge(elem)
			s.last, s.at = append(s.last[:0], elem...), s.index
			s.skipped = 0
		} else {
			s.skipped++
		}
		s.index++
	}
}

// bridge checks the element after elements of a time coordinate that were not written. A
// single one of those may be a time that equals the fill value.
func (s *sequence) bridge(elem []byte) {
	if !s.isTime || s.skipped == 0 || s.fault != "" {
		return
	}
	if s.skipped == 1 && s.hasValue(s.unwritten) && s.compare(s.unwritten, s.last)*s.compare(elem, s.unwritten) > 0 {
		return
	}
	s.fault = fmt.Sprintf("%s from %d on %s the fill value, as if never written, but element %d after that is %s",
		quantity.Of(s.skipped, "element"), s.index-s.skipped, quantity.Be(s.skipped), s.index, s.text(elem))
}

// step checks an element that follows the last one.
func (s *sequence) step(elem []byte) {
	if !s.hasValue(elem) {
		s.fault = fmt.Sprintf("element %d is missing", s.index)
		return
	}
	if len(s.last) == 0 {
		return
	}
	c := s.compare(elem, s.last)
	// The first two elements set the direction.
	if s.direction == 0 {
		s.direction = c
	}
	if c == 0 || c != s.direction {
		s.fault = fmt.Sprintf("element %d is %s, but element %d before it is %s", s.index, s.text(elem), s.at, s.text(s.last))
	}
}

// Unordered returns a text about the first value of a coordinate that is out of order,
// and whether the values are times. The text is "" if there is none, or if the array is
// not the coordinate of a dimension: an array with one axis that has the name of the
// dimension. Elements at the end that still have the fill value are ignored; between
// written times they are out of order.
//
// Unordered reads the array block by block, up to the first element out of order. If a
// block cannot be read, it returns the error; the text is "" then.
func Unordered(ctx context.Context, a *zarr.Array) (text string, times bool, err error) {
	if !IsCoordinate(a) {
		return "", false, nil
	}
	s, err := sequenceOf(ctx, a)
	if s == nil || err != nil {
		return "", false, err
	}
	// Without a fill value of its own, an array reads as the default of its type.
	s.unwritten = a.Type().Default()
	if elem, err := a.FillValue().Element(a.Type()); err == nil {
		s.unwritten = elem
	}
	if err := s.read(ctx, a); err != nil {
		return "", false, err
	}
	return s.report(), s.isTime && s.fault != "", nil
}

// read follows the elements of an array, up to the first fault.
func (s *sequence) read(ctx context.Context, a *zarr.Array) error {
	slabs, err := a.Slabs(nil, slabOf(a))
	if err != nil {
		return err
	}
	var block []byte
	for slab := range slabs {
		part, err := a.Select(slab)
		if err != nil {
			return err
		}
		n := int(part.Len()) * s.typ.Size() // at most the bytes of a slab
		block = slices.Grow(block[:0], n)[:n]
		if err := a.ReadBytes(ctx, part, block); err != nil {
			return err
		}
		if s.follow(block); s.fault != "" {
			return nil
		}
	}
	return nil
}

const (
	// slabBytes is the number of bytes of a coordinate that are in memory at a time.
	slabBytes = 128 << 20
	// slabChunks bounds the chunks that are read at a time. slabBytes may hold very
	// many tiny chunks.
	slabChunks = 1 << 16
)

// slabOf returns the bytes of a coordinate that are read at a time. A longer chunk is
// read at once if the default budget can hold it, because it would be decoded for every
// slab.
func slabOf(a *zarr.Array) int64 {
	axis := a.Grid().Axis(0)
	if inner := a.Inner(); inner != nil {
		if g, err := inner.Grid(); err == nil { // else use the shards
			axis = g.Axis(0)
		}
	}
	chunk, ok := checked.Mul(axis.Longest(grid.Interval{Stop: axis.Chunks()}), int64(a.Type().Size()))
	switch {
	case ok && chunk < slabBytes/slabChunks:
		return max(1, chunk) * slabChunks
	case ok && chunk <= budget.Most():
		return max(slabBytes, chunk)
	}
	return slabBytes
}

// report returns the fault, or "" if there is none.
func (s *sequence) report() string {
	switch {
	case s.fault == "":
		return ""
	case s.isTime:
		return "its times are not in order: " + s.fault
	}
	return "its values neither rise nor fall throughout: " + s.fault
}

// UnorderedAt returns a text about the first element of a coordinate that would be out of
// order if n new elements were inserted before element at, or "". If at is the length of
// the array, they are appended. The source has the new elements. Only the elements beside
// them are compared with them; the indices in the text are those afterwards. If these
// elements or the source cannot be read, UnorderedAt returns the error. The error wraps
// [zarr.ErrLimit] if a chunk beside them has more than [MaxCoordinate] elements.
func UnorderedAt(ctx context.Context, a *zarr.Array, at int64, more *zarr.Source, n int64) (string, error) {
	if !IsCoordinate(a) || more == nil || n == 0 || at < 0 || at > a.Shape()[0] {
		return "", nil
	}
	s, err := sequenceOf(ctx, a)
	if s == nil || err != nil {
		return "", err
	}
	after, err := s.begin(ctx, a, at)
	if err != nil {
		return "", err
	}
	var part []byte
	for start := int64(0); start < n && s.fault == ""; start += partElements {
		box := grid.Box{{Start: start, Stop: min(start+partElements, n)}}
		size := int(box[0].Len()) * s.typ.Size()
		part = slices.Grow(part[:0], size)[:size]
		if err := more.Read(ctx, box, part); err != nil {
			return "", err
		}
		s.follow(part)
	}
	// What was out of order before, or missing, is no fault of the new elements.
	if len(after) > 0 && s.hasValue(after) {
		s.follow(after)
	}
	return s.report(), nil
}

// partElements is the number of new elements that are checked at a time.
const partElements = 1 << 20

// begin sets the two elements before element at of an array as the ones before the new
// elements. It returns the element after them, nil if there is none. A fault between the
// elements of the array was reported before.
func (s *sequence) begin(ctx context.Context, a *zarr.Array, at int64) (after []byte, err error) {
	first, stop := max(0, at-2), min(at+2, a.Shape()[0])
	if first == stop {
		return nil, nil // first times may fall
	}
	axis := a.Grid().Axis(0)
	for _, i := range []int64{max(0, at-1), min(at, stop-1)} {
		chunk, _, _ := axis.Locate(i)
		if cell, _ := axis.Cell(chunk); cell.Encoded > MaxCoordinate {
			return nil, zarr.ErrLimit // too much memory for a check of a coordinate
		}
	}
	size := s.typ.Size()
	near := make([]byte, int(stop-first)*size)
	if err := a.ReadBytes(ctx, selection.Box{{first, stop}}, near); err != nil {
		return nil, err
	}
	before := near[:int(at-first)*size]
	if after = near[len(before):]; len(after) > 0 {
		after = after[:size]
	}
	// Elements after the new ones tell the direction if those before them do not.
	s.follow(near)
	if s.last = nil; len(before) > 0 && s.hasValue(before[len(before)-size:]) {
		s.last = slices.Clone(before[len(before)-size:])
	}
	// One element has no direction. Times are expected to rise.
	if s.isTime && s.direction == 0 {
		s.direction = 1
	}
	s.index, s.at, s.fault = at, at-1, ""
	return after, nil
}
