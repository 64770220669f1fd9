// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/racing"
)

// adapting encodes as chains of arrays do whose codecs adapt.
type adapting struct{ coder }

func (a adapting) Encode(dst, src []byte) ([]byte, error) { return a.EncodeAdapted(dst, src) }

func newAdapting(t testing.TB, o codec.BloscOptions) adapting {
	return adapting{newCodec(t, o).(coder)}
}

var filterNames = []string{"noshuffle", "shuffle", "bitshuffle"}

func TestContractAdapted(t *testing.T) {
	codectest.Run(t, func() any { return newAdapting(t, codec.BloscOptions{Compressor: "zstd", Level: 5, Element: 4}) }, nil)
}

// encodings returns the frames of src for each filter.
func encodings(t testing.TB, o codec.BloscOptions, src []byte) (all [][]byte) {
	t.Helper()
	for _, o.Shuffle = range filterNames {
		frame, err := newCodec(t, o).Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, frame)
	}
	return all
}

// TestAdapted compares what is encoded with what each shuffle makes of it: it is one of
// them, always the same, and decodes as the configuration says.
func TestAdapted(t *testing.T) {
	chosen := map[int]int{}
	rapid.Check(t, func(t *rapid.T) {
		tb := &fatal{t: t}
		o := codec.BloscOptions{
			Compressor: rapid.SampledFrom(all).Draw(t, "compressor"),
			Level:      rapid.IntRange(0, 9).Draw(t, "level"),
			Shuffle:    rapid.SampledFrom(filterNames).Draw(t, "shuffle"),
			Element:    rapid.SampledFrom([]int{1, 2, 3, 4, 8, 16, 255, 300}).Draw(t, "element"),
		}
		var src []byte
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			part := rapid.SampledFrom(parts).Draw(t, "part")
			src = append(src, part(rapid.IntRange(0, 20_000).Draw(t, "bytes"))...)
		}
		c := newAdapting(tb, o)
		frame, err := c.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(encodings(tb, o, src), func(b []byte) bool { return bytes.Equal(b, frame) })
		if i < 0 {
			t.Fatal("no shuffle makes this frame")
		}
		chosen[i]++
		if again, err := c.Encode([]byte("before"), src); err != nil || !bytes.Equal(again[6:], frame) {
			t.Fatalf("encoded again it differs, %v", err)
		}
		if got, err := newCodec(tb, o).Decode(nil, frame, int64(len(src))); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("other content, %v", err)
		}
		if n := len(src); n > 0 {
			got := make([]byte, n-n/3)
			if err := c.DecodeRange(got, frame, int64(n/3), int64(n)); err != nil || !bytes.Equal(got, src[n/3:]) {
				t.Fatalf("other content of a range, %v", err)
			}
		}
	})
	if len(chosen) < 3 {
		t.Errorf("not every shuffle was chosen: %v", chosen)
	}
}

// parts make n bytes of data of one character.
var parts = []func(n int) []byte{steps, codes, flags, func(n int) []byte { return make([]byte, n) }, func(n int) []byte { return content(4, n) }}

// steps has uint32 numbers of which small ones are frequent: shuffled bytes are the
// smallest for compressors that give short codes to frequent bytes.
func steps(n int) []byte {
	b := make([]byte, 0, n+4)
	for i := uint32(1); len(b) < n; i = i*1664525 + 1013904223 {
		b = binary.LittleEndian.AppendUint32(b, 3*uint32(bits.LeadingZeros32(i)))
	}
	return b[:n]
}

// codes has records of ten float32 numbers, out of sixteen records: bytes that are not
// shuffled are the smallest.
func codes(n int) []byte {
	known := make([]byte, 0, 16*40)
	for i := uint32(1); len(known) < cap(known); i = i*1664525 + 1013904223 {
		known = binary.LittleEndian.AppendUint32(known, i^i>>15)
	}
	b := make([]byte, 0, n+40)
	for i := uint32(1); len(b) < n; i = i*1664525 + 1013904223 {
		at := 40 * (i >> 28)
		b = append(b, known[at:at+40]...)
	}
	return b[:n]
}

