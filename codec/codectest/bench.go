// SPDX-License-Identifier: Apache-2.0

package codectest

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"varve.dev/zarr/codec"
)

// Benchmark measures a bytes-to-bytes codec on smooth float32 values, plain and with
// their bytes shuffled, in chunks of 16 KiB and 16 MiB. It reports decoded bytes per
// second, and allocations, of which there should be none.
func Benchmark(b *testing.B, newCodec func() any) {
	b.Helper()
	c, ok := newCodec().(codec.BytesBytes)
	if !ok {
		b.Fatalf("codectest: %T is not a bytes-to-bytes codec", newCodec())
	}
	if err := bind(c, new(Options)); err != nil {
		b.Fatal(err)
	}
	for _, kib := range []int{16, 16 << 10} {
		for _, shuffled := range []bool{false, true} {
			name := fmt.Sprintf("kib=%d/shuffled=%t", kib, shuffled)
			b.Run(name, func(b *testing.B) { measure(b, c, smooth(kib<<10, shuffled)) })
		}
	}
}

// measure measures both directions.
func measure(b *testing.B, c codec.BytesBytes, src []byte) {
	encoded, err := c.Encode(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, code func(dst []byte) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			dst := make([]byte, 0, len(src)+len(encoded))
			for b.Loop() {
				if err := code(dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(src))/float64(len(encoded)), "ratio")
		})
	}
	run("encode", func(dst []byte) error { _, err := c.Encode(dst, src); return err })
	run("decode", func(dst []byte) error { _, err := c.Decode(dst, encoded, int64(len(src))); return err })
}

// smooth returns n bytes of float32 values in little endian. If shuffled, all first bytes
// come first, then all second bytes, and so on.
func smooth(n int, shuffled bool) []byte {
	b, r := make([]byte, n), newRand()
	for i := range n / 4 {
		x, y := float64(i%512), float64(i/512)
		v := 280 + 15*math.Sin(x/40)*math.Cos(y/55) + 3*math.Sin(x/7+y/9) + 0.05*r.NormFloat64()
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], math.Float32bits(float32(math.Round(v*100)/100)))
		for k, v := range w {
			if shuffled {
				b[k*n/4+i] = v
			} else {
				b[4*i+k] = v
			}
		}
	}
	return b
}
