// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/fsstore"
	"varve.dev/zarr/store/memstore"
)

// variant is one of several arrays with the same history. Each has its own grid, storage
// and way to grow.
type variant struct {
	name   string
	h      *zarr.Location
	a      *zarr.Array
	opt    zarr.Options
	grow   grid.Growth // of listed axes
	shrink grid.Shrink
	by     string // the way to append
	trim   bool   // option of MakeRectilinear
}

// drawVariant creates an array of the shape in a store of its own.
func drawVariant(t *rapid.T, i int, typ dtype.Type, shape []int64, fill []byte) *variant {
	stores := map[string]func() store.Store{
		"memory":      func() store.Store { return memstore.New() },
		"local":       func() store.Store { return fixture.FileStore(vfs.NewDisk()) },
		"conditional": func() store.Store { return fixture.Conditional(memstore.New()) },
	}
	kind := rapid.SampledFrom([]string{"memory", "local", "conditional"}).Draw(t, "store")
	v := &variant{
		h:   zarr.At(stores[kind](), ""),
		opt: drawOptions(t),
		grow: rapid.SampledFrom([]grid.Growth{
			grid.AppendOne(), grid.RepeatLast(), grid.Fixed(2), grid.Pattern(1, 3), grid.Preplanned(grid.Run{Length: 2, Count: 20}), halves(),
		}).Draw(t, "policy"),
		shrink: rapid.SampledFrom([]grid.Shrink{grid.KeepEdges, grid.TrimEdges, grid.TrimExact}).Draw(t, "shrink"),
		by:     rapid.SampledFrom([]string{"append", "group", "reservation", "resize and write"}).Draw(t, "by"),
		trim:   rapid.Bool().Draw(t, "trim"),
	}
	v.name = fmt.Sprintf("variant %d (%s, %v, %v, by %s)", i, kind, v.grow, v.shrink, v.by)
	spec := zarr.Spec{Shape: shape, Type: typ, FillValue: zarr.FillJSON(string(fill)), Codecs: drawCodecs(t, typ, len(shape)), KeyEncoding: rapid.SampledFrom(
		[]metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash}).Draw(t, "keys")}
	for _, n := range shape {
		spec.Chunks = append(spec.Chunks, drawCut(t, n))
	}
	a, err := v.h.At("g/a").CreateArray(context.Background(), spec, &zarr.CreateOptions{Options: v.opt})
	if err != nil {
		t.Fatalf("%s: %v", v.name, err)
	}
	v.a = a
	return v
}

// halves is a growth policy that ends an edge at every even element, if it is far enough
// away.
func halves() grid.Growth {
	return grid.ByBoundaries("calendar:halves", func(at int64) (int64, error) { return (at/4 + 1) * 4, nil })
}

// drawCut draws chunks of one length, or edges that may reach beyond the extent.
func drawCut(t *rapid.T, extent int64) grid.Cut {
	if rapid.Bool().Draw(t, "every") {
		return grid.Every(rapid.Int64Range(1, 6).Draw(t, "step"))
	}
	var edges []int64
	for left := extent; left > 0 || len(edges) == 0; left -= edges[len(edges)-1] {
		edges = append(edges, rapid.Int64Range(1, 5).Draw(t, "edge"))
	}
	return grid.Edges(append(edges, rapid.SliceOfN(rapid.Int64Range(1, 3), 0, 2).Draw(t, "beyond")...)...)
}

// append adds planes along an axis in the variant's own way.
func (v *variant) append(ctx context.Context, axis int, planes []int64, data []byte) error {
	opt := &zarr.AppendOptions{Expect: v.a.Shape(), Planes: planes[axis]}
	if !v.a.Grid().Axis(axis).IsRegular() {
		opt.Grow = v.grow
	}
	switch v.by {
	case "group":
		g, err := v.h.At("g").OpenGroup(ctx, &v.opt)
		if err == nil {
			err = g.Append(ctx, zarr.Addition{Path: "a", Axis: axis, Data: data, Options: opt})
		}
		if err == nil {
			err = v.a.Refresh(ctx)
		}
		return v.orAppendOne(ctx, axis, planes[axis], data, err)
	case "reservation":
		r, err := v.a.Reserve(ctx, axis, planes[axis])
		if errors.Is(err, zarr.ErrInvalidArgument) {
			break // the extent is within a chunk
		}
		if err == nil {
			err = r.WritePartBytes(ctx, 0, data)
		}
		if err == nil {
			err = r.Publish(ctx)
		}
		return err
	case "resize and write":
		shape := v.a.Shape()
		region := grid.BoxOf(shape)
		region[axis] = grid.Interval{Start: shape[axis], Stop: shape[axis] + planes[axis]}
		shape[axis] += planes[axis]
		if err := v.resize(ctx, shape); err != nil {
			return err
		}
		return v.a.WriteBytes(ctx, region, data)
	}
	return v.orAppendOne(ctx, axis, planes[axis], data, v.a.AppendBytes(ctx, axis, data, opt))
}

// orAppendOne appends with the default policy if the policy does not fit the present
// edges.
func (v *variant) orAppendOne(ctx context.Context, axis int, planes int64, data []byte, err error) error {
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return v.a.AppendBytes(ctx, axis, data, &zarr.AppendOptions{Planes: planes})
	}
	return err
}

