// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
)

// observation has a field of every kind, in another order and with other padding than
// the elements.
type observation struct {
	Note    string `zarr:"note"`
	Ignored int
	Count   uint8 `zarr:"count"`
	At      struct {
		Lat float64 `zarr:"lat"`
		Rest
		Lon float32 `zarr:"lon"`
	} `zarr:"at"`
	OK      bool           `zarr:"ok"`
	Seen    time.Time      `zarr:"seen"`
	Took    time.Duration  `zarr:"took"`
	Wave    complex64      `zarr:"wave"`
	Half    dtype.Float16  `zarr:"half"`
	Brain   dtype.BFloat16 `zarr:"brain"`
	Tiny    float32        `zarr:"tiny"`
	Bits    byte           `zarr:"bits"`
	Raw     [3]byte        `zarr:"raw"`
	Loose   []byte         `zarr:"loose"`
	Code    string         `zarr:"code"`
	Tag     []byte         `zarr:"tag"`
	Nibble  int8           `zarr:"nibble"`
	Moment  int64          `zarr:"moment"`
	Celsius celsius        `zarr:"celsius"`
}

// Rest is embedded, and has no counterpart in the elements.
type Rest struct{ X, Y int }

type celsius float64

// observations returns the type of the elements.
func observations(t testing.TB) dtype.Type {
	parse := func(name string) dtype.Type { return fixture.Must(dtype.Parse(name, nil)) }
	at := fixture.Must(dtype.StructOf(dtype.Field{Name: "lon", Type: dtype.Float32}, dtype.Field{Name: "lat", Type: dtype.Float64}))
	return fixture.Must(dtype.StructOf(
		dtype.Field{Name: "count", Type: dtype.Uint8},
		dtype.Field{Name: "at", Type: at},
		dtype.Field{Name: "ok", Type: dtype.Bool},
		dtype.Field{Name: "note", Type: fixture.Must(dtype.FixedUTF32(5))},
		dtype.Field{Name: "seen", Type: fixture.Must(dtype.DatetimeOf("ms", 1))},
		dtype.Field{Name: "took", Type: fixture.Must(dtype.TimedeltaOf("us", 10))},
		dtype.Field{Name: "wave", Type: dtype.Complex64},
		dtype.Field{Name: "half", Type: dtype.Of[dtype.Float16]()},
		dtype.Field{Name: "brain", Type: dtype.Of[dtype.BFloat16]()},
		dtype.Field{Name: "tiny", Type: parse("float8_e5m2")},
		dtype.Field{Name: "bits", Type: parse("float4_e2m1fn")},
		dtype.Field{Name: "raw", Type: parse("r24")},
		dtype.Field{Name: "loose", Type: fixture.Must(dtype.RawBytes(5))},
		dtype.Field{Name: "code", Type: fixture.Must(dtype.NullTerminated(4))},
		dtype.Field{Name: "tag", Type: fixture.Must(dtype.NullTerminated(3))},
		dtype.Field{Name: "nibble", Type: parse("int4")},
		dtype.Field{Name: "moment", Type: fixture.Must(dtype.DatetimeOf("as", 3))},
		dtype.Field{Name: "celsius", Type: dtype.Float64},
	))
}

func drawnObservation(r *rand.Rand) observation {
	o := observation{
		Note: []string{"", "a", "räum", "12345", "日本"}[r.IntN(5)], Count: uint8(r.Uint32()), OK: r.IntN(2) == 1,
		Took: time.Duration(r.Int64N(1e15)-5e14) / 10000 * 10000, Wave: complex(r.Float32(), -r.Float32()), Half: dtype.Float16(r.Uint32()), Brain: dtype.BFloat16(r.Uint32()),
		Tiny: []float32{0, -1.5, 7, float32(math.Inf(1))}[r.IntN(4)], Bits: byte(r.IntN(16)), Raw: [3]byte{byte(r.Uint32()), 0, byte(r.Uint32())},
		Loose: binary.LittleEndian.AppendUint32([]byte{0}, r.Uint32()), Code: []string{"", "abcd", "é"}[r.IntN(3)], Tag: []byte("tag")[:r.IntN(4)], Nibble: int8(r.IntN(16) - 8),
		Moment: r.Int64(), Celsius: celsius(r.NormFloat64()),
	}
	o.At.Lat, o.At.Lon = r.Float64(), r.Float32()
	if r.IntN(3) > 0 {
		o.Seen = time.UnixMilli(r.Int64N(1e14) - 5e13).UTC()
	}
	return o
}

