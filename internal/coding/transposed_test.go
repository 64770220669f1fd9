// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"fmt"
	"testing"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/clock"
	"varve.dev/zarr/internal/strided"
)

// BenchmarkTransposed encodes chunks in C order with transposed axes, and decodes them to
// a block in C order, beside copying the bytes once. Decoding copies them to memory of
// its own before, as a codec that decompresses does.
func BenchmarkTransposed(b *testing.B) {
	for _, name := range []string{"uint8", "uint16", "float32", "float64", "complex128"} {
		for _, side := range []int64{64, 1000, 1024} {
			typ, err := dtype.Parse(name, nil)
			if err != nil {
				b.Fatal(err)
			}
			c := newChain(b, codec.Default, specOf(typ, 2), codec.Transpose(1, 0), codec.Bytes("little"))
			n := side * side * int64(typ.Size())
			plain, stored := make([]byte, n), make([]byte, 0, n)
			for i := range plain {
				plain[i] = byte(i * 7)
			}
			block := strided.Contiguous(plain, []int64{side, side}, typ.Size())
			encode := func() { stored = must(c.Encode(stored[:0], block)) }
			v := strided.View{Data: make([]byte, n), Shape: block.Shape, Size: block.Size}
			back := strided.Contiguous(make([]byte, n), block.Shape, block.Size)
			decode := func() {
				must(0, c.Decode(&v, stored))
				strided.Move(back, v)
			}
			encode()
			b.Run(fmt.Sprintf("encode/%s/side=%d", name, side), func(b *testing.B) { beside(b, n, encode, plain) })
			b.Run(fmt.Sprintf("decode/%s/side=%d", name, side), func(b *testing.B) { beside(b, n, decode, plain) })
		}
	}
}

func beside(b *testing.B, n int64, f func(), plain []byte) {
	other := make([]byte, n)
	b.SetBytes(n)
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	took, copied := clock.Beside(f, func() { copy(other, plain) }, time.Second/4)
	b.ReportMetric(copied.Seconds()/took.Seconds(), "of-copy")
}
