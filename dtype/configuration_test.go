// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestConfigurations reads names and configurations and writes them back.
func TestConfigurations(t *testing.T) {
	point := `{"fields":[{"name":"x","data_type":"float32"},{"name":"y","data_type":"float32"}]}`
	tests := []struct {
		name, configuration string
		text                string // of the type
		size                int
		want                string // name and configuration as they are written
	}{
		{"fixed_length_utf32", `{"length_bytes": 12}`, "fixed_length_utf32[12]", 12, `fixed_length_utf32 {"length_bytes":12}`},
		{"fixed_length_utf32", `{"length_bytes": 1048576}`, "fixed_length_utf32[1048576]", 1 << 20, `fixed_length_utf32 {"length_bytes":1048576}`},
		{"null_terminated_bytes", `{"length_bytes": 1}`, "null_terminated_bytes[1]", 1, `null_terminated_bytes {"length_bytes":1}`},
		{"raw_bytes", `{"length_bytes": 7.0}`, "raw_bytes[7]", 7, `raw_bytes {"length_bytes":7}`},
		{"numpy.datetime64", `{"unit": "μs", "scale_factor": 10}`, "numpy.datetime64[10us]", 8, `numpy.datetime64 {"unit":"us","scale_factor":10}`},
		{"numpy.timedelta64", `{"scale_factor": 2147483647, "unit": "generic"}`, "numpy.timedelta64[2147483647generic]", 8,
			`numpy.timedelta64 {"unit":"generic","scale_factor":2147483647}`},
		{"variable_length_bytes", "", "bytes", 0, "bytes "},
		{"binary", "{}", "bytes", 0, "bytes "},
		{"string", "", "string", 0, "string "},
		{"complex_float64", "{}", "complex_float64", 16, "complex_float64 "},
		{"struct", point, "struct{x: float32, y: float32}", 8, "struct " + point},
		{"structured", `{"fields": [["x", "float32"], ["y", {"name": "float32"}]]}`, "struct{x: float32, y: float32}", 8, "struct " + point},
		{"structured", `{"fields": [{"name": "x", "data_type": "float32"}, ["y", "float32"]]}`, "struct{x: float32, y: float32}", 8, "struct " + point},
		{"struct", `{"fields": [{"name": "id", "data_type": "int32"}, {"name": "flags", "data_type": "uint8"}, {"data_type": "float64", "name": "value"}]}`,
			"struct{id: int32, flags: uint8, value: float64}", 13, ""},
		{"struct", `{"fields": [{"name": "point", "data_type": {"name": "struct", "configuration": ` + point + `}}, {"name": "value", "data_type": "float64"}]}`,
			"struct{point: struct{x: float32, y: float32}, value: float64}", 16,
			`struct {"fields":[{"name":"point","data_type":{"name":"struct","configuration":` + point + `}},{"name":"value","data_type":"float64"}]}`},
		{"struct", `{"fields": [{"name": "a\"b\u00e9\n", "data_type": {"name": "r24", "configuration": {}}}]}`, "struct{a\"bé\n: r24}", 3,
			`struct {"fields":[{"name":"a\"bé\n","data_type":"r24"}]}`},
	}
	for _, tt := range tests {
		typ, err := Parse(tt.name, []byte(tt.configuration))
		if err != nil || typ.String() != tt.text || typ.Size() != tt.size {
			t.Errorf("%s %s: %s of %d bytes, %v", tt.name, tt.configuration, typ, typ.Size(), err)
			continue
		}
		if got := fmt.Sprintf("%s %s", typ.Name(), typ.Configuration()); tt.want != "" && got != tt.want {
			t.Errorf("%s %s is written as %s, want %s", tt.name, tt.configuration, got, tt.want)
		}
		if again, err := Parse(typ.Name(), typ.Configuration()); err != nil || again != typ {
			t.Errorf("%s comes back as %s, %v", typ, again, err)
		}
	}
}

// inStructs returns the configuration of a struct that is nested to the given depth.
func inStructs(depth int) string {
	in := `"int8"`
	for range depth - 1 {
		in = `{"name": "struct", "configuration": {"fields": [{"name": "in", "data_type": ` + in + `}]}}`
	}
	return `{"fields": [{"name": "in", "data_type": ` + in + `}]}`
}

