// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// definedDigest computes a digest as its definition says: from all elements in C order,
// little endian, as the coefficients of a polynomial.
func definedDigest(typ dtype.Type, shape []int64, elements []byte) string {
	prime := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 127), big.NewInt(1))
	base, _ := new(big.Int).SetString("243f6a8885a308d313198a2e03707344", 16)
	sum := new(big.Int)
	elements = append(slices.Clone(elements), make([]byte, -len(elements)&7)...)
	for len(elements) > 0 { // from the last word on
		at := len(elements) - 8
		sum.Mul(sum, base)
		sum.Add(sum, new(big.Int).SetUint64(binary.LittleEndian.Uint64(elements[at:])))
		sum.Mod(sum, prime)
		elements = elements[:at]
	}
	text := fmt.Sprintf("varve digest 1\n%s\n%d\n%032x\n", typ, shape, sum)
	return fmt.Sprintf("varve1-%x", sha256.Sum256([]byte(text)))
}

func digestOf(t rapid.TB, a *zarr.Array) string {
	t.Helper()
	text, err := a.Digest(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDigest compares the digests of arrays of any type, grid, codecs and fill value, of
// which some chunks are missing, with the definition.
func TestDigest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := drawSpec(t)
		opt := drawOptions(t)
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: opt})
		if err != nil {
			t.Fatal(err)
		}
		m := fixture.NewModel(spec.Shape, fixture.FillElement(a))
		for range rapid.IntRange(0, 2).Draw(t, "writes") {
			sel, at := drawSelection(t, m.Shape)
			data := drawValues(t, a, fixture.Count(at[1]))
			if err := a.WriteBytes(ctx, sel, data); err != nil {
				t.Fatal(err)
			}
			strided.Copy(m.Part(at[0], at[1], at[2]), strided.Contiguous(data, at[1], m.Size))
		}
		elements := slices.Clone(m.Data)
		if !byteorder.Little() {
			a.Type().Swap(elements, elements)
		}
		want := definedDigest(a.Type(), m.Shape, elements)
		if got := digestOf(t, a); got != want {
			t.Fatalf("the digest is %s, want %s", got, want)
		}
	})
}

// TestDigestOfText does so for elements of variable length, which count as hashes.
func TestDigestOfText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		spec := drawSpecOf(t, dtype.String)
		spec.FillValue = zarr.FillJSON(`"some fill value"`)
		a, err := zarr.At(memstore.New(), "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: drawOptions(t)})
		if err != nil {
			t.Fatal(err)
		}
		values := slices.Repeat([]string{"some fill value"}, int(fixture.Count(spec.Shape)))
		if rapid.Bool().Draw(t, "write") {
			for i := range values {
				values[i] = rapid.SampledFrom(words).Draw(t, "word")
			}
			if err := zarr.Write(ctx, a, nil, values); err != nil {
				t.Fatal(err)
			}
		}
		var hashes []byte
		for _, v := range values {
			hash := sha256.Sum256([]byte(v))
			hashes = append(hashes, hash[:16]...)
		}
		if got, want := digestOf(t, a), definedDigest(a.Type(), spec.Shape, hashes); got != want {
			t.Fatalf("the digest is %s, want %s", got, want)
		}
	})
}

// TestDigestOfSparse compares arrays with many chunks, of which few are stored, with
// arrays that store all of them.
func TestDigestOfSparse(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		typ   dtype.Type
		fill  string
		shape []int64
		text  bool
	}{
		"zero":   {dtype.Int32, "0", []int64{600, 7}, false},
		"fill":   {dtype.Uint8, "9", []int64{600, 7}, false},
		"NaN":    {dtype.Float64, `"NaN"`, []int64{4200}, false},
		"struct": {fixture.Must(dtype.Parse("r24", nil)), "[1, 2, 3]", []int64{2, 300, 7}, false},
		"text":   {dtype.String, `"x"`, []int64{600, 7}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cuts := make([]grid.Cut, len(c.shape))
			for i := range cuts {
				cuts[i] = grid.Every(1)
			}
			spec := zarr.Spec{Shape: c.shape, Type: c.typ, FillValue: zarr.FillJSON(c.fill), Chunks: cuts}
			sparse := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, spec, nil))
			spec.Chunks[0] = grid.Every(50)
			dense := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, spec, &zarr.CreateOptions{Options: zarr.Options{StoreFill: true}}))
			box := grid.BoxOf(c.shape)
			box[0] = grid.Interval{Start: 1, Stop: 2}
			for _, a := range []*zarr.Array{sparse, dense} {
				var err error
				if c.text {
					err = zarr.Write(ctx, a, selection.BoxOf(box), slices.Repeat([]string{"other"}, int(c.shape[1])))
				} else {
					n, _ := box.Len()
					err = a.WriteBytes(ctx, selection.BoxOf(box), bytes.Repeat([]byte{1}, int(n)*c.typ.Size()))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if a, b := digestOf(t, sparse), digestOf(t, dense); a != b {
				t.Errorf("the digests are %s and %s", a, b)
			}
		})
	}
}

