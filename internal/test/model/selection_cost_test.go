// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// TestPickedPartsOfChunks is [TestPartsOfChunks] for lists and points.
func TestPickedPartsOfChunks(t *testing.T) {
	ctx := context.Background()
	all := everyElement([]int64{500, 700})
	for name, codecs := range map[string][]metadata.Extension{
		"little":           {codec.Bytes("little")},
		"transposed":       {codec.Transpose(1, 0), codec.Bytes("big")},
		"blosc":            {codec.Bytes("little"), codec.Blosc(codec.BloscOptions{Level: 1, Element: 2, Block: 4096})},
		"blosc transposed": {codec.Transpose(1, 0), codec.Bytes("little"), codec.Blosc(codec.BloscOptions{Level: 1, Element: 2, Block: 4096}), codec.CRC32C()},
	} {
		t.Run(name, func(t *testing.T) {
			a := largeArray(t, memtest.New(), codecs...)
			whole := fixture.Must(zarr.Read[int16](ctx, a, nil))
			m := &fixture.Model{Shape: whole.Shape, Size: 2, Data: bytesOf(whole.Data)}
			rapid.Check(t, func(t *rapid.T) {
				sel, c := all.DrawPoints(t)
				if rapid.Bool().Draw(t, "lists") {
					var o selection.Orthogonal
					var lists [][]int64
					for _, n := range all.Shape {
						list := rapid.SliceOfN(rapid.Int64Range(0, n-1), 1, 12).Draw(t, "list")
						o, lists = append(o, selection.List(list...)), append(lists, list)
					}
					if axis := rapid.IntRange(0, 3).Draw(t, "slice"); axis < 2 {
						o[axis], lists[axis] = fixture.DrawSlice(t, all.Shape[axis])
					}
					sel, c = o, all.Along(lists, make([]bool, 2))
				}
				want := m.Chosen(c)
				got := make([]byte, len(want))
				if err := a.ReadBytes(ctx, sel, got); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%v: %x, want %x (%v)", sel, got, want, err)
				}
			})
		})
	}
}

// TestPointsCostWhatTheyTouch counts the bytes that points and lists read from a chunk
// of 420 kB.
func TestPointsCostWhatTheyTouch(t *testing.T) {
	ctx := context.Background()
	m := &meter{Store: memtest.New()}
	a := largeArray(t, m, codec.Bytes("little"))
	for _, tt := range []struct {
		name        string
		sel         selection.Selection
		reads, most int64
	}{
		{"a point", selection.Points{selection.Coords(400), selection.Coords(300)}, 1, 2},
		{"a point many times", selection.Points{selection.Coords(400, 400, 400), selection.Coords(300)}, 1, 2},
		{"neighbours", selection.Points{selection.Coords(400, 402), selection.Coords(300, 5)}, 1, 3000},
		{"far points", selection.Points{selection.Coords(210, 490), selection.Coords(300, 5)}, 2, 4},
		{"rows", selection.Orthogonal{selection.List(490, 300, 210)}, 3, 3 * 1400},
		{"elements of rows", selection.Orthogonal{selection.List(490, 300, 210), selection.List(5, 3, 5)}, 3, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m.reads.Store(0)
			m.bytes.Store(0)
			if _, err := zarr.Read[int16](ctx, a, tt.sel); err != nil {
				t.Fatal(err)
			}
			if m.reads.Load() > tt.reads || m.bytes.Load() > tt.most {
				t.Errorf("%d reads of %d bytes, at most %d of %d are needed", m.reads.Load(), m.bytes.Load(), tt.reads, tt.most)
			}
		})
	}
}

