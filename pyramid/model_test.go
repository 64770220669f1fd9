// SPDX-License-Identifier: Apache-2.0

package pyramid_test

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/cmplx"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// element is the Go type of elements that can be compared.
type element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64 | dtype.Float16 | complex64
}

// kind is a Go type with what a plain model needs of it.
type kind[T element] struct {
	values    []T
	absent    func(T) bool
	mean      func([]T) T
	successor func(T) T // the number that takes the place of a mean that would be missing
	less      func(a, b T) bool
	methods   []pyramid.Method
}

func nothing[T any](T) bool { return false }

// exactMean is the mean of integers as a fraction, rounded half to even.
func exactMean[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](block []T) T {
	sum := new(big.Int)
	for _, x := range block {
		sum.Add(sum, toBig(x))
	}
	n := big.NewInt(int64(len(block)))
	floor, rest := new(big.Int).DivMod(sum, n, new(big.Int))
	twice := rest.Lsh(rest, 1).Cmp(n)
	if twice > 0 || twice == 0 && floor.Bit(0) == 1 {
		floor.Add(floor, big.NewInt(1))
	}
	if floor.IsInt64() {
		return T(floor.Int64())
	}
	return T(floor.Uint64())
}

func toBig[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](x T) *big.Int {
	if x < 0 {
		return big.NewInt(int64(x))
	}
	return new(big.Int).SetUint64(uint64(x))
}

func integers[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64](low, high T) kind[T] {
	next := func(x T) T { return x + 1 }
	return kind[T]{[]T{0, 1, 2, 3, 7, low, high, high - 1}, nothing[T], exactMean[T], next, cmp.Less[T], pyramid.Methods()}
}

func floats[T float32 | float64](huge T) kind[T] {
	nan := T(math.NaN())
	return kind[T]{
		[]T{0, 1, 2, 0.1, -7.3, nan, nan, T(math.Inf(1)), huge},
		func(x T) bool { return x != x },
		func(block []T) T {
			sum := 0.0
			for _, x := range block {
				sum += float64(x)
			}
			return T(sum / float64(len(block)))
		}, nextFloat[T], cmp.Less[T], pyramid.Methods(),
	}
}

// nextFloat returns the float with the next larger magnitude.
func nextFloat[T float32 | float64](x T) T {
	away := math.Inf(1)
	if math.Signbit(float64(x)) {
		away = math.Inf(-1)
	}
	if _, short := any(x).(float32); short {
		return T(math.Nextafter32(float32(x), float32(away)))
	}
	return T(math.Nextafter(float64(x), away))
}

func bools() kind[bool] {
	return kind[bool]{[]bool{true, false}, nothing[bool], nil, nil, func(a, b bool) bool { return !a && b }, pyramid.Methods()[1:]}
}

func halves() kind[dtype.Float16] {
	of := func(x float32) dtype.Float16 { return dtype.FromFloat32(x) }
	return kind[dtype.Float16]{
		[]dtype.Float16{of(0), of(1), of(3), of(-2.5), of(1000), of(float32(math.NaN()))},
		func(x dtype.Float16) bool { return x.Float32() != x.Float32() },
		func(block []dtype.Float16) dtype.Float16 {
			sum := 0.0 // exact, and so are the means of blocks with a power of two of elements
			for _, x := range block {
				sum += float64(x.Float32())
			}
			return nearestHalf(sum / float64(len(block)))
		},
		func(x dtype.Float16) dtype.Float16 { return x + 1 },
		func(a, b dtype.Float16) bool { return a.Float32() < b.Float32() }, pyramid.Methods(),
	}
}

// nearestHalf tries all halves.
func nearestHalf(x float64) dtype.Float16 {
	best, least := dtype.Float16(0), math.Inf(1)
	for b := range 1 << 16 {
		if b == 1<<15 {
			continue // -0
		}
		h := dtype.Float16(b)
		d := math.Abs(float64(h.Float32()) - x)
		if d < least || d == least && b%2 == 0 {
			best, least = h, d
		}
	}
	return best
}

func complexes() kind[complex64] {
	nan := float32(math.NaN())
	return kind[complex64]{
		[]complex64{0, 1, 2i, complex(3, -4), complex(nan, 1)},
		func(x complex64) bool { return cmplx.IsNaN(complex128(x)) },
		func(block []complex64) complex64 {
			re, im := 0.0, 0.0
			for _, x := range block {
				re, im = re+float64(real(x)), im+float64(imag(x))
			}
			n := float64(len(block))
			return complex(float32(re/n), float32(im/n))
		}, func(x complex64) complex64 { return complex(nextFloat(real(x)), imag(x)) }, nil, pyramid.Methods()[:2],
	}
}

// block is an array of plain elements.
type block[T element] struct {
	shape []int64
	data  []T
}