func TestConfigurationsRefused(t *testing.T) {
	many := strings.Repeat(`{"name": "x", "data_type": "int8"},`, 4097)
	tests := []struct {
		name, configuration string
		want                error
		says                string
	}{
		{"struct", "", ErrInvalid, `"fields" is missing`},
		{"struct", `{"fields": []}`, ErrInvalid, "needs a field"},
		{"struct", `{"fields": {}}`, ErrInvalid, "must be an array"},
		{"struct", `{"fields": null}`, ErrInvalid, "must be an array"},
		{"struct", `{"fields": [{"name": "x", "data_type": "int8"}], "align": true}`, ErrInvalid, `unknown member "align"`},
		{"struct", `{"fields": [["x", "int8"]]}`, ErrInvalid, "field 0"},
		{"struct", `{"fields": ["x"]}`, ErrInvalid, "field 0"},
		{"struct", `{"fields": [{"name": "x"}]}`, ErrInvalid, "field 0"},
		{"struct", `{"fields": [{"name": "x", "type": "int8"}]}`, ErrInvalid, "field 0"},
		{"struct", `{"fields": [{"name": "x", "data_type": "int8", "offset": 0}]}`, ErrInvalid, "field 0"},
		{"struct", `{"fields": [{"name": "", "data_type": "int8"}]}`, ErrInvalid, "without a name"},
		{"struct", `{"fields": [{"name": 1, "data_type": "int8"}]}`, ErrInvalid, "name of a field"},
		{"struct", `{"fields": [{"name": "x", "data_type": "int8"}, {"name": "x", "data_type": "int8"}]}`, ErrInvalid, `two fields named "x"`},
		{"struct", `{"fields": [{"name": "x", "data_type": "string"}]}`, ErrInvalid, "no fixed width"},
		{"struct", `{"fields": [{"name": "x", "data_type": "bytes"}]}`, ErrInvalid, "no fixed width"},
		{"struct", `{"fields": [{"name": "x", "data_type": "float128"}]}`, ErrUnsupported, "float128"},
		{"struct", `{"fields": [{"name": "x", "data_type": 1}]}`, ErrInvalid, "string or an object"},
		{"struct", `{"fields": [{"name": "x", "data_type": {}}]}`, ErrUnsupported, `""`},
		{"struct", `{"fields": [{"name": "x", "data_type": {"name": "int8", "must_understand": false}}]}`, ErrInvalid, "must_understand"},
		{"struct", `{"fields": [{"name": "x", "data_type": {"name": "int8", "configuration": {"a": 1}}}]}`, ErrInvalid, `"a"`},
		{"struct", `{"fields": [{"name": "x", "data_type": {"name": "raw_bytes", "configuration": {"length_bytes": 1048576}}}, {"name": "y", "data_type": "int8"}]}`,
			ErrUnsupported, "1048576 bytes"},
		{"struct", `{"fields": [` + many[:len(many)-1] + `]}`, ErrUnsupported, "4096 fields"},
		{"struct", inStructs(17), nil, ""},
		{"struct", inStructs(500), nil, ""},
		{"structured", `{"fields": [["x"]]}`, ErrInvalid, "field 0"},
		{"structured", `{"fields": [["x", "int8", [2]]]}`, ErrInvalid, "field 0"},
		{"structured", `{"fields": [["x", "<i4"]]}`, ErrUnsupported, "<i4"},
		{"fixed_length_utf32", `{"length_bytes": 0}`, ErrInvalid, "0 bytes"},
		{"fixed_length_utf32", `{"length_bytes": -4}`, ErrInvalid, "bytes"},
		{"fixed_length_utf32", `{"length_bytes": 1048580}`, ErrUnsupported, "1048576"},
		{"fixed_length_utf32", `{"length_bytes": 9223372036854775807}`, ErrUnsupported, "1048576"},
		{"fixed_length_utf32", `{"length_bytes": 1e30}`, ErrInvalid, "length_bytes"},
		{"fixed_length_utf32", `{"length_bytes": "12"}`, ErrInvalid, "length_bytes"},
		{"fixed_length_utf32", `{"length_bytes": 12, "length": 3}`, ErrInvalid, `"length"`},
		{"null_terminated_bytes", `{"length_bytes": 1.5}`, ErrInvalid, "length_bytes"},
		{"null_terminated_bytes", `{"length_bytes": true}`, ErrInvalid, "length_bytes"},
		{"raw_bytes", `{"length_bytes": 4, "length_bytes": 5}`, ErrInvalid, "length_bytes"},
		{"raw_bytes", `[4]`, ErrInvalid, "object"},
		{"numpy.datetime64", "", ErrInvalid, `"unit" is missing`},
		{"numpy.datetime64", `{"scale_factor": 1}`, ErrInvalid, `"unit" is missing`},
		{"numpy.datetime64", `{"unit": 1, "scale_factor": 1}`, ErrInvalid, `"unit"`},
		{"numpy.datetime64", `{"unit": "S", "scale_factor": 1}`, ErrInvalid, "units are"},
		{"numpy.datetime64", `{"unit": "s", "scale_factor": 2147483648}`, ErrInvalid, "factors"},
		{"numpy.datetime64", `{"unit": "s", "scale_factor": 1.5}`, ErrInvalid, "scale_factor"},
		{"numpy.timedelta64", `{"unit": "s", "scale_factor": "1"}`, ErrInvalid, "scale_factor"},
		{"string", `{"length": 1}`, ErrInvalid, `"length"`},
		{"bfloat16", `{"bias": 1}`, ErrInvalid, `"bias"`},
	}
	for _, tt := range tests {
		typ, err := Parse(tt.name, []byte(tt.configuration))
		if err == nil || !typ.IsZero() || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || len(err.Error()) > 400 {
			t.Errorf("%s %.90s: %s, %v; want %v, %q", tt.name, tt.configuration, typ, err, tt.want, tt.says)
		}
	}
	if typ, err := Parse("struct", []byte(inStructs(16))); err != nil || typ.Size() != 1 {
		t.Errorf("16 nested structs: %v", err)
	}
}