// TestSparsePoints reads 100,000 points in as many chunks, the first point twice. Each
// chunk is requested once, in the order of the grid, with a few hundred bytes of memory
// for each point.
func TestSparsePoints(t *testing.T) {
	racing.Skip(t)
	ctx := context.Background()
	const n, side = 100_000, 2000 // 10^6 chunks of 2×2
	s := &fixture.Noted{Store: memtest.New()}
	a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{side, side}, Type: dtype.Int32, Chunks: grid.Chunks(2, 2), Codecs: fixture.Plain(),
		FillValue: zarr.FillJSON("-1"),
	}, &zarr.CreateOptions{Options: zarr.Options{Concurrency: 1, SingleWriter: true}})
	if err != nil {
		t.Fatal(err)
	}
	p := selection.Points{{Data: make([]int64, 0, n+1)}, {Data: make([]int64, 0, n+1)}}
	for _, k := range rand.New(rand.NewPCG(3, 4)).Perm(side * side / 4)[:n] {
		p[0].Data, p[1].Data = append(p[0].Data, int64(k/1000*2+k%2)), append(p[1].Data, int64(k%1000*2+1))
	}
	for i := range p {
		p[i].Data = append(p[i].Data, p[i].Data[0])
	}
	values := make([]int32, n+1)
	for i := range values {
		values[i] = int32(i)
	}
	if err := zarr.Write(ctx, a, p, values); err != nil {
		t.Fatal(err)
	}
	s.Check(t, "write", n)
	got := make([]int32, n+1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := zarr.ReadInto(ctx, a, p, got); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	s.Check(t, "read", n)
	values[0] = n // the last write of a point wins
	if !slices.Equal(got, values) {
		t.Fatal("the values differ from those written")
	}
	used := (after.TotalAlloc - before.TotalAlloc) / n
	t.Logf("%d bytes of memory and %.3f allocations a point", used, float64(after.Mallocs-before.Mallocs)/n)
	if used > 300 {
		t.Errorf("%d bytes of memory a point", used)
	}
	if allocations := after.Mallocs - before.Mallocs; allocations > n/10 {
		t.Errorf("%d allocations for %d chunks", allocations, n)
	}
}

// TestShardedPoints counts the bytes that lists and points read from and write to
// shards: the index, and the inner chunks with selected elements.
func TestShardedPoints(t *testing.T) {
	ctx := context.Background()
	m := &meter{Store: memtest.New()}
	a, err := zarr.At(m, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{1024, 1024}, Type: dtype.Uint8, Chunks: grid.Chunks(1024, 1024),
		InnerChunks: grid.Chunks(64, 64), Codecs: []metadata.Extension{codec.Bytes("")},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]uint8, 1<<20)
	for i := range data {
		data[i] = uint8(i%255) + 1
	}
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	const index, inner = 16*256 + 4, 64 * 64
	for _, tt := range []struct {
		name  string
		sel   selection.Selection
		inner int64 // number of inner chunks with selected elements
	}{
		{"a point", selection.Points{selection.Coords(500), selection.Coords(700)}, 1},
		{"points of two inner chunks", selection.Points{selection.Coords(0, 1023, 1, 1023, 0), selection.Coords(0, 1023, 1, 1000, 0)}, 2},
		{"corners", selection.Orthogonal{selection.List(1023, 0, 5), selection.List(0, 1000, 3)}, 4},
		{"a list of rows", selection.Orthogonal{selection.List(3, 1, 700)}, 32},
		{"backwards", selection.Basic{selection.Stepped(selection.Open, selection.Open, -1000), selection.At(5)}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			again, err := zarr.At(m, "").OpenArray(ctx, &zarr.Options{Shards: zarr.Shards{Gap: -1}}) // reads no bytes between ranges
			if err != nil {
				t.Fatal(err)
			}
			m.reads.Store(0)
			m.bytes.Store(0)
			if _, err := zarr.Read[uint8](ctx, again, tt.sel); err != nil {
				t.Fatal(err)
			}
			if m.bytes.Load() != index+tt.inner*inner {
				t.Errorf("%d bytes were read, want the index and %d inner chunks: %d", m.bytes.Load(), tt.inner, index+tt.inner*inner)
			}
		})
	}
}

// TestCoveredChunks writes lists, points and a mask that cover whole chunks. Covered
// chunks are not read.
func TestCoveredChunks(t *testing.T) {
	ctx := context.Background()
	all := selection.Mask{Shape: []int64{6, 4}, Data: slices.Repeat([]bool{true}, 24)}
	var rows, columns []int64
	for i := range int64(24) {
		rows, columns = append(rows, (23-i)/4), append(columns, i%4)
	}
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(1), grid.Every(2)}} {
		for kind, sel := range map[string]selection.Selection{
			"lists":     selection.Orthogonal{selection.List(5, 3, 4, 0, 2, 1), selection.Stepped(selection.Open, selection.Open, -1)},
			"points":    selection.Points{selection.Coords(rows...), selection.Coords(columns...)},
			"mask":      all,
			"backwards": selection.Basic{selection.Stepped(selection.Open, selection.Open, -1)},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				s := &fixture.Noted{Store: memtest.New()}
				a, err := zarr.At(s, "").CreateArray(ctx, zarr.Spec{
					Shape: []int64{6, 4}, Type: dtype.Uint8, Chunks: grid.Chunks(3, 4), InnerChunks: inner,
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := zarr.Write(ctx, a, sel, slices.Repeat([]uint8{7}, 24)); err != nil {
						t.Fatal(err)
					}
				}
				if len(s.Gets) > 0 {
					t.Errorf("%d chunks were read before they were overwritten", len(s.Gets))
				}
			})
		}
	}
}
