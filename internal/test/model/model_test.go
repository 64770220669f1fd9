// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// drawSpec draws an array of any shape, grid, data type and codecs.
func drawSpec(t *rapid.T) zarr.Spec {
	s := drawSpecOf(t, rapid.SampledFrom(fixedTypes()).Draw(t, "type"))
	if rapid.Bool().Draw(t, "fill") {
		s.FillValue = zarr.FillJSON(string(s.Type.AppendJSON(nil, drawElement(t, s.Type))))
	}
	return s
}

// fixedTypes returns data types of every kind whose elements are of one width.
func fixedTypes() []dtype.Type {
	types := slices.DeleteFunc(dtype.All(), dtype.Type.Variable)
	for _, c := range [][2]string{
		{"r24"}, {"raw_bytes", `{"length_bytes": 3}`}, {"null_terminated_bytes", `{"length_bytes": 5}`}, {"fixed_length_utf32", `{"length_bytes": 8}`},
		{"numpy.datetime64", `{"unit": "ns", "scale_factor": 10}`}, {"numpy.timedelta64", `{"unit": "s", "scale_factor": 1}`},
		{"struct", `{"fields": [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "bool"}, {"name": "c", "data_type":
			{"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": "float64"}, {"name": "y", "data_type": "int4"}]}}}]}`},
		{"struct", `{"fields": [{"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "float16"}]}`},
	} {
		types = append(types, fixture.Must(dtype.Parse(c[0], []byte(c[1]))))
	}
	return types
}

// drawSpecOf draws an array of a data type, without a fill value.
func drawSpecOf(t *rapid.T, typ dtype.Type) zarr.Spec {
	s := zarr.Spec{Type: typ}
	rank := rapid.IntRange(0, 3).Draw(t, "rank")
	for i := range rank {
		if rapid.Bool().Draw(t, "every") {
			s.Shape = append(s.Shape, rapid.Int64Range(0, 12).Draw(t, "extent"))
			s.Chunks = append(s.Chunks, grid.Every(rapid.Int64Range(1, 6).Draw(t, "step")))
			continue
		}
		edges := rapid.SliceOfN(rapid.Int64Range(1, 5), 1, 5).Draw(t, fmt.Sprint("edges", i))
		sum := int64(0)
		for _, n := range edges {
			sum += n
		}
		s.Shape = append(s.Shape, rapid.Int64Range(0, sum).Draw(t, "extent"))
		s.Chunks = append(s.Chunks, grid.Edges(edges...))
	}
	if s.Chunks == nil {
		s.Chunks = []grid.Cut{}
	}
	s.KeyEncoding = rapid.SampledFrom([]metadata.KeyEncoding{
		metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Dot, metadata.V2Slash}).Draw(t, "keys")
	s.Codecs = drawCodecs(t, s.Type, rank)
	return s
}

func drawElement(t *rapid.T, typ dtype.Type) []byte {
	elem := rapid.SliceOfN(rapid.Byte(), typ.Size(), typ.Size()).Draw(t, "element")
	makeValid(typ, elem)
	return elem
}

// makeValid changes bytes so that they are valid elements of a type.
func makeValid(typ dtype.Type, elems []byte) {
	switch typ.Kind() {
	case dtype.KindBool:
		for i := range elems {
			elems[i] &= 1
		}
	case dtype.KindUTF32:
		for i := 0; i < len(elems); i += 4 {
			binary.NativeEndian.PutUint32(elems[i:], uint32(elems[i]))
		}
	case dtype.KindStruct:
		for _, f := range typ.Fields() {
			for at := f.Offset; at < len(elems); at += typ.Size() {
				makeValid(f.Type, elems[at:at+f.Type.Size()])
			}
		}
	default:
		typ.Normalize(elems)
	}
}