func TestStructs(t *testing.T) {
	ctx := context.Background()
	typ := observations(t)
	a := fixture.ArrayOf(t, typ, []int64{9, 4}, grid.Edges(2, 3, 4), grid.Every(3))
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]observation, 36)
	for i := range want {
		want[i] = drawnObservation(r)
	}
	if err := zarr.WriteStructs(ctx, a, nil, want); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.ReadStructs[observation](ctx, a, nil)
	if err != nil || !slices.Equal(got.Shape, []int64{9, 4}) || !reflect.DeepEqual(got.Data, want) {
		t.Fatalf("%v, %v\n%+v\n%+v", got.Shape, err, got.Data[:2], want[:2])
	}
	// Compare with the fields read one by one.
	for i, o := range want {
		at := selection.Basic{selection.At(int64(i / 4)), selection.At(int64(i % 4))}
		lat, err := zarr.Read[float64](ctx, a, selection.Fields{Names: []string{"lat"}, Of: selection.Fields{Names: []string{"at"}, Of: at}})
		if err != nil || lat.Data[0] != o.At.Lat {
			t.Fatalf("lat %v, %v", lat.Data, err)
		}
		note, err := zarr.Read[string](ctx, a, selection.Fields{Names: []string{"note"}, Of: at})
		if err != nil || note.Data[0] != o.Note {
			t.Fatalf("note %q, %v", note.Data, err)
		}
	}
	// A part of the elements, and a part of their fields.
	type small struct {
		Celsius float64 `zarr:"celsius"`
		Count   byte    `zarr:"count"`
	}
	some, err := zarr.ReadStructs[small](ctx, a, selection.Fields{Names: []string{"celsius", "count"}, Of: selection.Points{selection.Coords(8, 0), selection.Coords(3, 1)}})
	if err != nil || some.Data[0] != (small{float64(want[35].Celsius), want[35].Count}) || some.Data[1].Count != want[1].Count {
		t.Errorf("%v, %v", some, err)
	}
	if err := zarr.WriteStructs(ctx, a, selection.Fields{Names: []string{"count", "celsius"}, Of: selection.Box{{0, 1}, {0, 1}}}, []small{{-1, 7}}); err != nil {
		t.Fatal(err)
	}
	got, err = zarr.ReadStructs[observation](ctx, a, selection.Box{{0, 1}, {0, 1}})
	if want[0].Count, want[0].Celsius = 7, -1; err != nil || !reflect.DeepEqual(got.Data[0], want[0]) {
		t.Errorf("%+v, %v", got.Data[0], err)
	}
}

