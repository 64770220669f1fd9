// SPDX-License-Identifier: Apache-2.0

package dtype

import (
	"errors"
	"strings"
	"testing"
	"unsafe"
)

func TestTypes(t *testing.T) {
	tests := []struct {
		name       string
		kind       Kind
		size, unit int
	}{
		{"bool", KindBool, 1, 1},
		{"int8", KindInt, 1, 1},
		{"uint16", KindUint, 2, 2},
		{"int64", KindInt, 8, 8},
		{"float16", KindFloat, 2, 2},
		{"float64", KindFloat, 8, 8},
		{"complex64", KindComplex, 8, 4},
		{"complex128", KindComplex, 16, 8},
		{"r8", KindRaw, 1, 1},
		{"r24", KindRaw, 3, 1},
	}
	for _, tt := range tests {
		typ := parse(t, tt.name)
		if typ.Name() != tt.name || typ.String() != tt.name {
			t.Errorf("%s: Name %q, KindString %q", tt.name, typ.Name(), typ)
		}
		if typ.Kind() != tt.kind || typ.Size() != tt.size || typ.Unit() != tt.unit || typ.IsZero() {
			t.Errorf("%s: %s of %d bytes in units of %d", tt.name, typ.Kind(), typ.Size(), typ.Unit())
		}
	}
}

func TestAll(t *testing.T) {
	seen := map[Type]bool{}
	for _, typ := range All() {
		if parse(t, typ.Name()) != typ {
			t.Errorf("%s does not parse to itself", typ)
		}
		if !typ.Variable() && typ.Size()%typ.Unit() != 0 {
			t.Errorf("%s: %d bytes in units of %d", typ, typ.Size(), typ.Unit())
		}
		seen[typ] = true
	}
	if len(seen) != 46 {
		t.Errorf("%d types, want 46", len(seen))
	}
	All()[0] = Type{}
	if All()[0].IsZero() {
		t.Error("a caller can change what All returns")
	}
}

func TestZeroType(t *testing.T) {
	var zero Type
	if !zero.IsZero() || zero.Name() != "" || zero.String() != "invalid" || zero.Size() != 0 {
		t.Errorf("zero Type: %q %q %d", zero.Name(), zero, zero.Size())
	}
	if got := zero.AppendText(zero.AppendJSON(nil, nil), nil); len(got) != 0 {
		t.Errorf("zero Type writes %q", got)
	}
}

func TestKindString(t *testing.T) {
	for kind, want := range map[Kind]string{KindInvalid: "invalid", KindBool: "bool", KindRaw: "raw", KindStruct: "struct", KindStruct + 1: "invalid"} {
		if kind.String() != want {
			t.Errorf("Kind(%d) is %q, want %q", kind, kind, want)
		}
	}
}

// parse is Parse for a valid name.
func parse(t testing.TB, name string) Type {
	t.Helper()
	typ, err := Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// sample returns every named type and some raw ones.
func sample(t testing.TB) []Type {
	types := All()
	for _, name := range []string{"r8", "r16", "r24", "r128"} {
		types = append(types, parse(t, name))
	}
	for _, c := range [][2]string{
		{"fixed_length_utf32", `{"length_bytes": 12}`}, {"null_terminated_bytes", `{"length_bytes": 5}`}, {"raw_bytes", `{"length_bytes": 7}`},
		{"numpy.datetime64", `{"unit": "ns", "scale_factor": 1}`}, {"numpy.datetime64", `{"unit": "D", "scale_factor": 1}`},
		{"numpy.datetime64", `{"unit": "as", "scale_factor": 7}`}, {"numpy.timedelta64", `{"unit": "s", "scale_factor": 10}`},
		{"numpy.datetime64", `{"unit": "generic", "scale_factor": 1}`}, {"numpy.datetime64", `{"unit": "M", "scale_factor": 3}`},
		{"struct", `{"fields": [{"name": "a b", "data_type": "int16"}, {"name": "t", "data_type": {"name": "numpy.datetime64",
			"configuration": {"unit": "s", "scale_factor": 1}}}, {"name": "in", "data_type": {"name": "struct", "configuration": {"fields":
			[{"name": "x", "data_type": {"name": "float32"}}, {"name": "ok", "data_type": "bool"}]}}}]}`},
	} {
		typ, err := Parse(c[0], []byte(c[1]))
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, typ)
	}
	return types
}

