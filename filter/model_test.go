// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) { fixture.Main(m) }

// row is a row of the model, in which nothing has chunks.
type row struct {
	day   int64   // since 2000-01-01, which is a Saturday
	x     float64 // missing is NaN or -999
	label string
	flag  bool
	v     [3]int32
}

func (r row) hasX() bool { return !math.IsNaN(r.x) && r.x != -999 }

// drawer draws tables, conditions and masks.
type drawer struct{ *rand.Rand }

func (d drawer) one(n int) bool { return d.IntN(n) == 0 }

func (d drawer) rows(n int) []row {
	list, day := make([]row, n), int64(0)
	for i := range list {
		day += d.Int64N(4)
		list[i] = row{day: day, x: float64(d.IntN(9) - 4), label: string("abcd"[d.IntN(4)]), flag: d.one(2)}
		if d.one(3) {
			list[i].label = strings.Repeat("long ", d.IntN(9))
		}
		switch d.IntN(6) {
		case 0:
			list[i].x = math.NaN()
		case 1:
			list[i].x = -999
		}
		for k := range list[i].v {
			list[i].v[k] = d.Int32N(100)
		}
	}
	return list
}

// condition draws a condition, and what it means for a row.
func (d drawer) condition(depth int) (string, func(row) bool) {
	if depth > 0 {
		a, isA := d.condition(depth - 1)
		b, isB := d.condition(depth - 1)
		switch d.IntN(4) {
		case 0:
			return fmt.Sprintf("(%s) and (%s)", a, b), func(r row) bool { return isA(r) && isB(r) }
		case 1:
			return fmt.Sprintf("(%s) or %s", a, "("+b+")"), func(r row) bool { return isA(r) || isB(r) }
		case 2:
			return fmt.Sprintf("not (%s)", a), func(r row) bool { return !isA(r) }
		}
		return a, isA
	}
	op := []string{"==", "!=", "<", "<=", ">", ">="}[d.IntN(6)]
	is := func(c int) bool {
		return map[string]bool{"==": c == 0, "!=": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[op]
	}
	switch d.IntN(7) {
	case 0: // a day
		n := d.Int64N(60)
		month, day := 1+n/31, 1+n%31
		if month == 2 && day > 29 {
			day = 29
		}
		n = 31*(month-1) + day - 1
		return fmt.Sprintf("time %s 2000-%02d-%02d", op, month, day), func(r row) bool { return is(int(r.day - n)) }
	case 1: // January is a period
		return fmt.Sprintf("time %s 2000-01", op), func(r row) bool { return is(int(max(0, r.day-30))) }
	case 2:
		n := float64(d.IntN(9)-4) + 0.5*float64(d.IntN(2))
		text := fmt.Sprintf("x %s %g", op, n)
		if d.one(2) {
			text = fmt.Sprintf("%g %s x", n, strings.NewReplacer("<", ">", ">", "<").Replace(op))
		}
		return text, func(r row) bool { return r.hasX() && is(cmp.Compare(r.x, n)) }
	case 3:
		return "label >= 'b' and label < 'long'", func(r row) bool { return r.label >= "b" && r.label < "long" }
	case 4:
		return "x is missing", func(r row) bool { return !r.hasX() }
	case 5:
		return "label not in ('a', \"b\", 'long long ')", func(r row) bool { return !slices.Contains([]string{"a", "b", "long long "}, r.label) }
	}
	return "flag", func(r row) bool { return r.flag }
}

// cut draws how rows are cut.
func (d drawer) cut(n int64, regular bool, unit int64) grid.Cut {
	if regular || d.one(3) {
		return grid.Every(unit * (1 + d.Int64N(6)))
	}
	var lengths []int64
	for sum := int64(0); sum < n || len(lengths) == 0; sum += lengths[len(lengths)-1] {
		lengths = append(lengths, unit*(1+d.Int64N(6)))
	}
	return grid.Edges(lengths...)
}

// spec draws how an array is stored.
func (d drawer) spec(format int, typ dtype.Type, rows, axis int64, shape ...int64) zarr.Spec {
	s := zarr.Spec{Shape: shape, Type: typ, Format: format, DimensionNames: slices.Repeat([]string{""}, len(shape)), Attributes: map[string]any{"n": rows}}
	for i := range shape {
		s.DimensionNames[i] = []string{"y", "z", "w"}[i]
	}
	s.DimensionNames[axis] = "time"
	sharded := format == 3 && d.one(3)
	for i, n := range shape {
		unit := int64(1)
		if sharded {
			unit = 1 + d.Int64N(3)
			s.InnerChunks = append(s.InnerChunks, grid.Every(unit))
		}
		if int64(i) == axis {
			s.Chunks = append(s.Chunks, d.cut(n, format == 2, unit))
		} else {
			s.Chunks = append(s.Chunks, grid.Every(unit*(1+d.Int64N(2))))
		}
	}
	if format == 3 && d.one(3) && !typ.Variable() {
		s.Codecs = append(fixture.Packed(), codec.CRC32C())
	}
	if d.one(3) {
		s.KeyEncoding = metadata.V2Dot
	}
	return s
}

// table stores rows as arrays of a group.
func (d drawer) table(ctx context.Context, at *zarr.Location, format int, rows []row) error {
	g, err := at.CreateGroup(ctx, map[string]any{"title": "stations"}, &zarr.CreateOptions{Format: format})
	if err != nil {
		return err
	}
	n := int64(len(rows))
	s := d.spec(format, dtype.Int64, n, 0, n)
	s.Attributes = map[string]any{"units": "days since 2000-01-01", "calendar": "standard"}
	err = put(ctx, g.At("time"), s, column(rows, func(r row) []int64 { return []int64{r.day} }))
	if err == nil {
		s := d.spec(format, dtype.Float64, n, 0, n)
		s.Attributes, s.FillValue = map[string]any{"_FillValue": -999}, zarr.FillJSON("-999")
		if format == 3 {
			s.Attributes = map[string]any{"_FillValue": "AAAAAAA4j8A="} // -999, as xarray writes it
		}
		err = put(ctx, g.At("x"), s, column(rows, func(r row) []float64 { return []float64{r.x} }))
	}
	if err == nil {
		err = put(ctx, g.At("label"), d.spec(format, dtype.String, n, 0, n), column(rows, func(r row) []string { return []string{r.label} }))
	}
	if err == nil {
		err = put(ctx, g.At("flag"), d.spec(format, dtype.Bool, n, 0, n), column(rows, func(r row) []bool { return []bool{r.flag} }))
	}
	if err == nil {
		err = put(ctx, g.At("v"), d.spec(format, dtype.Int32, n, 0, n, 3), column(rows, func(r row) []int32 { return r.v[:] }))
	}
	if err == nil {
		err = put(ctx, g.At("below/across"), d.spec(format, dtype.Int32, n, 1, 3, n), across(rows))
	}
	if err == nil {
		s := d.spec(format, dtype.Int32, 3, 0, 3)
		s.DimensionNames = []string{"z"}
		err = put(ctx, g.At("z"), s, []int32{7, 8, 9})
	}
	if err == nil && d.one(2) {
		err = g.Consolidate(ctx)
	}
	return err
}

// column returns a column of the model.
func column[T any](rows []row, of func(row) []T) []T {
	list := []T{}
	for _, r := range rows {
		list = append(list, of(r)...)
	}
	return list
}

// across returns the values with rows along the last axis.
func across(rows []row) []int32 {
	list := []int32{}
	for k := range 3 {
		for _, r := range rows {
			list = append(list, r.v[k])
		}
	}
	return list
}

func put[T dtype.Element](ctx context.Context, at *zarr.Location, s zarr.Spec, values []T) error {
	a, err := at.CreateArray(ctx, s, nil)
	if err == nil && len(values) > 0 {
		err = zarr.Write(ctx, a, nil, values)
	}
	return err
}

// TestFilterModel filters drawn tables by drawn conditions and masks, and compares the
// result with that of a model without chunks.
func TestFilterModel(t *testing.T) {
	quick := 150
	if racing.Detector {
		quick = 30
		// Goroutines record chunks, as in the tests that take too long here.
		defer filter.ShortRounds(2)()
	}
	for seed := range fixture.Soaked(t, quick, 5000) {
		d := drawer{rand.New(rand.NewPCG(uint64(seed), 7))}
		format := 3
		if d.one(4) {
			format = 2
		}
		rows := d.rows(d.IntN(40))
		s := memstore.New()
		src, dst := zarr.At(s, "t"), zarr.At(s, "u")
		if d.one(2) {
			dst = zarr.At(memstore.New(), "")
		}
		if err := d.table(t.Context(), src, format, rows); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if d.one(2) {
			if err := d.describe(t.Context(), src, rows); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
		}
		request, keeps, label := d.request(rows)
		opt := &filter.Options{}
		if d.one(3) {
			opt.Memory = 1 << 14
		}
		plan, err := filter.NewPlan(t.Context(), src, dst, request, opt)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, label, err)
		}
		report, err := filter.Do(t.Context(), src, dst, request, opt)
		if err != nil {
			t.Fatalf("seed %d: %s: %v", seed, label, err)
		}
		kept := slices.Clone(rows)
		i := -1
		kept = slices.DeleteFunc(kept, func(r row) bool { i++; return !keeps(i, r) })
		if err := checkTable(t.Context(), src, dst, kept); err != nil {
			t.Fatalf("seed %d, format %d: %s: %v", seed, format, label, err)
		}
		if report.Kept != int64(len(kept)) || plan.Kept != report.Kept || plan.Rows != int64(len(rows)) {
			t.Fatalf("seed %d: %d rows of %d, planned %d of %d", seed, report.Kept, report.Rows, plan.Kept, plan.Rows)
		}
		was := plan.Counts
		was.BytesRead, was.BytesDropped, report.BytesDropped = 0, 0, 0
		if was != report.Counts {
			t.Fatalf("seed %d: planned %+v, done %+v", seed, was, report.Counts)
		}
	}
}

