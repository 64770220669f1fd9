// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// station is a struct of an int16, a struct of a uint8 and a float64, and an int32.
func station(t testing.TB) dtype.Type {
	inner := fixture.Must(dtype.StructOf(
		dtype.Field{Name: "flag", Type: dtype.Uint8},
		dtype.Field{Name: "value", Type: dtype.Float64},
	))
	return fixture.Must(dtype.StructOf(
		dtype.Field{Name: "id", Type: dtype.Int16},
		dtype.Field{Name: "seen", Type: inner},
		dtype.Field{Name: "count", Type: dtype.Int32},
	))
}

// fieldCases are lists of fields, and the bytes of an element that they occupy.
var fieldCases = []struct {
	fields [][]string
	bytes  []int
}{
	{[][]string{{"id"}}, []int{0, 1}},
	{[][]string{{"count"}}, []int{11, 12, 13, 14}},
	{[][]string{{"count", "id"}}, []int{11, 12, 13, 14, 0, 1}},
	{[][]string{{"seen"}}, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}},
	{[][]string{{"seen"}, {"flag"}}, []int{2}},
	{[][]string{{"count", "seen"}, {"seen"}, {"value", "flag"}}, []int{3, 4, 5, 6, 7, 8, 9, 10, 2}},
}

// TestFields reads and writes fields of structs with selections of every kind, in chunks
// and in shards.
func TestFields(t *testing.T) {
	typ := station(t)
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(2), grid.Every(3)}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				ctx := context.Background()
				a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
					Shape: []int64{7, 10}, Type: typ, Chunks: grid.Chunks(4, 6), InnerChunks: inner,
					Codecs: []metadata.Extension{codec.Bytes("little"), codec.Gzip(1)},
				}, nil)
				if err != nil {
					t.Fatal(err)
				}
				m := &fixture.Model{Shape: a.Shape(), Size: typ.Size(), Data: make([]byte, 70*typ.Size())}
				if rapid.Bool().Draw(t, "written") {
					r := rand.NewChaCha8([32]byte{})
					r.Read(m.Data)
					if err := a.WriteBytes(ctx, nil, m.Data); err != nil {
						t.Fatal(err)
					}
				}
				checkFields(t, a, m)
			})
		})
	}
}

func checkFields(t *rapid.T, a *zarr.Array, m *fixture.Model) {
	ctx := context.Background()
	sel, c := everyElement(a.Shape()).Draw(t)
	tt := rapid.SampledFrom(fieldCases).Draw(t, "fields")
	for _, names := range tt.fields {
		sel = selection.Fields{Names: names, Of: sel}
	}
	r, err := a.Select(sel)
	if err != nil || r.Len() != int64(len(c.At)) {
		t.Fatal(r, err)
	}
	want := m.Fields(c, tt.bytes)
	got := make([]byte, len(want))
	if err := a.ReadBytes(ctx, sel, got); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("fields %q of %v:\n%x\nwant\n%x (%v)", tt.fields, c, got, want, err)
	}
	r8 := rand.NewChaCha8([32]byte{1})
	r8.Read(want)
	if err := a.WriteBytes(ctx, sel, want); err != nil {
		t.Fatal(err)
	}
	n := len(tt.bytes)
	for i, at := range c.At {
		for k, b := range tt.bytes {
			m.Data[int(at)*m.Size+b] = want[i*n+k]
		}
	}
	got = make([]byte, len(m.Data))
	if err := a.ReadBytes(ctx, nil, got); err != nil || !bytes.Equal(got, m.Data) {
		t.Fatalf("after a write to %q of %v:\n%x\nwant\n%x (%v)", tt.fields, c, got, m.Data, err)
	}
}

// TestFieldsTyped reads a field with its Go type, through a view, and fills it with one
// value.
func TestFieldsTyped(t *testing.T) {
	ctx := t.Context()
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{Shape: []int64{5}, Type: station(t)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := selection.Fields{Names: []string{"count"}}
	if err := zarr.Write(ctx, a, count, []int32{1, 2, 3, 4, 5}); err != nil {
		t.Fatal(err)
	}
	v, err := a.View(selection.Fields{Names: []string{"seen"}, Of: selection.Basic{selection.Stepped(selection.Open, selection.Open, -2)}})
	if err != nil {
		t.Fatal(err)
	}
	if v, err = v.View(selection.Fields{Names: []string{"value"}}); err != nil || v.Type() != dtype.Float64 {
		t.Fatal(v, err)
	}
	if err := zarr.Fill(ctx, v, selection.Basic{selection.Span(0, 2)}, 0.5); err != nil {
		t.Fatal(err)
	}
	if b, err := zarr.Read[float64](ctx, a, selection.Fields{Names: []string{"value"}, Of: selection.Fields{Names: []string{"seen"}}}); err != nil ||
		!slices.Equal(b.Data, []float64{0, 0, 0.5, 0, 0.5}) {
		t.Error(b, err)
	}
	if b, err := zarr.Read[int32](ctx, a, count); err != nil || !slices.Equal(b.Data, []int32{1, 2, 3, 4, 5}) {
		t.Error(b, err)
	}
	for name, sel := range map[string]selection.Fields{
		"unknown": {Names: []string{"depth"}}, "none": {}, "twice": {Names: []string{"id", "id"}},
		"of a number": {Names: []string{"x"}, Of: count},
	} {
		if _, err := a.Select(sel); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := zarr.Read[int16](ctx, a, count); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("with another type: %v", err)
	}
}
