// SPDX-License-Identifier: Apache-2.0

// Package stitch tests that the segments of parallel writers become chunks of one array.
package stitch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

func TestMain(m *testing.M) { fixture.Main(m) }

func create(t rapid.TB, h *zarr.Location, spec zarr.Spec) *zarr.Array {
	t.Helper()
	a, err := h.CreateArray(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// drawEdges draws the lengths of chunks, and their sum.
func drawEdges(t *rapid.T, label string) (edges []int64, sum int64) {
	edges = rapid.SliceOfN(rapid.Int64Range(1, 4), 0, 4).Draw(t, label)
	for _, n := range edges {
		sum += n
	}
	return edges, sum
}

// TestStitch stitches drawn segments along any axis to arrays of any grid, in stores with
// locks, with conditional writes, and in memory. Some chunks are missing, some segments
// have other codecs, chunks or fill values. The elements are those of a plain
// concatenation.
func TestStitch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		axis := rapid.IntRange(0, 1).Draw(t, "axis")
		across := rapid.Int64Range(1, 6).Draw(t, "across")
		step := rapid.Int64Range(1, 4).Draw(t, "step")
		stores := map[string]func() store.Store{
			"memory":      func() store.Store { return memtest.New() },
			"local":       func() store.Store { return fixture.FileStore(vfs.NewDisk()) },
			"conditional": func() store.Store { return fixture.Conditional(memtest.New()) },
		}
		h := zarr.At(stores[rapid.SampledFrom([]string{"memory", "local", "conditional"}).Draw(t, "store")](), "")
		spec := func(label string) zarr.Spec {
			edges, n := drawEdges(t, label)
			s := zarr.Spec{Type: dtype.Int32, Shape: []int64{across, across}, Chunks: grid.Chunks(step, step), Codecs: fixture.Packed()}
			s.Shape[axis], s.Chunks[axis] = n, grid.Edges(edges...)
			if len(edges) == 0 {
				s.Chunks[axis] = grid.Every(2)
			}
			return s
		}
		first := spec("array")
		if rapid.Bool().Draw(t, "regular") {
			first.Chunks[axis] = grid.Every(2)
		} else if first.Shape[axis] == 0 {
			first.Shape[axis], first.Chunks[axis] = 1, grid.Edges(1)
		}
		a := create(t, h.At("a"), first)
		want := fill(t, a, axis, 1)
		var segments []*zarr.Array
		for i := range rapid.IntRange(1, 4).Draw(t, "segments") {
			s := spec(fmt.Sprint("segment ", i))
			switch rapid.IntRange(0, 5).Draw(t, "other") {
			case 0:
				s.Codecs = append([]metadata.Extension{codec.Bytes("big")}, fixture.Packed()[1:]...)
			case 1:
				s.FillValue = zarr.FillJSON("7")
			case 2:
				s.Chunks[1-axis] = grid.Every(step + 1)
			}
			from := h
			if rapid.Bool().Draw(t, "elsewhere") {
				from = zarr.At(memtest.New(), "")
			}
			seg := create(t, from.At(fmt.Sprint("s", i)), s)
			want = concatenated(want, fill(t, seg, axis, int32(100*(i+1))), axis)
			segments = append(segments, seg)
		}
		if err := a.Stitch(ctx, axis, segments, nil); err != nil {
			t.Fatal(err)
		}
		again, err := h.At("a").OpenArray(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, array := range map[string]*zarr.Array{"the array": a, "opened again": again} {
			got, err := zarr.Read[int32](ctx, array, nil)
			if err != nil || !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Data, want.Data) {
				t.Fatalf("%s: %v\ngot  %v\nwant %v", name, err, got, want)
			}
		}
	})
}