// TestStructsCopied has Go structs with the same memory layout as the elements.
func TestStructsCopied(t *testing.T) {
	ctx := context.Background()
	type point struct {
		X int32   `zarr:"x"`
		Y float32 `zarr:"y"`
		Z int64   `zarr:"z"`
	}
	typ := fixture.Must(dtype.StructOf(dtype.Field{Name: "x", Type: dtype.Int32}, dtype.Field{Name: "y", Type: dtype.Float32}, dtype.Field{Name: "z", Type: dtype.Int64}))
	a := fixture.ArrayOf(t, typ, []int64{3})
	want := []point{{1, 2, 3}, {-1, float32(math.Inf(1)), math.MinInt64}, {}}
	if err := zarr.WriteStructs(ctx, a, nil, want); err != nil {
		t.Fatal(err)
	}
	raw := make([]byte, 48)
	if err := a.ReadBytes(ctx, nil, raw); err != nil || string(raw) != string(unsafe.Slice((*byte)(unsafe.Pointer(&want[0])), 48)) {
		t.Errorf("%x, %v", raw, err)
	}
	if got, err := zarr.ReadStructs[point](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStructsRefuse(t *testing.T) {
	ctx := context.Background()
	typ := fixture.Must(dtype.StructOf(dtype.Field{Name: "x", Type: dtype.Int32}, dtype.Field{Name: "s", Type: fixture.Must(dtype.NullTerminated(2))},
		dtype.Field{Name: "in", Type: fixture.Must(dtype.StructOf(dtype.Field{Name: "t", Type: fixture.Must(dtype.DatetimeOf("Y", 1))}))}))
	a := fixture.ArrayOf(t, typ, []int64{2})
	type in struct {
		T time.Time `zarr:"t"`
	}
	type good struct {
		X  int32  `zarr:"x"`
		S  string `zarr:"s"`
		In in     `zarr:"in"`
	}
	read := func(says string, err error) {
		t.Helper()
		if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	try := func(says string, read2 func() error) { t.Helper(); read(says, read2()) }
	try(`tagged `+"`zarr:\"s\"`", func() error {
		_, err := zarr.ReadStructs[struct {
			X int32 `zarr:"x"`
		}](ctx, a, nil)
		return err
	})
	try(`is tagged "y"`, func() error {
		_, err := zarr.ReadStructs[struct {
			X int32 `zarr:"y"`
		}](ctx, a, nil)
		return err
	})
	try("both tagged", func() error {
		_, err := zarr.ReadStructs[struct {
			X, Y int32 `zarr:"x"`
		}](ctx, a, nil)
		return err
	})
	try("not exported", func() error {
		_, err := zarr.ReadStructs[struct {
			x int32 `zarr:"x"`
		}](ctx, a, nil)
		return err
	})
	try(`field "x" is int32, which is not kept in a int64`, func() error {
		_, err := zarr.ReadStructs[struct {
			X  int64  `zarr:"x"`
			S  string `zarr:"s"`
			In in     `zarr:"in"`
		}](ctx, a, nil)
		return err
	})
	try(`field "in.t" is numpy.datetime64[Y], which is not kept in a string`, func() error {
		_, err := zarr.ReadStructs[struct {
			X  int32  `zarr:"x"`
			S  string `zarr:"s"`
			In struct {
				T string `zarr:"t"`
			} `zarr:"in"`
		}](ctx, a, nil)
		return err
	})
	try("no struct of Go", func() error { _, err := zarr.ReadStructs[int32](ctx, a, nil); return err })
	try("no structs", func() error {
		_, err := zarr.ReadStructs[good](ctx, fixture.ArrayOf(t, dtype.Int8, []int64{1}), nil)
		return err
	})
	try(`value [1]: field "s": text "abc" is too long`, func() error {
		return zarr.WriteStructs(ctx, a, nil, []good{{}, {S: "abc"}})
	})
	try(`value [1]: field "s": text "abc" is too long`, func() error { return zarr.AppendStructs(ctx, a, 0, []good{{}, {S: "abc"}}, nil) })
	try("2 values", func() error { return zarr.WriteStructs(ctx, a, selection.Box{{0, 1}}, []good{{}, {}}) })

	if err := a.WriteBytes(ctx, selection.Box{{1, 2}}, append([]byte{0, 0, 0, 0, 'a', 0}, binary.NativeEndian.AppendUint64(nil, math.MaxInt64)...)); err != nil {
		t.Fatal(err)
	}
	try(`element [1] of the selection: field "in.t", 9223372036854775807 Y, does not fit`, func() error { _, err := zarr.ReadStructs[good](ctx, a, nil); return err })
	if err := zarr.WriteStructs(ctx, a, selection.Box{{0, 1}}, []good{{}}); err != nil {
		t.Fatal(err)
	}
	if v, err := zarr.ReadStructs[good](ctx, a, selection.Box{{0, 1}}); err != nil || !v.Data[0].In.T.IsZero() {
		t.Errorf("%v, %v", v, err)
	}
}

// TestZeroTimeIsNaT reads NaT as the zero Time, and writes the zero Time as NaT.
func TestZeroTimeIsNaT(t *testing.T) {
	ctx := context.Background()
	for _, unit := range []string{"D", "ns"} {
		a := fixture.ArrayOf(t, fixture.Must(dtype.DatetimeOf(unit, 1)), []int64{2})
		day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
		if err := zarr.Write(ctx, a, nil, []time.Time{{}, day}); err != nil {
			t.Fatal(err)
		}
		numbers, err := zarr.Read[int64](ctx, a, nil)
		if err != nil || numbers.Data[0] != dtype.NaT {
			t.Errorf("%v, %v", numbers.Data, err)
		}
		if times, err := zarr.Read[time.Time](ctx, a, nil); err != nil || !times.Data[0].IsZero() || times.Data[1] != day {
			t.Errorf("%v, %v", times.Data, err)
		}
	}
}

// TestValuesAllocate checks that elements of fixed width take no allocations, and others
// only those of their text and byte slices.
func TestValuesAllocate(t *testing.T) {
	ctx := context.Background()
	const n = 20_000
	type fixed struct {
		T time.Time     `zarr:"t"`
		D time.Duration `zarr:"d"`
		F float32       `zarr:"f"`
	}
	typ := fixture.Must(dtype.StructOf(dtype.Field{Name: "d", Type: fixture.Must(dtype.TimedeltaOf("s", 1))}, dtype.Field{Name: "f", Type: dtype.Of[dtype.BFloat16]()},
		dtype.Field{Name: "t", Type: fixture.Must(dtype.DatetimeOf("s", 1))}))
	structs := fixture.ArrayOf(t, typ, []int64{n})
	times := fixture.ArrayOf(t, fixture.Must(dtype.DatetimeOf("s", 1)), []int64{n})
	text := fixture.ArrayOf(t, fixture.Must(dtype.FixedUTF32(4)), []int64{n})
	values, moments, words := make([]fixed, n), make([]time.Time, n), make([]string, n)
	for i := range values {
		moments[i] = time.Unix(int64(i), 0)
		values[i].T = moments[i]
		words[i] = "abcd"
	}
	check := func(what string, most float64, work func() error) {
		t.Helper()
		if allocs := testing.AllocsPerRun(3, func() {
			if err := work(); err != nil {
				t.Error(err)
			}
		}); allocs > most {
			t.Errorf("%s: %v allocations", what, allocs)
		}
	}
	check("write structs", 500, func() error { return zarr.WriteStructs(ctx, structs, nil, values) })
	check("read structs", 500, func() error { _, err := zarr.ReadStructs[fixed](ctx, structs, nil); return err })
	check("write times", 500, func() error { return zarr.Write(ctx, times, nil, moments) })
	check("read times", 500, func() error { return zarr.ReadInto(ctx, times, nil, moments) })
	check("write text", 500, func() error { return zarr.Write(ctx, text, nil, words) })
	check("read text", n+500, func() error { return zarr.ReadInto(ctx, text, nil, words) })
}

func BenchmarkReadStructs(b *testing.B) {
	ctx := context.Background()
	typ := observations(b)
	a := fixture.ArrayOf(b, typ, []int64{100_000})
	r, values := rand.New(rand.NewPCG(1, 2)), make([]observation, 100_000)
	for i := range values {
		values[i] = drawnObservation(r)
	}
	if err := zarr.WriteStructs(ctx, a, nil, values); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(values) * typ.Size()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := zarr.ReadStructs[observation](ctx, a, nil); err != nil {
			b.Fatal(err)
		}
	}
}
