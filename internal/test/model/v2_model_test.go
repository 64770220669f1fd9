// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
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
	"varve.dev/zarr/store/memstore"
)

// drawTypeV2 draws a data type of fixed width that format 2 has.
func drawTypeV2(t *rapid.T) dtype.Type {
	var types []dtype.Type
	for _, descr := range []string{"|b1", "|i1", "<i2", "<u4", "<i8", "<f2", "<f4", "<f8", "<c8", "<c16", "|S3", "|V5", "<M8[10us]", "<m8"} {
		typ, _, err := dtype.FromNumPy(descr)
		types = append(types, fixture.Must(typ, err))
	}
	inner := fixture.Must(dtype.StructOf(dtype.Field{Name: "x", Type: dtype.Float64}, dtype.Field{Name: "y", Type: types[10]}))
	types = append(types, fixture.Must(dtype.StructOf(dtype.Field{Name: "a", Type: dtype.Uint8}, dtype.Field{Name: "b", Type: inner})))
	return rapid.SampledFrom(types).Draw(t, "type")
}

// drawSpecV2 draws an array of format 2.
func drawSpecV2(t *rapid.T) zarr.Spec {
	s := zarr.Spec{Format: 2, Type: drawTypeV2(t), Chunks: []grid.Cut{}, Shape: []int64{}}
	var order []int
	for i := range rapid.IntRange(0, 3).Draw(t, "rank") {
		s.Shape = append(s.Shape, rapid.Int64Range(0, 12).Draw(t, "extent"))
		s.Chunks = append(s.Chunks, grid.Every(rapid.Int64Range(1, 6).Draw(t, "step")))
		s.DimensionNames = append(s.DimensionNames, fmt.Sprint("d", i))
		order = slices.Insert(order, 0, i)
	}
	if rapid.Bool().Draw(t, "no names") {
		s.DimensionNames = nil
	}
	s.KeyEncoding = rapid.SampledFrom([]metadata.KeyEncoding{metadata.DefaultSlash, metadata.V2Dot, metadata.V2Slash}).Draw(t, "keys")
	if order != nil && rapid.Bool().Draw(t, "order F") {
		s.Codecs = append(s.Codecs, codec.Transpose(order...))
	}
	endian := ""
	if s.Type.Ordered() {
		endian = rapid.SampledFrom([]string{"little", "big"}).Draw(t, "endian")
	}
	packers := []metadata.Extension{codec.Gzip(1), codec.ZstdChecksum(0, false), codec.ZstdChecksum(3, true), codec.CRC32C()}
	s.Codecs = append(append(s.Codecs, codec.Bytes(endian)), rapid.SliceOfN(rapid.SampledFrom(packers), 0, 2).Draw(t, "packers")...)
	return s
}

// TestModelV2 runs random sequences of writes, appends, resizes and changes of
// attributes on an array of format 2, and compares them with an array without chunks.
// Its description, converted to format 3 and back, creates the same array.
func TestModelV2(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := drawSpecV2(t)
		h := zarr.At(memstore.New(), "")
		opt := drawOptions(t)
		a, err := h.At("group/array").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		m, attributes := fixture.NewModel(spec.Shape, fixture.FillElement(a)), a.Attributes()
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				compare(t, a, m)
				if string(a.Attributes()) != string(attributes) || a.Format() != 2 || !slices.Equal(a.DimensionNames(), spec.DimensionNames) {
					t.Fatalf("format %d, attributes %s, want %s; dimensions %q", a.Format(), a.Attributes(), attributes, a.DimensionNames())
				}
			},
			"write": func(t *rapid.T) {
				sel, at := drawSelection(t, m.Shape)
				data := drawValues(t, a, fixture.Count(at[1]))
				if err := a.WriteBytes(ctx, sel, data); err != nil {
					t.Fatal(err)
				}
				strided.Copy(m.Part(at[0], at[1], at[2]), strided.Contiguous(data, at[1], m.Size))
			},
			"append": func(t *rapid.T) {
				if len(m.Shape) == 0 {
					return
				}
				axis := rapid.IntRange(0, len(m.Shape)-1).Draw(t, "axis")
				shape, planes, from := slices.Clone(m.Shape), slices.Clone(m.Shape), make([]int64, len(m.Shape))
				planes[axis] = rapid.Int64Range(0, 4).Draw(t, "planes")
				data := drawValues(t, a, fixture.Count(planes))
				if planes[axis] == 0 && fixture.Count(planes) == 0 {
					return // planes without elements need AppendOptions.Planes
				}
				if err := a.AppendBytes(ctx, axis, data, &zarr.AppendOptions{Planes: planes[axis]}); err != nil {
					t.Fatal(err)
				}
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
			"attributes": func(t *rapid.T) {
				value := fmt.Appendf(nil, "%d.50", rapid.IntRange(0, 9).Draw(t, "value"))
				err := a.UpdateAttributes(ctx, func(old []byte) (next []byte, err error) {
					next, err = metadata.SetAttribute(old, "k", value)
					attributes = next
					return next, err
				})
				if err != nil {
					t.Fatal(err)
				}
				attributes = a.Attributes()
			},
			"like": func(t *rapid.T) {
				s := a.Spec()
				b, err := h.At("group/like").CreateArray(ctx, s, &zarr.CreateOptions{Options: opt, Overwrite: true})
				if err != nil {
					t.Fatal(err)
				}
				if x, y := fixture.Must(a.Metadata().Marshal(metadata.Limits{})), fixture.Must(b.Metadata().Marshal(metadata.Limits{})); string(x) != string(y) {
					t.Fatalf("the copy of\n%s\nis\n%s", x, y)
				}
			},
			"reopen": func(t *rapid.T) {
				if a, err = h.At("group/array").OpenArray(ctx, &opt); err != nil {
					t.Fatal(err)
				}
				if fixture.Compact(a.Attributes()) != fixture.Compact(attributes) {
					t.Fatalf("attributes %s, want %s", a.Attributes(), attributes)
				}
				attributes = a.Attributes()
			},
		})
	})
}