// TestDigestOfHuge reads only what is stored of 2^60 elements.
func TestDigestOfHuge(t *testing.T) {
	ctx := context.Background()
	spec := zarr.Spec{Shape: []int64{1 << 30, 1 << 30}, Type: dtype.Uint8, FillValue: zarr.FillJSON("3"), Chunks: grid.Chunks(1<<10, 1<<10)}
	a := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, spec, nil))
	empty := digestOf(t, a)
	at := selection.Basic{selection.At(1<<30 - 1), selection.At(5)}
	if err := zarr.Fill(ctx, a, at, uint8(4)); err != nil {
		t.Fatal(err)
	}
	changed := digestOf(t, a)
	if err := zarr.Fill(ctx, a, at, uint8(3)); err != nil {
		t.Fatal(err)
	}
	if back := digestOf(t, a); back != empty || changed == empty {
		t.Errorf("empty %s, changed %s, changed back %s", empty, changed, back)
	}
}

// TestDigestKept converts an array to the other format.
func TestDigestKept(t *testing.T) {
	ctx := context.Background()
	h, other := zarr.At(memstore.New(), "three"), zarr.At(memstore.New(), "two")
	spec := zarr.Spec{Shape: []int64{20, 5}, Type: dtype.Float32, Chunks: grid.Chunks(6, 2)}
	a := fixture.Must(h.CreateArray(ctx, spec, nil))
	values := make([]float32, 100)
	for i := range values {
		values[i] = float32(i) / 3
	}
	if err := zarr.Write(ctx, a, nil, values); err != nil {
		t.Fatal(err)
	}
	want := digestOf(t, a)
	if _, err := convert.ConvertTo(ctx, h, other, 2, nil); err != nil {
		t.Fatal(err)
	}
	b := fixture.Must(other.OpenArray(ctx, nil))
	if got := digestOf(t, b); got != want {
		t.Errorf("format 2 has %s, format 3 %s", got, want)
	}
}

// TestDigestDiffers has arrays whose digests all differ.
func TestDigestDiffers(t *testing.T) {
	ctx := context.Background()
	seen := map[string]string{}
	for name, spec := range map[string]zarr.Spec{
		"4x6 int32":  {Shape: []int64{4, 6}, Type: dtype.Int32},
		"6x4 int32":  {Shape: []int64{6, 4}, Type: dtype.Int32},
		"24 int32":   {Shape: []int64{24}, Type: dtype.Int32},
		"24x1 int32": {Shape: []int64{24, 1}, Type: dtype.Int32},
		"24 uint32":  {Shape: []int64{24}, Type: dtype.Uint32},
		"23 uint32":  {Shape: []int64{23}, Type: dtype.Uint32},
		"12 int64":   {Shape: []int64{12}, Type: dtype.Int64},
		"none":       {Shape: []int64{0}, Type: dtype.Int64},
		"scalar":     {Shape: []int64{}, Type: dtype.Int64},
	} {
		for i := range spec.Shape {
			spec.Chunks = append(spec.Chunks, grid.Every(int64(i+1)))
		}
		if spec.Chunks == nil {
			spec.Chunks = []grid.Cut{}
		}
		a := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, spec, nil))
		text := digestOf(t, a)
		if other, ok := seen[text]; ok {
			t.Errorf("%s has the digest of %s", name, other)
		}
		seen[text] = name
	}
}

// TestDigestOfGrown computes the digest of an array that has grown since it was opened.
func TestDigestOfGrown(t *testing.T) {
	ctx := context.Background()
	for name, rows := range map[string]int64{"dense": 40, "sparse": 4000} {
		h := zarr.At(memstore.New(), "")
		spec := zarr.Spec{Shape: []int64{rows, 3}, Type: dtype.Int32, FillValue: zarr.FillJSON("5"), Chunks: grid.Chunks(1, 3)}
		writer := fixture.Must(h.CreateArray(ctx, spec, nil))
		reader := fixture.Must(h.OpenArray(ctx, nil))
		if err := zarr.Append(ctx, writer, 0, []int32{1, 2, 3}, nil); err != nil {
			t.Fatal(err)
		}
		was := fixture.Must(zarr.At(memstore.New(), "").CreateArray(ctx, spec, nil))
		if got := digestOf(t, reader); got != digestOf(t, writer) && got != digestOf(t, was) {
			t.Errorf("%s: the digest is that of no state", name)
		}
	}
}
