// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/subset"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func TestMain(m *testing.M) {
	parallel.Crash.Store(true)
	goleak.VerifyTestMain(m)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func plain() []metadata.Extension  { return []metadata.Extension{codec.Bytes("little")} }
func packed() []metadata.Extension { return append(plain(), codec.ZstdChecksum(0, false)) }

// newArray returns the engine of an array at the path "a" of a store.
func newArray(s store.Store, t dtype.Type, g *grid.Grid, exts []metadata.Extension, fill []byte) *engine.Array {
	chain := must(coding.NewChain(new(codec.Environment), exts, codec.Spec{Type: t, Fill: fill, Rank: g.Rank()}))
	return &engine.Array{
		Store: s, Path: must(store.ParsePath("a")), Grid: g, Keys: metadata.DefaultSlash, Chain: chain,
		Fill: fill, Size: t.Size(), MaxChunk: 1 << 30,
	}
}

// row returns the engine of a row of int32 in chunks of the given lengths, with 9 as fill
// value, and its elements in memory.
func row(s store.Store, exts []metadata.Extension, lengths ...int64) (*engine.Array, []byte) {
	n := int64(0)
	for _, l := range lengths {
		n += l
	}
	g := must(grid.New([]int64{n}, grid.Edges(lengths...)))
	data := make([]byte, 4*n)
	for i := range data {
		data[i] = byte(i%255 + 1)
	}
	return newArray(s, dtype.Int32, g, exts, []byte{9, 0, 0, 0}), data
}

// all selects the whole array.
func all(a *engine.Array) *subset.Elements { return must(elements(nil, a.Grid.Shape())) }

func elements(sel selection.Selection, shape []int64) (*subset.Elements, error) {
	r, err := selection.Resolve(sel, shape)
	return (*subset.Elements)(r), err
}

// selectRow selects elements of an array of one axis.
func selectRow(start, stop int64) (*subset.Elements, error) {
	return elements(selection.Box{{start, stop}}, []int64{stop})
}

func view(a *engine.Array, r *subset.Elements, data []byte) strided.View {
	return strided.Contiguous(data, r.FullShape(), a.Size)
}

func read(ctx context.Context, a *engine.Array, dst []byte) error {
	r := all(a)
	_, err := a.Read(ctx, r, view(a, r, dst), engine.Reading{})
	return err
}

func write(ctx context.Context, a *engine.Array, r *subset.Elements, src strided.View) error {
	return publish.Batch(ctx, a.Store, store.Flush, func(ctx context.Context, b store.Batch) error {
		return a.Write(ctx, r, src, engine.Writing{Batch: b})
	})
}

// filled stores the elements of an array.
func filled(t testing.TB, a *engine.Array, data []byte) {
	t.Helper()
	if err := write(t.Context(), a, all(a), view(a, all(a), data)); err != nil {
		t.Fatal(err)
	}
}

// spread returns a view of the given shape of every second element of a larger block,
// which is filled with 0xee.
func spread(shape []int64, size int) strided.View {
	wide := slices.Clone(shape)
	n := int64(size)
	for i := range wide {
		wide[i] *= 2
		n *= wide[i]
	}
	v := strided.Contiguous(bytes.Repeat([]byte{0xee}, int(n)), wide, size)
	for i := range v.Strides {
		v.Strides[i] *= 2
	}
	v.Shape = shape
	return v
}

// drawArray draws an engine and the way it works.
func drawArray(t *rapid.T, like *engine.Array) *engine.Array {
	a := &engine.Array{
		Store: memstore.New(), Path: like.Path, Grid: like.Grid, Keys: like.Keys, Chain: like.Chain,
		Fill: like.Fill, Size: like.Size, MaxChunk: like.MaxChunk,
	}
	a.Concurrency = rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "concurrency")
	a.Budget = rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "budget")
	a.KeepFill = rapid.Bool().Draw(t, "keep fill")
	a.Block = rapid.SampledFrom([]int64{0, 1, 7, 32, 100}).Draw(t, "block")
	return a
}

// drawLike draws grid, type and codecs.
func drawLike(t *rapid.T) *engine.Array {
	typ := rapid.SampledFrom([]dtype.Type{dtype.Bool, dtype.Uint8, dtype.Int16, dtype.Float64, dtype.Complex128}).Draw(t, "type")
	var shape []int64
	var cuts []grid.Cut
	axes := rapid.IntRange(0, 3).Draw(t, "rank")
	for range axes {
		lengths := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(t, "edges")
		n := int64(0)
		for _, l := range lengths {
			n += l
		}
		shape = append(shape, rapid.Int64Range(max(1, n-2), n).Draw(t, "extent"))
		cuts = append(cuts, grid.Edges(lengths...))
	}
	exts := [][]metadata.Extension{plain(), packed(), append(plain(), codec.CRC32C())}
	if axes == 3 {
		exts = append(exts, append([]metadata.Extension{codec.Transpose(2, 0, 1)}, packed()...))
	}
	fill := make([]byte, typ.Size())
	fill[0] = rapid.ByteRange(0, 1).Draw(t, "fill")
	return newArray(nil, typ, must(grid.New(shape, cuts...)), rapid.SampledFrom(exts).Draw(t, "codecs"), fill)
}

