// SPDX-License-Identifier: Apache-2.0

package cf_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// array makes an array with one axis from stored bytes.
func array(t interface {
	Helper()
	Fatal(...any)
}, typ dtype.Type, attributes map[string]any, stored []byte) *zarr.Array {
	t.Helper()
	spec := zarr.Spec{Shape: []int64{int64(len(stored) / typ.Size())}, Type: typ, Attributes: attributes, DimensionNames: []string{"x"}}
	a, err := zarr.At(memstore.New(), "x").CreateArray(context.Background(), spec, nil)
	if err == nil {
		err = a.WriteBytes(context.Background(), nil, stored)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// numeric lists the numeric types.
var numeric = []dtype.Type{
	dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Int32, dtype.Uint32,
	dtype.Int64, dtype.Uint64, dtype.Of[dtype.Float16](), dtype.Float32, dtype.Float64,
}

// TestStored compares the numbers of elements with those that ReadAs converts them to.
// The shortest text of a small float stands for another number than the element.
func TestStored(t *testing.T) {
	types := slices.Clone(numeric)
	for _, name := range []string{"bfloat16", "float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn", "int4"} {
		types = append(types, fixture.Must(dtype.Parse(name, nil)))
	}
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			p, err := cf.PackingOf(context.Background(), array(t, typ, nil, make([]byte, typ.Size())))
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(t *rapid.T) {
				elem := rapid.SliceOfN(rapid.Byte(), typ.Size(), typ.Size()).Draw(t, "element")
				typ.Normalize(elem)
				want := fixture.Must(zarr.ReadAs[float64](context.Background(), array(t, typ, nil, elem), nil)).Data[0]
				if got := p.Stored(elem); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Errorf("%x: %v, want %v", elem, got, want)
				}
			})
		})
	}
}

// TestPack unpacks and packs random elements, which must not change.
func TestPack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(numeric[:8]).Draw(t, "type")
		if typ.Size() == 8 {
			typ = dtype.Int32 // float64 does not have all integers of 64 bits
		}
		attributes := map[string]any{"missing_value": 7}
		if rapid.Bool().Draw(t, "scaled") {
			attributes["scale_factor"] = rapid.SampledFrom([]float64{0.1, 1e-3, 2, -0.5, 1e6}).Draw(t, "scale")
			attributes["add_offset"] = rapid.SampledFrom([]float64{0, 273.15, -40}).Draw(t, "offset")
		}
		if typ == dtype.Int8 || typ == dtype.Int16 {
			attributes["_Unsigned"] = rapid.SampledFrom([]string{"true", "false", "maybe"}).Draw(t, "unsigned")
		}
		stored := rapid.SliceOfN(rapid.Byte(), 8*typ.Size(), 8*typ.Size()).Draw(t, "stored")
		a := array(t, typ, attributes, stored)
		p, err := cf.PackingOf(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		values, err := cf.ReadFloats(context.Background(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		packed := make([]byte, len(stored))
		if err := p.Pack(packed, values.Data); err != nil || !bytes.Equal(packed, stored) {
			t.Errorf("%s %v: %x is %v, packed %x (%v)", typ, attributes, stored, values.Data, packed, err)
		}
	})
}

// TestPackedText writes packed numbers with the digits that they have.
func TestPackedText(t *testing.T) {
	for stored, want := range map[byte]string{34: "0.0034", 3: "0.0003", 0: "0", 100: "0.01", 0xff: "-0.0001"} {
		p, err := cf.PackingOf(t.Context(), array(t, dtype.Int8, map[string]any{"scale_factor": 0.0001}, []byte{stored}))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Text([]byte{stored}); got != want {
			t.Errorf("%d is %s, want %s", int8(stored), got, want)
		}
	}
}

// TestFormatOfScaled formats decoded numbers for people: with the digits that they have,
// unless that changes more than the last bit, or they were stored so.
func TestFormatOfScaled(t *testing.T) {
	double := func(x float64) []byte { return binary.NativeEndian.AppendUint64(nil, math.Float64bits(x)) }
	for _, c := range []struct {
		stored        dtype.Type
		elem          []byte
		scale, offset float64
		want          string
	}{
		{dtype.Int16, []byte{34, 0}, 0.0001, 0, "0.0034"},
		{dtype.Int16, []byte{34, 0}, 0.0001, 273.15, "273.1534"},
		{dtype.Int16, []byte{3, 0}, 0.1, 0, "0.3"},
		{dtype.Int16, []byte{3, 0}, 1. / 3, 0.1, "1.1"},
		{dtype.Int16, []byte{1, 0}, 1. / 3, 0, "0.3333333333333333"},
		{dtype.Int16, []byte{0, 0}, 0.1, 0, "0.0"},
		{dtype.Int16, []byte{1, 0}, 1e-9, 0, "1e-09"},
		{dtype.Float64, double(0.30000000000000004), 1, 0, "0.30000000000000004"},
		{dtype.Float64, double(math.NaN()), 0.1, 0, "nan"},
		{dtype.Float64, double(math.Inf(-1)), 0.1, 0, "-inf"},
	} {
		attributes := map[string]any{"scale_factor": c.scale, "add_offset": c.offset}
		d, err := cf.DecodingOf(t.Context(), array(t, c.stored, attributes, c.elem))
		if err != nil {
			t.Fatal(err)
		}
		made := make([]byte, d.Type().Size())
		d.Decode(made, c.elem)
		if got := d.Format(made); got != c.want {
			t.Errorf("%x of %s times %v plus %v is %s, want %s", c.elem, c.stored, c.scale, c.offset, got, c.want)
		}
	}
}

