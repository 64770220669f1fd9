package codectest

import (
	"encoding/binary"
	"math"
	"testing"

	"varve.dev/zarr/codec"
)

// Benchmark measures a bytes-to-bytes codec on 1 MiB of smooth float32 values with their bytes shuffled:
// decoded bytes a second, and allocations, of which there should be none.
func Benchmark(b *testing.B, newCodec func() any) {
	b.Helper()
	c, ok := newCodec().(codec.BytesBytes)
	if !ok {
		b.Fatalf("codectest: %T is no bytes-to-bytes codec", newCodec())
	}
	src := smooth(1 << 20)
	encoded, err := c.Encode(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	measure := func(name string, run func(dst []byte) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			dst := make([]byte, 0, len(src)+len(encoded))
			for b.Loop() {
				if err := run(dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(src))/float64(len(encoded)), "ratio")
		})
	}
	measure("encode", func(dst []byte) error { _, err := c.Encode(dst, src); return err })
	measure("decode", func(dst []byte) error { _, err := c.Decode(dst, encoded, int64(len(src))); return err })
}

// smooth returns n bytes of float32 values: all first bytes, then all second bytes, and so on.
func smooth(n int) []byte {
	b, r := make([]byte, n), newRand()
	for i := range n / 4 {
		x, y := float64(i%512), float64(i/512)
		v := 280 + 15*math.Sin(x/40)*math.Cos(y/55) + 3*math.Sin(x/7+y/9) + 0.05*r.NormFloat64()
		var w [4]byte
		binary.LittleEndian.PutUint32(w[:], math.Float32bits(float32(math.Round(v*100)/100)))
		for k, v := range w {
			b[k*n/4+i] = v
		}
	}
	return b
}