// halved returns the level above, made element by element.
func (b block[T]) halved(k kind[T], m pyramid.Method, factors []int64, absent func(T) bool) block[T] {
	up := block[T]{shape: slices.Clone(b.shape)}
	for i, f := range factors {
		up.shape[i] = (b.shape[i] + f - 1) / f
	}
	for index := range grid.BoxOf(up.shape).Indices() {
		part := make(grid.Box, len(index))
		for i, at := range index {
			part[i] = grid.Interval{Start: at * factors[i], Stop: min((at+1)*factors[i], b.shape[i])}
		}
		var all, present []T
		for at := range part.Indices() {
			x := b.data[offset(b.shape, at)]
			if all = append(all, x); !absent(x) {
				present = append(present, x)
			}
		}
		x := k.one(m, all, present)
		for m == pyramid.Mean && len(present) > 0 && x == x && absent(x) {
			x = k.successor(x)
		}
		up.data = append(up.data, x)
	}
	return up
}

// one makes one element.
func (k kind[T]) one(m pyramid.Method, all, present []T) T {
	switch {
	case m == pyramid.Nearest || len(present) == 0:
		return all[0]
	case m == pyramid.Mean:
		return k.mean(present)
	}
	order := func(a, b T) int {
		switch {
		case k.less(a, b):
			return -1
		case k.less(b, a):
			return 1
		}
		return 0
	}
	switch m {
	case pyramid.Min:
		return slices.MinFunc(present, order)
	case pyramid.Max:
		return slices.MaxFunc(present, order)
	}
	times := map[T]int{}
	for _, x := range present {
		times[x]++
	}
	best := present[0]
	for x, n := range times {
		if n > times[best] || n == times[best] && k.less(x, best) {
			best = x
		}
	}
	return best
}

func offset(shape, index []int64) (at int64) {
	for i, k := range index {
		at = at*shape[i] + k
	}
	return at
}

// same reports whether two elements are equal, or both NaN.
func same[T comparable](a, b T) bool { return a == b || a != a && b != b }

// drawCut cuts an axis, regularly or by a list of edges.
func drawCut(t *rapid.T, n int64, format int) grid.Cut {
	if format == 2 || n == 0 || rapid.Bool().Draw(t, "regular") {
		return grid.Every(rapid.Int64Range(1, 5).Draw(t, "step"))
	}
	var edges []int64
	for sum := int64(0); sum < n; {
		e := rapid.Int64Range(1, 5).Draw(t, "edge")
		edges, sum = append(edges, e), sum+e
	}
	return grid.Edges(edges...)
}

// TestModel draws arrays of every kind of element, writes, appends and resizes them, and
// makes their pyramids again and again. All levels have the elements of a plain model.
func TestModel(t *testing.T) {
	t.Run("uint8", func(t *testing.T) { check(t, integers[uint8](4, 255)) })
	t.Run("float64", func(t *testing.T) { check(t, floats(math.MaxFloat64)) })
	t.Run("bool", func(t *testing.T) { check(t, bools()) })
	racing.Skip(t) // goroutines share the same with elements of other kinds
	t.Run("int8", func(t *testing.T) { check(t, integers[int8](-128, 127)) })
	t.Run("int16", func(t *testing.T) { check(t, integers[int16](-1<<15, 1<<15-1)) })
	t.Run("uint16", func(t *testing.T) { check(t, integers[uint16](4, 1<<16-1)) })
	t.Run("int32", func(t *testing.T) { check(t, integers[int32](math.MinInt32, math.MaxInt32)) })
	t.Run("uint32", func(t *testing.T) { check(t, integers[uint32](4, math.MaxUint32)) })
	t.Run("int64", func(t *testing.T) { check(t, integers[int64](math.MinInt64, math.MaxInt64)) })
	t.Run("uint64", func(t *testing.T) { check(t, integers[uint64](4, math.MaxUint64)) })
	t.Run("float32", func(t *testing.T) { check(t, floats[float32](math.MaxFloat32)) })
	t.Run("float16", func(t *testing.T) { check(t, halves()) })
	t.Run("complex64", func(t *testing.T) { check(t, complexes()) })
}