// drawPart draws a selection, and the same as a box of starts, counts and steps over a
// block of elements.
func drawPart(t *rapid.T, shape []int64) (*subset.Elements, func(strided.View) strided.View) {
	items := selection.Basic{}
	start, step := make([]int64, len(shape)), make([]int64, len(shape))
	for i, extent := range shape {
		start[i] = rapid.Int64Range(0, extent-1).Draw(t, "start")
		step[i] = rapid.Int64Range(1, 3).Draw(t, "step")
		items = append(items, selection.Stepped(start[i], rapid.Int64Range(start[i]+1, extent).Draw(t, "stop"), step[i]))
	}
	r := must(elements(items, shape))
	return r, func(v strided.View) strided.View {
		v.Shape, v.Strides = r.FullShape(), slices.Clone(v.Strides)
		for i := range start {
			v.Offset += start[i] * v.Strides[i]
			v.Strides[i] *= step[i]
		}
		return v
	}
}

// TestWaysAgree writes and reads the same with every way of working: in place and through
// buffers, one worker and many, any budget, zeroed memory or not.
func TestWaysAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		like := drawLike(t)
		shape := like.Grid.Shape()
		model := strided.Contiguous(make([]byte, all(like).Len()*int64(like.Size)), shape, like.Size)
		strided.Fill(model, like.Fill)
		part, of := drawPart(t, shape)
		values := strided.Contiguous(make([]byte, part.Len()*int64(like.Size)), part.FullShape(), like.Size)
		r := rand.New(rand.NewPCG(2, rapid.Uint64().Draw(t, "values")))
		for i := range values.Data {
			values.Data[i] = byte(r.IntN(2))
		}
		strided.Copy(of(model), values)
		apart := spread(values.Shape, like.Size)
		strided.Copy(apart, values)
		for _, src := range []strided.View{values, apart} {
			a := drawArray(t, like)
			if err := write(ctx, a, part, src); err != nil {
				t.Fatal(err)
			}
			checkStored(t, a, model)
			checkReads(t, a, model)
		}
	})
}

// checkReads reads a part of the array in every way and compares it with the model.
func checkReads(t *rapid.T, a *engine.Array, model strided.View) {
	part, of := drawPart(t, model.Shape)
	want := strided.Contiguous(make([]byte, part.Len()*int64(a.Size)), part.FullShape(), a.Size)
	strided.Copy(want, of(model))
	block := func(b byte) strided.View {
		return strided.Contiguous(bytes.Repeat([]byte{b}, len(want.Data)), want.Shape, want.Size)
	}
	for _, w := range []struct {
		name   string
		dst    strided.View
		zeroed bool
	}{{"used memory", block(0xee), false}, {"zeroed memory", block(0), true}, {"strides", spread(want.Shape, want.Size), false}} {
		if _, err := a.Read(context.Background(), part, w.dst, engine.Reading{Zeroed: w.zeroed}); err != nil {
			t.Fatal(err)
		}
		got := block(1)
		strided.Copy(got, w.dst)
		if !bytes.Equal(got.Data, want.Data) {
			t.Fatalf("%s: %x, want %x", w.name, got.Data, want.Data)
		}
		if rest := bytes.Count(w.dst.Data, []byte{0xee}); w.name == "strides" && rest < len(w.dst.Data)-len(want.Data) {
			t.Fatalf("%d bytes beside the block were written", len(w.dst.Data)-len(want.Data)-rest)
		}
	}
}

// checkStored expects chunks of nothing but fill value to be absent unless they are kept,
// and all others to be there.
func checkStored(t *rapid.T, a *engine.Array, model strided.View) {
	stored := map[string]bool{}
	for index, err := range a.Stored(context.Background(), grid.BoxOf(a.Grid.Chunks())) {
		if err != nil {
			t.Fatal(err)
		}
		stored[a.Key(index).String()] = true
	}
	for c := range a.Grid.All() {
		key, isFill := a.Key(c.Index).String(), model.Sub(c.Box()).AllEqual(a.Fill)
		if !isFill && !stored[key] || isFill && stored[key] && !a.KeepFill {
			t.Fatalf("%s: all fill value %t, stored %t, kept %t", key, isFill, stored[key], a.KeepFill)
		}
	}
}