// TestPackedTextIsExact parses the texts of packed numbers with more than 15 digits, as
// times have: they are the numbers, or those beside them.
func TestPackedTextIsExact(t *testing.T) {
	for _, c := range []struct {
		stored     dtype.Type
		elem       []byte
		attributes map[string]any
		want       float64
		apart      bool // the text may be that of the number beside it
	}{
		{dtype.Float64, binary.NativeEndian.AppendUint64(nil, math.Float64bits(19675+1./24)), map[string]any{"scale_factor": 1.0, "add_offset": 0.0}, 19675 + 1./24, false},
		{dtype.Float64, binary.NativeEndian.AppendUint64(nil, math.Float64bits(0.1+0.2)), map[string]any{"scale_factor": 1.0}, 0.1 + 0.2, false},
		{dtype.Int64, binary.NativeEndian.AppendUint64(nil, 1700000000123456), map[string]any{"scale_factor": 1e-6}, 1700000000123456 * 1e-6, true},
		{dtype.Int64, binary.NativeEndian.AppendUint64(nil, 1700000000123457), map[string]any{"scale_factor": 1e-6}, 1700000000123457 * 1e-6, true},
	} {
		p, err := cf.PackingOf(t.Context(), array(t, c.stored, c.attributes, c.elem))
		if err != nil {
			t.Fatal(err)
		}
		got, err := strconv.ParseFloat(p.Text(c.elem), 64)
		if err != nil || got != c.want && !(c.apart && math.Nextafter(c.want, got) == got) {
			t.Errorf("%s, want %v", p.Text(c.elem), c.want)
		}
	}
}

// TestPackRefuses packs numbers that the elements cannot hold.
func TestPackRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		typ        dtype.Type
		attributes map[string]any
		value      float64
	}{
		{"beyond the type", dtype.Int8, nil, 128},
		{"beyond the type once scaled", dtype.Int16, map[string]any{"scale_factor": 0.001}, 40},
		{"below zero", dtype.Uint32, nil, -1},
		{"as large as 2^63", dtype.Int64, nil, math.Ldexp(1, 63)},
		{"beyond float32", dtype.Float32, nil, 1e300},
		{"infinite", dtype.Int32, nil, math.Inf(1)},
		{"missing", dtype.Int16, map[string]any{"missing_value": 5}, 5},
		{"missing by rounding", dtype.Int16, map[string]any{"missing_value": 5}, 4.7},
		{"not a number", dtype.Int16, map[string]any{"scale_factor": 2}, math.NaN()},
		{"a scale of zero", dtype.Int16, map[string]any{"scale_factor": 0}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored := make([]byte, c.typ.Size())
			a := array(t, c.typ, c.attributes, stored)
			w, err := a.Location().OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := cf.WriteFloats(t.Context(), w, nil, []float64{c.value}); !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("got %v", err)
			}
			now := make([]byte, len(stored))
			if err := a.ReadBytes(t.Context(), nil, now); err != nil || !bytes.Equal(now, stored) {
				t.Errorf("stored is %x (%v)", now, err)
			}
		})
	}
}

// TestDecode compares Decode with Floats, for every type that becomes floats.
func TestDecode(t *testing.T) {
	for _, typ := range numeric {
		stored := make([]byte, 64*typ.Size())
		for i := range stored {
			stored[i] = byte(i * 37)
		}
		a := array(t, typ, map[string]any{"scale_factor": 0.25, "missing_value": 3}, stored)
		d, err := cf.DecodingOf(t.Context(), a)
		if err != nil || d.Type() != dtype.Float64 {
			t.Fatal(d, err)
		}
		floats, made := make([]float64, 64), make([]byte, 64*8)
		d.Floats(floats, stored)
		d.Decode(made, stored)
		for i, f := range floats {
			got := math.Float64frombits(binary.NativeEndian.Uint64(made[8*i:]))
			if got != f && !(math.IsNaN(got) && math.IsNaN(f)) {
				t.Errorf("%s: element %d is %v, want %v", typ, i, got, f)
			}
		}
	}
}

