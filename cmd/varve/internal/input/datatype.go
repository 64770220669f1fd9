// SPDX-License-Identifier: Apache-2.0

package input

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
	"varve.dev/zarr/metadata"
)

// dataType is the value of --dtype.
type dataType struct {
	dtype.Type
	Big bool // NumPy's name is for big-endian elements
}

// ParseType parses a data type: a name or an object as in metadata, NumPy's name, or
// NumPy's list of fields in JSON, [["x", "<i4"], ["y", "<f8"]].
func ParseType(text string) (dataType, error) {
	switch trimmed := strings.TrimSpace(text); {
	case trimmed == "":
		return dataType{}, errors.New("the name of a type is missing; give one such as float32")
	case strings.HasPrefix(trimmed, "{"):
		e, err := metadata.ParseExtension([]byte(trimmed), metadata.Limits{})
		if err != nil {
			return dataType{}, failure.AsUnsupported(err)
		}
		t, err := dtype.Parse(e.Name, e.Configuration)
		return dataType{Type: t}, unknownWithin(failure.AsUnsupported(err))
	case strings.HasPrefix(trimmed, "["):
		v, err := strictjson.Parse([]byte(trimmed), strictjson.Limits{})
		if err != nil {
			return dataType{}, err
		}
		return parseFields(v)
	}
	t, err := dtype.Parse(text, nil)
	if err == nil {
		return dataType{Type: t}, nil
	}
	// NumPy's names have a byte order, but i4 and U12 are common without one.
	for _, order := range []string{"", "|", "<"} {
		if t, big, err := dtype.FromNumPy(order + text); err == nil {
			return dataType{t, big}, nil
		}
	}
	if t, ok := commonName(text); ok {
		return dataType{Type: t}, nil
	}
	return dataType{}, unknownType(text, failure.AsUnsupported(err))
}

// parseFields parses a list of names and types.
func parseFields(v strictjson.Value) (dataType, error) {
	var fields []dtype.Field
	var orders [2]int
	for _, e := range v.Elements() {
		parts := []strictjson.Value{}
		for _, p := range e.Elements() {
			parts = append(parts, p)
		}
		if len(parts) != 2 {
			return dataType{}, e.Errorf("a field is a list of its name and its type")
		}
		name, err := parts[0].Str()
		if err != nil {
			return dataType{}, err
		}
		text := string(parts[1].Raw())
		if s, err := parts[1].Str(); err == nil {
			text = s
		}
		t, err := ParseType(text)
		if err != nil {
			return dataType{}, fmt.Errorf("field %q: %w", name, err)
		}
		// Types of single bytes have no order.
		if t.Ordered() && t.Big {
			orders[1]++
		} else if t.Ordered() {
			orders[0]++
		}
		fields = append(fields, dtype.Field{Name: name, Type: t.Type})
	}
	if orders[0] > 0 && orders[1] > 0 {
		return dataType{}, errors.New("the fields have different byte orders, but a chunk has one byte order")
	}
	t, err := dtype.StructOf(fields...)
	return dataType{t, orders[1] > 0}, failure.AsUnsupported(err)
}

// typeNames are names of data types in NumPy and Python that mean the same type on every
// machine.
var typeNames = map[string]string{
	"half": "float16", "single": "float32", "double": "float64", "float": "float64", "float_": "float64",
	"csingle": "complex64", "cdouble": "complex128", "complex": "complex128", "complex_": "complex128",
	"byte": "int8", "short": "int16", "intc": "int32", "longlong": "int64", "int": "int64", "int_": "int64",
	"ubyte": "uint8", "ushort": "uint16", "uintc": "uint32", "ulonglong": "uint64", "uint": "uint64",
	"bool_": "bool", "boolean": "bool", "?": "bool", "str": "string", "str_": "string", "text": "string",
}