// TestChunkCalls writes and reads single chunks, also those that reach beyond the array.
func TestChunkCalls(t *testing.T) {
	ctx := t.Context()
	for _, exts := range [][]metadata.Extension{plain(), packed(), append([]metadata.Extension{codec.Transpose(1, 0)}, packed()...)} {
		g := must(grid.New([]int64{3, 3}, grid.Every(2), grid.Edges(1, 4)))
		a := newArray(memstore.New(), dtype.Uint8, g, exts, []byte{7})
		got, want := make([]byte, 8), []byte{1, 2, 3, 4, 5, 6, 7, 8}
		last := []int64{1, 1}
		if found, err := a.ReadChunk(ctx, last, got, nil, engine.Reading{Since: time.Now().Add(time.Hour)}); found == engine.Certain || err != nil || !bytes.Equal(got, bytes.Repeat([]byte{7}, 8)) {
			t.Errorf("a missing chunk: %d, %v, %v", found, err, got)
		}
		if _, err := a.ReadEncoded(ctx, last); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the bytes of a missing chunk: %v", err)
		}
		b := must(store.NewBatch(ctx, a.Store, store.Flush))
		if err := a.WriteChunk(ctx, last, want, nil, b); err != nil {
			t.Fatal(err)
		}
		encoded := must(a.ReadEncoded(ctx, last))
		if found, err := a.ReadChunk(ctx, last, got, nil, engine.Reading{Since: time.Now().Add(time.Hour)}); found != engine.Certain || err != nil || !bytes.Equal(got, want) {
			t.Errorf("a chunk: %d, %v, %v", found, err, got)
		}
		if err := a.WriteEncoded(ctx, []int64{0, 1}, encoded, b); err != nil {
			t.Fatal(err)
		}
		if found, err := a.ReadChunk(ctx, []int64{0, 1}, got, nil, engine.Reading{Since: time.Now().Add(time.Hour)}); found != engine.Certain || err != nil || !bytes.Equal(got, want) {
			t.Errorf("the same bytes as another chunk: %d, %v, %v", found, err, got)
		}
		err := a.WriteEncoded(ctx, []int64{0, 0}, append(encoded, 1), b)
		wantChunk(t, err, codec.ErrCorrupt, "a/c/0/0", 0, 0)
		if found := must(store.Exists(ctx, a.Store, a.Key([]int64{0, 0}))); found {
			t.Error("bytes that do not decode were stored")
		}
	}
}

// wantChunk expects an error that names the chunk.
func wantChunk(t *testing.T, err, is error, key string, index ...int64) {
	t.Helper()
	var at *engine.ChunkError
	if !errors.Is(err, is) || !errors.As(err, &at) {
		t.Fatalf("error is %v, want %v of a chunk", err, is)
	}
	if at.Key != key || !slices.Equal(at.Index, index) {
		t.Errorf("%v is about %s %v, want %s %v", err, at.Key, at.Index, key, index)
	}
}

// TestSuspect checks that reads report chunks that are not stored, or were written after
// the last check of the document.
func TestSuspect(t *testing.T) {
	for _, exts := range [][]metadata.Extension{plain(), packed()} {
		a, data := row(memstore.New(), exts, 3, 3, 3)
		strided.FillBytes(data[3*4:6*4], a.Fill)
		filled(t, a, data)
		for _, tt := range []struct {
			start, stop int64
			want        bool
		}{{0, 3, false}, {6, 9, false}, {0, 9, true}, {4, 5, true}, {3, 6, true}, {0, 0, false}} {
			part := must(elements(selection.Box{{tt.start, tt.stop}}, a.Grid.Shape()))
			absent, err := a.Read(t.Context(), part, view(a, part, make([]byte, 4*part.Len())), engine.Reading{Since: time.Now().Add(time.Hour)})
			if (absent != engine.Certain) != tt.want || err != nil {
				t.Errorf("elements %d to %d: suspicion %d (%v)", tt.start, tt.stop, absent, err)
			}
		}
	}
}

// TestGrowOver writes a part of a chunk with old elements beyond the published shape.
// They count as fill value.
func TestGrowOver(t *testing.T) {
	s := memstore.New()
	a, data := row(s, packed(), 4, 4)
	filled(t, a, data)
	part := must(elements(selection.Box{{3, 6}}, a.Grid.Shape()))
	err := publish.Batch(t.Context(), s, store.Flush, func(ctx context.Context, b store.Batch) error {
		return a.Write(ctx, part, view(a, part, data[:12]), engine.Writing{Batch: b, Valid: []int64{2}})
	})
	want := slices.Clone(data)
	strided.FillBytes(want[2*4:], a.Fill)
	copy(want[3*4:], data[:12])
	if err == nil {
		err = read(t.Context(), a, data)
	}
	if err != nil || !bytes.Equal(data, want) {
		t.Errorf("%v (%v), want %v", data, err, want)
	}
}