// describe makes statistics of columns, and maybe overwrites rows afterwards.
func (d drawer) describe(ctx context.Context, at *zarr.Location, rows []row) error {
	for _, name := range []string{"time", "x", "flag"} {
		a, err := at.At(name).OpenArray(ctx, &zarr.Options{Write: true})
		if err == nil && !d.one(5) {
			_, err = statistics.Make(ctx, a, nil)
		}
		if err != nil {
			return err
		}
		if name != "x" || len(rows) == 0 || d.one(2) {
			continue
		}
		start := d.IntN(len(rows))
		part := rows[start : start+1+d.IntN(len(rows)-start)]
		for i := range part {
			part[i].x = float64(d.IntN(20) - 10)
		}
		sel := selection.Box{{int64(start), int64(start + len(part))}}
		if err := zarr.Write(ctx, a, sel, column(part, func(r row) []float64 { return []float64{r.x} })); err != nil {
			return err
		}
	}
	return nil
}

// request draws what is kept, and returns what that means.
func (d drawer) request(rows []row) (filter.Request, func(int, row) bool, string) {
	if d.one(4) {
		mask, often := make([]bool, len(rows)), 1+d.IntN(3)
		for i := range mask {
			mask[i] = d.IntN(often+1) > 0 || i > 0 && mask[i-1] && d.IntN(9) > 0
			mask[i] = mask[i] && (i/7)%3 > 0
		}
		return filter.Request{Mask: mask, Dimension: "time"}, func(i int, _ row) bool { return mask[i] }, "a mask"
	}
	text, is := d.condition(d.IntN(4))
	e, err := filter.Parse(text)
	if err != nil {
		panic(err)
	}
	return filter.Request{Where: e}, func(_ int, r row) bool { return is(r) }, text
}

