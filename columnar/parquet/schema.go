// SPDX-License-Identifier: Apache-2.0

package parquet

import (
	"encoding/binary"
	"slices"
	"strings"

	"varve.dev/zarr/columnar"
)

// leaf is a column of a file.
type leaf struct {
	field    columnar.Field
	path     []string
	physical int64
	// width is the size of a stored value in bytes, with a byte for a Boolean, or 0 for
	// byte arrays.
	width int
	// element is the type of the values: that of the field, or of the elements of its
	// lists.
	element columnar.Type
	// The highest levels, and the definition level of an element of a list, valid or not.
	mostDef, mostRep, inList uint32
	// convert makes elements of stored values, or of one if they are byte arrays. nil if
	// they are the same.
	convert func(dst, src []byte) error
	err     error // if the column is not supported
}

// leafMemory is about the memory of a column, without its name.
const leafMemory = 512

// place is where a walk through the schema stands.
type place struct {
	path []string
	name string // of the column, by its path up to the list
	def  uint32
	err  error // why columns here are not supported
}

// leaves returns the columns of a schema.
func leaves(schema []schemaElement, b *budget) ([]*leaf, error) {
	if len(schema) == 0 || schema[0].children < 0 {
		return nil, corruptf("a file without a schema")
	}
	w := &schemaWalk{rest: schema[1:], budget: b}
	for range schema[0].children {
		if err := w.element(place{}, 0); err != nil {
			return nil, err
		}
	}
	if len(w.rest) != 0 {
		return nil, corruptf("a schema with fields that belong to no group, number: %d", len(w.rest))
	}
	return w.leaves, nil
}

type schemaWalk struct {
	rest   []schemaElement
	leaves []*leaf
	budget *budget
}

func (w *schemaWalk) next() (*schemaElement, error) {
	if len(w.rest) == 0 {
		return nil, corruptf("a schema that ends within a group")
	}
	s := &w.rest[0]
	w.rest = w.rest[1:]
	if s.repetition < required || s.repetition > repeated || (s.physical < 0) != (s.children > 0) {
		return nil, corruptf("field %q of the schema is neither a column nor a group", s.name)
	}
	return s, nil
}

// element goes through a field and those in it.
func (w *schemaWalk) element(p place, depth int) error {
	if depth > mostDepth {
		return unsupportedf("groups more than %d deep", mostDepth)
	}
	s, err := w.next()
	if err != nil {
		return err
	}
	p.path = append(slices.Clip(p.path), s.name)
	// The name of a group is in those of all its fields.
	p.name = strings.Join(p.path, ".")
	if err := w.budget.reserve(leafMemory + int64(len(p.name))); err != nil {
		return err
	}
	if s.repetition != required {
		p.def++
	}
	switch {
	case s.repetition == repeated && s.physical >= 0: // a list of the oldest form
		w.add(p, s, &columnar.Field{Name: s.name}, p.def)
		return nil
	case s.physical >= 0:
		w.add(p, s, nil, 0)
		return nil
	case p.err != nil:
	case s.isMap():
		p.err = unsupportedf("a map")
	case s.repetition == repeated:
		p.err = errGroups
	case s.logical.number == logicalVariant:
		p.err = unsupportedf("a variant")
	case s.isList() && s.children == 1:
		return w.list(p, depth)
	}
	for range s.children {
		if err := w.element(p, depth+1); err != nil {
			return err
		}
	}
	return nil
}

var errGroups = unsupportedf("lists of lists or of groups")

func (s *schemaElement) isMap() bool {
	return s.logical.number == logicalMap || s.converted == convertedMap || s.converted == convertedMapKeyValue
}

func (s *schemaElement) isList() bool {
	return s.logical.number == logicalList || s.converted == convertedList
}

// list goes through what is in a group with the annotation of a list. By the rules of the
// specification it has two levels or three.
func (w *schemaWalk) list(p place, depth int) error {
	s, err := w.next()
	if err != nil {
		return err
	}
	list := p.path[len(p.path)-1]
	p.path = append(slices.Clip(p.path), s.name)
	p.def++
	inList := p.def
	switch {
	case s.repetition != repeated:
		return corruptf("list %q of the schema has no repeated field", p.name)
	case s.physical >= 0: // two levels
		w.add(p, s, &columnar.Field{Name: s.name}, inList)
		return nil
	case s.children == 1 && s.name != "array" && s.name != list+"_tuple" && len(w.rest) > 0 && w.rest[0].physical >= 0 && w.rest[0].repetition != repeated:
		e, err := w.next()
		if err != nil {
			return err
		}
		p.path = append(slices.Clip(p.path), e.name)
		f := &columnar.Field{Name: e.name, Nullable: e.repetition == optional}
		if f.Nullable {
			p.def++
		}
		w.add(p, e, f, inList)
		return nil
	}
	p.err = errGroups
	for range s.children {
		if err := w.element(p, depth+2); err != nil {
			return err
		}
	}
	return nil
}

