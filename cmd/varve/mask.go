package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/strictjson"
)

// mask is which elements of an array stand for no value.
type mask struct {
	absent [][]byte // elements that do
	filled []byte   // the fill value of format 2 if it does, else nil
	masked bool     // the array has a missing value, even if no element can be it
	unmet  []string // missing values that no element can be, as "_FillValue -1"
}

// maskOf finds the elements of an array that stand for no value. As in xarray, the fill
// value of an array of format 2 wins over the attribute _FillValue, unless it is null.
// NaT is missing wherever numbers count time.
func (p packing) maskOf(a *zarr.Array, c counting) (m mask) {
	names := []string{missing.FillValue, missing.Value}
	if doc := a.Metadata(); a.Format() == 2 && !doc.HasNullFill() {
		names = names[1:]
		m.filled, m.masked = fillOf(a), true
	}
	for _, name := range names {
		v, err := attributeValue(a, name)
		if err != nil || v.IsZero() {
			continue
		}
		for _, raw := range missing.List(a.Type(), v.Raw()) {
			m.masked = true
			if elem := p.parseAbsent(a.Type(), name, raw); elem != nil {
				m.absent = append(m.absent, elem)
			} else {
				m.unmet = append(m.unmet, fmt.Sprintf("%s %s", name, strictjson.Abbreviate(string(raw))))
			}
		}
	}
	if p.stored == dtype.Of[int64]() && !p.scaled && c.isTime() {
		m.absent = append(m.absent, notATime)
	}
	return m
}

// fillOf returns the fill value of an array as an element.
func fillOf(a *zarr.Array) []byte {
	elem, err := a.FillValue().Element(a.Type())
	if err != nil {
		return a.Type().Default() // an array that is open has a valid one
	}
	return elem
}

// notATime is the number of int64 that stands for NaT, as in NumPy.
var notATime = binary.NativeEndian.AppendUint64(nil, 1<<63)

// parseAbsent returns the element that an attribute says is missing, nil where none can
// be it. Where _Unsigned turns numbers into others, _FillValue may be either number.
// missing_value is the one after that, as xarray has it.
func (p packing) parseAbsent(t dtype.Type, name string, raw []byte) []byte {
	elem, err := missing.Parse(p.stored, raw)
	if err != nil && p.stored != t && name == missing.FillValue {
		elem, err = missing.Parse(t, raw)
	}
	if err != nil {
		return nil
	}
	return elem
}

// isAbsent reports whether an element, of the given value, stands for no value. Floats
// are compared by value, as xarray does it: -0.0 is absent where 0.0 is.
func (p packing) isAbsent(elem []byte, value float64) bool {
	for _, absent := range p.absent {
		if p.equals(elem, value, absent) {
			return true
		}
	}
	return p.filled != nil && p.equals(elem, value, p.filled)
}

func (p packing) equals(elem []byte, value float64, absent []byte) bool {
	return bytes.Equal(elem, absent) || p.isFloat() && value == p.number(absent)
}

// hasValue reports whether an element is a number that is not missing.
func (p packing) hasValue(elem []byte) bool {
	value := p.number(elem)
	return !math.IsNaN(value) && !p.isAbsent(elem, value)
}

// ofCoordinate returns the packing of an array that is a coordinate, of which zero is
// never missing. It is the fill value that arrays of format 2 have where nobody chose
// one, which a conversion to format 3 makes the attribute _FillValue, and as often a
// latitude or a time: xarray takes it for missing, and nobody could select it.
func (p packing) ofCoordinate() packing {
	if isZero(p.filled) {
		p.filled = nil
	}
	p.absent = slices.DeleteFunc(slices.Clone(p.absent), isZero)
	return p
}

// isZero reports whether all bytes of an element are zero.
func isZero(elem []byte) bool { return bytes.Count(elem, []byte{0}) == len(elem) }

// tellUnmet tells people of missing values that no element can be, so that nothing is
// missing.
func tellUnmet(cmd *cobra.Command, location string, s *source) {
	if s.decoding == nil || len(s.decoding.unmet) == 0 {
		return
	}
	session.Note(cmd, location, fmt.Sprintf("no element of type %s is %s, so that is missing nowhere", s.decoding.stored, strings.Join(s.decoding.unmet, " or ")))
}
