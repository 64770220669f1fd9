// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/packed"
)

// Order is the position of an element relative to a value.
type Order int8

// The orders of elements. An element is Absent if it is missing or NaN: it has no
// position relative to any value.
const (
	Below  Order = -1
	Within Order = 0
	Above  Order = 1
	Absent Order = 2
)

// Comparer compares the elements of an array with values that are written as text, as
// in [Lookup]: numbers, unpacked as CF requires; dates in the calendar of the array;
// durations; text; true and false. Elements are missing as in xarray, except that zero
// and empty text are never missing in the coordinate of a dimension.
//
// A date without a time of day stands for the whole day, and a month or a year for all of
// its days. An element on one of these days is Within.
type Comparer struct {
	typ    dtype.Type
	scale  *scale   // of elements that are numbers; nil for text
	absent [][]byte // missing text
}

// Value is a value to compare elements with. Relative to the zero Value, every element is
// Within or Absent.
type Value struct {
	first, last uint64 // the ranks of the elements within
	all         Order  // if not Within, the order of every element
	descending  bool   // the elements rise where their numbers fall
	given       bool
	word        []byte // of text
}

// ComparerOf returns the comparer of an array. If the array has elements that have no
// order, the error wraps [zarr.ErrUnsupported]. If an attribute is malformed, it wraps
// [zarr.ErrInvalidArgument].
func ComparerOf(ctx context.Context, a *zarr.Array) (*Comparer, error) {
	c := &Comparer{typ: a.Type()}
	var err error
	switch k := c.typ.Kind(); {
	case IsNumeric(c.typ):
		c.scale, err = numbersOf(ctx, a)
	case k == dtype.KindBool:
		c.scale = boolScale()
	case k == dtype.KindDatetime:
		c.scale = momentScale(c.typ)
	case k == dtype.KindTimedelta:
		c.scale, err = durationScale(c.typ)
	case k == dtype.KindString || k == dtype.KindUTF32 || k == dtype.KindBytes || k == dtype.KindTerminated:
		c.absent, err = absentText(ctx, a)
	default:
		err = fmt.Errorf("%w: elements of type %s have no order", zarr.ErrUnsupported, c.typ)
	}
	return c, err
}

// absentText returns the text that marks missing elements. In a coordinate, empty text
// and zero are values.
func absentText(ctx context.Context, a *zarr.Array) (list [][]byte, err error) {
	filled, err := MasksFill(ctx, a)
	if err != nil {
		return nil, err
	}
	for elem := range Missing(a.Metadata(), filled) {
		if text := textOf(a.Type(), nil, elem); len(text) > 0 || !IsCoordinate(a) {
			list = append(list, text)
		}
	}
	return list, nil
}

// textOf returns an element of a text type as text. It may use the memory of room.
func textOf(t dtype.Type, room, elem []byte) []byte {
	switch t.Kind() {
	case dtype.KindUTF32:
		return t.AppendText(room[:0], elem)
	case dtype.KindBytes, dtype.KindTerminated:
		return packed.TrimPadding(t, elem)
	}
	return elem
}

// Value parses a value. If it is malformed, the error wraps [zarr.ErrInvalidArgument].
func (c *Comparer) Value(text string) (Value, error) {
	if c.scale == nil {
		return Value{word: []byte(text), given: true}, nil
	}
	order, err := c.scale.order(text)
	if err != nil {
		return Value{}, err
	}
	return c.scale.bounds(order), nil
}

// Compare sets dst to the orders of elements, which are those of an array in memory. It
// panics if dst is shorter. For elements of variable length use [Comparer.CompareWords].
func (c *Comparer) Compare(dst []Order, elems []byte, v Value) {
	n := c.typ.Size()
	if c.scale == nil {
		var room []byte
		for i := range len(elems) / n {
			room = textOf(c.typ, room, elems[i*n:][:n:n])
			dst[i] = c.compareWord(room, v)
		}
		return
	}
	// A stripe of ranks stays in the processor's cache between load and compare.
	var ranks [stripe]uint64
	for len(elems) > 0 {
		k := min(stripe, len(elems)/n)
		c.scale.load(ranks[:k], elems[:k*n])
		c.scale.compare(dst[:k], ranks[:k], v)
		dst, elems = dst[k:], elems[k*n:]
	}
}

