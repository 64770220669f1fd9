// SPDX-License-Identifier: Apache-2.0

package tables

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/columnar"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/export"
)

// column makes a column of the elements of an array.
type column struct {
	field columnar.Field
	part  export.Field // or the element
	size  int          // bytes of an element of the array, if it is fixed
	scale int64        // of times: the units of the column in a step of the array
	// months says of times that they count months, scale of them.
	months bool
}

// newColumn returns the column of an element, or of a field of the elements of type t.
func newColumn(p export.Field, t dtype.Type) (*column, error) {
	c := &column{part: p}
	if !t.Variable() {
		c.size = t.Size()
	}
	kind := &c.field.Type.Kind
	switch k := p.Type.Kind(); k {
	case dtype.KindBool:
		*kind = columnar.Bool
	case dtype.KindInt:
		*kind = map[int]columnar.Kind{1: columnar.Int8, 2: columnar.Int16, 4: columnar.Int32, 8: columnar.Int64}[p.Type.Size()]
	case dtype.KindUint:
		*kind = map[int]columnar.Kind{1: columnar.Uint8, 2: columnar.Uint16, 4: columnar.Uint32, 8: columnar.Uint64}[p.Type.Size()]
	case dtype.KindFloat:
		switch {
		case p.Type == dtype.Of[dtype.Float16]():
			*kind = columnar.Float16
		case p.Type == dtype.Float64:
			*kind = columnar.Float64
		case p.Type.Size() <= 4:
			*kind = columnar.Float32
		}
	case dtype.KindString, dtype.KindUTF32:
		*kind = columnar.String
	case dtype.KindBytes, dtype.KindTerminated:
		*kind = columnar.Binary
	case dtype.KindRaw:
		*kind, c.field.Type.Width = columnar.FixedBinary, p.Type.Size()
	case dtype.KindDatetime, dtype.KindTimedelta:
		return c, c.times(k == dtype.KindDatetime)
	}
	if *kind == 0 {
		of := ""
		if p.Name != "" {
			of = "field " + p.Name + ": "
		}
		return nil, unfit("%selements of type %s have no type in tables: export them as npy, or as raw", of, p.Type)
	}
	return c, nil
}

// times sets the type of a column of moments or durations.
func (c *column) times(moments bool) error {
	c.field.Nullable = true // NaT
	c.field.Type.Kind = columnar.Duration
	if moments {
		c.field.Type.Kind = columnar.Timestamp
	}
	step := c.part.Type.Step()
	c.scale = int64(step.Factor)
	switch step.Unit {
	case "ns":
		c.field.Type.Unit = columnar.Nanosecond
	case "us":
		c.field.Type.Unit = columnar.Microsecond
	case "ms":
		c.field.Type.Unit = columnar.Millisecond
	case "Y", "M":
		if c.months = moments; step.Unit == "Y" {
			c.scale *= 12
		}
	}
	seconds, known := map[string]int64{"W": 7 * 86400, "D": 86400, "h": 3600, "m": 60, "s": 1, "ms": 1, "us": 1, "ns": 1}[step.Unit]
	if !known && !c.months {
		return unfit("elements of type %s have no type in tables, which count from seconds to nanoseconds: export them as npy", c.part.Type)
	}
	c.scale *= max(1, seconds)
	return nil
}

// made is what a column has made of the elements of a block. Its memory is used again.
type made struct {
	columnar.Column
	valid []byte
}

