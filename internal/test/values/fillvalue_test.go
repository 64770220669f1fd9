// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store/fsstore"
	"varve.dev/zarr/store/memstore"
)

// TestFillValue creates an array with the fill value of another one.
func TestFillValue(t *testing.T) {
	for _, c := range []struct{ dtype, fill, want string }{
		{"uint8", "48", "48"}, {"float32", `"NaN"`, `"NaN"`}, {"float64", "1", "1.0"}, {"string", `"0"`, `"0"`}, {"int16", "", "0"}, {"int16", " null ", "0"},
		{"complex64", `[0, "Infinity"]`, `[0.0,"Infinity"]`},
	} {
		typ := fixture.Must(dtype.Parse(c.dtype, nil))
		h := zarr.At(memstore.New(), "")
		spec := zarr.Spec{Shape: []int64{2}, Type: typ}
		if c.fill != "" {
			spec.FillValue = zarr.FillJSON(c.fill)
		}
		a := fixture.Must(h.At("a").CreateArray(t.Context(), spec, nil))
		if got := a.FillValue().JSON(); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.fill, c.dtype, got, c.want)
		}
		b := fixture.Must(h.At("b").CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: typ, FillValue: a.FillValue()}, nil))
		if b.FillValue() != a.FillValue() {
			t.Errorf("%s: %v, want %v", c.dtype, b.FillValue(), a.FillValue())
		}
	}
	if _, err := zarr.FillJSON("256").Element(dtype.Uint8); !errors.Is(err, dtype.ErrInvalid) {
		t.Errorf("fill value 256 of uint8: %v", err)
	}
}

// TestFillValueOfFormat2 keeps a null fill value.
func TestFillValueOfFormat2(t *testing.T) {
	h := zarr.At(memstore.New(), "")
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int16, FillValue: zarr.FillJSON("null"), Format: 2}
	a := fixture.Must(h.At("a").CreateArray(t.Context(), spec, nil))
	if f := a.FillValue(); f.JSON() != "null" || a.Spec().FillValue != f || string(fixture.FillElement(a)) != "\x00\x00" {
		t.Errorf("%+v", f)
	}
}