func drawCodecs(t *rapid.T, typ dtype.Type, rank int) []metadata.Extension {
	var chain []metadata.Extension
	for range rapid.IntRange(0, 2).Draw(t, "transposes") {
		order := make([]int, rank)
		for i := range order {
			order[i] = i
		}
		chain = append(chain, codec.Transpose(rapid.Permutation(order).Draw(t, "order")...))
	}
	endian := ""
	if typ.Ordered() {
		endian = rapid.SampledFrom([]string{"little", "big"}).Draw(t, "endian")
	}
	if typ.Variable() {
		chain = append(chain, codec.VariableLength(typ))
	} else {
		chain = append(chain, codec.Bytes(endian))
	}
	packers := []metadata.Extension{codec.Gzip(1), codec.ZstdChecksum(0, false), codec.ZstdChecksum(3, true), codec.CRC32C()}
	chain = append(chain, rapid.SliceOfN(rapid.SampledFrom(packers), 0, 2).Draw(t, "packers")...)
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2}).Draw(t, "shards") {
		chain = drawShards(t, rank, chain)
	}
	return chain
}

// drawShards draws a chain with shards whose inner chunks are encoded by another chain.
// Inner chunks that do not divide the shard are clipped at its end.
func drawShards(t *rapid.T, rank int, chain []metadata.Extension) []metadata.Extension {
	c := codec.Sharding{Codecs: chain, AtStart: rapid.Bool().Draw(t, "at start"), Inner: []grid.Cut{}}
	for range rank {
		c.Inner = append(c.Inner, grid.Every(rapid.Int64Range(1, 4).Draw(t, "inner")))
	}
	switch rapid.IntRange(0, 3).Draw(t, "index codecs") {
	case 0:
		c.IndexCodecs = []metadata.Extension{codec.Bytes("big"), codec.CRC32C()}
	case 1:
		c.IndexCodecs = []metadata.Extension{codec.Bytes("little")}
	case 2:
		order := make([]int, rank+1)
		for i := range order {
			order[i] = rank - i
		}
		c.IndexCodecs = []metadata.Extension{codec.Transpose(order...), codec.Bytes("little"), codec.CRC32C()}
	}
	shards := []metadata.Extension{fixture.Must(codec.Shards(c))}
	switch rapid.IntRange(0, 5).Draw(t, "around") {
	case 0:
		return append(shards, codec.Gzip(1))
	case 1:
		order := make([]int, rank)
		for i := range order {
			order[i] = i
		}
		return append([]metadata.Extension{codec.Transpose(rapid.Permutation(order).Draw(t, "order")...)}, shards...)
	}
	return shards
}

// drawOptions draws the options to open an array.
func drawOptions(t *rapid.T) zarr.Options {
	return zarr.Options{
		Write:        true,
		StoreFill:    rapid.Bool().Draw(t, "store fill"),
		Concurrency:  rapid.SampledFrom([]int{0, 1, 3}).Draw(t, "concurrency"),
		Budget:       rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "budget"),
		Experimental: zarr.Experimental{InnerChunks: true},
		Shards: zarr.Shards{
			Gap: rapid.SampledFrom([]int64{0, 1, 10}).Draw(t, "gap"), Span: rapid.SampledFrom([]int64{0, 1, 50}).Draw(t, "span"),
			Order:      rapid.SampledFrom([]codec.Order{codec.Morton, codec.C, codec.Fortran}).Draw(t, "order of inner chunks"),
			Strategy:   rapid.SampledFrom([]codec.Strategy{codec.Rewrite, codec.Append, codec.InPlace}).Draw(t, "strategy"),
			IndexCache: rapid.SampledFrom([]int64{0, -1, 600}).Draw(t, "index cache"),
		},
	}
}

// drawValues draws elements from few different bytes, so that whole chunks sometimes
// have only the fill value.
func drawValues(t *rapid.T, a *zarr.Array, n int64) []byte {
	typ := a.Type()
	if rapid.IntRange(0, 4).Draw(t, "all fill") == 0 {
		return bytes.Repeat(fixture.FillElement(a), int(n))
	}
	data := make([]byte, n*int64(typ.Size()))
	seed := rapid.Uint64().Draw(t, "values")
	for i := range data {
		seed = seed*6364136223846793005 + 1442695040888963407
		data[i] = byte(seed >> 56)
	}
	makeValid(typ, data)
	return data
}

