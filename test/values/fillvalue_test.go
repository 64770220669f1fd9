// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"errors"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/test/fixture"
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
	if _, err := zarr.FillJSON("256").Element(dtype.Of[uint8]()); !errors.Is(err, dtype.ErrInvalid) {
		t.Errorf("fill value 256 of uint8: %v", err)
	}
}

// TestFillValueOfFormat2 keeps a null fill value.
func TestFillValueOfFormat2(t *testing.T) {
	h := zarr.At(memstore.New(), "")
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Of[int16](), FillValue: zarr.FillJSON("null"), Format: 2}
	a := fixture.Must(h.At("a").CreateArray(t.Context(), spec, nil))
	if f := a.FillValue(); !f.IsNull() || a.Spec().FillValue != f || string(fixture.FillElement(a)) != "\x00\x00" {
		t.Errorf("%+v", f)
	}
}
