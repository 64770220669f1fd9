// SPDX-License-Identifier: Apache-2.0

package blocks_test

import (
	"errors"
	"math"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
)

func regular(t interface{ Fatal(...any) }, shape []int64, chunk ...int64) *grid.Grid {
	g, err := grid.New(shape, grid.Chunks(chunk...)...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func plan(t testing.TB, source, target *grid.Grid, size, memory int64) *blocks.Plan {
	t.Helper()
	p, err := blocks.New(source, target, size, memory, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range p.Stages {
		if s.LargestBlock > memory {
			t.Errorf("blocks of %d bytes, at most %d fit", s.LargestBlock, memory)
		}
	}
	return p
}

// TestThousandToAlmostThousand rechunks chunks of 1000 elements to 999, along one to four
// axes. The least common multiple is 999,000.
func TestThousandToAlmostThousand(t *testing.T) {
	for _, tt := range []struct {
		rank        int
		extent      int64
		long, short int64 // elements of a chunk along each axis
		units       int64 // budget in chunks of the source
		stages      int
		reads       float64 // most requests to read, of any stage, per chunk of the source
	}{
		{1, 100_000_000, 1000, 999, 1, 1, 2.01},
		{1, 100_000_000, 1000, 999, 2, 1, 1.51},
		{1, 100_000_000, 1000, 999, 10, 1, 1.11},
		{1, 100_000_000, 1000, 999, 999, 1, 1.001}, // blocks of the multiple
		{2, 100_000, 1000, 999, 1, 2, 4.01},        // each chunk is cut along both axes
		{2, 100_000, 1000, 999, 8, 1, 1.9},
		{2, 100_000, 1000, 999, 100, 1, 1.25},
		{3, 10_000, 100, 99, 8, 2, 1.01},
		{3, 10_000, 100, 99, 64, 1, 2.1},
		{4, 1000, 100, 99, 16, 2, 1.1},
	} {
		shape, long, short := make([]int64, tt.rank), make([]int64, tt.rank), make([]int64, tt.rank)
		bytes := int64(8)
		for i := range shape {
			shape[i], long[i], short[i] = tt.extent, tt.long, tt.short
			bytes *= tt.long
		}
		source := regular(t, shape, long...)
		p := plan(t, source, regular(t, shape, short...), 8, bytes*tt.units)
		chunks, _ := source.NumChunks()
		if len(p.Stages) != tt.stages {
			t.Errorf("%+v: %d stages", tt, len(p.Stages))
		}
		for k, s := range p.Stages {
			if got := float64(s.Reads) / float64(chunks); got > tt.reads {
				t.Errorf("%+v: stage %d reads %.3f times per chunk", tt, k, got)
			}
		}
	}
}

// TestMapsToSeries rechunks a year of hourly maps, which are read whole, to series of the
// year, and back. A day of maps is 100 MB, the array 36 GB.
func TestMapsToSeries(t *testing.T) {
	shape := []int64{8760, 721, 1440}
	maps, series := regular(t, shape, 1, 721, 1440), regular(t, shape, 8760, 10, 10)
	for _, tt := range []struct {
		memory int64
		stages int
		reads  int64 // most requests of all stages
		cost   float64
	}{
		{64e6, 3, 39_000, 2.8e11},
		{128e6, 3, 21_100, 2.51e11},
		{256e6, 2, 31_600, 1.9e11},
		{1e9, 2, 12_000, 1.7e11},
		{8e9, 2, 10_600, 1.67e11},
		{40e9, 1, 10_600, 1.0e11}, // the array fits
	} {
		for _, p := range []*blocks.Plan{plan(t, maps, series, 4, tt.memory), plan(t, series, maps, 4, tt.memory)} {
			reads := int64(0)
			for _, s := range p.Stages {
				reads += s.Reads
				if s.Amplification != 1 {
					t.Errorf("%+v: amplification %g", tt, s.Amplification)
				}
			}
			if len(p.Stages) != tt.stages || reads > tt.reads || p.Cost > tt.cost {
				t.Errorf("%+v: %d stages, %d reads, cost %g", tt, len(p.Stages), reads, p.Cost)
			}
		}
	}
}

// TestNested checks that equal and nested grids take one stage and read everything once.
func TestNested(t *testing.T) {
	shape := []int64{100_000, 1000}
	months := make([]int64, 0, 12*8)
	for range 8 {
		months = append(months, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
	}
	listed := func(edges ...int64) *grid.Grid {
		g, err := grid.New([]int64{8 * 365}, grid.Edges(edges...))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	years := slices.Repeat([]int64{365}, 8)
	for _, tt := range []struct {
		name           string
		source, target *grid.Grid
		memory         int64
		tasks          int64
		largest        int64
	}{
		{"equal", regular(t, shape, 100, 100), regular(t, shape, 100, 100), 1e9, 10_000, 80_000},
		{"coarser", regular(t, shape, 100, 100), regular(t, shape, 1000, 500), 1e9, 200, 4e6},
		{"finer", regular(t, shape, 1000, 500), regular(t, shape, 100, 100), 1e9, 200, 4e6},
		{"both", regular(t, shape, 100, 500), regular(t, shape, 1000, 100), 1e9, 200, 4e6},
		{"multiples", regular(t, shape, 1000, 6), regular(t, shape, 1000, 4), 1e9, 8400, 96_000},
		{"days to months", listed(slices.Repeat([]int64{1}, 8*365)...), listed(months...), 8 * 40, 96, 8 * 31},
		{"months to years", listed(months...), listed(years...), 8 * 400, 8, 8 * 365},
		{"years to months", listed(years...), listed(months...), 8 * 400, 8, 8 * 365},
		{"no axes", regular(t, nil), regular(t, nil), 8, 1, 8},
	} {
		p := plan(t, tt.source, tt.target, 8, tt.memory)
		s := p.Stages[0]
		if len(p.Stages) != 1 || s.Amplification != 1 || s.Tasks != tt.tasks || s.LargestBlock != tt.largest {
			t.Errorf("%s: %d stages, amplification %g, %d tasks of %d bytes, want one, 1, %d, %d",
				tt.name, len(p.Stages), s.Amplification, s.Tasks, s.LargestBlock, tt.tasks, tt.largest)
		}
	}
}

// TestSparse plans arrays that are only declared, up to 10^18 chunks.
func TestSparse(t *testing.T) {
	const e = int64(1e18)
	declared := func(length, count int64) *grid.Grid {
		g, err := grid.New([]int64{e}, grid.Runs(grid.Run{Length: length, Count: count}))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	wide := slices.Repeat([]int64{2}, 64)
	thin := slices.Repeat([]int64{1, 2}, 32)
	thick := slices.Repeat([]int64{2, 1}, 32)
	for _, tt := range []struct {
		name           string
		source, target *grid.Grid
		memory         int64
	}{
		{"one by one", declared(1, e), regular(t, []int64{e}, 999), 1e8},
		{"to one by one", regular(t, []int64{e}, 999), declared(1, e), 1e8},
		{"never aligned", declared(1000, 1e15), regular(t, []int64{e}, 999), 8000},
		{"long cycle", declared(1e9, 1e9), regular(t, []int64{e}, 1e9-1), 1e11},
		{"rows to columns", regular(t, []int64{1e10, 1e10}, 1, 1e10), regular(t, []int64{1e10, 1e10}, 1e10, 1), 1e12},
		{"64 axes", regular(t, wide, thin...), regular(t, wide, thick...), 1 << 40},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := plan(t, tt.source, tt.target, 8, tt.memory)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
			t.Errorf("%s: %d bytes of memory", tt.name, used)
		}
		for k, s := range p.Stages {
			for i := range s.Blocks.Rank() {
				if n := s.Blocks.Axis(i).NumRuns(); n > 8 {
					t.Errorf("%s: stage %d: axis %d has %d runs", tt.name, k, i, n)
				}
			}
		}
	}
	// More bytes than an int64 counts.
	p := plan(t, declared(1, e), declared(1000, 1e15), 1000, 1e9)
	if s := p.Stages[0]; s.BytesRead != math.MaxInt64 || s.BytesWritten != math.MaxInt64 || p.Cost < 2e21 || s.Amplification != 1 {
		t.Errorf("%+v, cost %g", s, p.Cost)
	}
}

// TestTooManyRuns checks that an axis of inner chunks that never repeat is refused.
func TestTooManyRuns(t *testing.T) {
	shards, err := grid.New([]int64{1e18}, grid.Chunks(1e3)...)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := shards.Divided(grid.EveryTrimmed(999))
	if err != nil {
		t.Fatal(err)
	}
	_, err = blocks.New(inner, shards, 1, 1e6, nil)
	if !errors.Is(err, grid.ErrUnsupported) || !strings.Contains(err.Error(), "source: axis 0") {
		t.Error(err)
	}
	if _, err = blocks.New(shards, inner, 1, 1e6, nil); !errors.Is(err, grid.ErrUnsupported) || !strings.Contains(err.Error(), "target: axis 0") {
		t.Error(err)
	}
}

// TestNoBlockFits checks the error for a unit that exceeds the budget.
func TestNoBlockFits(t *testing.T) {
	target, err := grid.New([]int64{100, 50}, grid.Edges(10, 60, 30), grid.Edges(20, 20, 20))
	if err != nil {
		t.Fatal(err)
	}
	source := regular(t, []int64{100, 50}, 10, 10)
	_, err = blocks.New(source, target, 8, 9599, nil)
	var fit *blocks.FitError
	if !errors.As(err, &fit) || !fit.IsWrite || fit.Bytes != 9600 || fit.Memory != 9599 || !slices.Equal(fit.Index, []int64{1, 0}) || !slices.Equal(fit.Unit, []int64{60, 20}) {
		t.Fatalf("%v", err)
	}
	want := "blocks: no block fits into 9599 bytes: write unit [1 0] has shape [60 20] and takes 9600 bytes, in an array of shape [100 50]"
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	// The budget that the error names is enough, for either direction.
	if _, err := blocks.New(source, target, 8, fit.Bytes, nil); err != nil {
		t.Error(err)
	}
	if _, err = blocks.New(target, source, 8, 9599, nil); !errors.As(err, &fit) || fit.IsWrite || !strings.Contains(err.Error(), "read unit [1 0]") {
		t.Error(err)
	}
	// The extent clips what counts.
	clipped := regular(t, []int64{5, 5}, 1000, 1000)
	if _, err := blocks.New(clipped, clipped, 8, 200, nil); err != nil {
		t.Error(err)
	}
}

// TestBadArguments checks what is refused.
func TestBadArguments(t *testing.T) {
	g := regular(t, []int64{10}, 2)
	for name, err := range map[string]error{
		"shape":         second(blocks.New(g, regular(t, []int64{11}, 2), 1, 100, nil)),
		"rank":          second(blocks.New(g, regular(t, []int64{10, 1}, 2, 1), 1, 100, nil)),
		"size":          second(blocks.New(g, g, 0, 100, nil)),
		"memory":        second(blocks.New(g, g, 1, 0, nil)),
		"amplification": second(blocks.New(g, g, 1, 100, &blocks.Options{Amplification: math.NaN()})),
		"request":       second(blocks.New(g, g, 1, 100, &blocks.Options{Request: -1})),
		"stages":        second(blocks.New(g, g, 1, 100, &blocks.Options{Stages: 17})),
	} {
		if !errors.Is(err, blocks.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, index := range [][]int64{{5}, {-1}, {0, 0}} {
		if err := second(blocks.Pieces(g, g, index)); !errors.Is(err, grid.ErrOutOfRange) {
			t.Errorf("pieces of block %v: %v", index, err)
		}
		if err := second(blocks.Sources(g, g, index)); !errors.Is(err, grid.ErrOutOfRange) {
			t.Errorf("sources of block %v: %v", index, err)
		}
	}
	if err := second(blocks.Pieces(g, regular(t, []int64{9}, 2), []int64{4})); !errors.Is(err, grid.ErrOutOfRange) {
		t.Errorf("another shape: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestOptions checks that each option changes the plan.
func TestOptions(t *testing.T) {
	shape := []int64{1000, 1000}
	rows, columns := regular(t, shape, 1, 1000), regular(t, shape, 1000, 1)
	for _, tt := range []struct {
		options blocks.Options
		stages  int
	}{
		{blocks.Options{}, 6},
		{blocks.Options{Stages: 1}, 1},
		{blocks.Options{Stages: 3}, 3},
		{blocks.Options{Request: 10}, 2},
		{blocks.Options{Amplification: 1000}, 1},
		{blocks.Options{Amplification: 999, Request: 1}, 2},
	} {
		p, err := blocks.New(rows, columns, 8, 8000, &tt.options)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Stages) != tt.stages {
			t.Errorf("%+v: %d stages, want %d, cost %g", tt.options, len(p.Stages), tt.stages, p.Cost)
		}
	}
}

// TestPiecesDoNotAllocate checks that the number of pieces does not count.
func TestPiecesDoNotAllocate(t *testing.T) {
	shape := []int64{1000, 1000}
	rows, columns := regular(t, shape, 10, 1000), regular(t, shape, 1000, 1)
	index := []int64{3, 0}
	n := testing.AllocsPerRun(10, func() {
		pieces, err := blocks.Pieces(rows, columns, index)
		if err != nil {
			t.Fatal(err)
		}
		for range pieces {
		}
	})
	if n > 20 {
		t.Errorf("%g allocations for 1000 pieces", n)
	}
}

// TestGrownAgainstModel plans for a part of an array, and executes the plan that follows
// from it for the whole. Blocks before the old end are the same.
func TestGrownAgainstModel(t *testing.T) {
	var kept, grown, unfit int
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.options.Parts = nil
		shape := p.source.Shape()
		box := make(grid.Box, len(shape))
		for i, n := range shape {
			if n == 0 {
				return
			}
			// Mostly, one axis has grown.
			if box[i].Stop = n; rapid.IntRange(0, 1+i).Draw(t, "grows") == 0 {
				box[i].Stop = rapid.Int64Range(1, n).Draw(t, "old extent")
			}
		}
		source, err := p.source.Restrict(box)
		if err != nil {
			t.Fatal(err)
		}
		target, err := p.target.Restrict(box)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(2, 6).Draw(t, "stages")
		memory := p.size * max(1, largest(p.source), largest(p.target))
		p.memory = max(p.memory, memory)
		old, err := blocks.Staged(source, target, p.size, p.memory, n, p.options)
		if err != nil || old == nil {
			return
		}
		plan, err := old.Grown(p.source, p.target, p.size, p.memory, p.options)
		if err != nil {
			unfit++
			return
		}
		grown++
		for k, s := range plan.Stages {
			for i := range shape {
				a, b := old.Stages[k].Blocks.Axis(i), s.Blocks.Axis(i)
				for c := range a.Chunks() - 1 {
					was, _ := a.Cell(c)
					is, _ := b.Cell(c)
					if was.Start != is.Start || was.Logical != is.Logical {
						t.Fatalf("stage %d, axis %d: block %d was %+v and is %+v", k, i, c, was, is)
					}
					kept++
				}
			}
		}
		(&machine{t: t, p: p, plan: plan}).run()
	})
	if grown < 5*unfit/4 || kept == 0 {
		t.Errorf("%d plans, %d kept blocks; %d plans do not fit", grown, kept, unfit)
	}
}

// drawLarge draws a number of any magnitude from 1 to most.
func drawLarge(t *rapid.T, most int64, name string) int64 {
	return min(most, 1+rapid.Int64Range(0, math.MaxInt64).Draw(t, name)>>rapid.IntRange(1, 63).Draw(t, name+" bits"))
}

// TestLargeAgainstFormula plans regular grids of any size up to 63 bits along each axis,
// and compares the figures with formulas in big numbers.
func TestLargeAgainstFormula(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 5).Draw(t, "rank")
		shape, from, to := make([]int64, rank), make([]int64, rank), make([]int64, rank)
		for i := range shape {
			shape[i] = drawLarge(t, math.MaxInt64-1, "extent")
			from[i], to[i] = drawLarge(t, shape[i], "from"), drawLarge(t, shape[i], "to")
		}
		size := drawLarge(t, 1<<20, "size")
		memory := drawLarge(t, math.MaxInt64, "memory")
		source, target := regular(t, shape, from...), regular(t, shape, to...)
		p, err := blocks.New(source, target, size, memory, nil)
		var fit *blocks.FitError
		if errors.As(err, &fit) {
			// Try again with as much as it takes.
			if memory = fit.Bytes; memory == math.MaxInt64 {
				return
			}
			p, err = blocks.New(source, target, size, memory, nil)
			if errors.As(err, &fit) {
				return // the other side needs more
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range p.Stages {
			if s.LargestBlock > memory || s.LargestBlock < 1 {
				t.Fatalf("stage %d: blocks of %d bytes, at most %d fit", k, s.LargestBlock, memory)
			}
			if s.Amplification < 1 || !(p.Cost > 0) || s.BytesRead < 1 || s.Reads < s.Tasks {
				t.Fatalf("stage %d: %+v", k, s)
			}
			units := source
			if k > 0 {
				units = p.Stages[k-1].Blocks
			}
			if !units.IsRegular() || !s.Blocks.IsRegular() {
				continue // blocks beside the end may be longer
			}
			compared++
			if want := saturated(pieces(units, s.Blocks)); s.Reads != want {
				t.Fatalf("stage %d: %d reads, want %d", k, s.Reads, want)
			}
		}
	})
	if compared == 0 {
		t.Error("no stage is regular")
	}
}

// pieces returns the number of cells of the common refinement of two regular grids.
func pieces(a, b *grid.Grid) *big.Int {
	n := big.NewInt(1)
	for i := range a.Rank() {
		p, q := a.Axis(i), b.Axis(i)
		step, other := big.NewInt(p.Step()), big.NewInt(q.Step())
		multiple := new(big.Int).Mul(step, new(big.Int).Quo(other, new(big.Int).GCD(nil, nil, step, other)))
		// Shared borders lie at every common multiple, and at the extent.
		shared := new(big.Int).Quo(big.NewInt(p.Extent()-1), multiple)
		cells := new(big.Int).Add(big.NewInt(p.Chunks()), big.NewInt(q.Chunks()-1))
		n.Mul(n, cells.Sub(cells, shared))
	}
	return n
}

func saturated(n *big.Int) int64 {
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}
