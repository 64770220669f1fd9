// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"unique"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// Field is a field of a struct.
type Field struct {
	Name   string
	Type   Type
	Offset int // bytes from the start of the struct; set by [StructOf]
}

// field is a field of a struct with those after it. Handles make types with equal fields
// equal.
type field struct {
	Field
	rest unique.Handle[field]
}

// noFields ends the fields of a struct.
var noFields unique.Handle[field]

// Limits of structs. The specification has none, but a struct must fit into a document
// together with its fill value.
const (
	maxFields    = 4096
	maxFieldName = 1024 // bytes
	maxNested    = 16
	maxFixedSize = 1 << 20 // bytes per element
)

// StructOf returns the type of elements with the given fields, packed in this order
// (zarr-extensions, "struct"). It ignores their offsets. It returns an error that wraps
// [ErrInvalid] if there is no field, if a field has no name or the name of another, or if
// its type has variable length. It returns an error that wraps [ErrUnsupported] for more
// than 4096 fields, a name of more than 1024 bytes, 1 MiB per element, or 16 levels of
// nested structs.
func StructOf(fields ...Field) (Type, error) {
	if len(fields) == 0 {
		return Type{}, fmt.Errorf("%w: a struct needs a field", ErrInvalid)
	}
	if len(fields) > maxFields {
		return Type{}, fmt.Errorf("%w: a struct of more than %s", ErrUnsupported, quantity.Count(maxFields, "fields"))
	}
	t := Type{name: "struct", kind: KindStruct, unit: fields[0].Type.unit}
	seen := make(map[string]bool, len(fields))
	list := make([]Field, len(fields))
	for i, f := range fields {
		if err := f.check(seen); err != nil {
			return Type{}, err
		}
		seen[f.Name] = true
		list[i] = Field{f.Name, f.Type, t.size}
		n, ok := checked.Add(int64(t.size), int64(f.Type.size))
		// Check before the sum becomes the offset of another field.
		if !ok || n > maxFixedSize {
			return Type{}, fmt.Errorf("%w: a struct of more than %s", ErrUnsupported, quantity.Count(maxFixedSize, "bytes"))
		}
		t.size = int(n)
		// Fields with numbers of different widths are swapped one by one.
		if f.Type.unit != t.unit {
			t.unit = 0
		}
	}
	// Link the fields from the last one on, because each handle contains the next one.
	for i := len(list) - 1; i >= 0; i-- {
		t.fields = unique.Make(field{list[i], t.fields})
	}
	if t.depth() > maxNested {
		return Type{}, fmt.Errorf("%w: structs nested more than %d deep", ErrUnsupported, maxNested)
	}
	return t, nil
}

func (f Field) check(seen map[string]bool) error {
	switch {
	case f.Name == "":
		return fmt.Errorf("%w: a struct has a field without a name", ErrInvalid)
	case len(f.Name) > maxFieldName:
		return fmt.Errorf("%w: field %s of a struct: a name of more than %s", ErrUnsupported, excerpt(f.Name), quantity.Count(maxFieldName, "bytes"))
	case seen[f.Name]:
		return fmt.Errorf("%w: a struct has two fields named %s", ErrInvalid, excerpt(f.Name))
	// The offsets of later fields would depend on the element.
	case f.Type.size == 0:
		return fmt.Errorf("%w: field %s of a struct: %s has no fixed width", ErrInvalid, excerpt(f.Name), f.Type)
	}
	return nil
}

// Fields returns the fields of a struct in the order in which they are stored. It returns
// nil for other types.
func (t Type) Fields() []Field {
	return slices.Collect(t.eachField())
}

// eachField yields what Fields returns.
func (t Type) eachField() iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for h := t.fields; h != noFields && yield(h.Value().Field); h = h.Value().rest {
		}
	}
}

// anyField reports whether the type of a field passes a test. It returns false for types
// other than structs.
func (t Type) anyField(test func(Type) bool) bool {
	for f := range t.eachField() {
		if test(f.Type) {
			return true
		}
	}
	return false
}

// Field returns the field with the given name. It returns false if there is none.
func (t Type) Field(name string) (Field, bool) {
	for f := range t.eachField() {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// depth returns the number of levels of nested structs.
func (t Type) depth() int {
	if t.kind != KindStruct {
		return 0
	}
	n := 0
	for f := range t.eachField() {
		n = max(n, f.Type.depth())
	}
	return n + 1
}

func (t Type) structString() string {
	var b strings.Builder
	b.WriteString("struct{")
	for f := range t.eachField() {
		if f.Offset > 0 {
			b.WriteString(", ")
		}
		if b.Len() > 200 {
			b.WriteString("…")
			break
		}
		fmt.Fprintf(&b, "%s: %s", f.Name, f.Type)
	}
	return b.String() + "}"
}