// add adds a column, or one of lists with the given elements.
func (w *schemaWalk) add(p place, s *schemaElement, element *columnar.Field, inList uint32) {
	l := &leaf{path: p.path, physical: s.physical, mostDef: p.def, inList: inList, err: p.err}
	l.field.Name = p.name
	if l.err == nil {
		l.err = l.setType(s)
	}
	l.field.Type, l.field.Nullable = l.element, p.def > 0
	if element != nil {
		l.mostRep = 1
		element.Type = l.element
		l.field.Type, l.field.Nullable = columnar.Type{Kind: columnar.List, Element: element}, inList > 1
	}
	w.leaves = append(w.leaves, l)
}

// annotation returns the logical type of a column, also if it has a converted type.
func (s *schemaElement) annotation() logicalType {
	switch c := s.converted; {
	case s.logical.number != 0:
		return s.logical
	case c == convertedUTF8:
		return logicalType{number: logicalString}
	case c == convertedEnum:
		return logicalType{number: logicalEnum}
	case c == convertedJSON:
		return logicalType{number: logicalJSON}
	case c == convertedDecimal:
		return logicalType{number: logicalDecimal, scale: s.scale, precision: s.precision}
	case c == convertedDate:
		return logicalType{number: logicalDate}
	case c == convertedTimeMillis, c == convertedTimeMicros:
		return logicalType{number: logicalTime, unit: int16(c-convertedTimeMillis) + 1, utc: yes}
	case c == convertedTimestampMillis, c == convertedTimestampMicros:
		return logicalType{number: logicalTimestamp, unit: int16(c-convertedTimestampMillis) + 1, utc: yes}
	case c >= convertedUint8 && c < convertedInt8:
		return logicalType{number: logicalInteger, width: 8 << (c - convertedUint8), signed: no}
	case c >= convertedInt8 && c <= convertedInt64:
		return logicalType{number: logicalInteger, width: 8 << (c - convertedInt8), signed: yes}
	}
	return logicalType{}
}

// setType sets the type of the values. An annotation that does not fit what is stored is
// ignored.
func (l *leaf) setType(s *schemaElement) error {
	a := s.annotation()
	if a.number == logicalDecimal {
		return l.setDecimal(s, a)
	}
	units := a.unit >= 1 && a.unit <= 3
	u := columnar.Unit(a.unit)
	t := &l.element
	switch s.physical {
	case physicalBoolean:
		l.width, t.Kind = 1, columnar.Bool
	case physicalInt32:
		l.width, t.Kind = 4, columnar.Int32
		switch {
		case a.number == logicalDate:
			t.Kind = columnar.Date
		case a.number == logicalTime && a.unit == 1:
			*t, l.convert = columnar.Type{Kind: columnar.Time, Unit: columnar.Millisecond}, widenTimes
		case a.number == logicalInteger && a.width == 32 && a.signed == no:
			t.Kind = columnar.Uint32
		case a.number == logicalInteger && (a.width == 8 || a.width == 16):
			l.setNarrow(int(a.width/8), a.signed == yes)
		}
	case physicalInt64:
		l.width, t.Kind = 8, columnar.Int64
		switch {
		case a.number == logicalTime && units && a.unit > 1:
			*t = columnar.Type{Kind: columnar.Time, Unit: u}
		case a.number == logicalTimestamp && units:
			*t = columnar.Type{Kind: columnar.Timestamp, Unit: u, UTC: a.utc == yes}
		case a.number == logicalInteger && a.width == 64 && a.signed == no:
			t.Kind = columnar.Uint64
		}
	case physicalInt96:
		l.width, l.convert = 12, convertInt96
		*t = columnar.Type{Kind: columnar.Timestamp, Unit: columnar.Nanosecond}
	case physicalFloat:
		l.width, t.Kind = 4, columnar.Float32
	case physicalDouble:
		l.width, t.Kind = 8, columnar.Float64
	case physicalByteArray:
		t.Kind = columnar.Binary
		if n := a.number; n == logicalString || n == logicalEnum || n == logicalJSON {
			t.Kind = columnar.String
		}
	case physicalFixed:
		if s.length <= 0 {
			return corruptf("values of %d bytes", s.length)
		}
		l.width = int(s.length)
		*t = columnar.Type{Kind: columnar.FixedBinary, Width: l.width}
		if a.number == logicalFloat16 && l.width == 2 {
			*t = columnar.Type{Kind: columnar.Float16}
		}
	default:
		return corruptf("values of type %d", s.physical)
	}
	return nil
}

