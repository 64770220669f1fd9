// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestInnerGrids writes and reads shards whose inner chunks differ in length, as
// docs/sharding.md proposes.
func TestInnerGrids(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := zarr.Spec{Type: dtype.Int16, Codecs: []metadata.Extension{codec.Bytes("big"), codec.CRC32C()}}
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		for range rank {
			lengths := rapid.SliceOfN(rapid.Int64Range(1, 4), 1, 4).Draw(t, "inner")
			sum := int64(0)
			for _, n := range lengths {
				sum += n
			}
			spec.Shape = append(spec.Shape, rapid.Int64Range(0, 14).Draw(t, "extent"))
			spec.Chunks = append(spec.Chunks, grid.Every(sum))
			spec.InnerChunks = append(spec.InnerChunks, grid.Edges(lengths...))
		}
		opt := drawOptions(t)
		h := zarr.At(memtest.New(), "")
		a, err := h.At("").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		m := fixture.NewModel(spec.Shape, fixture.FillElement(a))
		for range 4 {
			sel, at := drawSelection(t, m.Shape)
			data := drawValues(t, a, fixture.Count(at[1]))
			if err := a.WriteBytes(ctx, sel, data); err != nil {
				t.Fatal(err)
			}
			strided.Copy(m.Part(at[0], at[1], at[2]), strided.Contiguous(data, at[1], m.Size))
			compare(t, a, m)
		}
		if a, err = h.At("").OpenArray(ctx, &opt); err != nil {
			t.Fatal(err)
		}
		compare(t, a, m)
		checkInner(t, a, m)
		if _, err := h.At("").OpenArray(ctx, nil); !errors.Is(err, zarr.ErrUnsupported) {
			t.Fatalf("opening without the option: error is %v", err)
		}
	})
}

// checkInner reads every inner chunk by itself, decoded and encoded, and compares it
// with the array.
func checkInner(t *rapid.T, a *zarr.Array, m *fixture.Model) {
	ctx := context.Background()
	inner := a.Inner()
	for c, err := range inner.Chunks() {
		if err != nil {
			t.Fatal(err)
		}
		data, err := inner.ReadChunk(ctx, c.Index)
		if err != nil {
			t.Fatal(err)
		}
		got := strided.Contiguous(data, c.Encoded, m.Size).Sub(grid.BoxOf(c.Logical))
		want := m.View().Sub(c.Box())
		x, y := make([]byte, fixture.Count(c.Logical)*int64(m.Size)), make([]byte, fixture.Count(c.Logical)*int64(m.Size))
		strided.Copy(strided.Contiguous(x, c.Logical, m.Size), got)
		strided.Copy(strided.Contiguous(y, c.Logical, m.Size), want)
		if !bytes.Equal(x, y) {
			t.Fatalf("inner chunk %v is %x, want %x", c.Index, x, y)
		}
		encoded, err := inner.ReadEncodedChunk(ctx, c.Index)
		if errors.Is(err, fs.ErrNotExist) {
			if !bytes.Equal(data, bytes.Repeat(m.Fill, len(data)/m.Size)) {
				t.Fatalf("inner chunk %v is not stored and has the elements %x", c.Index, data)
			}
			continue
		}
		if err == nil {
			err = inner.WriteEncodedChunk(ctx, c.Index, encoded)
		}
		if err == nil {
			err = inner.WriteChunk(ctx, c.Index, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	compare(t, a, m)
}

// TestInner writes to arrays and reads them inner chunk by inner chunk.
func TestInner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		rank := len(spec.Shape)
		spec.Codecs = drawShards(t, rank, drawCodecs(t, spec.Type, rank))
		a, err := zarr.At(memtest.New(), "").CreateArray(context.Background(), spec, &zarr.CreateOptions{Options: drawOptions(t)})
		if err != nil {
			t.Fatal(err)
		}
		if a.Inner() == nil {
			return // each shard is compressed as a whole
		}
		m := fixture.NewModel(spec.Shape, fixture.FillElement(a))
		data := drawValues(t, a, fixture.Count(m.Shape))
		if err := a.WriteBytes(context.Background(), nil, data); err != nil {
			t.Fatal(err)
		}
		copy(m.Data, data)
		checkInner(t, a, m)
	})
}