// CompareWords is [Comparer.Compare] for elements of variable length.
func (c *Comparer) CompareWords(dst []Order, words [][]byte, v Value) {
	for i, word := range words {
		dst[i] = c.compareWord(word, v)
	}
}

func (c *Comparer) compareWord(word []byte, v Value) Order {
	if slices.ContainsFunc(c.absent, func(a []byte) bool { return bytes.Equal(a, word) }) {
		return Absent
	}
	if !v.given {
		return Within
	}
	return Order(bytes.Compare(word, v.word))
}

// scale orders the elements of a type by their ranks: integers that rise with the stored
// numbers. The decoded value, such as a date, rises or falls with the number. So the
// elements that equal a value have consecutive ranks. A binary search finds these once.
// After that, comparing an element compares integers, without rounding.
type scale struct {
	stored      dtype.Type // which the ranks are of
	load        func(dst []uint64, elems []byte)
	least, most uint64   // the ranks of numbers
	absent      []uint64 // the ranks of missing elements, and of NaN
	descending  bool     // values fall with the ranks
	// order parses a value, and returns a function that compares ranks with the value.
	order func(text string) (func(rank uint64) Order, error)
}

// nanRank is the rank of NaN. No other float has it.
const nanRank = math.MaxUint64

// bounds returns the ranks within a value.
func (s *scale) bounds(order func(uint64) Order) Value {
	v := Value{descending: s.descending, given: true}
	rising := func(rank uint64) Order {
		if s.descending {
			return -order(rank)
		}
		return order(rank)
	}
	// Orders rise with the ranks now, so two binary searches find the range.
	first, ok := s.search(func(rank uint64) bool { return rising(rank) >= Within })
	if !ok {
		v.all = Below
		return v
	}
	above, ok := s.search(func(rank uint64) bool { return rising(rank) >= Above })
	switch {
	case !ok:
		v.first, v.last = first, s.most
	case above == s.least:
		v.all = Above
	default:
		v.first, v.last = first, above-1
	}
	return v
}

// search returns the least rank for which reached returns true. There is none if
// reached returns false for the largest one.
func (s *scale) search(reached func(uint64) bool) (uint64, bool) {
	low, high := s.least, s.most
	if !reached(high) {
		return 0, false
	}
	for low < high {
		if middle := low + (high-low)/2; reached(middle) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low, true
}

// compare sets dst to the orders of ranks.
func (s *scale) compare(dst []Order, ranks []uint64, v Value) {
	below, above := Below, Above
	if v.descending {
		below, above = Above, Below
	}
	switch {
	case !v.given:
		clear(dst)
	case v.all == Below:
		fill(dst, below)
	case v.all == Above:
		fill(dst, above)
	default:
		for i, r := range ranks {
			o := Within
			if r < v.first {
				o = below
			} else if r > v.last {
				o = above
			}
			dst[i] = o
		}
	}
	// Missing elements override their orders. Few arrays have more than one missing
	// value.
	for _, a := range s.absent {
		for i, r := range ranks {
			if r == a {
				dst[i] = Absent
			}
		}
	}
}

func fill(dst []Order, o Order) {
	for i := range dst {
		dst[i] = o
	}
}

// sign makes ranks of int64 rise with the numbers.
const sign = 1 << 63

// rankOfFloat returns the rank of a float.
func rankOfFloat(x float64) uint64 {
	if x != x {
		return nanRank
	}
	b := math.Float64bits(x + 0) // -0 becomes 0
	// The bits of negative floats fall as the floats rise. No branch: signs may be
	// random.
	return b ^ (uint64(int64(b)>>63) | sign)
}

// floatOf returns the float of a rank.
func floatOf(rank uint64) float64 {
	if rank&sign != 0 {
		return math.Float64frombits(rank &^ sign)
	}
	return math.Float64frombits(^rank)
}

// numericScale returns the scale of a numeric type, without an order.
func numericScale(t dtype.Type) *scale {
	s, bits := &scale{stored: t, load: loader(t)}, 8*t.Size()
	switch t.Kind() {
	case dtype.KindInt:
		half := uint64(1) << (bits - 1)
		s.least, s.most = sign-half, sign+(half-1)
	case dtype.KindUint:
		s.most = math.MaxUint64 >> (64 - bits)
	default:
		s.least, s.most, s.absent = rankOfFloat(math.Inf(-1)), rankOfFloat(math.Inf(1)), []uint64{nanRank}
	}
	return s
}

// loader returns the function that sets dst to the ranks of numbers.
func loader(t dtype.Type) func(dst []uint64, elems []byte) {
	native := binary.NativeEndian
	each := func(rank func(elem []byte) uint64) func([]uint64, []byte) {
		n := t.Size()
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = rank(elems[i*n:])
			}
		}
	}
	// Flipping the sign bit makes the order of signed integers that of unsigned ones. The
	// common types have loops without a call for each element.
	switch t {
	case dtype.Int8:
		return func(dst []uint64, elems []byte) {
			for i, e := range elems[:len(dst)] {
				dst[i] = uint64(int8(e)) ^ sign
			}
		}
	case dtype.Int16:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = uint64(int16(native.Uint16(elems[2*i:]))) ^ sign
			}
		}
	case dtype.Int32:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = uint64(int32(native.Uint32(elems[4*i:]))) ^ sign
			}
		}
	case dtype.Int64:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = native.Uint64(elems[8*i:]) ^ sign
			}
		}
	case dtype.Uint8:
		return func(dst []uint64, elems []byte) {
			for i, e := range elems[:len(dst)] {
				dst[i] = uint64(e)
			}
		}
	case dtype.Uint16:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = uint64(native.Uint16(elems[2*i:]))
			}
		}
	case dtype.Uint32:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = uint64(native.Uint32(elems[4*i:]))
			}
		}
	case dtype.Uint64:
		return each(native.Uint64)
	case dtype.Float32:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = rankOfFloat(float64(math.Float32frombits(native.Uint32(elems[4*i:]))))
			}
		}
	case dtype.Float64:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = rankOfFloat(math.Float64frombits(native.Uint64(elems[8*i:])))
			}
		}
	}
	number, n := numberOf(t), t.Size()
	if t.Kind() == dtype.KindFloat {
		return each(func(e []byte) uint64 { return rankOfFloat(number(e[:n:n])) })
	}
	// Integers of less than 8 bits.
	if t.Kind() == dtype.KindInt {
		return each(func(e []byte) uint64 { return uint64(int64(number(e[:n:n]))) ^ sign })
	}
	return each(func(e []byte) uint64 { return uint64(number(e[:n:n])) })
}