// resize gives the array another shape, with the policies of the variant if they fit its
// axes.
func (v *variant) resize(ctx context.Context, shape []int64) error {
	err := v.a.Resize(ctx, shape, &zarr.ResizeOptions{Grow: []grid.Growth{v.grow}, Shrink: v.shrink})
	if errors.Is(err, zarr.ErrInvalidArgument) {
		return v.a.Resize(ctx, shape, nil)
	}
	if v.cannotTrim(err) {
		v.shrink = grid.KeepEdges
		return v.resize(ctx, shape)
	}
	return err
}

// cannotTrim reports whether an error refuses to trim shards without a checksum.
func (v *variant) cannotTrim(err error) bool {
	return errors.Is(err, zarr.ErrUnsupported) && strings.Contains(err.Error(), "no checksum")
}

// compare reads the variant through its own handle, and from files with the same
// content.
func (v *variant) compare(t *rapid.T, m *fixture.Model) {
	ctx := context.Background()
	compareAs(t, v.name, v.a, m)
	files := fstest.MapFS{}
	for e, err := range store.List(ctx, v.h.Store(), store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := v.h.Store().Get(ctx, store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name] = &fstest.MapFile{Data: data}
	}
	a, err := zarr.At(fsstore.New(files), "g/a").OpenArray(ctx, &zarr.Options{Experimental: v.opt.Experimental})
	if err != nil {
		t.Fatalf("%s, as files: %v", v.name, err)
	}
	compareAs(t, v.name+", as files", a, m)
}

func compareAs(t *rapid.T, name string, a *zarr.Array, m *fixture.Model) {
	got := make([]byte, len(m.Data))
	if !slices.Equal(a.Shape(), m.Shape) {
		t.Fatalf("%s: shape %v, want %v", name, a.Shape(), m.Shape)
	}
	if err := a.ReadBytes(context.Background(), nil, got); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if !bytes.Equal(got, m.Data) {
		t.Fatalf("%s, grid %s, shape %v: elements are %x, want %x", name, a.Grid().AppendConfiguration(nil), m.Shape, got, m.Data)
	}
}

// TestMetamorphic takes arrays of different grids, policies, codecs, keys, options and
// stores through one history. After every step all have the same shape and the same
// elements, which do not depend on the chunks.
func TestMetamorphic(t *testing.T) {
	fixture.Sequential(t)
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		typ := rapid.SampledFrom([]dtype.Type{dtype.Uint8, dtype.Int32, dtype.Float64}).Draw(t, "type")
		shape := rapid.SliceOfN(rapid.Int64Range(0, 9), 1, 3).Draw(t, "shape")
		fill := []byte(rapid.SampledFrom([]string{"0", "7"}).Draw(t, "fill"))
		variants := make([]*variant, 3)
		for i := range variants {
			variants[i] = drawVariant(t, i, typ, shape, fill)
		}
		m := fixture.NewModel(shape, fixture.FillElement(variants[0].a))
		all := func(do func(v *variant) error) {
			for _, v := range variants {
				if err := do(v); err != nil {
					t.Fatalf("%s: %v", v.name, err)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				for _, v := range variants {
					v.compare(t, m)
				}
			},
			"write": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				data := drawValues(t, variants[0].a, fixture.Count(at[1]))
				all(func(v *variant) error { return v.a.WriteBytes(ctx, sel, data) })
				strided.Copy(m.Part(at[0], at[1], at[2]), strided.Contiguous(data, at[1], m.Size))
			},
			"append": func(t *rapid.T) {
				axis := rapid.IntRange(0, len(m.Shape)-1).Draw(t, "axis")
				shape, planes := slices.Clone(m.Shape), slices.Clone(m.Shape)
				planes[axis] = rapid.Int64Range(1, 4).Draw(t, "planes")
				if fixture.Count(m.Shape) > 2000 {
					return
				}
				data := drawValues(t, variants[0].a, fixture.Count(planes))
				all(func(v *variant) error { return v.append(ctx, axis, planes, data) })
				from := make([]int64, len(shape))
				from[axis] = shape[axis]
				shape[axis] += planes[axis]
				m.Resize(shape)
				strided.Copy(m.Part(from, planes, slices.Repeat([]int64{1}, len(shape))), strided.Contiguous(data, planes, m.Size))
			},
			"resize": func(t *rapid.T) {
				shape := make([]int64, len(m.Shape))
				for i := range shape {
					shape[i] = rapid.Int64Range(0, 12).Draw(t, "extent")
				}
				all(func(v *variant) error { return v.resize(ctx, shape) })
				m.Resize(shape)
			},
			"unlock": func(t *rapid.T) {
				all(func(v *variant) error {
					err := v.a.MakeRectilinear(ctx, &zarr.RectilinearOptions{Trim: v.trim})
					if v.cannotTrim(err) {
						err = v.a.MakeRectilinear(ctx, nil)
					}
					return err
				})
			},
			"reopen": func(t *rapid.T) {
				all(func(v *variant) (err error) {
					v.a, err = v.h.At("g/a").OpenArray(ctx, &v.opt)
					return err
				})
			},
			"consolidate": func(t *rapid.T) {
				all(func(v *variant) error {
					g, err := v.h.At("g").OpenGroup(ctx, &v.opt)
					if err == nil {
						err = g.Consolidate(ctx)
					}
					return err
				})
			},
		})
	})
}
