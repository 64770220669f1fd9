// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
)

// filtered are chains of array-to-array codecs by data type. All of them preserve whole
// numbers from 0 to 100.
var filtered = []struct {
	typ    string
	codecs []codecJSON
}{
	{"float64", []codecJSON{{"scale_offset", map[string]any{"offset": -8, "scale": 4}}}},
	{"float32", []codecJSON{{"scale_offset", map[string]any{"scale": 0.5}}, {"numcodecs.bitround", map[string]any{"keepbits": 9}}}},
	{"int64", []codecJSON{{"scale_offset", map[string]any{"offset": -3, "scale": 7}}}},
	{"uint16", []codecJSON{{"scale_offset", map[string]any{"scale": 600}}}},
	{"float64", []codecJSON{{"numcodecs.fixedscaleoffset", map[string]any{"offset": 3, "scale": 2.0, "dtype": "<f8", "astype": "<i2"}}}},
	{"float32", []codecJSON{{"numcodecs.fixedscaleoffset", map[string]any{"offset": 0, "scale": 2, "dtype": "<f4", "astype": "<u1"}}}},
	{"int32", []codecJSON{{"numcodecs.delta", map[string]any{"dtype": "<i4", "astype": "<i2"}}}},
	{"uint8", []codecJSON{{"numcodecs.delta", map[string]any{"dtype": "|u1"}}}},
	{"float32", []codecJSON{{"numcodecs.delta", map[string]any{"dtype": "<f4", "astype": "<f8"}}}},
	{"int16", []codecJSON{{"numcodecs.astype", map[string]any{"encode_dtype": "<f8", "decode_dtype": "<i2"}}}},
	{"float64", []codecJSON{{"numcodecs.astype", map[string]any{"encode_dtype": "|u1", "decode_dtype": "<f8"}}, {"numcodecs.delta", map[string]any{"dtype": "|u1", "astype": "<i4"}}}},
	{"float32", []codecJSON{{"numcodecs.quantize", map[string]any{"digits": 2, "dtype": "<f4"}}}},
	{"float16", []codecJSON{{"numcodecs.bitround", map[string]any{"keepbits": 8}}}},
	{"bool", []codecJSON{{"numcodecs.packbits", map[string]any{}}}},
}

// TestFilters lets each implementation write random arrays with codecs that change
// values, types and shapes. Both read them.
func TestFilters(t *testing.T) {
	t.Parallel()
	p, seed := startPython(t), seed(t)
	for _, writer := range []implementation{p, varve{}} {
		for i := range cases() {
			t.Run(fmt.Sprintf("%s/%d", writer.name(), i), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, uint64(i)<<32+1))
				s := randomFiltered(r)
				path := filepath.Join(t.TempDir(), "a.zarr")
				writer.create(t, path, s)
				respell(t, r, path, &s)
				want := randomBlock(r, s, s.Shape)
				want.data = wholeNumbers(r, s.Type, s.Fill, len(want.data))
				writer.write(t, path, want.data)
				for _, reader := range []implementation{p, varve{}} {
					compare(t, reader, reader.read(t, path), s.state(want))
				}
			})
		}
	}
}

// randomFiltered returns a random array with one of the chains, sometimes transposed
// first.
func randomFiltered(r *rand.Rand) spec {
	s, f := randomSpec(r), filtered[r.IntN(len(filtered))]
	for len(s.Shape) == 0 || slices.Contains(s.Shape, 0) {
		s = randomSpec(r)
	}
	s.Type, s.Filters = f.typ, slices.Concat(s.Filters, f.codecs)
	s.Fill = wholeNumbers(r, f.typ, nil, 1)
	s.Serializer = codecJSON{"bytes", map[string]any{"endian": pick(r, "little", "big")}}
	return s
}

// wholeNumbers returns elements from 0 to 100, or the fill value, with n bytes. n is a
// multiple of the size of an element.
func wholeNumbers(r *rand.Rand, typ string, fill []byte, n int) []byte {
	var data []byte
	blank := fill != nil && r.IntN(3) == 0
	for len(data) < n {
		if blank || fill != nil && r.IntN(4) == 0 {
			data = append(data, fill...)
			continue
		}
		data = appendNumber(data, typ, r.Uint64N(101))
	}
	return data
}

// appendNumber appends a whole number as an element in little endian.
func appendNumber(dst []byte, typ string, x uint64) []byte {
	switch typ {
	case "bool":
		return append(dst, byte(x&1))
	case "uint8":
		return append(dst, byte(x))
	case "int16", "uint16":
		return binary.LittleEndian.AppendUint16(dst, uint16(x))
	case "int32":
		return binary.LittleEndian.AppendUint32(dst, uint32(x))
	case "int64":
		return binary.LittleEndian.AppendUint64(dst, x)
	case "float16":
		return binary.LittleEndian.AppendUint16(dst, half(x))
	case "float32":
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(x)))
	}
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(x)))
}

// half returns a float16 of a whole number below 2048.
func half(x uint64) uint16 {
	if x == 0 {
		return 0
	}
	bits := math.Float32bits(float32(x))
	return uint16((bits>>23-112)<<10 | bits>>13&0x3ff)
}