func testOf[T Element](t *testing.T, name string) {
	t.Helper()
	var zero T
	if typ := Of[T](); typ != parse(t, name) || typ.Size() != int(unsafe.Sizeof(zero)) {
		t.Errorf("Of[%T]() = %s of %d bytes, want %s", zero, typ, typ.Size(), name)
	}
}

func TestOf(t *testing.T) {
	testOf[bool](t, "bool")
	testOf[int8](t, "int8")
	testOf[int16](t, "int16")
	testOf[int32](t, "int32")
	testOf[rune](t, "int32")
	testOf[int64](t, "int64")
	testOf[uint8](t, "uint8")
	testOf[byte](t, "uint8")
	testOf[uint16](t, "uint16")
	testOf[uint32](t, "uint32")
	testOf[uint64](t, "uint64")
	testOf[Float16](t, "float16")
	testOf[float32](t, "float32")
	testOf[float64](t, "float64")
	testOf[complex64](t, "complex64")
	testOf[complex128](t, "complex128")
}

// elem returns the bytes of a value in memory.
func elem[T Element](v T) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))...)
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, configuration string
		want                error
	}{
		{"float128", "", ErrUnsupported},
		{"numpy.datetime64", `{"unit": "x", "scale_factor": 1}`, ErrInvalid},
		{"numpy.datetime64", `{"unit": "s"}`, ErrInvalid},
		{"numpy.timedelta64", `{"unit": "s", "scale_factor": 0}`, ErrInvalid},
		{"numpy.timedelta64", `{"unit": "s", "scale_factor": 1, "x": 1}`, ErrInvalid},
		{"raw_bytes", `{"length_bytes": 0}`, ErrInvalid},
		{"raw_bytes", `{"length_bytes": 1048577}`, ErrUnsupported},
		{"null_terminated_bytes", "", ErrInvalid},
		{"fixed_length_utf32", `{"length_bytes": 6}`, ErrInvalid},
		{"int3", "", ErrUnsupported},
		{"Int8", "", ErrUnsupported},
		{"<i4", "", ErrUnsupported},
		{"", "", ErrUnsupported},
		{"r", "", ErrUnsupported},
		{"r*", "", ErrUnsupported},
		{"r-8", "", ErrUnsupported},
		{"r+8", "", ErrUnsupported},
		{"r8 ", "", ErrUnsupported},
		{"r8388616", "", ErrUnsupported},
		{"r18446744073709551624", "", ErrUnsupported},
		{"r0", "", ErrInvalid},
		{"r00", "", ErrInvalid},
		{"r08", "", ErrInvalid},
		{"r12", "", ErrInvalid},
		{"r8388609", "", ErrInvalid},
		{"int8", `{"a": 1}`, ErrInvalid},
		{"int8", `null`, ErrInvalid},
		{"int8", `[]`, ErrInvalid},
		{"int8", `{`, ErrInvalid},
		{"r16", `{"length_bytes": 2}`, ErrInvalid},
	}
	for _, tt := range tests {
		typ, err := Parse(tt.name, []byte(tt.configuration))
		if !errors.Is(err, tt.want) || !typ.IsZero() {
			t.Errorf("Parse(%q, %s) = %s, %v; want %v", tt.name, tt.configuration, typ, err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), tt.name[:min(3, len(tt.name))]) {
			t.Errorf("Parse(%q): message %q", tt.name, err)
		}
	}
}

func TestParseConfiguration(t *testing.T) {
	for _, configuration := range [][]byte{nil, {}, []byte("{}"), []byte(" { \n\t} ")} {
		typ, err := Parse("int8", configuration)
		if err != nil || typ != Of[int8]() {
			t.Errorf("Parse(int8, %q) = %s, %v", configuration, typ, err)
		}
	}
}

func TestParseLargestRaw(t *testing.T) {
	if typ := parse(t, "r8388608"); typ.Size() != 1<<20 {
		t.Errorf("r8388608 has %d bytes", typ.Size())
	}
}

func TestMessagesAreShort(t *testing.T) {
	long := strings.Repeat("7", 60000)
	_, name := Parse("r"+long, nil)
	_, fill := Of[uint8]().ParseFill([]byte(long))
	_, text := Of[uint8]().ParseText(long)
	_, _, numpy := FromNumPy(long)
	for _, err := range []error{name, fill, text, numpy} {
		if err == nil || len(err.Error()) > 250 {
			t.Errorf("message of 60000 digits: %.300v", err)
		}
	}
}
