// SPDX-License-Identifier: Apache-2.0

package dtype

import "testing"

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