// TestFields checks offsets, names, and that structs with equal fields are equal.
func TestFields(t *testing.T) {
	small := mustType(Parse("uint2", nil))
	in := mustType(StructOf(Field{Name: "n", Type: small}, Field{Name: "t", Type: mustType(DatetimeOf("s", 1))}))
	typ := mustType(StructOf(Field{Name: "a", Type: Of[int16]()}, Field{Name: "in", Type: in, Offset: 77}, Field{Name: "b", Type: Of[bool]()}))
	var offsets []int
	for _, f := range typ.Fields() {
		offsets = append(offsets, f.Offset)
	}
	if fmt.Sprint(offsets, typ.Size(), typ.Unit(), typ.Ordered(), typ.hasBool(), typ.small(), in.hasBool()) != "[0 2 11] 12 0 true true true false" {
		t.Error(offsets, typ.Size(), typ.Unit(), typ.Ordered(), typ.hasBool(), typ.small(), in.hasBool())
	}
	if f, ok := typ.Field("in"); !ok || f.Type != in || f.Offset != 2 {
		t.Errorf("%+v", f)
	}
	if _, ok := typ.Field("c"); ok || Of[int8]().Fields() != nil {
		t.Error("fields that are not there")
	}
	again := mustType(StructOf(Field{Name: "a", Type: Of[int16]()}, Field{Name: "in", Type: in}, Field{Name: "b", Type: Of[bool]()}))
	other := mustType(StructOf(Field{Name: "a", Type: Of[uint16]()}, Field{Name: "in", Type: in}, Field{Name: "b", Type: Of[bool]()}))
	if typ != again || typ == other {
		t.Error("structs are equal when their fields are")
	}
	same := mustType(StructOf(Field{Name: "x", Type: Of[float32]()}, Field{Name: "y", Type: Of[int32]()}))
	if same.Unit() != 4 || !same.Ordered() {
		t.Error("fields of one width have that as unit")
	}
	bytes := mustType(StructOf(Field{Name: "x", Type: Of[int8]()}, Field{Name: "y", Type: mustType(NullTerminated(3))}))
	if bytes.Ordered() || bytes.Unit() != 1 {
		t.Error("bytes have an order")
	}
	if got := typ.Default(); got[0] != 0 || fmt.Sprint(typ.AppendText(nil, got)) != fmt.Sprint([]byte("(0, (0, 1970-01-01T00:00:00), false)")) {
		t.Errorf("default %s", typ.AppendText(nil, got))
	}
	elem := []byte{1, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 1}
	if err := typ.Check(elem); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `field "n"`) {
		t.Errorf("255 is an uint2: %v", err)
	}
	if typ.Normalize(elem); elem[2] != 3 || typ.Check(elem) != nil {
		t.Errorf("normal %x", elem)
	}
}

func FuzzParse(f *testing.F) {
	for name, configuration := range map[string]string{
		"int8": "{}", "r16": "", "r08": `{"a":1}`, "struct": inStructs(3), "structured": `{"fields": [["x", "float32"], ["y", {"name": "r24"}]]}`,
		"numpy.datetime64": `{"unit": "μs", "scale_factor": 10}`, "numpy.timedelta64": `{"unit": "generic", "scale_factor": 2147483647}`,
		"fixed_length_utf32": `{"length_bytes": 12}`, "raw_bytes": `{"length_bytes": 1048576}`, "null_terminated_bytes": `{"length_bytes": 1e0}`, "bytes": "null",
	} {
		f.Add(name, []byte(configuration))
	}
	f.Fuzz(func(t *testing.T, name string, configuration []byte) {
		typ, err := Parse(name, configuration)
		if err != nil {
			if !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrUnsupported) || !typ.IsZero() {
				t.Errorf("Parse(%q): %s, %v", name, typ, err)
			}
			return
		}
		if typ.Size() > maxFixedSize || typ.Size() == 0 && !typ.Variable() {
			t.Errorf("Parse(%q) = %s of %d bytes", name, typ, typ.Size())
		}
		if again, err := Parse(typ.Name(), typ.Configuration()); err != nil || again != typ {
			t.Errorf("%s comes back as %s, %v", typ, again, err)
		}
		if json, err := typ.FormatFill(typ.Default()); err != nil {
			t.Errorf("%s: default %s, %v", typ, json, err)
		}
	})
}

// hasBool reports whether t is bool or a struct with a bool field, so that some bytes are
// not valid elements.
func (t Type) hasBool() bool { return t.kind == KindBool || t.anyField(Type.hasBool) }