// checkTable compares a table with the model, and with what its source is.
func checkTable(ctx context.Context, src, dst *zarr.Location, rows []row) error {
	err := same(ctx, dst.At("time"), column(rows, func(r row) []int64 { return []int64{r.day} }))
	if err == nil {
		err = same(ctx, dst.At("label"), column(rows, func(r row) []string { return []string{r.label} }))
	}
	if err == nil {
		err = same(ctx, dst.At("flag"), column(rows, func(r row) []bool { return []bool{r.flag} }))
	}
	if err == nil {
		err = same(ctx, dst.At("v"), column(rows, func(r row) []int32 { return r.v[:] }))
	}
	if err == nil {
		err = same(ctx, dst.At("below/across"), across(rows))
	}
	if err == nil {
		err = same(ctx, dst.At("z"), []int32{7, 8, 9})
	}
	if err == nil {
		err = sameFloats(ctx, dst.At("x"), column(rows, func(r row) []float64 { return []float64{r.x} }))
	}
	for _, name := range []string{"time", "label", "flag", "v", "below/across", "z", "x"} {
		if err == nil {
			err = sameDescription(ctx, src.At(name), dst.At(name))
		}
	}
	if err == nil {
		err = sameGroup(ctx, src, dst)
	}
	return err
}

func same[T dtype.Element](ctx context.Context, at *zarr.Location, want []T) error {
	a, err := at.OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	got, err := zarr.Read[T](ctx, a, nil)
	if err == nil && fmt.Sprint(got.Data) != fmt.Sprint(want) {
		err = fmt.Errorf("%s has %v, want %v", at, got.Data, want)
	}
	return err
}