func check[T element](t *testing.T, k kind[T]) {
	rapid.Check(t, func(t *rapid.T) {
		format := rapid.SampledFrom([]int{3, 3, 2}).Draw(t, "format")
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		b := block[T]{shape: make([]int64, rank)}
		spec := zarr.Spec{Type: dtype.Of[T](), Format: format, Chunks: make([]grid.Cut, rank), FillValue: zarr.FillJSON("0")}
		if spec.Type == dtype.Bool {
			spec.FillValue = zarr.FillJSON("false")
		}
		if spec.Type == dtype.Complex64 {
			spec.FillValue = zarr.FillJSON("[0,0]")
		}
		opt := pyramid.Options{Method: rapid.SampledFrom(k.methods).Draw(t, "method"), Levels: rapid.IntRange(0, 3).Draw(t, "levels")}
		for i := range b.shape {
			b.shape[i] = rapid.Int64Range(1, 14).Draw(t, "extent")
			spec.Chunks[i] = drawCut(t, b.shape[i], format)
			opt.Factors = append(opt.Factors, rapid.Int64Range(1, 3).Draw(t, "factor"))
		}
		opt.Factors[rapid.IntRange(0, rank-1).Draw(t, "divided")] = 2
		spec.Shape = b.shape
		if rapid.Bool().Draw(t, "named") {
			spec.DimensionNames = []string{"d", "e", "f"}[:rank]
		}
		absent := k.absent
		// In format 2, xarray takes the fill value for a missing value, if it opens the
		// array.
		zero := *new(T)
		if format == 2 && cfMasks(spec.Type) && spec.DimensionNames != nil {
			absent = func(x T) bool { return k.absent(x) || x == zero }
		}
		if format == 3 && reflect.TypeFor[T]().Kind() == reflect.Uint8 && rapid.Bool().Draw(t, "coded") {
			spec.Attributes = map[string]any{"_FillValue": 7, "units": "K"}
			seven := k.values[4]
			absent = func(x T) bool { return x == seven }
		}
		n, _ := grid.BoxOf(b.shape).Len()
		b.data = make([]T, n)
		name := rapid.SampledFrom([]string{"0", "image"}).Draw(t, "name")
		s := memstore.New()
		at := zarr.At(s, "g/"+name)
		a, err := at.CreateArray(t.Context(), spec, nil)
		must(t, err)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			b.change(t, a, k)
			if rapid.IntRange(0, 4).Draw(t, "again") == 0 {
				opt.Levels = rapid.IntRange(0, 3).Draw(t, "levels")
			}
			_, err := pyramid.Make(t.Context(), a, &opt)
			must(t, err)
			b.compare(t, a, name, k, opt, absent)
		}
	})
}

// cfMasks reports whether xarray masks the fill value of format 2.
func cfMasks(t dtype.Type) bool {
	return slices.Contains([]dtype.Kind{dtype.KindBool, dtype.KindInt, dtype.KindUint, dtype.KindFloat, dtype.KindComplex}, t.Kind())
}

func must(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// change writes to the array, or changes its extent, and does the same to the model.
func (b *block[T]) change(t *rapid.T, a *zarr.Array, k kind[T]) {
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		shape := slices.Clone(b.shape)
		i := rapid.IntRange(0, len(shape)-1).Draw(t, "axis")
		shape[i] = rapid.Int64Range(1, 16).Draw(t, "extent")
		must(t, a.Resize(t.Context(), shape, nil))
		b.resize(shape)
	}
	box := grid.BoxOf(b.shape)
	for i := range box {
		box[i].Start = rapid.Int64Range(0, b.shape[i]-1).Draw(t, "start")
		box[i].Stop = rapid.Int64Range(box[i].Start+1, b.shape[i]).Draw(t, "stop")
	}
	n, _ := box.Len()
	values := rapid.SliceOfN(rapid.SampledFrom(k.values), int(n), int(n)).Draw(t, "values")
	must(t, zarr.Write(t.Context(), a, selection.BoxOf(box), values))
	i := 0
	for at := range box.Indices() {
		b.data[offset(b.shape, at)] = values[i]
		i++
	}
}

func (b *block[T]) resize(shape []int64) {
	n, _ := grid.BoxOf(shape).Len()
	old := *b
	b.shape, b.data = shape, make([]T, n)
	for at := range grid.BoxOf(shape).Indices() {
		if grid.BoxOf(old.shape).Contains(at) {
			b.data[offset(shape, at)] = old.data[offset(old.shape, at)]
		}
	}
}

// compare compares all levels with the model.
func (b block[T]) compare(t *rapid.T, a *zarr.Array, name string, k kind[T], opt pyramid.Options, absent func(T) bool) {
	plan, err := pyramid.NewPlan(t.Context(), a, &opt)
	must(t, err)
	level := b
	for _, l := range plan.Levels {
		if l.Made != 0 {
			t.Fatalf("%s: %d tiles are to be made again", l.Path, l.Made)
		}
		level = level.halved(k, opt.Method, opt.Factors, absent)
		at, err := a.Location().Root().At("g/"+l.Path).OpenArray(t.Context(), nil)
		must(t, err)
		got, err := zarr.Read[T](t.Context(), at, nil)
		must(t, err)
		if !slices.Equal(at.Shape(), level.shape) || !slices.EqualFunc(got.Data, level.data, same[T]) {
			t.Fatalf("%s of %s: %v %v, want %v %v", l.Path, a, at.Shape(), got.Data, level.shape, level.data)
		}
		if g := at.Grid(); !slices.Equal(g.Chunks(), l.Grid.Chunks()) {
			t.Fatalf("%s has the grid %s, planned was %s", l.Path, g, l.Grid)
		}
	}
	if _, err := a.Location().Root().At(fmt.Sprintf("g/%s", expected(name, len(plan.Levels)))).OpenArray(t.Context(), nil); err == nil {
		t.Fatal("there is another level")
	}
}

// expected is the path of the level after the given number of levels.
func expected(name string, levels int) string {
	return fmt.Sprintf("%s_levels/%d/%[1]s", name, levels+1)
}
