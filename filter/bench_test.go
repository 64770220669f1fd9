// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// wide is a table of 40,000 hours of 1,000 places: 160 MB, in chunks of a thousand hours.
func wide(b *testing.B, codecs []metadata.Extension) memtest.Store {
	b.Helper()
	const rows, places = 40_000, 1_000
	s := memtest.New()
	hours, values := make([]int64, rows), make([]float32, rows*places)
	for i := range hours {
		hours[i] = int64(i)
	}
	for i := range values {
		values[i] = float32(math.Round(100*math.Sin(float64(i)/5000)) + float64(i%7))
	}
	thousand := grid.Every(1_000)
	units := map[string]string{"units": "hours since 2020-01-01"}
	err := put(b.Context(), zarr.At(s, "t/time"), zarr.Spec{Shape: []int64{rows}, Type: dtype.Int64, Chunks: []grid.Cut{thousand}, DimensionNames: []string{"time"}, Attributes: units}, hours)
	if err == nil {
		err = put(b.Context(), zarr.At(s, "t/v"), zarr.Spec{Shape: []int64{rows, places}, Type: dtype.Float32, Chunks: []grid.Cut{thousand, grid.Every(places)}, Codecs: codecs, DimensionNames: []string{"time", "place"}}, values)
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkFilter filters a table, and does what this takes at least: read the chunks of
// which a part is kept and those of the condition, decoded, and the stored bytes of those
// that are kept whole; and write the kept elements of chunks that are cut.
func BenchmarkFilter(b *testing.B) {
	for name, codecs := range map[string][]metadata.Extension{"plain": fixture.Plain(), "zstd": fixture.Packed()} {
		s := wide(b, codecs)
		for _, c := range []struct {
			what    string
			request filter.Request
			cuts    [][2]int64 // chunks
			whole   [2]int64
		}{
			{"range", between(b), [][2]int64{{8, 9}, {26, 27}}, [2]int64{9, 26}},
			{"halves", halves(b), [][2]int64{{0, 40}}, [2]int64{}},
		} {
			b.Run(fmt.Sprintf("%s/%s/filter", name, c.what), func(b *testing.B) {
				for b.Loop() {
					if _, err := filter.Do(b.Context(), zarr.At(s, "t"), zarr.At(discarding{memtest.New()}, "u"), c.request, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%s/read", name, c.what), func(b *testing.B) {
				for b.Loop() {
					if err := readFor(b.Context(), s, c.cuts, c.whole); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%s/write", name, c.what), func(b *testing.B) {
				for b.Loop() {
					if err := writeFor(b.Context(), codecs, c.cuts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkResumed filters 20,000 chunks of which each is kept whole, anew, and where an
// interrupted filter has stored and recorded all of them already.
func BenchmarkResumed(b *testing.B) {
	const rows = 20_000
	s, stop := memtest.New(), errors.New("stopped")
	spec := zarr.Spec{Shape: []int64{rows, 16}, Type: dtype.Int32, Chunks: grid.Chunks(1, 16), Codecs: fixture.Plain(), DimensionNames: []string{"row", "x"}}
	if err := put(b.Context(), zarr.At(s, "v"), spec, fixture.Numbers(1, rows*16)); err != nil {
		b.Fatal(err)
	}
	request := filter.Request{Mask: make([]bool, rows)}
	for i := range request.Mask {
		request.Mask[i] = i > 0
	}
	unfinished := func(to memtest.Store) store.Store {
		return stepping.Conditional(to, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
			if op.Name == "Delete" && strings.Contains(op.Key.String(), "__varve/filter/") {
				return stop
			}
			return nil
		}})
	}
	run := func(to memtest.Store, resumed int64) {
		report, err := filter.Do(b.Context(), zarr.At(s, "v"), zarr.At(unfinished(to), "w"), request, nil)
		if !errors.Is(err, stop) || report.Resumed != resumed {
			b.Fatalf("%d chunks were resumed: %v", report.Resumed, err)
		}
	}
	b.Run("anew", func(b *testing.B) {
		for b.Loop() {
			run(memtest.New(), 0)
		}
	})
	b.Run("resumed", func(b *testing.B) {
		to := memtest.New()
		run(to, 0)
		for b.Loop() {
			run(to, rows-1)
		}
	})
}

// halves keeps half of each chunk.
func halves(b *testing.B) filter.Request {
	r := filter.Request{Mask: make([]bool, 40_000), Dimension: "time"}
	for i := range r.Mask {
		r.Mask[i] = i%1000 < 500
	}
	return r
}

// between keeps two years: parts of two chunks, and all of those between them.
func between(b *testing.B) filter.Request {
	e, err := filter.Parse("time >= 2021-01-01T12 and time < 2023-01-01T12")
	if err != nil {
		b.Fatal(err)
	}
	return filter.Request{Where: e}
}

// readFor reads what a filter has to read.
func readFor(ctx context.Context, s memtest.Store, cuts [][2]int64, whole [2]int64) error {
	a, err := zarr.At(s, "t/time").OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	if err := a.ReadBytes(ctx, nil, make([]byte, 8*40_000)); err != nil {
		return err
	}
	if a, err = zarr.At(s, "t/v").OpenArray(ctx, nil); err != nil {
		return err
	}
	part, n := make([]byte, 8*4_000_000), int64(8)
	for _, cut := range cuts {
		for k := cut[0]; k < cut[1]; k += n {
			n = min(8, cut[1]-k)
			if err := a.ReadBytes(ctx, selection.Box{{1000 * k, 1000 * (k + n)}, {0, 1000}}, part[:n*4_000_000]); err != nil {
				return err
			}
		}
	}
	for k := whole[0]; k < whole[1]; k++ {
		if _, err := a.ReadEncodedChunk(ctx, []int64{k, 0}); err != nil {
			return err
		}
	}
	return nil
}

// kept are the elements of halves of chunks.
var kept = func() []float32 {
	values := make([]float32, 20_000*1000)
	for i := range values {
		values[i] = float32(math.Round(100*math.Sin(float64(i)/5000)) + float64(i%7))
	}
	return values
}()

// writeFor writes half of each chunk that is cut.
func writeFor(ctx context.Context, codecs []metadata.Extension, cuts [][2]int64) error {
	rows := int64(0)
	for _, cut := range cuts {
		rows += 500 * (cut[1] - cut[0])
	}
	s := zarr.Spec{Shape: []int64{rows, 1000}, Type: dtype.Float32, Chunks: grid.Chunks(500, 1000), Codecs: codecs}
	return put(ctx, zarr.At(discarding{memtest.New()}, "u"), s, kept[:rows*1000])
}
