// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
)

// scale orders the elements of a type by their ranks: integers that rise with the stored
// numbers. What a number stands for, such as a date, rises or falls with it. So the
// elements that equal a value have consecutive ranks, which are searched for once. Then
// an element is compared as an integer, and without rounding.
type scale struct {
	load        func(dst []uint64, elems []byte)
	least, most uint64   // the ranks of numbers
	absent      []uint64 // the ranks of missing elements, and of NaN
	falls       bool     // values fall with the ranks
	// order parses a value, and returns the order of a rank beside it.
	order func(text string) (func(rank uint64) Order, error)
}

// nanRank is the rank of NaN. No other float has it.
const nanRank = math.MaxUint64

// bounds returns the ranks within a value.
func (s *scale) bounds(order func(uint64) Order) Value {
	v := Value{falls: s.falls, given: true}
	rising := func(rank uint64) Order {
		if s.falls {
			return -order(rank)
		}
		return order(rank)
	}
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

// search returns the least rank for which is returns true. There is none if is returns
// false for the largest one.
func (s *scale) search(is func(uint64) bool) (uint64, bool) {
	low, high := s.least, s.most
	if !is(high) {
		return 0, false
	}
	for low < high {
		if middle := low + (high-low)/2; is(middle) {
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
	if v.falls {
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
	b := math.Float64bits(x + 0) // -0 becomes 0
	switch {
	case x != x:
		return nanRank
	case b&sign != 0:
		return ^b
	}
	return b | sign
}

// floatOf returns the float of a rank.
func floatOf(rank uint64) float64 {
	if rank&sign != 0 {
		return math.Float64frombits(rank &^ sign)
	}
	return math.Float64frombits(^rank)
}

// ranked returns the scale of a numeric type, without an order.
func ranked(t dtype.Type) *scale {
	s, bits := &scale{load: loader(t)}, 8*t.Size()
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
	switch t {
	case dtype.Int8:
		return each(func(e []byte) uint64 { return uint64(int8(e[0])) ^ sign })
	case dtype.Int16:
		return each(func(e []byte) uint64 { return uint64(int16(native.Uint16(e))) ^ sign })
	case dtype.Int32:
		return each(func(e []byte) uint64 { return uint64(int32(native.Uint32(e))) ^ sign })
	case dtype.Int64:
		return func(dst []uint64, elems []byte) {
			for i := range dst {
				dst[i] = native.Uint64(elems[8*i:]) ^ sign
			}
		}
	case dtype.Uint8:
		return each(func(e []byte) uint64 { return uint64(e[0]) })
	case dtype.Uint16:
		return each(func(e []byte) uint64 { return uint64(native.Uint16(e)) })
	case dtype.Uint32:
		return each(func(e []byte) uint64 { return uint64(native.Uint32(e)) })
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
	s := ranked(p.stored)
	s.falls = p.scaled && p.scale < 0
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
		is, err := parsePeriod(text, t.Calendar())
		return func(rank uint64) Order {
			// Integers are not rounded.
			if whole := int64(rank ^ sign); !p.scaled && p.stored.Kind() == dtype.KindInt {
				at, err := t.At(whole)
				return orderOfTime(is, at, err == nil, whole < 0)
			}
			x := p.valueOf(rank)
			at, err := t.AtFloat(x)
			return orderOfTime(is, at, err == nil, x < 0)
		}, err
	}
}

// orderOfTime returns the order of a time. Outside of the years that the calendar counts,
// only early tells it.
func orderOfTime(is span[calendar.Instant], t calendar.Instant, ok, early bool) Order {
	switch {
	case !ok && early, ok && t.Compare(is.first) < 0:
		return Below
	case !ok, t.Compare(is.last) > 0:
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

// orderOfIntegers returns the order of integers beside an integer, or nil if the text is
// none. It rounds nothing.
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

// truths returns the scale of bools.
func truths() *scale {
	s := &scale{most: 1}
	s.load = func(dst []uint64, elems []byte) {
		for i := range dst {
			dst[i] = uint64(elems[i])
		}
	}
	s.order = func(text string) (func(uint64) Order, error) {
		is, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil || len(text) < len("true") {
			return nil, invalid("%q is neither true nor false", text)
		}
		want := uint64(0)
		if is {
			want = 1
		}
		return func(rank uint64) Order { return Order(cmp.Compare(rank, want)) }, nil
	}
	return s
}

// counted returns the scale of datetime64 or timedelta64, without an order.
func counted() *scale {
	nat := uint64(1<<63) ^ sign
	return &scale{load: loader(dtype.Int64), least: nat + 1, most: math.MaxUint64, absent: []uint64{nat}}
}

// moments returns the scale of datetime64.
func moments(t dtype.Type) *scale {
	const real = calendar.ProlepticGregorian
	s := counted()
	s.order = func(text string) (func(uint64) Order, error) {
		is, err := parsePeriod(text, real)
		return func(rank uint64) Order {
			elem := binary.NativeEndian.AppendUint64(nil, rank^sign)
			at, err := calendar.ParseInstant(string(t.AppendText(nil, elem)), real)
			return orderOfTime(is, at, err == nil, rank < sign)
		}, err
	}
	return s
}

// durations returns the scale of timedelta64.
func durations(t dtype.Type) (*scale, error) {
	if step := t.Step(); step.Unit == "M" || step.Unit == "Y" || step.Unit == "generic" {
		return nil, invalid("elements of type %s have no fixed duration", t)
	}
	s := counted()
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