// TestFloats compares Floats with Value, for every type and all kinds of missing
// values.
func TestFloats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom(numeric).Draw(t, "type")
		attributes := map[string]any{}
		if rapid.Bool().Draw(t, "scaled") {
			attributes["scale_factor"], attributes["add_offset"] = rapid.Float64Range(-10, 10).Draw(t, "scale"), rapid.Float64().Draw(t, "offset")
		}
		if n := rapid.IntRange(0, 3).Draw(t, "missing"); n > 0 {
			attributes["missing_value"] = []any{0, 1, "NaN"}[:n]
		}
		n := rapid.SampledFrom([]int{0, 1, 5000}).Draw(t, "elements")
		stored := make([]byte, n*typ.Size())
		seed := rapid.Uint64().Draw(t, "seed")
		for i := range stored {
			if seed = seed*6364136223846793005 + 1442695040888963407; seed>>60 > 3 { // many zeros
				stored[i] = byte(seed >> 40)
			}
		}
		p, err := cf.PackingOf(context.Background(), array(t, typ, attributes, stored))
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float64, n)
		p.Floats(got, stored)
		for i, v := range got {
			elem := stored[i*typ.Size():][:typ.Size()]
			if want := p.Value(elem); math.Float64bits(v) != math.Float64bits(want) && !(math.IsNaN(v) && math.IsNaN(want)) {
				t.Fatalf("%s %v: element %d, %x, is %v, want %v", typ, attributes, i, elem, v, want)
			}
		}
	})
}

// TestReadTimes reads times of several calendars, and arrays with other units.
func TestReadTimes(t *testing.T) {
	hours := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, 36), 7)
	day := time.Date(2000, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		attributes map[string]any
		want       time.Time // of the first element; the zero Time is an error
	}{
		{map[string]any{"units": "hours since 2000-01-01"}, day},
		{map[string]any{"units": "hours since 2000-01-01", "calendar": "proleptic_gregorian"}, day},
		{map[string]any{"units": "minutes since 2000-01-02T11:24", "missing_value": 7}, day},
		{map[string]any{"units": "hours since 2000-01-01", "calendar": "360_day"}, time.Time{}},
		{map[string]any{"units": "months since 2000-01-01"}, time.Time{}},
		{map[string]any{"units": "m"}, time.Time{}},
		{nil, time.Time{}},
	} {
		b, err := cf.ReadTimes(t.Context(), array(t, dtype.Int32, c.attributes, hours), nil)
		if c.want.IsZero() {
			if !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("%v: got %v, %v", c.attributes, b.Data, err)
			}
			continue
		}
		missing := c.attributes["missing_value"] != nil
		if err != nil || !b.Data[0].Equal(c.want) || b.Data[1].IsZero() != missing {
			t.Errorf("%v: got %v, %v", c.attributes, b.Data, err)
		}
	}
}

// TestReadRefuses reads elements that are not numbers.
func TestReadRefuses(t *testing.T) {
	a := array(t, dtype.Complex64, nil, make([]byte, 16))
	if _, err := cf.ReadFloats(t.Context(), a, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("complex numbers: %v", err)
	}
	b := array(t, dtype.Int8, map[string]any{"scale_factor": "two"}, make([]byte, 2))
	if _, err := cf.ReadFloats(t.Context(), b, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("a scale that is no number: %v", err)
	}
}