// shardedAxis creates an array of int32 along one axis.
func shardedAxis(t testing.TB, extent int64, shards grid.Cut, inner int64) *zarr.Array {
	t.Helper()
	a, err := zarr.At(memtest.New(), "").CreateArray(context.Background(), zarr.Spec{
		Shape: []int64{extent}, Type: dtype.Int32, Chunks: []grid.Cut{shards}, InnerChunks: grid.Chunks(inner),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestOverhang has an axis whose shards reach beyond the extent, because inner chunks
// divide the shards but not the extent.
func TestOverhang(t *testing.T) {
	ctx := context.Background()
	a := shardedAxis(t, 95, grid.Edges(60, 40), 10)
	values := make([]int32, 95)
	for i := range values {
		values[i] = int32(i + 1)
	}
	if err := zarr.Write(ctx, a, nil, values); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](ctx, a, nil)
	if err != nil || !slices.Equal(got.Data, values) {
		t.Fatalf("%v, %v", got.Data, err)
	}
	g, err := a.Inner().Grid()
	if want := []grid.Run{{Length: 10, Count: 9}, {Length: 5, Count: 1}}; err != nil || !slices.Equal(g.Sizes()[0], want) {
		t.Errorf("inner chunks %v, %v, want %v", g.Sizes(), err, want)
	}
}

// TestRoundUp appends a length that inner chunks do not divide. This is refused with
// lengths that fit, or rounded up if asked to.
func TestRoundUp(t *testing.T) {
	ctx := context.Background()
	a := shardedAxis(t, 95, grid.Edges(60, 40), 10)
	err := zarr.Append(ctx, a, 0, make([]int32, 12), nil)
	if want := "append 5 or 15, or"; !errors.Is(err, zarr.ErrInvalidArgument) || !bytes.Contains([]byte(fmt.Sprint(err)), []byte(want)) {
		t.Fatalf("%v, want %q", err, want)
	}
	if a.Shape()[0] != 95 {
		t.Fatalf("shape %v after a refused append", a.Shape())
	}
	if err := zarr.Append(ctx, a, 0, slices.Repeat([]int32{7}, 12), &zarr.AppendOptions{RoundUp: true}); err != nil {
		t.Fatal(err)
	}
	if got, want := string(a.Metadata().ChunkGrid.Configuration), `[[60, 40, 10]]`; !bytes.Contains([]byte(got), []byte(want)) || a.Shape()[0] != 107 {
		t.Fatalf("shape %v, grid %s, want %s", a.Shape(), got, want)
	}
	if err := zarr.Append(ctx, a, 0, slices.Repeat([]int32{8}, 3), nil); err != nil { // fills the shard that reaches beyond the extent
		t.Fatal(err)
	}
	if err := a.Resize(ctx, []int64{123}, &zarr.ResizeOptions{RoundUp: true}); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](ctx, a, selection.Box{{90, 123}})
	want := slices.Concat(make([]int32, 5), slices.Repeat([]int32{7}, 12), []int32{8, 8, 8}, make([]int32, 13))
	if err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v, %v, want %v", got.Data, err, want)
	}
}

// TestRefusedLengths checks that the error proposes only lengths that the policy
// permits, and names the axis.
func TestRefusedLengths(t *testing.T) {
	const roundUp = "have the last shard rounded up"
	for _, c := range []struct {
		grow    grid.Growth
		round   bool
		count   int
		want    string
		without []string
	}{
		{grid.AppendOne(), false, 13, "append 10 or 20, or " + roundUp, nil},
		{grid.AppendOne(), false, 3, "append 10, or " + roundUp, nil},
		{grid.Fixed(20), false, 13, "", nil},
		{grid.Fixed(7), false, 5, ": " + roundUp, []string{"append 10"}},
		{grid.Fixed(7), false, 13, "shard 2 is stored with 7 elements", []string{roundUp, "append 10"}},
		{grid.Fixed(7), true, 13, "shard 2 is stored with 7 elements", []string{roundUp, "append 10"}},
		{grid.Pattern(10, 7), false, 95, "shard 3 is stored with 7 elements", []string{roundUp, "append 90"}},
	} {
		a := shardedAxis(t, 100, grid.Edges(60, 40), 10)
		err := zarr.Append(t.Context(), a, 0, make([]int32, c.count), &zarr.AppendOptions{Grow: c.grow, RoundUp: c.round})
		if c.want == "" {
			if err != nil {
				t.Errorf("%v, %d more: %v", c.grow, c.count, err)
			}
			continue
		}
		var e *zarr.Error
		if !errors.Is(err, zarr.ErrInvalidArgument) || !errors.As(err, &e) || e.Axis != 0 || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%v, %d more: %v, want %q", c.grow, c.count, err, c.want)
		}
		for _, text := range c.without {
			if strings.Contains(fmt.Sprint(err), text) {
				t.Errorf("%v, %d more: %v, want no %q", c.grow, c.count, err, text)
			}
		}
	}
}

