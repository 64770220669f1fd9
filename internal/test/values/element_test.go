// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
)

// Defined types, each with the underlying type of a data type.
type (
	degrees float32
	place   string
	isOn    bool
	steps   time.Duration
)

// TestDefinedTypes writes and reads values of defined types. They have the data type of
// their underlying type.
func TestDefinedTypes(t *testing.T) {
	if got, want := dtype.Of[degrees](), dtype.Float32; got != want {
		t.Errorf("%v, want %v", got, want)
	}
	roundTrip(t, "float32", []degrees{-1.5, 20, 36.6})
	roundTrip(t, "string", []place{"Zürich", "", "Davos"})
	roundTrip(t, "bool", []isOn{true, false, true})
	roundTrip(t, "int64", []steps{1, 2, 3})
	roundTrip(t, "float16", []dtype.Float16{0x3c00, 0, 0x4000})
	roundTrip(t, "bfloat16", []dtype.BFloat16{0x3f80, 0, 0x4000})
	roundTrip(t, "numpy.timedelta64[ns]", []time.Duration{1, 2, 3})

	a := fixture.ArrayOf(t, dtype.Int16, []int64{3})
	if err := zarr.WriteAs(t.Context(), a, nil, []degrees{1, 2, 3}); err == nil {
		t.Error("reading floats as integers: no error")
	}
	b, err := zarr.ReadAs[degrees](t.Context(), a, nil)
	if err != nil || !slices.Equal(b.Data, make([]degrees, 3)) {
		t.Errorf("%v, %v", b, err)
	}
}

// roundTrip checks the data type of T, and that an array of it returns the values
// written.
func roundTrip[T interface {
	dtype.Element
	comparable
}](t *testing.T, name string, values []T) {
	t.Helper()
	typ := dtype.Of[T]()
	if typ.String() != name {
		t.Errorf("%T has the data type %v, want %s", values[0], typ, name)
	}
	a := fixture.ArrayOf(t, typ, []int64{int64(len(values))})
	if err := zarr.Write(t.Context(), a, nil, values); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	b, err := zarr.Read[T](t.Context(), a, nil)
	if err != nil || !slices.Equal(b.Data, values) {
		t.Errorf("%s: %v, %v", name, b.Data, err)
	}
}
