// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strictjson"
)

// Parse returns the data type with the given name and configuration. The configuration is
// a JSON object, or nil if there is none. Parse also accepts the names
// variable_length_bytes, binary and structured, which other programs use.
//
// It returns an error that wraps [ErrUnsupported] if the name is unknown or an element
// takes more than 1 MiB. The error wraps [ErrInvalid] if the name is malformed, such as
// "r12", or if the configuration is invalid or does not belong to the type.
//
// Sources: zarr-specs v3 core, "Data types" and "Extension points"; zarr-extensions,
// "data-types".
func Parse(name string, configuration []byte) (Type, error) {
	return parseNested(name, configuration, 0)
}

func parseNested(name string, configuration []byte, depth int) (Type, error) {
	// The parser is recursive, and the document may be hostile.
	if depth > maxNested {
		return Type{}, fmt.Errorf("%w: structs nested more than %d deep", ErrUnsupported, maxNested)
	}
	c, err := newConfigured(name, configuration)
	if err != nil {
		return Type{}, err
	}
	var t Type
	switch name {
	case "fixed_length_utf32":
		t, err = c.utf32()
	case "null_terminated_bytes":
		t, err = c.withLength(NullTerminated)
	case "raw_bytes":
		t, err = c.withLength(RawBytes)
	case "numpy.datetime64", "numpy.timedelta64":
		t, err = c.timed(name)
	case "struct", "structured":
		t, err = c.structure(depth)
	case "variable_length_bytes", "binary":
		t, err = byName("bytes")
	default:
		t, err = byName(name)
	}
	// An unknown member may change the meaning of the type.
	if err == nil {
		err = c.checkUnknown()
	}
	if err != nil {
		return Type{}, err
	}
	return t, nil
}

// configured is a configuration whose members are taken one by one.
type configured struct {
	name    string // of the type
	members map[string]strictjson.Value
}

func newConfigured(name string, configuration []byte) (*configured, error) {
	c := &configured{name: name}
	if len(configuration) == 0 {
		return c, nil
	}
	v, err := strictjson.Parse(configuration, strictjson.Limits{})
	if err == nil && v.Kind() != strictjson.Object {
		err = v.Errorf("must be an object, got %s", v.Kind())
	}
	if err != nil {
		return nil, c.invalid("%v", err)
	}
	c.members = map[string]strictjson.Value{}
	for member, m := range v.Members() {
		c.members[member] = m
	}
	return c, nil
}

func (c *configured) invalid(format string, args ...any) error {
	return fmt.Errorf("%w: configuration of data type %s: %s", ErrInvalid, excerpt(c.name), fmt.Sprintf(format, args...))
}

// take returns and removes a required member.
func (c *configured) take(member string) (strictjson.Value, error) {
	v, ok := c.members[member]
	// The name of a present member may be a misspelling of the missing one.
	if !ok && len(c.members) > 0 {
		return v, c.invalid("%q is missing, there is %q", member, slices.Sorted(maps.Keys(c.members)))
	}
	if !ok {
		return v, c.invalid("%q is missing", member)
	}
	delete(c.members, member)
	return v, nil
}

// checkUnknown returns an error if members are left.
func (c *configured) checkUnknown() error {
	for member := range c.members {
		return c.invalid("unknown member %s", excerpt(member))
	}
	return nil
}

func (c *configured) integer(member string) (int64, error) {
	v, err := c.take(member)
	if err != nil {
		return 0, err
	}
	n, err := v.Int64()
	if err != nil {
		return 0, c.invalid("%q: %v", member, err)
	}
	return n, nil
}

func (c *configured) withLength(of func(int) (Type, error)) (Type, error) {
	n, err := c.integer("length_bytes")
	if err != nil {
		return Type{}, err
	}
	// Limit the length before the conversion: an int may have 32 bits. Lengths beyond
	// maxFixedSize are refused later.
	return of(int(max(0, min(n, maxFixedSize+4))))
}

func (c *configured) utf32() (Type, error) {
	return c.withLength(func(n int) (Type, error) {
		// A code point has four bytes.
		if n%4 != 0 {
			return Type{}, c.invalid("length_bytes is %d, not a multiple of 4", n)
		}
		return FixedUTF32(n / 4)
	})
}