// numbersOf returns the scale of an array of numbers, which may be times or durations.
func numbersOf(ctx context.Context, a *zarr.Array) (*scale, error) {
	p, err := PackingOf(ctx, a)
	if err != nil {
		return nil, err
	}
	if IsCoordinate(a) {
		p = p.OfCoordinate()
	}
	s := numericScale(p.stored)
	// With a negative scale, values fall as the stored numbers rise.
	s.descending = p.scaled && p.scale < 0
	for _, elem := range p.Missing() {
		rank := make([]uint64, 1)
		s.load(rank, elem)
		s.absent = append(s.absent, rank[0])
	}
	u := UnitsOf(a)
	if t, ok := u.Times(); ok {
		s.order = p.orderOfTimes(t)
	} else {
		s.order = p.orderOfNumbers(u)
	}
	return s, nil
}

// valueOf returns the unpacked number of a rank.
func (p *Packing) valueOf(rank uint64) float64 {
	switch p.stored.Kind() {
	case dtype.KindInt:
		return p.value(float64(int64(rank ^ sign)))
	case dtype.KindUint:
		return p.value(float64(rank))
	}
	return p.value(floatOf(rank))
}

// orderOfTimes returns the order of numbers that are times.
func (p *Packing) orderOfTimes(t Times) func(string) (func(uint64) Order, error) {
	return func(text string) (func(uint64) Order, error) {
		period, err := parsePeriod(text, t.Calendar())
		return func(rank uint64) Order {
			// Integers are not rounded.
			if whole := int64(rank ^ sign); !p.scaled && p.stored.Kind() == dtype.KindInt {
				at, err := t.At(whole)
				return orderOfTime(period, at, err == nil, whole < 0)
			}
			x := p.valueOf(rank)
			at, err := t.AtFloat(x)
			return orderOfTime(period, at, err == nil, x < 0)
		}, err
	}
}

