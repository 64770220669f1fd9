// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"math"
	"strings"

	"varve.dev/zarr/cf"
	"varve.dev/zarr/cf/calendar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// times are the units of a coordinate.
type times struct {
	text   string // the attribute units
	isTime bool
	packed bool // numbers have a scale or an offset, or are not those of the type
	units  cf.Times
}

// timesOf returns the units of an array. Bounds have those of their coordinate, which is
// nil for other arrays, as far as they have none of their own.
func timesOf(a, of *Array) times {
	if of == nil {
		of = a
	}
	said := func(name string) string { return cmp.Or(textAttribute(a, name), textAttribute(of, name)) }
	t := times{text: said("units")}
	for _, name := range []string{"scale_factor", "add_offset", "_Unsigned"} {
		for _, x := range []*Array{a, of} {
			_, ok, err := metadata.Attribute(x.Document.Attributes, name)
			t.packed = t.packed || ok && err == nil
		}
	}
	if !strings.Contains(t.text, " since ") {
		return t
	}
	cal, err := calendar.Parse(said("calendar"))
	if err == nil {
		t.units.Units, err = calendar.ParseUnits(t.text, cal)
	}
	t.isTime = err == nil // other units are only compared
	return t
}

// isSameUnit reports whether two units have one name, or synonyms that are no times.
func (t times) isSameUnit(o times) bool {
	return t.text == o.text || !t.isTime && !o.isTime && cf.Units{Units: t.text}.Alike(cf.Units{Units: o.text})
}

// spacing returns the distance between floats of a size in bytes around v.
func spacing(v float64, size int) float64 {
	digits := map[int]int{2: 10, 4: 23, 8: 52}[size]
	_, exponent := math.Frexp(v)
	return math.Ldexp(1, exponent-1-digits)
}

// disordered reports whether values do not go on in the order of those that are there:
// rising or falling from the last ones. A single one does not repeat.
func (c *coordinate) disordered(more []byte) bool {
	size := c.typ.Size()
	if len(c.values) < size || len(more) < size {
		return false
	}
	number := func(b []byte) float64 {
		if c.typ.Kind() == dtype.KindFloat {
			return floatOf(b[:size])
		}
		return float64(integerOf(b[:size], c.typ.Kind() == dtype.KindUint))
	}
	last, next := number(c.values[len(c.values)-size:]), number(more)
	if len(c.values) < 2*size { // files of one time each: times rise
		return next == last || c.isTime && next < last
	}
	before := number(c.values[len(c.values)-2*size:])
	return last > before && next <= last || last < before && next >= last
}