// TestGrowOverDamage writes a part of a new chunk whose key has bytes of a crashed writer
// that do not decode. They are overwritten.
func TestGrowOverDamage(t *testing.T) {
	for name, exts := range map[string][]metadata.Extension{"chunks": packed(), "shards": inner()} {
		s := memstore.New()
		a, data := row(s, exts, 4, 4)
		must(store.Write(t.Context(), s, store.Put(store.MustKey("a/c/1"), []byte("left by a program that died")), store.Flush))
		part := must(elements(selection.Box{{4, 6}}, a.Grid.Shape()))
		err := publish.Batch(t.Context(), s, store.Flush, func(ctx context.Context, b store.Batch) error {
			return a.Write(ctx, part, view(a, part, data[:8]), engine.Writing{Batch: b, Valid: []int64{4}})
		})
		got, want := make([]byte, 32), make([]byte, 32)
		strided.FillBytes(want, a.Fill)
		copy(want[4*4:], data[:8])
		if err == nil {
			err = read(t.Context(), a, got)
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, want)
		}
	}
}

// TestClear clears the elements of chunks beyond a shape, and does not write chunks that
// have none there.
func TestClear(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		s := memstore.New()
		a, data := row(s, packed(), 3, 3, 3, 3)
		a.Concurrency = concurrency
		filled(t, a, data)
		version := must(store.Stat(t.Context(), s, a.Key([]int64{1}))).Version
		b := must(store.NewBatch(t.Context(), s, store.Flush))
		if err := a.Clear(t.Context(), grid.Box{{Start: 1, Stop: 3}}, []int64{7}, b); err != nil {
			t.Fatal(err)
		}
		want := slices.Clone(data)
		strided.FillBytes(want[7*4:9*4], a.Fill)
		got := make([]byte, len(data))
		if err := read(t.Context(), a, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v (%v), want %v", got, err, want)
		}
		if again := must(store.Stat(t.Context(), s, a.Key([]int64{1}))).Version; again != version {
			t.Error("a chunk with nothing to clear was written")
		}
	}
}

// TestLargeChunks reads and writes a chunk that exceeds the limit. If it is not stored,
// reading returns the fill value, and writing is an error. If it is stored, reading is an
// error, and parts can be written.
func TestLargeChunks(t *testing.T) {
	s := memstore.New()
	a, data := row(s, plain(), 2, 100, 2)
	filled(t, a, data)
	a.MaxChunk = 50
	got := make([]byte, len(data))
	wantChunk(t, read(t.Context(), a, got), engine.ErrLimit, "a/c/1", 1)
	if err := write(t.Context(), a, all(a), view(a, all(a), data)); err != nil {
		t.Error(err)
	}
	_, err := a.ReadChunk(t.Context(), []int64{1}, nil, nil, engine.Reading{})
	wantChunk(t, err, engine.ErrLimit, "a/c/1", 1)
	if _, err := store.Write(t.Context(), s, store.Delete(a.Key([]int64{1})), store.Sync); err != nil {
		t.Fatal(err)
	}
	wantChunk(t, write(t.Context(), a, all(a), view(a, all(a), data)), engine.ErrLimit, "a/c/1", 1)
	strided.FillBytes(data[8:408], a.Fill)
	if err := read(t.Context(), a, got); err != nil || !bytes.Equal(got, data) {
		t.Errorf("without the chunk: %v", err)
	}
}

// TestReadAllocations reads 10,000 chunks from memory with at most one allocation for ten
// chunks.
func TestReadAllocations(t *testing.T) {
	racing.Skip(t)
	const chunks = 10_000
	for name, exts := range map[string][]metadata.Extension{
		"raw": plain(), "crc32c": append(plain(), codec.CRC32C()), "zstd": packed(),
	} {
		t.Run(name, func(t *testing.T) {
			g := must(grid.New([]int64{500, 500}, grid.Runs(grid.Run{Length: 5, Count: 100}), grid.Every(5)))
			a := newArray(memstore.New(), dtype.Uint8, g, exts, []byte{0})
			data := make([]byte, 500*500)
			for i := range data {
				data[i] = byte(i)
			}
			filled(t, a, data)
			got := testing.AllocsPerRun(2, func() {
				if err := read(t.Context(), a, data); err != nil {
					t.Error(err)
				}
			})
			t.Logf("%.4f allocations a chunk", got/chunks)
			if got > chunks/10 {
				t.Errorf("%g allocations for %d chunks", got, chunks)
			}
		})
	}
}