func sameFloats(ctx context.Context, at *zarr.Location, want []float64) error {
	return same(ctx, at, want) // NaN is printed as such
}

// sameDescription compares all but shape and chunks.
func sameDescription(ctx context.Context, src, dst *zarr.Location) error {
	a, err := src.OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	b, err := dst.OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	x, y := a.Metadata(), b.Metadata()
	if a.Format() != b.Format() || a.Type() != b.Type() || !bytes.Equal(a.Attributes(), b.Attributes()) || !slices.Equal(a.DimensionNames(), b.DimensionNames()) ||
		!slices.EqualFunc(x.Codecs, y.Codecs, metadata.Extension.Equal) || !x.ChunkKeyEncoding.Equal(y.ChunkKeyEncoding) {
		return fmt.Errorf("%s became %s", a, b)
	}
	return nil
}

// sameGroup compares attributes and consolidated metadata.
func sameGroup(ctx context.Context, src, dst *zarr.Location) error {
	a, err := src.OpenGroup(ctx, nil)
	if err != nil {
		return err
	}
	b, err := dst.OpenGroup(ctx, nil)
	if err != nil {
		return err
	}
	was, is := a.Metadata().Consolidated, b.Metadata().Consolidated
	if !bytes.Equal(a.Attributes(), b.Attributes()) || (was == nil) != (is == nil) {
		return fmt.Errorf("%s became %s, consolidated %v", a, b, is)
	}
	n := 0
	for m, err := range b.Members(ctx, true) {
		if err != nil {
			return err
		}
		if n++; m.Err != nil {
			return m.Err
		}
		// Consolidated metadata agree with the documents.
		if x, ok := m.Node.(*zarr.Array); ok {
			y, err := dst.At(m.Path).OpenArray(ctx, nil)
			if err != nil || !slices.Equal(x.Shape(), y.Shape()) || !slices.Equal(x.Grid().Chunks(), y.Grid().Chunks()) {
				return fmt.Errorf("%s is listed with %v, and has %v: %v", m.Path, x.Shape(), y.Shape(), err)
			}
		}
	}
	if n != 8 {
		return fmt.Errorf("%d members", n)
	}
	return nil
}