func (c *configured) timed(name string) (Type, error) {
	unit, err := c.take("unit")
	if err != nil {
		return Type{}, err
	}
	word, err := unit.Str()
	if err != nil {
		return Type{}, c.invalid("%q: %v", "unit", err)
	}
	n, err := c.integer("scale_factor")
	if err != nil {
		return Type{}, err
	}
	step, ok := newStep(word, n)
	if !ok {
		return Type{}, c.invalid("unit %s with scale_factor %d; units are %s, factors from 1 to 2^31-1", excerpt(word), n, unitNames)
	}
	return timed(name, step), nil
}

// structure reads the fields of a struct. They are objects or, in the older form, pairs
// of a name and a type.
func (c *configured) structure(depth int) (Type, error) {
	v, err := c.take("fields")
	if err != nil {
		return Type{}, err
	}
	if v.Kind() != strictjson.Array {
		return Type{}, c.invalid("fields must be an array, got %s", v.Kind())
	}
	// Check this before reading the fields, which takes memory.
	if v.Len() > maxFields {
		return Type{}, fmt.Errorf("%w: a struct of more than %s", ErrUnsupported, quantity.Count(maxFields, "fields"))
	}
	var fields []Field
	for i, e := range v.Elements() {
		f, err := c.field(e, depth)
		if err != nil {
			return Type{}, fmt.Errorf("field %d of a struct: %w", i, err)
		}
		fields = append(fields, f)
	}
	return StructOf(fields...)
}

func (c *configured) field(v strictjson.Value, depth int) (f Field, err error) {
	name, typ := strictjson.Value{}, strictjson.Value{}
	switch {
	case v.Kind() == strictjson.Object && v.Len() == 2:
		name, _ = v.Member("name")
		typ, _ = v.Member("data_type")
	// The older form has pairs, and only under the older name.
	case v.Kind() == strictjson.Array && v.Len() == 2 && c.name == "structured":
		for i, e := range v.Elements() {
			if i == 0 {
				name = e
			} else {
				typ = e
			}
		}
	}
	if name.IsZero() || typ.IsZero() {
		return f, c.invalid(`a field must be {"name": …, "data_type": …}`)
	}
	if f.Name, err = name.Str(); err != nil {
		return f, c.invalid("name of a field: %v", err)
	}
	f.Type, err = c.fieldType(typ, depth)
	return f, err
}

// fieldType reads the data type of a field: a name, or an object with a name and
// optionally a configuration.
func (c *configured) fieldType(v strictjson.Value, depth int) (Type, error) {
	if v.Kind() == strictjson.String {
		name, err := v.Str()
		if err != nil {
			return Type{}, c.invalid("%v", err)
		}
		return parseNested(name, nil, depth+1)
	}
	if v.Kind() != strictjson.Object {
		return Type{}, c.invalid("the data type of a field must be a string or an object, got %s", v.Kind())
	}
	var name string
	var configuration []byte
	for member, m := range v.Members() {
		switch member {
		case "name":
			var err error
			if name, err = m.Str(); err != nil {
				return Type{}, c.invalid("%v", err)
			}
		case "configuration":
			configuration = m.Raw()
		default:
			return Type{}, c.invalid("unknown member %s in the data type of a field", excerpt(member))
		}
	}
	return parseNested(name, configuration, depth+1)
}

// Configuration returns the configuration of t in metadata as a JSON object. It returns
// nil for types that need only their name.
func (t Type) Configuration() []byte {
	switch {
	case t.hasLength():
		return fmt.Appendf(nil, `{"length_bytes":%d}`, t.size)
	case t.kind == KindDatetime || t.kind == KindTimedelta:
		return fmt.Appendf(nil, `{"unit":%q,"scale_factor":%d}`, t.step.Unit, t.step.Factor)
	case t.kind != KindStruct:
		return nil
	}
	dst := []byte(`{"fields":[`)
	for f := range t.eachField() {
		if f.Offset > 0 {
			dst = append(dst, ',')
		}
		dst = append(strictjson.AppendQuote(append(dst, `{"name":`...), f.Name), `,"data_type":`...)
		dst = append(f.Type.appendName(dst), '}')
	}
	return append(dst, "]}"...)
}

// appendName appends t as the value of data_type in metadata.
func (t Type) appendName(dst []byte) []byte {
	c := t.Configuration()
	if c == nil {
		return strconv.AppendQuote(dst, t.name)
	}
	dst = strconv.AppendQuote(append(dst, `{"name":`...), t.name)
	return append(append(append(dst, `,"configuration":`...), c...), '}')
}
