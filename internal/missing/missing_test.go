// SPDX-License-Identifier: Apache-2.0

package missing

import (
	"bytes"
	"testing"

	"varve.dev/zarr/dtype"
)

// TestFormat has elements and the attribute that xarray 2026.9 writes for them.
func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		typ        dtype.Type
		fill, want string
	}{
		{dtype.Int16, "-99", "-99"},
		{dtype.Int64, "-9223372036854775808", "-9223372036854775808"},
		{dtype.Uint64, "18446744073709551615", "18446744073709551615"},
		{dtype.Bool, "false", "false"},
		{dtype.Float32, "-99.5", `"AAAAAADgWMA="`},
		{dtype.Float32, "0.1", `"AAAAoJmZuT8="`},
		{dtype.Float64, "1e20", `"QIy1eB2vFUQ="`},
		{dtype.Float64, `"NaN"`, `"AAAAAAAA+H8="`},
		{dtype.Float32, `"NaN"`, `"AAAAAAAA+H8="`},
		{dtype.Of[dtype.Float16](), "5", `"AAAAAAAAFEA="`},
		{dtype.Float64, `"Infinity"`, `"AAAAAAAA8H8="`},
		{dtype.Float32, `"-Infinity"`, `"AAAAAAAA8P8="`},
		{dtype.Of[dtype.Float16](), `"Infinity"`, `"AAAAAAAA8H8="`},
		{dtype.Complex64, `["Infinity","-Infinity"]`, `["AAAAAAAA8H8=","AAAAAAAA8P8="]`},
		{dtype.Complex64, "[1,2]", `["AAAAAAAA8D8=","AAAAAAAAAEA="]`},
	} {
		elem, err := tt.typ.ParseFill([]byte(tt.fill))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Format(tt.typ, elem)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s %s is %s, want %s: %v", tt.typ, tt.fill, got, tt.want, err)
		}
		if back, err := Parse(tt.typ, got); err != nil || !bytes.Equal(back, elem) {
			t.Errorf("%s %s comes back as %x, want %x: %v", tt.typ, got, back, elem, err)
		}
		if back, err := Parse(tt.typ, []byte(tt.fill)); err != nil || !bytes.Equal(back, elem) {
			t.Errorf("%s: the plain %s is %x, want %x: %v", tt.typ, tt.fill, back, elem, err)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		typ dtype.Type
		raw string
	}{
		{dtype.Int16, "99999"}, {dtype.Int16, "[1]"}, {dtype.Int16, `"1"`}, {dtype.Float32, `"AAAA"`},
		{dtype.Float64, "null"}, {dtype.Complex64, `["AAAAAAAA8D8="]`}, {dtype.String, "1"}, {dtype.Int8, "{"},
	} {
		if elem, err := Parse(tt.typ, []byte(tt.raw)); err == nil {
			t.Errorf("%s: %s is %x", tt.typ, tt.raw, elem)
		}
	}
	for raw, want := range map[string]byte{"1": 1, "0": 0, "true": 1} {
		if elem, err := Parse(dtype.Bool, []byte(raw)); err != nil || elem[0] != want {
			t.Errorf("bool: %s is %x: %v", raw, elem, err)
		}
	}
}
