// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/test/fixture"
)

// wide is a table of 40,000 hours of 1,000 places: 160 MB, in chunks of a thousand hours.
func wide(b *testing.B, codecs []metadata.Extension) *memstore.Store {
	b.Helper()
	const rows, places = 40_000, 1_000
	s := memstore.New()
	hours, values := make([]int64, rows), make([]float32, rows*places)
	for i := range hours {
		hours[i] = int64(i)
	}
	for i := range values {
		values[i] = float32(math.Round(100*math.Sin(float64(i)/5000)) + float64(i%7))
	}
	thousand := grid.Every(1_000)
	units := map[string]string{"units": "hours since 2020-01-01"}
	err := put(b.Context(), zarr.At(s, "t/time"), zarr.Spec{Shape: []int64{rows}, Type: dtype.Of[int64](), Chunks: []grid.Cut{thousand}, DimensionNames: []string{"time"}, Attributes: units}, hours)
	if err == nil {
		err = put(b.Context(), zarr.At(s, "t/v"), zarr.Spec{Shape: []int64{rows, places}, Type: dtype.Of[float32](), Chunks: []grid.Cut{thousand, grid.Every(places)}, Codecs: codecs, DimensionNames: []string{"time", "place"}}, values)
	}
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkFilter filters a table, and reads what has to be read for it: the chunks of
// which a part is kept and those of the condition, decoded, and the stored bytes of those
// that are kept whole. The ratio of both is that of the package documentation.
func BenchmarkFilter(b *testing.B) {
	for name, codecs := range map[string][]metadata.Extension{"plain": fixture.Plain(), "zstd": fixture.Packed()} {
		s := wide(b, codecs)
		for _, c := range []struct {
			what, where string
			cuts        [][2]int64 // chunks
			whole       [2]int64
		}{
			{"range", "time >= 2021-01-01T12 and time < 2023-01-01T12", [][2]int64{{8, 9}, {26, 27}}, [2]int64{9, 26}},
			{"halves", everyOther(), [][2]int64{{0, 40}}, [2]int64{}},
		} {
			e, err := filter.Parse(c.where)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/%s/filter", name, c.what), func(b *testing.B) {
				for b.Loop() {
					if _, err := filter.Do(b.Context(), zarr.At(s, "t"), zarr.At(memstore.New(), "u"), filter.Request{Where: e}, nil); err != nil {
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
		}
	}
}

// everyOther is a condition that keeps half of each chunk.
func everyOther() string {
	text := ""
	for k := range 40 {
		if k > 0 {
			text += " or "
		}
		text += fmt.Sprintf("time >= %s and time < %s", hour(1000*k), hour(1000*k+500))
	}
	return text
}

func hour(n int) string {
	days := []int{366, 365, 365, 365, 366}
	year, day := 2020, n/24
	for _, d := range days {
		if day < d {
			break
		}
		year, day = year+1, day-d
	}
	months := []int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}
	if year%4 == 0 {
		months[1] = 29
	}
	month := 0
	for day >= months[month] {
		day -= months[month]
		month++
	}
	return fmt.Sprintf("%d-%02d-%02dT%02d", year, month+1, day+1, n%24)
}

// readFor reads what a filter has to read.
func readFor(ctx context.Context, s *memstore.Store, cuts [][2]int64, whole [2]int64) error {
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