// fill writes some of the elements of an array, and returns all.
func fill(t *rapid.T, a *zarr.Array, axis int, from int32) zarr.Block[int32] {
	ctx := context.Background()
	shape := a.Shape()
	if shape[axis] > 0 && rapid.Bool().Draw(t, "write") {
		box := grid.BoxOf(shape)
		box[axis].Start = rapid.Int64Range(0, shape[axis]-1).Draw(t, "from")
		n, _ := box.Len()
		if err := zarr.Write(ctx, a, selection.BoxOf(box), fixture.Numbers(from, int32(n))); err != nil {
			t.Fatal(err)
		}
	}
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// concatenated returns two blocks of rank 2 as one.
func concatenated(a, b zarr.Block[int32], axis int) zarr.Block[int32] {
	out := zarr.Block[int32]{Shape: slices.Clone(a.Shape)}
	out.Shape[axis] += b.Shape[axis]
	if axis == 0 {
		out.Data = slices.Concat(a.Data, b.Data)
		return out
	}
	for row := range a.Shape[0] {
		out.Data = append(out.Data, a.Data[row*a.Shape[1]:(row+1)*a.Shape[1]]...)
		out.Data = append(out.Data, b.Data[row*b.Shape[1]:(row+1)*b.Shape[1]]...)
	}
	return out
}

// TestSensors is the motivation "sensors written in parallel" of ZEP 3: batches of
// unknown lengths, one segment for each writer, become chunks of two arrays together, and
// nothing is decoded or encoded.
func TestSensors(t *testing.T) {
	ctx := context.Background()
	s := memtest.New()
	h := zarr.At(s, "")
	g := fixture.Must(h.At("all").CreateGroup(ctx, nil, nil))
	names := map[string]dtype.Type{"time": dtype.Int64, "value": dtype.Float64}
	for name, typ := range names {
		create(t, g.At(name), zarr.Spec{Shape: []int64{0}, Type: typ, Chunks: []grid.Cut{grid.Edges()}, DimensionNames: []string{"time"}})
	}
	lengths := []int64{7, 1, 13, 4}
	additions := map[string][]*zarr.Array{}
	for i, n := range lengths {
		for name, typ := range names {
			spec := zarr.Spec{Shape: []int64{n}, Type: typ, Chunks: []grid.Cut{grid.Edges(n)}, DimensionNames: []string{"time"}}
			seg := create(t, h.At(fmt.Sprintf("segments/%d/%s", i, name)), spec)
			var err error
			if name == "time" {
				err = zarr.Fill(ctx, seg, nil, int64(i+1))
			} else {
				err = zarr.Fill(ctx, seg, nil, float64(i+1)/2)
			}
			if err != nil {
				t.Fatal(err)
			}
			additions[name] = append(additions[name], seg)
		}
	}
	counter := new(observe.Counter)
	g = fixture.Must(h.At("all").OpenGroup(ctx, &zarr.Options{Write: true, Observer: counter}))
	err := g.Append(ctx, zarr.Addition{Path: "time", Segments: additions["time"]}, zarr.Addition{Path: "value", Segments: additions["value"]})
	if err != nil {
		t.Fatal(err)
	}
	if n := counter.Stats().Codecs.Times; n != 0 {
		t.Errorf("%d chunks were decoded or encoded", n)
	}
	for name := range names {
		a := fixture.Must(h.At("all/"+name).OpenArray(ctx, nil))
		var edges []int64
		for run := range a.Grid().Axis(0).Edges() {
			edges = append(edges, slices.Repeat([]int64{run.Length}, int(run.Count))...)
		}
		if !slices.Equal(edges, lengths) || !slices.Equal(a.Shape(), []int64{25}) {
			t.Errorf("%s: chunks %v of shape %v", name, edges, a.Shape())
		}
	}
	got := fixture.Must(zarr.Read[float64](ctx, fixture.Must(h.At("all/value").OpenArray(ctx, nil)), selection.Basic{selection.Stepped(6, 10, 1)}))
	if !slices.Equal(got.Data, []float64{0.5, 1, 1.5, 1.5}) {
		t.Error(got.Data)
	}
}

// TestStitchText stitches text, whose chunks can only be copied.
func TestStitchText(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.String, Chunks: []grid.Cut{grid.Edges(2)}}
	a, seg := create(t, h.At("a"), spec), create(t, h.At("s"), spec)
	for array, words := range map[*zarr.Array][]string{a: {"a", "b"}, seg: {"c", "d"}} {
		if err := zarr.Write(ctx, array, nil, words); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err != nil {
		t.Fatal(err)
	}
	if got := fixture.Must(zarr.Read[string](ctx, a, nil)); !slices.Equal(got.Data, []string{"a", "b", "c", "d"}) {
		t.Error(got.Data)
	}
	err := a.Stitch(ctx, 0, []*zarr.Array{seg}, &zarr.AppendOptions{Grow: grid.Fixed(1)})
	fixture.Expect(t, err, zarr.ErrInvalidArgument, zarr.KindOf(zarr.ErrInvalidArgument), "variable length")
	if got := fixture.Must(zarr.Read[string](ctx, a, nil)); len(got.Data) != 4 {
		t.Error(got.Data)
	}
}

// TestStitchRefused has segments that do not continue the array.
func TestStitchRefused(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	a := create(t, h.At("a"), zarr.Spec{Shape: []int64{2, 3}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(2), grid.Every(3)}})
	for name, spec := range map[string]zarr.Spec{
		"shape":       {Shape: []int64{2, 4}, Type: dtype.Int32},
		"rank":        {Shape: []int64{2}, Type: dtype.Int32},
		"elements of": {Shape: []int64{2, 3}, Type: dtype.Uint32},
	} {
		seg := create(t, h.At(strings.ReplaceAll(name, " ", "-")), spec)
		if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.Stitch(ctx, 0, nil, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
	if !slices.Equal(a.Shape(), []int64{2, 3}) {
		t.Error(a.Shape())
	}
}

// TestStitchOverLeft stitches a segment that stores no chunk over a chunk that a crashed
// writer has left: it reads as the fill value.
func TestStitchOverLeft(t *testing.T) {
	ctx := context.Background()
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1, 1)}, Codecs: fixture.Plain()}
	for name, s := range map[string]store.Store{"locks": fixture.FileStore(vfs.NewDisk()), "fence": fixture.Conditional(memtest.New())} {
		t.Run(name, func(t *testing.T) {
			a, seg := create(t, zarr.At(s, "a"), spec), create(t, zarr.At(memtest.New(), ""), spec)
			for _, key := range []string{"a/c/2", "a/c/3"} {
				if _, err := store.Write(ctx, s, store.Put(store.MustKey(key), []byte("left")), store.Flush); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err != nil {
				t.Fatal(err)
			}
			if got := fixture.Must(zarr.Read[int32](ctx, a, nil)); !slices.Equal(got.Data, []int32{0, 0, 0, 0}) {
				t.Error(got.Data)
			}
		})
	}
}