// TestRefusedShapes checks the shapes that the error proposes if an array cannot have a
// shape, or cannot be trimmed to its shape.
func TestRefusedShapes(t *testing.T) {
	a := shardedAxis(t, 100, grid.Edges(60, 40), 10)
	resize := func(n int64, opt zarr.ResizeOptions) error { return a.Resize(t.Context(), []int64{n}, &opt) }
	regular := shardedAxis(t, 95, grid.Every(20), 10)
	for _, c := range []struct {
		err  error
		want string
	}{
		{resize(113, zarr.ResizeOptions{}), "stored with 13 elements, which inner chunks of 10 do not divide: shards of 10 or 20 would do"},
		{resize(113, zarr.ResizeOptions{}), "or have the last shard rounded up (ResizeOptions.RoundUp)"},
		{resize(113, zarr.ResizeOptions{Grow: []grid.Growth{grid.Fixed(7)}, RoundUp: true}), "shard 2 is stored with 7 elements"},
		{resize(93, zarr.ResizeOptions{Shrink: grid.TrimExact}), "or leave the last shard as long as it is (grid.TrimEdges)"},
		{regular.MakeRectilinear(t.Context(), &zarr.RectilinearOptions{Trim: true}), "without RectilinearOptions.Trim"},
	} {
		var e *zarr.Error
		if !errors.Is(c.err, zarr.ErrInvalidArgument) || !errors.As(c.err, &e) || e.Axis != 0 || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
	for _, err := range []error{resize(113, zarr.ResizeOptions{RoundUp: true}), resize(93, zarr.ResizeOptions{Shrink: grid.TrimEdges}), regular.MakeRectilinear(t.Context(), nil)} {
		if err != nil {
			t.Error(err)
		}
	}
}

// TestRoundUpHidden appends to shards that are compressed as a whole. Their inner chunks
// cannot be read alone, but must be whole.
func TestRoundUpHidden(t *testing.T) {
	ctx := context.Background()
	shards := fixture.Must(codec.Shards(codec.Sharding{Inner: grid.Chunks(10), Codecs: []metadata.Extension{codec.Bytes("little")}}))
	a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{60}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(60)}, Codecs: []metadata.Extension{shards, codec.Gzip(1)},
	}, &zarr.CreateOptions{Options: zarr.Options{SingleWriter: true}})
	if err != nil {
		t.Fatal(err)
	}
	err = zarr.Append(ctx, a, 0, make([]int32, 12), nil)
	if want := "append 10 or 20, or"; a.Inner() != nil || !errors.Is(err, zarr.ErrInvalidArgument) || !bytes.Contains([]byte(fmt.Sprint(err)), []byte(want)) {
		t.Fatalf("%v, want %q", err, want)
	}
	err = zarr.Append(ctx, a, 0, make([]int32, 12), &zarr.AppendOptions{RoundUp: true})
	if got, want := string(a.Metadata().ChunkGrid.Configuration), `[[60, 20]]`; err != nil || !bytes.Contains([]byte(got), []byte(want)) {
		t.Errorf("grid %s, %v, want %s", got, err, want)
	}
}

// TestInnerExtension refuses inner grids that cannot be.
func TestInnerExtension(t *testing.T) {
	if _, err := codec.Shards(codec.Sharding{Inner: grid.Chunks(0)}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("inner chunks of 0: %v", err)
	}
	if _, err := codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(2), grid.Edges(1, 2)}}); err == nil {
		t.Error("a length and a list of lengths in one inner grid: no error")
	}
}

// unversioned is a store that reads, writes and lists, but has no conditional writes.
type unversioned struct{ m memtest.Store }

func (u unversioned) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := u.m.Get(ctx, key, q, dst)
	return data, store.Info{Size: info.Size}, err
}

func (u unversioned) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

func (u unversioned) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if !u.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	_, err := u.m.Write(ctx, c, d)
	return store.Written{}, err
}

func (u unversioned) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return u.m.List(ctx, dir, how)
}

// TestSharedWriters declares concurrent writers of inner chunks on a store that cannot
// compare versions. This is refused.
func TestSharedWriters(t *testing.T) {
	ctx := context.Background()
	spec := zarr.Spec{
		Shape: []int64{8}, Type: dtype.Int32, Chunks: grid.Chunks(8), InnerChunks: grid.Chunks(2),
	}
	h := zarr.At(unversioned{memtest.New()}, "")
	a, err := h.At("a").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{SingleWriter: true}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(4) { // one writer needs no versions
		if err := zarr.Write(ctx, a, selection.Box{{2 * i, 2*i + 2}}, []int32{int32(i), int32(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, []int32{0, 0, 1, 1, 2, 2, 3, 3}) {
		t.Errorf("%v, %v", got.Data, err)
	}
	shared, err := h.At("a").OpenArray(ctx, &zarr.Options{Write: true, SharedWriters: true})
	if err == nil {
		err = zarr.Write(ctx, shared, selection.Box{{0, 2}}, []int32{1, 1})
	}
	if !errors.Is(err, zarr.ErrUnsafeConcurrentWrite) {
		t.Errorf("%v", err)
	}
	for _, s := range []store.Store{memtest.New(), fixture.OpenStore(t, t.TempDir())} {
		opt := &zarr.CreateOptions{Options: zarr.Options{SharedWriters: true}}
		if _, err := zarr.At(s, "a").CreateArray(ctx, spec, opt); err != nil {
			t.Error(err)
		}
	}
}