// flags has uint32 numbers below 16 at random: shuffled bits are the smallest.
func flags(n int) []byte {
	b := make([]byte, 0, n+4)
	for i := uint32(1); len(b) < n; i = i*1664525 + 1013904223 {
		b = binary.LittleEndian.AppendUint32(b, i>>28)
	}
	return b[:n]
}

// TestAdaptedSize checks for data of one character that the choice is the best one, from
// whatever shuffle the configuration has. A shuffle that saves less than leastSaved may
// be missed.
func TestAdaptedSize(t *testing.T) {
	for _, tt := range []struct {
		name, compressor string
		data             func(int) []byte
	}{{"noshuffle", "lz4", codes}, {"shuffle", "zstd", steps}, {"bitshuffle", "lz4", flags}} {
		src := tt.data(400_000)
		o := codec.BloscOptions{Compressor: tt.compressor, Level: 5, Element: 4}
		frames := encodings(t, o, src)
		least := slices.MinFunc(frames, func(a, b []byte) int { return len(a) - len(b) })
		if !bytes.Equal(least, frames[slices.Index(filterNames, tt.name)]) {
			t.Fatalf("%s: the data do not favour this shuffle", tt.name)
		}
		for _, o.Shuffle = range filterNames {
			frame, err := newAdapting(t, o).Encode(nil, src)
			if err != nil || len(frame) > len(least)+len(least)/leastSaved {
				t.Errorf("%s instead of %s: %d bytes, the least are %d, %v", o.Shuffle, tt.name, len(frame), len(least), err)
			}
		}
	}
}

// TestAdaptedEverywhere has other data at the beginning than in most of the content.
func TestAdaptedEverywhere(t *testing.T) {
	src := slices.Concat(steps(70_000), codes(500_000))
	o := codec.BloscOptions{Compressor: "zstd", Level: 5, Shuffle: "shuffle", Element: 4}
	frame, err := newAdapting(t, o).Encode(nil, src)
	if frames := encodings(t, o, src); err != nil || !bytes.Equal(frame, frames[0]) || len(frame) >= len(frames[1]) {
		t.Errorf("%d bytes, %d without and %d with shuffling, %v", len(frame), len(frames[0]), len(frames[1]), err)
	}
}

// TestAdaptedKeeps checks that content which is too short for a sample, or not to be
// compressed, is encoded as configured.
func TestAdaptedKeeps(t *testing.T) {
	for _, tt := range []struct{ n, level int }{{sampleShare*samplePieces*leastPiece - 1, 5}, {400_000, 0}} {
		o := codec.BloscOptions{Compressor: "lz4", Level: tt.level, Shuffle: "shuffle", Element: 4}
		src := codes(tt.n)
		frame, err := newAdapting(t, o).Encode(nil, src)
		if err != nil || !bytes.Equal(frame, encodings(t, o, src)[1]) {
			t.Errorf("%d bytes at level %d: not encoded as configured, %v", tt.n, tt.level, err)
		}
	}
}

// TestAdaptedTogether encodes the same content in many goroutines, which share pools.
func TestAdaptedTogether(t *testing.T) {
	src := slices.Concat(steps(100_000), codes(60_000), flags(50_000))
	c := newAdapting(t, codec.BloscOptions{Compressor: "zstd", Level: 5, Element: 4})
	want, err := c.Encode(nil, src)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 4 {
				if got, err := c.Encode(nil, src); err != nil || !bytes.Equal(got, want) {
					t.Errorf("other bytes, %v", err)
				}
			}
		})
	}
	group.Wait()
}

func TestAdaptedAllocations(t *testing.T) {
	racing.Skip(t) // it drops what pools hold
	src := steps(400_000)
	dst := make([]byte, 0, 2*len(src))
	c := newCodec(t, codec.BloscOptions{Compressor: "zstd", Level: 5, Element: 4}).(coding.Adapter)
	code := func() {
		if _, err := c.EncodeAdapted(dst, src); err != nil {
			t.Fatal(err)
		}
	}
	if n := leastAllocations(code); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