// TestFillOf creates arrays with fill values of Go, and reads what was never written.
func TestFillOf(t *testing.T) {
	seconds := fixture.Must(dtype.DatetimeOf("s", 1))
	periods := fixture.Must(dtype.TimedeltaOf("s", 1))
	for _, test := range []struct {
		t    dtype.Type
		fill zarr.FillValue
		want string // in metadata, or "" if it is refused
	}{
		{dtype.Float64, zarr.FillOf(-9999.0), "-9999.0"},
		{dtype.Float32, zarr.FillOf(math.NaN()), `"NaN"`},
		{dtype.Float32, zarr.FillOf(float32(0.1)), "0.1"},
		{dtype.Float64, zarr.FillOf(math.Copysign(0, -1)), "-0.0"},
		{dtype.Of[dtype.Float16](), zarr.FillOf(dtype.FromFloat32(1.5)), "1.5"},
		{dtype.Int8, zarr.FillOf(int64(-128)), "-128"},
		{dtype.Uint8, zarr.FillOf(7.0), "7"},
		{dtype.Bool, zarr.FillOf(true), "true"},
		{dtype.Complex64, zarr.FillOf(complex64(complex(1, -2))), "[1.0,-2.0]"},
		{dtype.String, zarr.FillOf("none \u2744"), `"none ❄"`},
		{dtype.Bytes, zarr.FillOf([]byte{0, 255}), `"AP8="`},
		{fixture.Must(dtype.FixedUTF32(4)), zarr.FillOf("ab"), `"ab"`},
		{seconds, zarr.FillOf(time.Time{}), "-9223372036854775808"},
		// Text of byte strings is its bytes, also if it looks like base64.
		{fixture.Must(dtype.NullTerminated(4)), zarr.FillOf("none"), `"bm9uZQ=="`},
		{fixture.Must(dtype.NullTerminated(6)), zarr.FillOf("n/a"), `"bi9h"`},
		{fixture.Must(dtype.NullTerminated(6)), zarr.FillOf([]byte("n/a")), `"bi9h"`},
		{fixture.Must(dtype.NullTerminated(4)), zarr.FillJSON(`"none"`), `"none"`},
		{dtype.Bytes, zarr.FillOf("none"), `"bm9uZQ=="`},
		{fixture.Must(dtype.RawBytes(2)), zarr.FillOf([]byte{1, 2}), `"AQI="`},
		{fixture.Must(dtype.Parse("r16", nil)), zarr.FillOf([]byte{1, 2}), `[1,2]`},
		{fixture.Must(dtype.NullTerminated(3)), zarr.FillOf("none"), ""},
		{fixture.Must(dtype.Parse("r24", nil)), zarr.FillOf([]byte{1, 2}), ""},
		{fixture.Must(dtype.RawBytes(3)), zarr.FillOf("none"), ""},

		{seconds, zarr.FillOf(time.Unix(1, 0)), ""},
		{periods, zarr.FillOf(time.Second), ""},
		{dtype.String, zarr.FillOf(time.Second), ""},
		{dtype.String, zarr.FillOf("\xff"), ""},
		{dtype.Int8, zarr.FillOf(200.0), ""},
		{dtype.Int8, zarr.FillOf(1.5), ""},
		{dtype.Float32, zarr.FillOf("1"), ""},
		{dtype.Float32, zarr.FillOf(true), ""},
	} {
		a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{1}, Type: test.t, FillValue: test.fill}, nil)
		switch {
		case test.want == "":
			if !errors.Is(err, dtype.ErrInvalid) {
				t.Errorf("%s of %s: %v", test.fill.JSON(), test.t, err)
			}
		case err != nil || a.FillValue().JSON() != test.want:
			t.Errorf("%s of %s: %v (%v), want %s", test.fill.JSON(), test.t, a, err, test.want)
		}
	}
}

// TestFillOfStruct makes the fill value of an array that zarr-python wrote, and reads it
// from a new array. Fields that are missing or do not fit are named.
func TestFillOfStruct(t *testing.T) {
	z := fixture.OpenZip(t, "stores.zip")
	theirs := fixture.Must(zarr.At(fsstore.New(fixture.Must(fs.Sub(z, "dtype_struct.zarr"))), "").OpenArray(t.Context(), nil))
	type row struct {
		C string  `zarr:"c"`
		A int32   `zarr:"a"`
		B float64 `zarr:"b"`
	}
	f, err := zarr.FillOfStruct(theirs.Type(), row{C: "0"})
	if err != nil || f != theirs.FillValue() {
		t.Errorf("%s (%v), zarr-python writes %s", f.JSON(), err, theirs.FillValue().JSON())
	}
	want := row{"ab", -7, math.Inf(1)}
	f = fixture.Must(zarr.FillOfStruct(theirs.Type(), want))
	a := fixture.Must(zarr.At(memstore.New(), "a").CreateArray(t.Context(), zarr.Spec{Shape: []int64{2}, Type: theirs.Type(), FillValue: f}, nil))
	if got := fixture.Must(zarr.ReadStructs[row](t.Context(), a, nil)).Data; got[0] != want || got[1] != want {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := zarr.FillOfStruct(theirs.Type(), row{C: "none"}); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), `"c"`) {
		t.Error("a text that is too long:", err)
	}
	if _, err := zarr.FillOfStruct(theirs.Type(), struct {
		A int32 `zarr:"a"`
	}{1}); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), `"b"`) {
		t.Error("a field that is missing:", err)
	}
	if _, err := zarr.FillOfStruct(dtype.Int32, row{}); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error("a number:", err)
	}
}