// make fills m with the elements of a block. absent are the missing ones, or nil.
func (c *column) make(m *made, e export.Values, absent []byte) error {
	m.Column = columnar.Column{Rows: e.Len(), Data: m.Data[:0], Offsets: m.Offsets[:0]}
	if absent != nil {
		m.valid = append(m.valid[:0], absent...)
		m.Valid = m.valid
	}
	switch t := c.part.Type; {
	case c.field.Type.Kind == columnar.String || c.field.Type.Kind == columnar.Binary:
		return c.texts(m, e)
	case t.Kind() == dtype.KindDatetime || t.Kind() == dtype.KindTimedelta:
		return c.moments(m, e)
	case c.field.Type.Kind == columnar.Float32 && t != dtype.Float32:
		m.Data = slices.Grow(m.Data, 4*m.Rows)[:4*m.Rows]
		if m.Rows > 0 {
			t.Float32s(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(m.Data))), m.Rows), c.gathered(e))
		}
	case t.Size() == c.size:
		m.Data = append(m.Data, e.Data...)
	default:
		m.Data = c.append(m.Data, e)
	}
	// Tables are little endian.
	export.LittleEndian(little(c.part.Type, c.field.Type.Kind), m.Data)
	return nil
}

// little returns the type in which the elements of a column are.
func little(t dtype.Type, k columnar.Kind) dtype.Type {
	if k == columnar.Float32 {
		return dtype.Float32
	}
	return t
}

// gathered returns the elements of a field side by side.
func (c *column) gathered(e export.Values) []byte {
	if c.part.Type.Size() == c.size {
		return e.Data
	}
	return c.append(nil, e)
}

// append appends the elements of a field.
func (c *column) append(dst []byte, e export.Values) []byte {
	n := c.part.Type.Size()
	for at := c.part.At; at < len(e.Data); at += c.size {
		dst = append(dst, e.Data[at:at+n]...)
	}
	return dst
}

// texts fills m with elements of any length.
func (c *column) texts(m *made, e export.Values) error {
	m.Offsets = append(m.Offsets, 0)
	for i := range m.Rows {
		if m.IsValid(i) {
			elem := e.At(i)
			switch c.part.Type.Kind() {
			case dtype.KindUTF32:
				m.Data = c.part.Type.AppendText(m.Data, c.of(elem))
			case dtype.KindTerminated:
				m.Data = append(m.Data, bytes.TrimRight(c.of(elem), "\x00")...)
			case dtype.KindString:
				if !utf8.Valid(elem) {
					return fmt.Errorf("%w: the text %q is not UTF-8, which tables have", zarr.ErrUnsupported, clip(elem))
				}
				m.Data = append(m.Data, elem...)
			default:
				m.Data = append(m.Data, elem...)
			}
		}
		m.Offsets = append(m.Offsets, int64(len(m.Data)))
	}
	return nil
}

// of returns the field of an element.
func (c *column) of(elem []byte) []byte { return elem[c.part.At : c.part.At+c.part.Type.Size()] }

// clip shortens a text for a message.
func clip(text []byte) []byte { return text[:min(len(text), 40)] }

// moments fills m with times in the unit of the column. NaT is null.
func (c *column) moments(m *made, e export.Values) error {
	for i := range m.Rows {
		n := int64(binary.NativeEndian.Uint64(c.of(e.At(i))))
		switch made := n * c.scale; {
		case n == dtype.NaT:
			m.setNull(i)
		case n > math.MaxInt64/c.scale || n < -math.MaxInt64/c.scale || c.months && max(made, -made) > 1e12:
			return fmt.Errorf("%w: %d of %s has no number in %v", zarr.ErrOverflow, n, c.part.Type, c.field.Type)
		case c.months:
			n = time.Date(1970, time.Month(1+made), 1, 0, 0, 0, 0, time.UTC).Unix()
		default:
			n = made
		}
		m.Data = binary.LittleEndian.AppendUint64(m.Data, uint64(n))
	}
	return nil
}

// setNull makes a row null.
func (m *made) setNull(row int) {
	if m.Valid == nil {
		m.valid = allValid(m.valid[:0], m.Rows)
		m.Valid = m.valid
	}
	m.Valid[row>>3] &^= 1 << (row & 7)
}

// allValid appends a bitmap of rows that have values.
func allValid(dst []byte, rows int) []byte {
	for range (rows + 7) / 8 {
		dst = append(dst, 0xff)
	}
	return dst
}

// absence finds the missing elements of an array.
type absence struct {
	typ   dtype.Type // of the stored elements
	words [][]byte   // elements that are missing
	nan   bool       // and each NaN
	valid []byte
}

