// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// drawPart draws a part of a chunk of that shape.
func drawPart(t *rapid.T, shape []int64) strided.Part {
	var p strided.Part
	for i, n := range shape {
		axis := fmt.Sprintf("axis %d ", i)
		start := rapid.Int64Range(0, n-1).Draw(t, axis+"start")
		step := rapid.Int64Range(1, n).Draw(t, axis+"step")
		count := rapid.Int64Range(1, (n-1-start)/step+1).Draw(t, axis+"count")
		p.Start, p.Step, p.Count = append(p.Start, start), append(p.Step, step), append(p.Count, count)
	}
	return p
}

// elementsOf returns the elements of a part one after the other.
func elementsOf(v strided.View, p strided.Part) []byte {
	var out []byte
	index := make([]int64, len(v.Shape))
	for range p.Len() {
		at := int64(0)
		for i, k := range index {
			at += (p.Start[i] + k*p.Step[i]) * v.Strides[i]
		}
		out = append(out, v.Data[at:at+int64(v.Size)]...)
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < p.Count[i] {
				break
			}
			index[i] = 0
		}
	}
	return out
}

// TestDecodeWithin compares parts with those of the whole chunk.
func TestDecodeWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"bool", "uint8", "int16", "float64"}).Draw(t, "type")
		typ, err := dtype.Parse(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		shape := rapid.SliceOfN(rapid.Int64Range(1, 12), 3, 3).Draw(t, "shape")
		exts := []metadata.Extension{
			{Name: "bytes", Configuration: []byte(`{"endian":"little"}`)},
			codec.Blosc(codec.BloscOptions{Compressor: "lz4", Level: 5, Element: typ.Size(), Block: 128}),
		}
		if rapid.Bool().Draw(t, "transposed") {
			exts = append([]metadata.Extension{{Name: "transpose", Configuration: []byte(`{"order":[2,0,1]}`)}}, exts...)
		}
		if rapid.Bool().Draw(t, "checked") {
			exts = append(exts, metadata.Extension{Name: "crc32c"})
		}
		chain, err := coding.NewChain(new(codec.Environment), exts, codec.Spec{Type: typ, Fill: make([]byte, typ.Size()), Rank: 3})
		if err != nil {
			t.Fatal(err)
		}
		n := shape[0] * shape[1] * shape[2] * int64(typ.Size())
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i/5) & 1
		}
		stored, err := chain.Encode(nil, strided.Contiguous(data, shape, typ.Size()))
		if err != nil {
			t.Fatal(err)
		}
		part := drawPart(t, shape)
		whole := strided.View{Data: make([]byte, n), Shape: shape, Size: typ.Size()}
		within := strided.View{Data: bytes.Repeat([]byte{0xa5}, int(n)), Shape: shape, Size: typ.Size()}
		if err := chain.Decode(&whole, stored); err != nil {
			t.Fatal(err)
		}
		if err := chain.DecodeWithin(&within, part, stored); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(elementsOf(within, part), elementsOf(whole, part)) {
			t.Fatalf("the part %v differs", part)
		}
	})
}
