// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/store/memstore"
)

// orders writes the orders of the elements of an array beside a value: <, =, > and ?.
func orders(t *testing.T, a *zarr.Array, text string) string {
	t.Helper()
	c, err := cf.ComparerOf(context.Background(), a)
	if err != nil {
		return err.Error()
	}
	v, err := c.Value(text)
	if err != nil {
		if !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%q: %v", text, err)
		}
		return err.Error()
	}
	dst := make([]cf.Order, a.Shape()[0])
	if a.Type().Variable() {
		b, err := zarr.Read[[]byte](t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.CompareWords(dst, b.Data, v)
	} else {
		data := make([]byte, len(dst)*a.Type().Size())
		if err := a.ReadBytes(t.Context(), nil, data); err != nil {
			t.Fatal(err)
		}
		c.Compare(dst, data, v)
	}
	out := ""
	for _, o := range dst {
		out += string("<=>?"[o+1])
	}
	return out
}

// compared stores values with attributes.
func compared[T dtype.Element](t *testing.T, typ dtype.Type, attributes map[string]any, values ...T) *zarr.Array {
	t.Helper()
	s := zarr.Spec{Shape: []int64{int64(len(values))}, Type: typ, Attributes: attributes}
	a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), s, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestComparer(t *testing.T) {
	type attributes = map[string]any
	nan, inf := math.NaN(), math.Inf(1)
	days := attributes{"units": "days since 2020-01-01"}
	seconds := compared(t, fixed("datetime64[s]"), nil, int64(math.MinInt64), 0, 86399, 86400)
	lead := compared(t, fixed("timedelta64[h]"), nil, int64(5), 6, 7, math.MinInt64, math.MaxInt64)
	for _, c := range []struct {
		a           *zarr.Array
		value, want string
	}{
		{compared(t, dtype.Int32, nil, int32(-1), 0, 1, 2), "1", "<<=>"},
		{compared(t, dtype.Int32, nil, int32(-1), 0, 1, 2), "0.5", "<<>>"},
		{compared(t, dtype.Int32, nil, int32(-1), 0, 1, 2), "-inf", ">>>>"},
		{compared(t, dtype.Int32, nil, int32(-1), 0, 1, 2), "1e30", "<<<<"},
		{compared(t, dtype.Uint8, nil, uint8(0), 255), "300", "<<"},
		{compared(t, dtype.Uint8, nil, uint8(0), 255), "255", "<="},
		{compared(t, dtype.Uint8, nil, uint8(0), 255), "-1", ">>"},
		{compared(t, dtype.Uint8, nil, uint8(0), 255), "0", "=>"},
		{compared(t, dtype.Int8, attributes{"_FillValue": -1}, int8(-1), 0, 1), "0", "?=>"},
		{compared(t, dtype.Int8, attributes{"_FillValue": 0}, int8(-1), 0, 1), "0", "<?>"}, // in a coordinate it is a value
		{compared(t, dtype.Uint8, attributes{"_Unsigned": "false", "missing_value": 5}, uint8(255), 5, 127), "0", "<?>"},
		{compared(t, dtype.Int64, nil, int64(1<<60), 1<<60+1, math.MaxInt64), "1152921504606846977", "<=>"},
		{compared(t, dtype.Int64, nil, int64(1e18)-1, 1e18, 1e18+1), "1e18", "<=>"},
		{compared(t, dtype.Uint64, nil, uint64(math.MaxUint64), 0), "18446744073709551615", "=<"},
		{compared(t, dtype.Float64, nil, -inf, -1, math.Copysign(0, -1), 0, nan, 5e-324, inf), "0", "<<==?>>"},
		{compared(t, dtype.Float64, nil, -inf, nan, inf), "inf", "<?="},
		{compared(t, dtype.Float32, nil, float32(10.1), 10, 11), "10.1", "=<>"},
		{compared(t, dtype.Float32, attributes{"missing_value": 10}, float32(10.1), 10, 11), "10.1", "=?>"},
		{compared(t, dtype.Of[dtype.Float16](), nil, dtype.FromFloat32(1.5), dtype.FromFloat32(float32(nan))), "1", ">?"},
		{compared(t, dtype.Int16, attributes{"scale_factor": 0.1, "add_offset": 1.0}, int16(2), 3, 4), "1.3", "<=>"},
		{compared(t, dtype.Int16, attributes{"scale_factor": -0.5}, int16(-2), 0, 2), "0", ">=<"},
		{compared(t, dtype.Int16, attributes{"scale_factor": -0.5}, int16(-2), 0, 2), "100", "<<<"},
		{compared(t, dtype.Int16, attributes{"scale_factor": -0.5}, int16(-2), 0, 2), "1e9", "<<<"},
		{compared(t, dtype.Int32, days, int32(-1), 0, 30, 31, 366, 9000000), "2020-01", "<==>>>"},
		{compared(t, dtype.Int32, days, int32(-1), 0, 30, 31, 366), "2020", "<===>"},
		{compared(t, dtype.Int32, days, int32(-1), 0, 30, 31, 366), "2020-01-31", "<<=>>"},
		{compared(t, dtype.Int64, days, int64(math.MinInt64), math.MinInt64+1, 0, math.MaxInt64), "2020-01-01", "?<=>"},
		{compared(t, dtype.Float64, days, 0, 0.25, 0.5, nan, 1, 1e300), "2020-01-01T06", "<=>?>>"},
		{compared(t, dtype.Float64, days, 0, 0.25, 0.5, nan, 1, -1e300), "2020-01-01", "===?><"},
		{compared(t, dtype.Int32, attributes{"units": "days since 2001-02-28", "calendar": "360_day"}, int32(1), 2, 3), "2001-02-30", "<=>"},
		{compared(t, dtype.Int32, attributes{"units": "hours"}, int32(5), 6, 7), "6h", "<=>"},
		{seconds, "1970-01-01", "?==>"},
		{seconds, "1970-01-01T23:59:59", "?<=>"},
		{lead, "6", "<=>?>"},
		{lead, "6h", "<=>?>"},
		{compared(t, dtype.Bool, nil, false, true), "true", "<="},
		{compared(t, dtype.Bool, nil, false, true), "False", "=>"},
		{compared(t, dtype.String, nil, "", "b", "a", "ba", "é"), "b", "<=<>>"},
		{compared(t, dtype.String, attributes{"missing_value": "none"}, "", "none", "z"), "none", "<?>"},
		{compared(t, fixed("U3"), nil, "b", "a", "é"), "b", "=<>"},
		{compared(t, fixed("S3"), nil, []byte("b"), []byte("a"), []byte("bcd")), "b", "=<>"},
		// What no comparison is possible with.
		{compared(t, dtype.Int32, nil, int32(0)), "noon", `"noon" is not a number`},
		{compared(t, dtype.Int32, nil, int32(0)), "nan", `is not a number`},
		{compared(t, dtype.Int32, days, int32(0)), "2020-02-30", "2020-02-30"},
		{compared(t, dtype.Int32, attributes{"units": "days since yesterday"}, int32(0)), "2020", "left as numbers"},
		{compared(t, dtype.Bool, nil, false), "1", "neither true nor false"},
		{compared(t, dtype.Complex64, nil, complex64(0)), "1", "have no order"},
		{compared(t, dtype.Int32, attributes{"scale_factor": "x"}, int32(0)), "1", "scale_factor is not a number"},
	} {
		if got := orders(t, c.a, c.value); got != c.want && (strings.ContainsAny(c.want[:1], "<=>?") || !strings.Contains(got, c.want)) {
			t.Errorf("%s %s beside %s: %s, want %s", c.a.Type(), c.a.Attributes(), c.value, got, c.want)
		}
	}
}