// setNarrow makes the values integers of one or two bytes, which are stored in four.
func (l *leaf) setNarrow(bytes int, signed bool) {
	l.element.Kind = [...]columnar.Kind{columnar.Uint8, columnar.Uint16}[bytes-1]
	least, most := int64(0), int64(1)<<(8*bytes)-1
	if signed {
		l.element.Kind = [...]columnar.Kind{columnar.Int8, columnar.Int16}[bytes-1]
		least, most = -1<<(8*bytes-1), 1<<(8*bytes-1)-1
	}
	kind := l.element.Kind
	l.convert = func(dst, src []byte) error {
		for i := 0; i < len(src); i += 4 {
			x := int32(binary.LittleEndian.Uint32(src[i:]))
			if int64(x) < least || int64(x) > most {
				return corruptf("the value %d in a column of type %v", x, kind)
			}
			dst[i/4*bytes] = byte(x)
			if bytes == 2 {
				dst[i/2+1] = byte(x >> 8)
			}
		}
		return nil
	}
}

// setDecimal makes the values decimal numbers.
func (l *leaf) setDecimal(s *schemaElement, a logicalType) error {
	const mostDigits = 38
	if a.precision < 1 || a.precision > mostDigits || a.scale < 0 || a.scale > a.precision {
		return unsupportedf("decimal numbers with %d digits, %d of them in the fraction; at most %d are read", a.precision, a.scale, mostDigits)
	}
	l.element = columnar.Type{Kind: columnar.Decimal, Precision: int(a.precision), Scale: int(a.scale)}
	switch s.physical {
	case physicalInt32, physicalInt64:
		l.width = 4 * int(s.physical)
		l.convert = l.convertIntegers
	case physicalFixed:
		l.width = int(s.length)
		if l.width <= 0 {
			return corruptf("values of %d bytes", s.length)
		}
		l.convert = l.convertFixed
	case physicalByteArray:
		l.convert = convertDecimal
	default:
		return corruptf("decimal numbers of type %d", s.physical)
	}
	return nil
}

func (l *leaf) convertIntegers(dst, src []byte) error {
	for ; len(src) > 0; dst, src = dst[16:], src[l.width:] {
		x := int64(int32(binary.LittleEndian.Uint32(src)))
		if l.width == 8 {
			x = int64(binary.LittleEndian.Uint64(src))
		}
		binary.LittleEndian.PutUint64(dst, uint64(x))
		binary.LittleEndian.PutUint64(dst[8:], uint64(x>>63))
	}
	return nil
}

func (l *leaf) convertFixed(dst, src []byte) error {
	for ; len(src) > 0; dst, src = dst[16:], src[l.width:] {
		if err := convertDecimal(dst[:16], src[:l.width]); err != nil {
			return err
		}
	}
	return nil
}

// convertDecimal makes a little endian number of 16 bytes of a big endian one.
func convertDecimal(dst, src []byte) error {
	sign := byte(0)
	if len(src) > 0 && src[0] >= 0x80 {
		sign = 0xff
	}
	for ; len(src) > 16; src = src[1:] { // which repeat the sign
		if src[0] != sign || (src[1]^sign)&0x80 != 0 {
			return corruptf("a decimal number of more than 16 bytes")
		}
	}
	for i := range dst[:16] {
		dst[i] = sign
		if i < len(src) {
			dst[i] = src[len(src)-1-i]
		}
	}
	return nil
}

func widenTimes(dst, src []byte) error {
	for ; len(src) > 0; dst, src = dst[8:], src[4:] {
		binary.LittleEndian.PutUint64(dst, uint64(int64(int32(binary.LittleEndian.Uint32(src)))))
	}
	return nil
}

// convertInt96 makes nanoseconds since 1970 of the timestamps of old writers: nanoseconds
// of a day, and its Julian number.
func convertInt96(dst, src []byte) error {
	const epoch, day = 2440588, 86400e9
	for ; len(src) > 0; dst, src = dst[8:], src[12:] {
		nanos, days := binary.LittleEndian.Uint64(src), int64(binary.LittleEndian.Uint32(src[8:]))-epoch
		// 106751 days before and after 1970 are those that have 64 bits.
		if nanos >= 2*day || days < -106751 || days > 106750 {
			return unsupportedf("a timestamp on day %d since 1970, which nanoseconds of 64 bits cannot have", days)
		}
		binary.LittleEndian.PutUint64(dst, uint64(days*day+int64(nanos)))
	}
	return nil
}
