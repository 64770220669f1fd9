// SPDX-License-Identifier: Apache-2.0

package arrow

import (
	"fmt"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"
	"varve.dev/zarr/columnar"
)

// The types, as Schema.fbs numbers them.
const (
	typeNull = 1 + iota
	typeInt
	typeFloat
	typeBinary
	typeUtf8
	typeBool
	typeDecimal
	typeDate
	typeTime
	typeTimestamp
	typeInterval
	typeList
	typeStruct
	typeUnion
	typeFixedBinary
	typeFixedList
	typeMap
	typeDuration
	typeLargeBinary
	typeLargeUtf8
	typeLargeList
	typeRunEnd
	typeBinaryView
	typeUtf8View
	typeListView
	typeLargeListView
)

// refused has the names of types that are not read.
var refused = map[int]string{
	typeInterval: "an interval", typeUnion: "a union", typeMap: "a map", typeRunEnd: "run-end encoded",
	typeListView: "a list view", typeLargeListView: "a list view",
}

// versions of the metadata. 4 differs from 5 in unions only.
const version4, version5 = 3, 4

// maxDepth bounds structs in structs.
const maxDepth = 32

// layout says how a field is stored.
type layout struct {
	field columnar.Field // of the column, or of the struct
	code  int            // of the type
	// width is the bytes of a stored element, where all have the same.
	width int
	// repeat is the elements of each list of a FixedSizeList.
	repeat   int
	children []*layout

	// values is that of the dictionary, or nil; then the field is of its indices.
	values *layout
	id     int64
	signed bool
}

// isList reports whether a field has lists.
func (l *layout) isList() bool {
	return l.code == typeList || l.code == typeLargeList || l.code == typeFixedList
}

// parser parses a schema.
type parser struct {
	dictionaries map[int64]*dictionary
	fields       []columnar.Field // of the columns that the fields become
}

// schema parses a schema. It returns the fields of the table, and notes those of the
// columns.
func (p *parser) schema(t table) (list []*layout, metadata []columnar.Pair, err error) {
	if t.number(0, 2, 0) != 0 {
		return nil, nil, fmt.Errorf("%w: the numbers are big endian; write the file on a little-endian machine", columnar.ErrUnsupported)
	}
	fields := t.vector(1, 4)
	for i := 0; i < fields.len && t.b.err == nil; i++ {
		l, err := p.layout(fields.table(i), "", false, 0)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, l)
	}
	metadata = t.pairs(2)
	if t.b.err != nil {
		return nil, nil, t.b.err
	}
	for _, l := range list {
		p.columns(l)
	}
	return list, metadata, nil
}

// columns notes the fields of the columns that a field becomes: more than one of a
// struct.
func (p *parser) columns(l *layout) {
	if l.code != typeStruct {
		p.fields = append(p.fields, l.field)
	}
	for _, c := range l.children {
		if l.code == typeStruct {
			p.columns(c)
		}
	}
}

// layout parses a field, which is in a struct of the name above, if any, and then may
// be null where that is.
func (p *parser) layout(t table, above string, nullable bool, depth int) (*layout, error) {
	l := &layout{field: columnar.Field{Name: above + t.text(0), Nullable: nullable || t.number(1, 1, 0) != 0, Metadata: t.pairs(6)}}
	if l.code = int(t.number(2, 1, 0)); t.b.err != nil {
		return nil, t.b.err
	}
	if depth > maxDepth {
		return nil, l.unsupported("is deeper in structs than %d", maxDepth)
	}
	if name := refused[l.code]; name != "" {
		return nil, l.unsupported("is %s; leave it out, or convert it before", name)
	}
	if err := p.typed(l, t.below(3)); err != nil {
		return nil, err
	}
	children := t.vector(5, 4)
	switch n := children.len; {
	case t.b.err != nil:
		return nil, t.b.err
	case l.isList() && n != 1 || l.code != typeStruct && !l.isList() && n != 0:
		return nil, fmt.Errorf("%w: column %q has a wrong number of fields: %d", columnar.ErrCorrupt, l.field.Name, n)
	}
	if err := p.below(l, children, depth); err != nil {
		return nil, err
	}
	if d := t.below(4); d.at != 0 {
		return p.encoded(l, d)
	}
	return l, t.b.err
}

func (l *layout) unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: column %q %s", columnar.ErrUnsupported, l.field.Name, fmt.Sprintf(format, args...))
}

// below parses the fields below a field.
func (p *parser) below(l *layout, children vector, depth int) error {
	above, nullable := "", false
	if l.code == typeStruct {
		above, nullable = l.field.Name+".", l.field.Nullable
	}
	for i := range children.len {
		c, err := p.layout(children.table(i), above, nullable, depth+1)
		if err != nil && l.isList() {
			return fmt.Errorf("%w (in the lists of column %q)", err, l.field.Name)
		}
		if err != nil {
			return err
		}
		if l.isList() {
			if c.isList() || c.code == typeStruct {
				return l.unsupported("has lists of lists or of structs; give each list its own column, or leave it out")
			}
			l.field.Type.Element = &c.field
		}
		l.children = append(l.children, c)
	}
	return nil
}

