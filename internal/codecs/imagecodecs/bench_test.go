// SPDX-License-Identifier: Apache-2.0

package imagecodecs

import (
	"bytes"
	other "compress/lzw"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"testing"
)

// images returns tiles of 512 x 512 pixels: elevations of 16 bits, their differences
// along rows, and classes of 8 bits in large areas.
func images() map[string][]byte {
	const side = 512
	r := rand.New(rand.NewPCG(1, 2))
	list := map[string][]byte{}
	for y := range side {
		last := uint16(0)
		for x := range side {
			x, y := float64(x), float64(y)
			v := uint16(800 + 300*math.Sin(x/90)*math.Cos(y/70) + 40*math.Sin(x/11+y/13) + 2*r.NormFloat64())
			list["elevations"] = binary.LittleEndian.AppendUint16(list["elevations"], v)
			list["differences"] = binary.LittleEndian.AppendUint16(list["differences"], v-last)
			list["classes"] = append(list["classes"], byte(4+4*math.Sin(x/40)*math.Cos(y/33)))
			last = v
		}
	}
	return list
}

// BenchmarkBeside decodes LZW beside compress/lzw of Go, which has codes of the same
// widths, but changes them a code later, so that it does not decode TIFF.
func BenchmarkBeside(b *testing.B) {
	c := made(b, LZW())
	for name, plain := range images() {
		src, err := c.Encode(nil, plain)
		if err != nil {
			b.Fatal(err)
		}
		dst := make([]byte, len(plain))
		b.Run(name+"/own", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Decode(dst[:0], src, int64(len(plain))); err != nil {
					b.Fatal(err)
				}
			}
		})
		var encoded bytes.Buffer
		w := other.NewWriter(&encoded, other.MSB, 8)
		if _, err := w.Write(plain); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		var from bytes.Reader
		r := other.NewReader(&from, other.MSB, 8).(*other.Reader)
		b.Run(name+"/compress_lzw", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				from.Reset(encoded.Bytes())
				r.Reset(&from, other.MSB, 8)
				if _, err := io.ReadFull(r, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
