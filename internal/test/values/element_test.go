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

// TestTimesWithinSteps checks that a time or duration which is no whole number of the
// steps of its data type is refused: it would be read back as another one.
func TestTimesWithinSteps(t *testing.T) {
	whole := time.Date(2020, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		step   dtype.Step
		others []time.Duration
	}{
		{dtype.Step{Unit: "ns", Factor: 100}, []time.Duration{1, 150}}, {dtype.Step{Unit: "s", Factor: 1}, []time.Duration{900 * time.Millisecond, 1}},
		{dtype.Step{Unit: "D", Factor: 1}, []time.Duration{17 * time.Hour, time.Second}}, {dtype.Step{Unit: "M", Factor: 1}, []time.Duration{24 * time.Hour}},
	} {
		typ := fixture.Must(dtype.DatetimeOf(c.step.Unit, int(c.step.Factor)))
		a := fixture.ArrayOf(t, typ, []int64{1})
		for _, at := range []time.Time{whole, whole.In(time.FixedZone("", 3600)), {}} {
			if err := zarr.Write(t.Context(), a, nil, []time.Time{at}); err != nil {
				t.Errorf("%s: %v: %v", typ, at, err)
			}
			if b, err := zarr.Read[time.Time](t.Context(), a, nil); err != nil || !b.Data[0].Equal(at) {
				t.Errorf("%s: %v, want %v (%v)", typ, b.Data, at, err)
			}
		}
		for _, d := range c.others {
			err := zarr.Write(t.Context(), a, nil, []time.Time{whole.Add(d)})
			fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "whole number of steps", "Truncate")
		}
	}
}