// orderOfTime returns the order of a time. ok is false for times that the calendar cannot
// represent. early then says on which side of all other times they lie.
func orderOfTime(period span[calendar.Instant], t calendar.Instant, ok, early bool) Order {
	switch {
	case !ok && early, ok && t.Compare(period.first) < 0:
		return Below
	case !ok, t.Compare(period.last) > 0:
		return Above
	}
	return Within
}

// orderOfNumbers returns the order of numbers, which may be durations.
func (p *Packing) orderOfNumbers(u Units) func(string) (func(uint64) Order, error) {
	unit, timed := timeUnits[u.Units]
	return func(text string) (func(uint64) Order, error) {
		why := u.Err() // why these times are not decoded
		if !p.scaled && !p.isFloat() && why == nil {
			if order := orderOfIntegers(p.stored, text); order != nil {
				return order, nil
			}
		}
		x, err := p.parse(text, unit, timed)
		// A whole number may be meant as a year.
		if why != nil && (err != nil || !strings.Contains(text, ".")) {
			err = invalid("its times are left as numbers: %w; compare them with a number with a decimal point", why)
		}
		slack := 0.0
		if p.scaled { // in floating point, 3 times 0.1 differs from 0.3
			slack = math.Abs(p.scale) * 1e-6
		}
		return func(rank uint64) Order { return orderOf(p.valueOf(rank), x-slack, x+slack) }, err
	}
}

func orderOf(x, first, last float64) Order {
	switch {
	case x < first:
		return Below
	case x > last:
		return Above
	}
	return Within
}

// orderOfIntegers compares integers with an integer, without rounding. It returns nil if
// the text is not an integer.
func orderOfIntegers(t dtype.Type, text string) func(uint64) Order {
	if x, err := strconv.ParseFloat(text, 64); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<63 && strings.ContainsAny(text, ".eE") {
		text = strconv.FormatInt(int64(x), 10) // 1e18 is exact
	}
	var want uint64
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && t.Kind() == dtype.KindInt {
		want = uint64(n) ^ sign
	} else if want, err = strconv.ParseUint(text, 10, 64); err != nil || t.Kind() != dtype.KindUint {
		return nil
	}
	return func(rank uint64) Order { return Order(cmp.Compare(rank, want)) }
}

// boolScale returns the scale of bools.
func boolScale() *scale {
	s := &scale{stored: dtype.Bool, most: 1}
	s.load = func(dst []uint64, elems []byte) {
		for i := range dst {
			dst[i] = uint64(elems[i])
		}
	}
	s.order = func(text string) (func(uint64) Order, error) {
		value, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil || len(text) < len("true") {
			return nil, invalid("%q is neither true nor false", text)
		}
		want := uint64(0)
		if value {
			want = 1
		}
		return func(rank uint64) Order { return Order(cmp.Compare(rank, want)) }, nil
	}
	return s
}

// tickScale returns the scale of datetime64 or timedelta64, without an order.
func tickScale(t dtype.Type) *scale {
	nat := uint64(1<<63) ^ sign
	return &scale{stored: t, load: loader(dtype.Int64), least: nat + 1, most: math.MaxUint64, absent: []uint64{nat}}
}

// momentScale returns the scale of datetime64.
func momentScale(t dtype.Type) *scale {
	const real = calendar.ProlepticGregorian
	s := tickScale(t)
	s.order = func(text string) (func(uint64) Order, error) {
		period, err := parsePeriod(text, real)
		return func(rank uint64) Order {
			elem := binary.NativeEndian.AppendUint64(nil, rank^sign)
			at, err := calendar.ParseInstant(string(t.AppendText(nil, elem)), real)
			return orderOfTime(period, at, err == nil, rank < sign)
		}, err
	}
	return s
}

// durationScale returns the scale of timedelta64.
func durationScale(t dtype.Type) (*scale, error) {
	if step := t.Step(); step.Unit == "M" || step.Unit == "Y" || step.Unit == "generic" {
		return nil, invalid("elements of type %s have no fixed duration", t)
	}
	s := tickScale(t)
	s.order = func(text string) (func(uint64) Order, error) {
		want, err := parseLead(t, text)
		return func(rank uint64) Order {
			d, ok := t.Duration(int64(rank ^ sign))
			if !ok { // too long
				return Order(cmp.Compare(rank, sign))
			}
			return Order(cmp.Compare(d, want))
		}, err
	}
	return s, nil
}