// TestStitchNewest stitches what the writer of a segment has appended after it was opened
// here. If the writer continues during the stitch, nothing is published.
func TestStitchNewest(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	spec := zarr.Spec{Shape: []int64{1}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1)}}
	s := &growing{Store: memtest.New()}
	a, writer := create(t, h.At("a"), spec), create(t, zarr.At(s, ""), spec)
	seg := fixture.Must(zarr.At(s, "").OpenArray(ctx, nil))
	grow := func() error { return zarr.Append(ctx, writer, 0, []int32{2}, nil) }
	if err := errors.Join(zarr.Fill(ctx, writer, nil, int32(1)), grow()); err != nil {
		t.Fatal(err)
	}
	s.grow = grow
	if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err == nil || !strings.Contains(err.Error(), "changed while") || a.Shape()[0] != 1 {
		t.Errorf("%v, shape %v", err, a.Shape())
	}
	if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err != nil {
		t.Fatal(err)
	}
	if got := fixture.Must(zarr.Read[int32](ctx, a, nil)); !slices.Equal(got.Data, []int32{0, 1, 2, 2}) {
		t.Error(got.Data)
	}
}

// growing is the store of an array that grows when a chunk of it is read.
type growing struct {
	memtest.Store
	grow func() error
}

func (g *growing) Get(ctx context.Context, key store.Key, q store.Request, room []byte) ([]byte, store.Info, error) {
	if grow := g.grow; grow != nil && key.String() == "c/0" {
		g.grow = nil
		if err := grow(); err != nil {
			return nil, store.Info{}, err
		}
	}
	return g.Store.Get(ctx, key, q, room)
}

