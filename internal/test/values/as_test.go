// SPDX-License-Identifier: Apache-2.0

package values_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
)

// realTypes returns the data types that can be converted.
func realTypes() (list []dtype.Type) {
	for _, t := range dtype.All() {
		if k := t.Kind(); k == dtype.KindInt || k == dtype.KindUint || k == dtype.KindFloat {
			list = append(list, t)
		}
	}
	return list
}

// exactly returns the number that an element represents. ok is false for NaN.
func exactly(typ dtype.Type, elem []byte) (x *big.Float, ok bool) {
	text := string(typ.AppendText(nil, elem))
	switch {
	case typ.Kind() != dtype.KindFloat || text == "inf" || text == "-inf":
		x, _, err := big.ParseFloat(text, 10, 500, big.ToNearestEven)
		return x, err == nil
	case text == "nan":
		return nil, false
	case typ == dtype.Float64:
		v, err := typ.ParseText(text)
		return new(big.Float).SetFloat64(math.Float64frombits(binary.NativeEndian.Uint64(v))), err == nil
	}
	one := make([]float32, 1)
	typ.Float32s(one, elem)
	return new(big.Float).SetFloat64(float64(one[0])), true
}

// testReadAs reads random elements of every type as T and compares them with the exact
// numbers.
func testReadAs[T zarr.Real](t *testing.T) {
	ctx := context.Background()
	target := dtype.Of[T]()
	for _, typ := range realTypes() {
		a := fixture.ArrayOf(t, typ, []int64{7, 5}, grid.Edges(4, 3), grid.Every(2))
		t.Run(typ.Name(), rapid.MakeCheck(func(t *rapid.T) {
			elems := make([]byte, 35*typ.Size())
			small := rapid.Bool().Draw(t, "small")
			random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
			for i := range elems {
				if elems[i] = byte(random.Uint32()); small && i%typ.Size() > 0 && typ.Kind() != dtype.KindFloat {
					elems[i] = 0
				}
			}
			typ.Normalize(elems)
			if err := a.WriteBytes(ctx, nil, elems); err != nil {
				t.Fatal(err)
			}
			got, err := zarr.ReadAs[T](ctx, a, nil)
			if target.Kind() != dtype.KindFloat && typ.Kind() == dtype.KindFloat {
				if !errors.Is(err, zarr.ErrInvalidArgument) {
					t.Fatal(err)
				}
				return
			}
			for i := range 35 {
				elem := elems[i*typ.Size():][:typ.Size()]
				exact, ok := exactly(typ, elem)
				if !ok && err == nil && !math.IsNaN(float64(got.Data[i])) {
					t.Fatalf("NaN is %v", got.Data[i])
				}
				if !ok {
					continue
				}
				fits := fitsIn(target, exact)
				if !fits {
					where := strings.Contains(err.Error(), fmt.Sprint("element ", []int{i / 5, i % 5}))
					if !errors.Is(err, zarr.ErrInvalidArgument) || !where {
						t.Fatalf("%v does not fit: %v", exact, err)
					}
					return
				}
				if err == nil && exactOf(got.Data[i]).Cmp(rounded(target, exact)) != 0 {
					t.Fatalf("%v is %v", exact, got.Data[i])
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}))
	}
}

func exactOf[T zarr.Real](x T) *big.Float {
	switch x := any(x).(type) {
	case int64:
		return new(big.Float).SetInt64(x)
	case uint64:
		return new(big.Float).SetUint64(x)
	}
	return new(big.Float).SetFloat64(float64(x))
}

// fitsIn reports whether a type can represent the number, or one next to it.
func fitsIn(t dtype.Type, x *big.Float) bool {
	if t.Kind() == dtype.KindFloat {
		return x.IsInf() || !rounded(t, x).IsInf()
	}
	n, accuracy := x.Int(nil)
	low, high := big.NewInt(0), new(big.Int).Lsh(big.NewInt(1), uint(t.Bits()))
	if t.Kind() == dtype.KindInt {
		high.Rsh(high, 1)
		low.Neg(high)
	}
	return accuracy == big.Exact && n.Cmp(low) >= 0 && n.Cmp(high) < 0
}

func rounded(t dtype.Type, x *big.Float) *big.Float {
	switch {
	case t == dtype.Float32 && !x.IsInf():
		v, _ := x.Float32()
		return new(big.Float).SetFloat64(float64(v))
	case t == dtype.Float64 && !x.IsInf():
		v, _ := x.Float64()
		return new(big.Float).SetFloat64(v)
	}
	return x
}

func TestReadAs(t *testing.T) {
	fixture.Sequential(t)
	t.Run("int8", testReadAs[int8])
	t.Run("uint16", testReadAs[uint16])
	t.Run("int64", testReadAs[int64])
	t.Run("uint64", testReadAs[uint64])
	t.Run("float32", testReadAs[float32])
	t.Run("float64", testReadAs[float64])
}

// TestWriteAs writes numbers of one type to arrays of all others and reads them back.
func TestWriteAs(t *testing.T) {
	ctx := context.Background()
	for _, typ := range realTypes() {
		a := fixture.ArrayOf(t, typ, []int64{2, 3}, grid.Every(2), grid.Edges(1, 2))
		src := []int16{1, 1, 0, 1, 1, 1}
		if typ.Name() == "float8_e8m0fnu" {
			src[2] = 1 // the type has no zero
		}
		if err := zarr.WriteAs(ctx, a, nil, src); err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		got, err := zarr.ReadAs[float64](ctx, a, nil)
		for i, x := range got.Data {
			if x != float64(src[i]) {
				t.Errorf("%s: %v, want %v", typ, got.Data, src)
			}
		}
		if err != nil || !slices.Equal(got.Shape, []int64{2, 3}) {
			t.Errorf("%s: %v, %v", typ, got.Shape, err)
		}
	}
}

// TestWriteAsRefuses writes values that do not fit. Nothing is stored.
func TestWriteAsRefuses(t *testing.T) {
	ctx := context.Background()
	a := fixture.ArrayOf(t, dtype.Uint8, []int64{2, 2}, grid.Every(1), grid.Every(1))
	err := zarr.WriteAs(ctx, a, nil, []int32{1, 2, 256, -1})
	if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "value [1 0], 256, does not fit uint8") {
		t.Error(err)
	}
	if b, err := zarr.Read[uint8](ctx, a, nil); err != nil || !slices.Equal(b.Data, []uint8{0, 0, 0, 0}) {
		t.Errorf("%v, %v", b.Data, err)
	}
	for name, err := range map[string]error{
		"floats as integers": zarr.WriteAs(ctx, a, nil, []float32{1, 2, 3, 4}),
		"too few":            zarr.WriteAs(ctx, a, nil, []int32{1}),
		"bool":               zarr.WriteAs(ctx, fixture.ArrayOf(t, dtype.Bool, []int64{1}), nil, []int32{1}),
		"selection":          zarr.WriteAs(ctx, a, selection.Box{{0, 9}, {0, 1}}, []int32{1}),
		"float8":             zarr.WriteAs(ctx, fixture.ArrayOf(t, fixture.Must(dtype.Parse("float8_e4m3fnuz", nil)), []int64{1}), nil, []float32{1e9}),
		"float16":            zarr.WriteAs(ctx, fixture.ArrayOf(t, dtype.Of[dtype.Float16](), []int64{1}), nil, []float64{65520}),
		"float32":            zarr.WriteAs(ctx, fixture.ArrayOf(t, dtype.Float32, []int64{1}), nil, []float64{1e300}),
	} {
		if !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := zarr.ReadAs[float32](ctx, fixture.ArrayOf(t, fixture.Must(dtype.Parse("string", nil)), []int64{1}), nil); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("text: %v", err)
	}
}

// TestReadAsOfSelections reads points, a view and a field.
func TestReadAsOfSelections(t *testing.T) {
	ctx := context.Background()
	typ := fixture.Must(dtype.StructOf(dtype.Field{Name: "a", Type: dtype.Int16}, dtype.Field{Name: "b", Type: dtype.Of[dtype.Float16]()}))
	a := fixture.ArrayOf(t, typ, []int64{6}, grid.Edges(1, 2, 3))
	b, err := a.View(selection.Fields{Of: nil, Names: []string{"b"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.WriteAs(ctx, b, nil, []float64{0, 0.5, 1, 1.5, 2, 2.5}); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.ReadAs[float32](ctx, b, selection.Points{selection.Coords(5, 1, 1)})
	if err != nil || !slices.Equal(got.Data, []float32{2.5, 0.5, 0.5}) {
		t.Errorf("%v, %v", got.Data, err)
	}
	same, err := zarr.ReadAs[int16](ctx, a, selection.Fields{Names: []string{"a"}})
	if err != nil || !slices.Equal(same.Data, make([]int16, 6)) {
		t.Errorf("%v, %v", same.Data, err)
	}
}

// TestReadAsInParts reads so many elements that they are converted in several parts.
func TestReadAsInParts(t *testing.T) {
	fixture.Sequential(t)
	ctx := context.Background()
	const n = 5 << 20
	a := fixture.ArrayOf(t, dtype.Int64, []int64{n}, grid.Every(1<<20))
	src := make([]int32, n)
	for i := range src {
		src[i] = int32(i)
	}
	if err := zarr.WriteAs(ctx, a, nil, src); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.ReadAs[int32](ctx, a, nil)
	if err != nil || !slices.Equal(got.Data, src) {
		t.Fatal(err)
	}
	if err := zarr.Fill(ctx, a, selection.Box{{n - 1, n}}, int64(math.MaxInt64)); err != nil {
		t.Fatal(err)
	}
	if _, err = zarr.ReadAs[int32](ctx, a, nil); err == nil || !strings.Contains(err.Error(), "element [5242879] of the selection, 9223372036854775807, does not fit int32") {
		t.Error(err)
	}
}

// TestReadAsAllocates checks that little more than the result is allocated.
func TestReadAsAllocates(t *testing.T) {
	racing.Skip(t)
	ctx := context.Background()
	const n = 100_000
	for _, typ := range realTypes() {
		a := fixture.ArrayOf(t, typ, []int64{n}, grid.Every(n/4))
		allocs := testing.AllocsPerRun(3, func() {
			if b, err := zarr.ReadAs[float64](ctx, a, nil); err != nil || len(b.Data) != n {
				t.Error(err)
			}
		})
		if allocs > 500 {
			t.Errorf("%s: %v allocations", typ, allocs)
		}
	}
}

// TestReadNamesConversions checks that the error of Read with another type names the
// function that converts.
func TestReadNamesConversions(t *testing.T) {
	a := fixture.ArrayOf(t, fixture.Must(dtype.Parse("float16", nil)), []int64{1})
	if _, err := zarr.Read[float32](t.Context(), a, nil); !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "; ReadAs and WriteAs convert numbers") {
		t.Error(err)
	}
	if err := zarr.Write(t.Context(), a, nil, []string{""}); err == nil || strings.Contains(err.Error(), "ReadAs") {
		t.Error(err)
	}
	a = fixture.ArrayOf(t, fixture.Must(dtype.StructOf(dtype.Field{Name: "a", Type: dtype.Int8})), []int64{1})
	if _, err := zarr.Read[int8](t.Context(), a, nil); err == nil || !strings.Contains(err.Error(), "; ReadStructs and WriteStructs") {
		t.Error(err)
	}
}
