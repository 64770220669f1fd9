package dtype

import (
	"fmt"
	"strings"
	"unique"

	"varve.dev/zarr/internal/checked"
)

// Field is a member of a struct.
type Field struct {
	Name   string
	Type   Type
	Offset int // bytes from the start of the struct; [StructOf] computes it
}

// field is a member of a struct and those behind it. Handles make types with the same fields equal.
type field struct {
	Field
	next unique.Handle[field]
}

// noFields ends the fields of a struct.
var noFields unique.Handle[field]

// The limits of structs. The specification has none; a struct has to fit a document, with its fill value.
const (
	maxFields    = 4096
	maxNested    = 16
	maxFixedSize = 1 << 20 // bytes of an element
)

// StructOf returns the type of elements with the given fields, packed one behind the other in this order
// (zarr-extensions, "struct"). It wraps [ErrInvalid] where there is no field, one without a name or with the name of another,
// or one whose type has no fixed width, and [ErrUnsupported] beyond 4096 fields, 1 MiB, or 16 structs in each other.
func StructOf(fields ...Field) (Type, error) {
	if len(fields) == 0 {
		return Type{}, fmt.Errorf("%w: a struct needs a field", ErrInvalid)
	}
	if len(fields) > maxFields {
		return Type{}, fmt.Errorf("%w: a struct of more than %d fields", ErrUnsupported, maxFields)
	}
	t := Type{name: "struct", kind: Struct, unit: fields[0].Type.unit}
	seen := make(map[string]bool, len(fields))
	list := make([]Field, len(fields))
	for i, f := range fields {
		if err := f.check(seen); err != nil {
			return Type{}, err
		}
		seen[f.Name] = true
		list[i] = Field{f.Name, f.Type, t.size}
		n, ok := checked.Add(int64(t.size), int64(f.Type.size))
		if !ok || n > maxFixedSize {
			return Type{}, fmt.Errorf("%w: a struct of more than %d bytes", ErrUnsupported, maxFixedSize)
		}
		t.size = int(n)
		if f.Type.unit != t.unit {
			t.unit = 0
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		t.fields = unique.Make(field{list[i], t.fields})
	}
	if t.depth() > maxNested {
		return Type{}, fmt.Errorf("%w: more than %d structs in each other", ErrUnsupported, maxNested)
	}
	return t, nil
}

func (f Field) check(seen map[string]bool) error {
	switch {
	case f.Name == "":
		return fmt.Errorf("%w: a struct has a field without a name", ErrInvalid)
	case seen[f.Name]:
		return fmt.Errorf("%w: a struct has two fields named %s", ErrInvalid, excerpt(f.Name))
	case f.Type.size == 0:
		return fmt.Errorf("%w: field %s of a struct: %s has no fixed width", ErrInvalid, excerpt(f.Name), f.Type)
	}
	return nil
}

// Fields returns the fields of a struct in the order in which they are stored, nil for other types.
func (t Type) Fields() []Field {
	var list []Field
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		list = append(list, f)
	}
	return list
}

// Field returns the field of that name.
func (t Type) Field(name string) (Field, bool) {
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// Turned returns the type of the same length of which [Type.Swap] turns only some numbers round: turn is asked for every field that has a
// byte order, in the order in which they are stored, and the others become raw bytes. Format 2 stores such structs (NumPy's
// structured types, of which every field has its own byte order).
func (t Type) Turned(turn func() bool) Type {
	if t.kind != Struct {
		if t.Ordered() && !turn() {
			return Type{name: "raw_bytes", kind: Raw, size: t.size, unit: 1}
		}
		return t
	}
	fields := t.Fields()
	for i := range fields {
		fields[i].Type = fields[i].Type.Turned(turn)
	}
	turned, err := StructOf(fields...)
	if err != nil {
		panic(err) // it has the names and lengths of t
	}
	return turned
}

// depth returns how many structs are in each other.
func (t Type) depth() int {
	if t.kind != Struct {
		return 0
	}
	n := 0
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
		n = max(n, f.Type.depth())
	}
	return n + 1
}

func (t Type) structString() string {
	var b strings.Builder
	b.WriteString("struct{")
	for h := t.fields; h != noFields; h = h.Value().next {
		f := h.Value().Field
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
