// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/clock"
)

// field returns n bytes of smooth float32 values with some noise, rounded to hundredths.
// bench/codecs/blosc.py puts them, and what c-blosc makes of them, in the folder that
// VARVE_BLOSC names, so that both measure the same.
func field(b *testing.B, n int) []byte {
	b.Helper()
	if folder := os.Getenv("VARVE_BLOSC"); folder != "" {
		return read(b, filepath.Join(folder, fmt.Sprintf("%d.field", n)))
	}
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, 0, n)
	for i := range n / 4 {
		x, y := float64(i%512), float64(i/512)
		v := 280 + 15*math.Sin(x/40)*math.Cos(y/55) + 3*math.Sin(x/7+y/9) + 0.05*r.NormFloat64()
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(math.Round(v*100)/100)))
	}
	return out
}

func read(b *testing.B, path string) []byte {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return data
}

// frames returns what c-blosc made of the field, or this package where that is not there.
func frame(b *testing.B, o codec.BloscOptions, src []byte) []byte {
	b.Helper()
	if folder := os.Getenv("VARVE_BLOSC"); folder != "" && o.Compressor != "snappy" {
		return read(b, filepath.Join(folder, fmt.Sprintf("%d-%s-%s.blosc", len(src), o.Compressor, o.Shuffle)))
	}
	out, err := newCodec(b, o).Encode(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// Benchmark measures decoded bytes a second at level 5.
func Benchmark(b *testing.B) {
	for _, n := range []int{16 << 10, 16 << 20} {
		src := field(b, n)
		for _, name := range all {
			for _, shuffle := range []string{"noshuffle", "shuffle", "bitshuffle"} {
				o := codec.BloscOptions{Compressor: name, Level: 5, Shuffle: shuffle, Element: 4}
				c := newCodec(b, o)
				encoded := frame(b, o, src)
				dst := make([]byte, 0, 2*n)
				name := fmt.Sprintf("%s/%s/%d", name, shuffle, n)
				var out []byte
				measure(b, name+"/encode", n, func() { out, _ = c.Encode(dst, src) }, func() float64 { return float64(n) / float64(len(out)) })
				measure(b, name+"/decode", n, func() {
					if _, err := c.Decode(dst, encoded, int64(n)); err != nil {
						b.Fatal(err)
					}
				}, nil)
			}
		}
	}
}

// measure reports the speed of the fastest run, too: on a busy machine the others say
// little.
func measure(b *testing.B, name string, n int, run func(), ratio func() float64) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(int64(n))
		b.ReportAllocs()
		runtime.LockOSThread() // whose time is taken
		defer runtime.UnlockOSThread()
		best := time.Hour
		for b.Loop() {
			begin := clock.Thread()
			run()
			best = min(best, clock.Thread()-begin)
		}
		b.ReportMetric(float64(n)/best.Seconds()/1e6, "best-MB/s")
		if ratio != nil {
			b.ReportMetric(ratio(), "ratio")
		}
	})
}