// absenceOf returns what is missing in an array, or nil if its attributes do not say so.
func absenceOf(ctx context.Context, s *export.Source) (*absence, error) {
	filled, err := cf.MasksFill(ctx, s.Array)
	if err != nil {
		return nil, err
	}
	a := &absence{typ: s.Stored}
	// Fields of structs have no missing values, and booleans of xarray have none.
	if s.Stored != s.Array.Type() || s.Decoding != nil && s.Type == dtype.Bool {
		return nil, nil
	}
	for elem := range cf.Missing(s.Array.Metadata(), filled) {
		// Zero is often the fill value of format 2, and a coordinate that is there.
		if cf.IsCoordinate(s.Array) && bytes.Count(elem, []byte{0}) == len(elem) && !s.Stored.Variable() {
			continue
		}
		a.words = append(a.words, elem)
		if s.Stored.Kind() != dtype.KindFloat {
			continue
		}
		switch number := numberOf(s.Stored, elem); {
		case math.IsNaN(number):
			a.nan = true
		case number == 0: // and the other zero
			other := bytes.Clone(elem)
			high := len(other) - 1
			if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
				high = 0
			}
			other[high] ^= 0x80
			a.words = append(a.words, other)
		}
	}
	if len(a.words) == 0 {
		return nil, nil
	}
	return a, nil
}

// numberOf returns the number of a float.
func numberOf(t dtype.Type, elem []byte) float64 {
	if t == dtype.Float64 {
		return math.Float64frombits(binary.NativeEndian.Uint64(elem))
	}
	var number [1]float32
	t.Float32s(number[:], elem)
	return float64(number[0])
}

// of returns the bitmap of the elements of a block that have values, or nil if all have.
// It is valid until the next call.
func (a *absence) of(e export.Values) []byte {
	if a == nil {
		return nil
	}
	found := false
	clear := func(i int) {
		if !found {
			found, a.valid = true, allValid(a.valid[:0], e.Len())
		}
		a.valid[i>>3] &^= 1 << (i & 7)
	}
	for _, word := range a.words {
		switch {
		case e.Type.Variable() || len(word) != 2 && len(word) != 4 && len(word) != 8:
			for i := range e.Len() {
				if bytes.Equal(e.At(i), word) {
					clear(i)
				}
			}
		case len(word) == 2:
			for w, i := binary.NativeEndian.Uint16(word), 0; i < len(e.Data); i += 2 {
				if binary.NativeEndian.Uint16(e.Data[i:]) == w {
					clear(i / 2)
				}
			}
		case len(word) == 4:
			for w, i := binary.NativeEndian.Uint32(word), 0; i < len(e.Data); i += 4 {
				if binary.NativeEndian.Uint32(e.Data[i:]) == w {
					clear(i / 4)
				}
			}
		default:
			for w, i := binary.NativeEndian.Uint64(word), 0; i < len(e.Data); i += 8 {
				if binary.NativeEndian.Uint64(e.Data[i:]) == w {
					clear(i / 8)
				}
			}
		}
	}
	if a.nan {
		a.clearNaN(e, clear)
	}
	if !found {
		return nil
	}
	return a.valid
}

// clearNaN calls clear for each NaN.
func (a *absence) clearNaN(e export.Values, clear func(int)) {
	switch a.typ {
	case dtype.Float32:
		for i := 0; i < len(e.Data); i += 4 {
			if binary.NativeEndian.Uint32(e.Data[i:])&0x7fffffff > 0x7f800000 {
				clear(i / 4)
			}
		}
	case dtype.Float64:
		for i := 0; i < len(e.Data); i += 8 {
			if binary.NativeEndian.Uint64(e.Data[i:])&(1<<63-1) > 0x7ff<<52 {
				clear(i / 8)
			}
		}
	default:
		for i := range e.Len() {
			if math.IsNaN(numberOf(a.typ, e.At(i))) {
				clear(i)
			}
		}
	}
}