// TestSelectLabels selects by text, and checks the labels in the error for unknown
// text.
func TestSelectLabels(t *testing.T) {
	g, err := zarr.At(memstore.New(), "").CreateGroup(t.Context(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var arrays []*zarr.Array
	for name, typ := range map[string]dtype.Type{"city": dtype.String, "v": dtype.Int8} {
		a, err := g.At(name).CreateArray(t.Context(), zarr.Spec{Shape: []int64{3}, Type: typ, DimensionNames: []string{"city"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		arrays = append(arrays, a)
	}
	slices.SortFunc(arrays, func(a, b *zarr.Array) int { return len(b.Path()) - len(a.Path()) })
	if err := zarr.Write(t.Context(), arrays[0], nil, []string{"Bern", "Oslo", "Rome"}); err != nil {
		t.Fatal(err)
	}
	v, err := cf.Select(t.Context(), arrays[1], `city="Oslo"`)
	if err != nil || v.Selection().Len() != 1 {
		t.Fatal(v, err)
	}
	_, err = cf.Select(t.Context(), arrays[1], `city="Paris"`)
	var label *cf.LabelError
	if !errors.As(err, &label) || label.Label != "Paris" || !slices.Equal(label.Labels, []string{"Bern", "Oslo", "Rome"}) {
		t.Errorf("got %v", err)
	}
	if _, err = cf.Select(t.Context(), arrays[1], "town=1"); !errors.Is(err, selection.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

// FuzzUnits parses units, and converts numbers to times with them.
func FuzzUnits(f *testing.F) {
	for _, units := range []string{"days since 1950-01-01", "hours since 1900-01-01 00:00:0.0", "s since 1970", "months since 2000-01-01", "days since -4712-01-01 12:00", "m"} {
		f.Add(units, "standard", "1.5")
		f.Add(units, "360_day", "9223372036854775807")
		f.Add(units, "", "NaN")
	}
	f.Fuzz(func(t *testing.T, units, calendar, number string) {
		u := cf.Units{Units: units, Calendar: calendar}
		times, ok := u.Times()
		if ok != (u.Err() == nil) && ok {
			t.Fatalf("%q in %q are times and are not: %v", units, calendar, u.Err())
		}
		if !ok {
			return
		}
		text, isTime := times.Text(number)
		if _, err := times.Instant(number); isTime != (err == nil) || isTime && text == "" {
			t.Errorf("%s %q: %q, %v", number, units, text, err)
		}
	})
}

// FuzzParseDuration parses durations.
func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"6h", "1d12h", "-1.5 min", "30 minutes", "", "-", "1", "1 month", "9e9h", ".s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := cf.ParseDuration(text)
		if err != nil && !errors.Is(err, zarr.ErrInvalidArgument) || math.IsNaN(n) {
			t.Errorf("%q: %v, %v", text, n, err)
		}
	})
}

// BenchmarkFloats unpacks int16 with scale, offset and a missing value.
func BenchmarkFloats(b *testing.B) {
	stored := make([]byte, 2<<16)
	for i := range stored {
		stored[i] = byte(i * 7)
	}
	p, err := cf.PackingOf(context.Background(), array(b, dtype.Int16, map[string]any{"scale_factor": 0.01, "add_offset": 273.15, "missing_value": -999}, stored))
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]float64, 1<<16)
	b.SetBytes(int64(len(stored)))
	b.ReportAllocs()
	for b.Loop() {
		p.Floats(dst, stored)
	}
}

// TestCoordinateOptions opens a coordinate beside an array with options, which are also
// those of the coordinate, apart from the permission to write.
func TestCoordinateOptions(t *testing.T) {
	a := array(t, dtype.Int16, nil, make([]byte, 8))
	w, err := a.Location().OpenArray(t.Context(), &zarr.Options{Limits: zarr.Limits{Block: 1 << 20}, RequireChunks: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := cf.Coordinate(t.Context(), w, "x")
	if err != nil {
		t.Fatal(err)
	}
	if o := c.Options(); o.Write || o.RequireChunks || o.Limits.Block != 1<<20 {
		t.Errorf("options %+v", o)
	}
}

// TestUnitsAlike compares units that are spelled differently.
func TestUnitsAlike(t *testing.T) {
	for _, tt := range []struct {
		a, b  cf.Units
		alike bool
	}{
		{cf.Units{"K", ""}, cf.Units{" kelvin", ""}, true},
		{cf.Units{"hours", ""}, cf.Units{"h", ""}, true},
		{cf.Units{"HOURS", ""}, cf.Units{"h", ""}, true},
		{cf.Units{"Days", ""}, cf.Units{"day", ""}, true},
		{cf.Units{"S", ""}, cf.Units{"s", ""}, false}, // siemens
		{cf.Units{"H", ""}, cf.Units{"h", ""}, false}, // henry
		{cf.Units{"D", ""}, cf.Units{"d", ""}, false}, // debye
		{cf.Units{"MS", ""}, cf.Units{"ms", ""}, false},
		{cf.Units{"µS", ""}, cf.Units{"us", ""}, false},
		{cf.Units{"S", ""}, cf.Units{" S", ""}, true},
		{cf.Units{"D since 2000-1-1", ""}, cf.Units{"Days Since 2000-01-01", ""}, true}, // as cftime reads it
		{cf.Units{"m", ""}, cf.Units{"km", ""}, false},
		{cf.Units{}, cf.Units{}, true},
		{cf.Units{"days since 2000-1-1", "365_day"}, cf.Units{"days since 2000-01-01", "NoLeap"}, true},
		{cf.Units{"days since 2000-1-1", ""}, cf.Units{"days since 2000-01-01", "noleap"}, false},
		{cf.Units{"days since 2000-1-1", ""}, cf.Units{"d since 2000-01-01", "proleptic_gregorian"}, true},
		{cf.Units{"days since 2000-01-01", ""}, cf.Units{"days", ""}, false},
	} {
		if tt.a.Alike(tt.b) != tt.alike || tt.b.Alike(tt.a) != tt.alike {
			t.Errorf("%q and %q: want %v", tt.a, tt.b, tt.alike)
		}
	}
}