// encoded returns the layout of indices into a dictionary of values of a layout.
func (p *parser) encoded(values *layout, t table) (*layout, error) {
	index := t.below(1)
	l := &layout{field: values.field, code: typeInt, width: 4, values: values, id: t.number(0, 8, 0), signed: true}
	if index.at != 0 {
		l.width, l.signed = bytesOf(index.number(0, 4, 0)), index.number(1, 1, 0) != 0
	}
	switch known := p.dictionaries[l.id]; {
	case t.b.err != nil:
		return nil, t.b.err
	case values.isList() || values.code == typeStruct || values.code == typeNull:
		return nil, l.unsupported("has a dictionary of lists, of structs or of nulls")
	case !slices.Contains([]int{1, 2, 4, 8}, l.width):
		return nil, fmt.Errorf("%w: column %q has indices of a wrong length", columnar.ErrCorrupt, l.field.Name)
	case known == nil:
		p.dictionaries[l.id] = &dictionary{layout: values}
	case known.layout.code != values.code || known.layout.width != values.width || known.layout.field.Type != values.field.Type:
		return nil, fmt.Errorf("%w: columns %q and %q have one dictionary, and other types", columnar.ErrCorrupt, known.layout.field.Name, l.field.Name)
	}
	return l, nil
}

// typed sets the type of a layout of a code.
func (p *parser) typed(l *layout, t table) error {
	typ := &l.field.Type
	unit := columnar.Unit(t.number(0, 2, int64(columnar.Millisecond)))
	ok := true
	switch l.code {
	case typeNull: // it has no buffers, and becomes a column of nulls
		typ.Kind = columnar.Float64
	case typeInt:
		l.width = bytesOf(t.number(0, 4, 0))
		kinds := map[int]columnar.Kind{1: columnar.Int8, 2: columnar.Int16, 4: columnar.Int32, 8: columnar.Int64}
		if typ.Kind, ok = kinds[l.width]; ok && t.number(1, 1, 0) == 0 {
			typ.Kind += columnar.Uint8 - columnar.Int8
		}
	case typeFloat:
		precision := t.number(0, 2, 0)
		ok, l.width = precision >= 0 && precision <= 2, 2<<(precision&3)
		typ.Kind = columnar.Float16 + columnar.Kind(precision)
	case typeBinary, typeLargeBinary, typeBinaryView:
		typ.Kind = columnar.Binary
	case typeUtf8, typeLargeUtf8, typeUtf8View:
		typ.Kind = columnar.String
	case typeBool:
		typ.Kind = columnar.Bool
	case typeDecimal:
		typ.Kind, l.width = columnar.Decimal, bytesOf(t.number(2, 4, 128))
		typ.Precision, typ.Scale = int(t.number(0, 4, 0)), int(t.number(1, 4, 0))
		if typ.Precision > 38 {
			return l.unsupported("has decimals of a precision (%d) above 38: cast it, or leave it out", typ.Precision)
		}
		ok = typ.Precision > 0 && slices.Contains([]int{4, 8, 16, 32}, l.width) && typ.Scale >= -1000 && typ.Scale <= 1000
	case typeDate:
		// Date64 has milliseconds. Not all writers keep to whole days.
		if typ.Kind, l.width = columnar.Date, 4; unit == 1 {
			typ.Kind, typ.Unit, l.width = columnar.Timestamp, columnar.Millisecond, 8
		}
		ok = unit <= 1
	case typeTime:
		typ.Kind, typ.Unit, l.width = columnar.Time, unit, bytesOf(t.number(1, 4, 32))
		ok = unit <= columnar.Nanosecond && l.width == timeWidth(unit)
	case typeTimestamp:
		unit = columnar.Unit(t.number(0, 2, 0))
		typ.Kind, typ.Unit, typ.UTC, l.width = columnar.Timestamp, unit, t.text(1) != "", 8
		ok = unit <= columnar.Nanosecond
	case typeDuration:
		typ.Kind, typ.Unit, l.width = columnar.Duration, unit, 8
		ok = unit <= columnar.Nanosecond
	case typeList, typeLargeList:
		typ.Kind = columnar.List
	case typeFixedList:
		typ.Kind, l.repeat = columnar.List, int(t.number(0, 4, 0))
		ok = l.repeat >= 0
	case typeStruct:
	case typeFixedBinary:
		typ.Kind, typ.Width = columnar.FixedBinary, int(t.number(0, 4, 0))
		l.width, ok = typ.Width, typ.Width >= 0
	default:
		return l.unsupported("has a type of a later version of Arrow, with the number %d", l.code)
	}
	if !ok && t.b.err == nil {
		return fmt.Errorf("%w: column %q has parameters that its type cannot have", columnar.ErrCorrupt, l.field.Name)
	}
	return t.b.err
}