// TestComparerOfFill compares the fill values 0 and "" of format 2, which are missing as
// in xarray, but not in a coordinate.
func TestComparerOfFill(t *testing.T) {
	for path, want := range map[string]string{"q": "?>", "obs": "=>"} {
		s := memstore.New()
		make := func(path string, typ dtype.Type, fill string) *zarr.Array {
			a, err := zarr.At(s, path).CreateArray(t.Context(), zarr.Spec{
				Format: 2, Shape: []int64{2}, DimensionNames: []string{"obs"}, FillValue: zarr.FillJSON(fill), Type: typ,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		numbers, words := make("n/"+path, dtype.Int16, "0"), make("w/"+path, dtype.String, `""`)
		if err := errors.Join(zarr.Write(t.Context(), numbers, nil, []int16{0, 5}), zarr.Write(t.Context(), words, nil, []string{"", "b"})); err != nil {
			t.Fatal(err)
		}
		if got := orders(t, numbers, "0"); got != want {
			t.Errorf("%s of numbers: %s, want %s", path, got, want)
		}
		if got := orders(t, words, ""); got != want {
			t.Errorf("%s of text: %s, want %s", path, got, want)
		}
	}
}

// fixed returns a data type by the name that the command knows.
func fixed(name string) dtype.Type {
	typ, err := map[string]func() (dtype.Type, error){
		"datetime64[s]":  func() (dtype.Type, error) { return dtype.DatetimeOf("s", 1) },
		"timedelta64[h]": func() (dtype.Type, error) { return dtype.TimedeltaOf("h", 1) },
		"U3":             func() (dtype.Type, error) { return dtype.FixedUTF32(3) },
		"S3":             func() (dtype.Type, error) { return dtype.NullTerminated(3) },
	}[name]()
	if err != nil {
		panic(err)
	}
	return typ
}

// TestComparerModel compares the orders of drawn numbers with those of float64.
func TestComparerModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := []float64{0, 1, -1, 0.5, 127, -128, 255, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64}
	for range 300 {
		numbers = append(numbers, math.Ldexp(r.Float64()-0.5, r.IntN(40)-10))
	}
	for _, sign := range []float64{1, -1} {
		for _, scaled := range []bool{false, true} {
			attributes, unpack := map[string]any{}, func(x float64) float64 { return x }
			if scaled {
				attributes = map[string]any{"scale_factor": 2 * sign, "add_offset": 0.25}
				unpack = func(x float64) float64 { return float64(x*2*sign) + 0.25 }
			}
			floats := compared(t, dtype.Float64, attributes, numbers...)
			whole := make([]int32, len(numbers))
			for i := range whole {
				whole[i] = int32(max(-1e6, min(1e6, numbers[i])))
			}
			integers := compared(t, dtype.Int32, attributes, whole...)
			for _, n := range numbers[:60] {
				text, want, wantWhole := strconv.FormatFloat(n, 'g', -1, 64), "", ""
				for i, x := range numbers {
					want += placeOf(unpack(x), n, scaled)
					wantWhole += placeOf(unpack(float64(whole[i])), n, scaled)
				}
				if got := orders(t, floats, text); got != want {
					t.Fatalf("floats %v beside %s: %s, want %s", attributes, text, got, want)
				}
				if got := orders(t, integers, text); got != wantWhole {
					t.Fatalf("integers %v beside %s: %s, want %s", attributes, text, got, wantWhole)
				}
			}
		}
	}
	if !slices.Contains(numbers, 0.5) {
		t.Error("the numbers have no fraction")
	}
}

func placeOf(x, n float64, scaled bool) string {
	// Of packed numbers, a millionth of a step is permitted.
	if scaled && math.Abs(x-n) <= 2e-6 {
		return "="
	}
	return fmt.Sprint(string("<=>"[cmp.Compare(x, n)+1]))
}