// TestStitchTwice names a node twice, also by another store.
func TestStitchTwice(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(2)}}
	a := fixture.Must(zarr.CreateArray(ctx, dir+"/g/a", spec, nil))
	seg := fixture.Must(zarr.CreateArray(ctx, dir+"/g/s", spec, nil))
	again := fixture.Must(zarr.OpenArray(ctx, dir+"/g/s", nil))
	self := fixture.Must(zarr.OpenArray(ctx, dir+"/g/a", nil))
	for name, list := range map[string][]*zarr.Array{"twice": {seg, again}, "the same value twice": {seg, seg}, "the array itself": {self}} {
		if err := a.Stitch(ctx, 0, list, nil); !errors.Is(err, zarr.ErrInvalidArgument) || a.Shape()[0] != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStitchOpenEdges stitches to an axis whose edges reach beyond the extent: they are
// filled, and the chunks that follow stay as they are.
func TestStitchOpenEdges(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	a := create(t, h.At("a"), zarr.Spec{Shape: []int64{1}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(3)}})
	var segments []*zarr.Array
	for i := range 3 {
		seg := create(t, h.At(fmt.Sprint("s", i)), zarr.Spec{Shape: []int64{4}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1, 3)}})
		if err := zarr.Write(ctx, seg, nil, fixture.Numbers(int32(10*i), 4)); err != nil {
			t.Fatal(err)
		}
		segments = append(segments, seg)
	}
	if err := a.Stitch(ctx, 0, segments, nil); err != nil {
		t.Fatal(err)
	}
	var edges []int64
	for run := range a.Grid().Axis(0).Edges() {
		edges = append(edges, slices.Repeat([]int64{run.Length}, int(run.Count))...)
	}
	if want := []int64{3, 2, 1, 3, 1, 3}; !slices.Equal(edges, want) {
		t.Errorf("chunks %v, want %v", edges, want)
	}
	if got := fixture.Must(zarr.Read[int32](ctx, a, nil)); !slices.Equal(got.Data, []int32{0, 0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23}) {
		t.Error(got.Data)
	}
}

// TestStitchFailedCopy has a store whose copies fail as if there were no source. The
// chunk that the segment stores does not become the fill value.
func TestStitchFailedCopy(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(lying{memtest.New()}, "")
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(2)}}
	a, seg := create(t, h.At("a"), spec), create(t, h.At("s"), spec)
	if err := zarr.Fill(ctx, seg, nil, int32(7)); err != nil {
		t.Fatal(err)
	}
	if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err == nil || a.Shape()[0] != 2 {
		t.Errorf("%v, shape %v", err, a.Shape())
	}
}

// lying is a store whose batches do not find what they copy.
type lying struct{ memtest.Store }

func (l lying) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	b, err := store.NewBatch(ctx, l.Store, d)
	return lyingBatch{b}, err
}

type lyingBatch struct{ store.Batch }

func (b lyingBatch) Can(op store.Op) bool { return op == store.OpCopy || b.Batch.Can(op) }

func (b lyingBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpCopy {
		return store.Written{}, fs.ErrNotExist
	}
	return b.Batch.Write(ctx, c)
}

// TestStitchMissing stitches a segment whose chunks all have to be stored.
func TestStitchMissing(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1, 1)}}
	a := create(t, h.At("a"), spec)
	create(t, h.At("s"), spec)
	seg := fixture.Must(h.At("s").OpenArray(ctx, &zarr.Options{RequireChunks: true}))
	if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err == nil || !strings.Contains(err.Error(), "segment") || a.Shape()[0] != 2 {
		t.Errorf("%v, shape %v", err, a.Shape())
	}
}

// TestStitchDamaged has a segment whose store fails: nothing changes, and the error is
// not taken for a conflict of the array.
func TestStitchDamaged(t *testing.T) {
	ctx := context.Background()
	h := zarr.At(memtest.New(), "")
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(1, 1)}}
	a := create(t, h.At("a"), spec)
	broken := &failing{Store: memtest.New()}
	seg := create(t, zarr.At(broken, ""), spec)
	if err := zarr.Fill(ctx, seg, nil, int32(1)); err != nil {
		t.Fatal(err)
	}
	broken.on = true
	err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil)
	if !errors.Is(err, errBroken) || errors.Is(err, zarr.ErrConflict) || !slices.Equal(a.Shape(), []int64{2}) {
		t.Errorf("%v, shape %v", err, a.Shape())
	}
	broken.on = false
	if err := a.Stitch(ctx, 0, []*zarr.Array{seg}, nil); err != nil || !slices.Equal(a.Shape(), []int64{4}) {
		t.Errorf("%v, shape %v", err, a.Shape())
	}
}

var errBroken = fmt.Errorf("broken: %w", store.ErrConflict)

// failing is a store whose chunk 1 cannot be read.
type failing struct {
	memtest.Store
	on bool
}

func (f *failing) Get(ctx context.Context, key store.Key, q store.Request, room []byte) ([]byte, store.Info, error) {
	if f.on && key.String() == "c/1" {
		return nil, store.Info{}, errBroken
	}
	return f.Store.Get(ctx, key, q, room)
}