// bytesOf returns the bytes of a number of bits, and -1 if they are no whole bytes.
func bytesOf(bits int64) int {
	if bits%8 != 0 {
		return -1
	}
	return int(bits / 8)
}

// timeWidth returns the bytes of a time of day: Time32 has coarse ones, Time64 others.
func timeWidth(u columnar.Unit) int {
	if u <= columnar.Millisecond {
		return 4
	}
	return 8
}

// builder builds a FlatBuffer.
type builder struct{ *flatbuffers.Builder }

// list writes a list of tables.
func (b builder) list(tables []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(tables), 4)
	for _, t := range slices.Backward(tables) {
		b.PrependUOffsetT(t)
	}
	return b.EndVector(len(tables))
}

// pairs writes a list of keys and values. It returns 0 for none.
func (b builder) pairs(list []columnar.Pair) flatbuffers.UOffsetT {
	if len(list) == 0 {
		return 0
	}
	tables := make([]flatbuffers.UOffsetT, len(list))
	for i, p := range list {
		key, value := b.CreateString(p.Key), b.CreateString(p.Value)
		b.StartObject(2)
		b.PrependUOffsetTSlot(0, key, 0)
		b.PrependUOffsetTSlot(1, value, 0)
		tables[i] = b.EndObject()
	}
	return b.list(tables)
}

// schema writes a schema.
func (b builder) schema(s *columnar.Schema) flatbuffers.UOffsetT {
	tables := make([]flatbuffers.UOffsetT, len(s.Fields))
	for i := range s.Fields {
		tables[i] = b.field(&s.Fields[i])
	}
	fields, metadata := b.list(tables), b.pairs(s.Metadata)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	b.PrependUOffsetTSlot(2, metadata, 0)
	return b.EndObject()
}

// field writes a field. Readers expect the list of the fields below it, even if it is
// empty.
func (b builder) field(f *columnar.Field) flatbuffers.UOffsetT {
	var below []flatbuffers.UOffsetT
	if f.Type.Kind == columnar.List {
		below = append(below, b.field(f.Type.Element))
	}
	name, children, metadata := b.CreateString(f.Name), b.list(below), b.pairs(f.Metadata)
	code, typ := b.typed(f.Type)
	b.StartObject(7)
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependBoolSlot(1, f.Nullable, false)
	b.PrependByteSlot(2, byte(code), 0)
	b.PrependUOffsetTSlot(3, typ, 0)
	b.PrependUOffsetTSlot(5, children, 0)
	b.PrependUOffsetTSlot(6, metadata, 0)
	return b.EndObject()
}

// typed writes the table of a type, and returns its number. Fields that have their
// default are written, too, because some readers miss them.
func (b builder) typed(t columnar.Type) (code int, typ flatbuffers.UOffsetT) {
	zone := flatbuffers.UOffsetT(0)
	if t.UTC {
		zone = b.CreateString("UTC")
	}
	unit := func() { b.PrependInt16Slot(0, int16(t.Unit), -1) }
	b.StartObject(3)
	switch k := t.Kind; k {
	case columnar.Bool:
		code = typeBool
	case columnar.Float16, columnar.Float32, columnar.Float64:
		code = typeFloat
		b.PrependInt16Slot(0, int16(k-columnar.Float16), -1)
	case columnar.String:
		code = typeUtf8
	case columnar.Binary:
		code = typeBinary
	case columnar.FixedBinary:
		code = typeFixedBinary
		b.PrependInt32Slot(0, int32(t.Width), -1)
	case columnar.Timestamp:
		code = typeTimestamp
		unit()
		b.PrependUOffsetTSlot(1, zone, 0)
	case columnar.Duration:
		code = typeDuration
		unit()
	case columnar.Date:
		code = typeDate
		b.PrependInt16Slot(0, 0, -1)
	case columnar.Time:
		code = typeTime
		unit()
		b.PrependInt32Slot(1, int32(8*timeWidth(t.Unit)), -1)
	case columnar.Decimal:
		code = typeDecimal
		b.PrependInt32Slot(0, int32(t.Precision), -1)
		b.PrependInt32Slot(1, int32(t.Scale), -1<<31)
		b.PrependInt32Slot(2, 128, -1)
	case columnar.List:
		code = typeList
	default: // check has refused all but integers
		code = typeInt
		b.PrependInt32Slot(0, int32(8*t.Bytes()), -1)
		b.PrependBoolSlot(1, k < columnar.Uint8, false)
	}
	return code, b.EndObject()
}