// otherNames are names of other languages, or names for several types. They are errors
// with a suggestion.
var otherNames = map[string]string{
	"f16": "float16", "f32": "float32", "f64": "float64", "i16": "int16", "i32": "int32", "i64": "int64",
	"u16": "uint16", "u32": "uint32", "u64": "uint64", "float80": "float64", "longdouble": "float64", "float128": "float64", "decimal": "float64",
	"long": "int64 or int32", "ulong": "uint64 or uint32", "integer": "int32 or int64", "number": "float64", "real": "float32 or float64",
	"char": "int8 or null_terminated_bytes", "object": "string or bytes", "unicode": "string", "utf8": "string", "varchar": "string",
	"binary": "bytes", "void": "r8, r16 …", "datetime": "M8[s] or M8[ns]", "datetime64": "M8[s] or M8[ns]", "timestamp": "M8[s] or M8[ns]",
	"date": "M8[D]", "category": "string", "o": "string or bytes", "t": "string", "string_": "string or S8", "bytes_": "bytes or S8",
	"s": "bytes or S8", "u": "string or U12", "string[python]": "string", "string[pyarrow]": "string", "stringdtype": "string", "int3": "int32", "a": "bytes or S8", "timedelta": "m8[s] or m8[ns]", "timedelta64": "m8[s] or m8[ns]",
}

// commonName returns the data type for a name of NumPy that means the same on every
// machine.
func commonName(text string) (dtype.Type, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	for _, module := range []string{"numpy.", "np."} {
		text = strings.TrimPrefix(text, module)
	}
	for _, timed := range [][2]string{{"datetime64[", "M8["}, {"timedelta64[", "m8["}} {
		if unit, ok := strings.CutPrefix(strings.TrimLeft(text, "<="), timed[0]); ok {
			t, _, err := dtype.FromNumPy("<" + timed[1] + unit)
			return t, err == nil
		}
	}
	name, ok := typeNames[strings.ToLower(text)]
	if !ok {
		name = strings.ToLower(text)
	}
	t, err := dtype.Parse(name, nil)
	if strings.HasPrefix(text, "a") { // older name of S
		text = "S" + text[1:]
	}
	for _, order := range []string{"<", "|"} {
		if err != nil { // "=" is the byte order of the machine, which has no meaning in a store
			t, _, err = dtype.FromNumPy(order + strings.TrimPrefix(text, "="))
		}
	}
	return t, err == nil
}

// unsupportedType matches the name in the error for an unknown data type.
var unsupportedType = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(regexp.QuoteMeta(dtype.ErrUnsupported.Error()) + `: ("(?:[^"\\]|\\.)*")`)
})

// unknownWithin is unknownType for a type in JSON, alone or as the type of a field.
func unknownWithin(err error) error {
	if !errors.Is(err, dtype.ErrUnsupported) {
		return err
	}
	found := unsupportedType().FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	name, quoteErr := strconv.Unquote(found[1])
	if quoteErr != nil {
		return err
	}
	return unknownType(name, err)
}

// typesInFull are the names of data types with a configuration.
var typesInFull = []string{
	"fixed_length_utf32", "null_terminated_bytes", "numpy.datetime64", "numpy.timedelta64", "raw_bytes", "struct",
}

// unknownType adds a suggestion to an error about an unknown data type.
func unknownType(text string, err error) error {
	name := strings.ToLower(strings.TrimSpace(text))
	if other, ok := otherNames[name]; ok {
		return fmt.Errorf("%w (did you mean %s?)", err, other)
	}
	known := slices.Sorted(maps.Keys(typeNames))
	for _, t := range dtype.All() {
		known = append(known, t.Name())
	}
	known = append(known, typesInFull...)
	if hint := spelling.Meant(name, known); hint != "" {
		return fmt.Errorf("%w%s", err, hint)
	}
	return err
}

// typeText returns the name of a type for the user: NumPy's name if the name in metadata
// counts bytes or has no unit, such as <U20 for fixed_length_utf32 of 80 bytes.
func typeText(t dtype.Type) string {
	switch t.Kind() {
	case dtype.KindUTF32, dtype.KindTerminated, dtype.KindDatetime, dtype.KindTimedelta, dtype.KindRaw:
		if name, ok := t.NumPy(); ok {
			return name
		}
	}
	return t.String()
}

// astype returns how NumPy converts values to a type, or "" if NumPy does not have it.
// first is a step before that, or "".
func astype(t dtype.Type, first string) string {
	do := "convert them first, in NumPy with "
	if first != "" {
		do = first + ", and then convert them, in NumPy with "
	}
	switch _, ok := t.NumPy(); {
	case ok:
		return fmt.Sprintf("; %sx.astype(%q)", do, typeText(t))
	case t.Kind() == dtype.KindString:
		return "; " + do + "x.astype(str)"
	}
	return ""
}