// drawSelection draws a selection, and returns it also as starts, counts and steps.
func drawSelection(t *rapid.T, shape []int64) (selection.Basic, [3][]int64) {
	items := selection.Basic{}
	start, n, step := make([]int64, len(shape)), make([]int64, len(shape)), make([]int64, len(shape))
	for i, extent := range shape {
		start[i] = rapid.Int64Range(0, extent).Draw(t, "start")
		stop := rapid.Int64Range(start[i], extent).Draw(t, "stop")
		step[i] = rapid.Int64Range(1, 4).Draw(t, "step")
		if n[i] = (stop - start[i] + step[i] - 1) / step[i]; n[i] == 1 && rapid.Bool().Draw(t, "index") {
			items = append(items, selection.At(start[i]))
			continue
		}
		items = append(items, selection.Stepped(start[i], stop, step[i]))
	}
	return items, [3][]int64{start, n, step}
}

// TestModel runs random sequences of writes, reads, appends and resizes, and compares
// them with an array without chunks.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := drawSpec(t)
		h := zarr.At(memstore.New(), "")
		opt := drawOptions(t)
		a, err := h.At("group/array").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		m := fixture.NewModel(spec.Shape, fixture.FillElement(a))
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { compare(t, a, m) },
			"write": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				data := drawValues(t, a, fixture.Count(at[1]))
				if err := a.WriteBytes(ctx, sel, data); err != nil {
					t.Fatal(err)
				}
				strided.Copy(m.Part(at[0], at[1], at[2]), strided.Contiguous(data, at[1], m.Size))
			},
			"fill": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				elem := drawElement(t, a.Type())
				if err := a.FillBytes(ctx, sel, elem); err != nil {
					t.Fatal(err)
				}
				strided.Fill(m.Part(at[0], at[1], at[2]), elem)
			},
			"read": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				got := make([]byte, fixture.Count(at[1])*int64(m.Size))
				if err := a.ReadBytes(ctx, sel, got); err != nil {
					t.Fatal(err)
				}
				want := make([]byte, len(got))
				strided.Copy(strided.Contiguous(want, at[1], m.Size), m.Part(at[0], at[1], at[2]))
				if !bytes.Equal(got, want) {
					t.Fatalf("selection %v of shape %v reads %x, want %x", sel, m.Shape, got, want)
				}
			},
			"append": func(t *rapid.T) {
				if len(m.Shape) == 0 {
					return
				}
				axis := rapid.IntRange(0, len(m.Shape)-1).Draw(t, "axis")
				shape, planes := slices.Clone(m.Shape), slices.Clone(m.Shape)
				planes[axis] = rapid.Int64Range(0, 4).Draw(t, "planes")
				data := drawValues(t, a, fixture.Count(planes))
				if planes[axis] == 0 && fixture.Count(planes) == 0 {
					return // planes without elements need AppendOptions.Planes
				}
				if err := a.AppendBytes(ctx, axis, data, &zarr.AppendOptions{Planes: planes[axis]}); err != nil {
					t.Fatal(err)
				}
				from := make([]int64, len(shape))
				from[axis] = shape[axis]
				shape[axis] += planes[axis]
				m.Resize(shape)
				strided.Copy(m.Part(from, planes, slices.Repeat([]int64{1}, len(shape))), strided.Contiguous(data, planes, m.Size))
			},
			"resize": func(t *rapid.T) {
				shape := make([]int64, len(m.Shape))
				for i := range shape {
					shape[i] = rapid.Int64Range(0, 15).Draw(t, "extent")
				}
				if err := a.Resize(ctx, shape, nil); err != nil {
					t.Fatal(err)
				}
				m.Resize(shape)
			},
			"compact": func(t *rapid.T) {
				first, err := a.CompactShards(ctx, nil)
				if errors.Is(err, zarr.ErrUnsupported) {
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				want := zarr.CompactReport{Shards: first.Shards, Before: first.After, After: first.After}
				if again, err := a.CompactShards(ctx, nil); err != nil || again != want {
					t.Fatalf("compacted twice: %+v (%v), want %+v", again, err, want)
				}
			},
			"reopen": func(t *rapid.T) {
				if a, err = h.At("group/array").OpenArray(ctx, &opt); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

func compare(t *rapid.T, a *zarr.Array, m *fixture.Model) {
	got := make([]byte, len(m.Data))
	if !slices.Equal(a.Shape(), m.Shape) {
		t.Fatalf("shape %v, want %v", a.Shape(), m.Shape)
	}
	if err := a.ReadBytes(context.Background(), nil, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, m.Data) {
		t.Fatalf("shape %v: elements are %x, want %x", m.Shape, got, m.Data)
	}
}
