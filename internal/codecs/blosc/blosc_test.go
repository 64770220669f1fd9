// SPDX-License-Identifier: Apache-2.0

package blosc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/internal/racing"
)

// all has the names of the compressors.
var all = []string{"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"}

func newCodec(t testing.TB, o codec.BloscOptions) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(codec.Blosc(o))
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

func TestContract(t *testing.T) {
	for _, o := range []codec.BloscOptions{
		{Compressor: "blosclz", Level: 5, Shuffle: "shuffle", Element: 2, Block: 0},
		{Compressor: "blosclz", Level: 9, Shuffle: "noshuffle", Element: 1, Block: 1000},
		{Compressor: "lz4", Level: 5, Shuffle: "bitshuffle", Element: 4, Block: 0},
		{Compressor: "lz4", Level: 1, Shuffle: "shuffle", Element: 17, Block: 0},
		{Compressor: "lz4hc", Level: 3, Shuffle: "noshuffle", Element: 8, Block: 0},
		{Compressor: "snappy", Level: 5, Shuffle: "bitshuffle", Element: 3, Block: 0},
		{Compressor: "zlib", Level: 1, Shuffle: "shuffle", Element: 16, Block: 0},
		{Compressor: "zstd", Level: 2, Shuffle: "bitshuffle", Element: 1, Block: 0},
	} {
		t.Run(fmt.Sprintf("%s/%s/%d", o.Compressor, o.Shuffle, o.Element), func(t *testing.T) {
			codectest.Run(t, func() any { return newCodec(t, o) }, nil)
		})
	}
}

func FuzzDecode(f *testing.F) {
	codectest.Fuzz(f, func() any { return newCodec(f, codec.BloscOptions{Compressor: "lz4", Level: 5, Element: 4}) })
}

// TestRoundTrip writes and reads content of any length in blocks of any size.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := codec.BloscOptions{
			Compressor: rapid.SampledFrom(all).Draw(t, "compressor"),
			Level:      rapid.IntRange(0, 9).Draw(t, "level"),
			Shuffle:    rapid.SampledFrom([]string{"noshuffle", "shuffle", "bitshuffle", "auto"}).Draw(t, "shuffle"),
			Element:    rapid.IntRange(1, 300).Draw(t, "element"),
			Block:      rapid.IntRange(0, 5000).Draw(t, "block"),
		}
		src := rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 20_000).Draw(t, "content")
		tb := &fatal{t: t}
		c := newCodec(tb, o)
		frame, err := c.Encode(nil, src)
		if err != nil || int64(len(frame)) > int64(headerSize+len(src)) {
			t.Fatalf("%d bytes become %d, %v", len(src), len(frame), err)
		}
		got, err := c.Decode(nil, frame, int64(len(src)))
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("other content, %v", err)
		}
	})
}

// fatal lets rapid fail where a test would.
type fatal struct {
	testing.TB
	t *rapid.T
}

func (f *fatal) Helper()           {}
func (f *fatal) Fatal(args ...any) { f.t.Fatal(args...) }

// TestAllocations checks that frames are coded in memory that is there.
func TestAllocations(t *testing.T) {
	racing.Skip(t) // it drops what pools hold
	src := content(4, 40_000)
	dst := make([]byte, 0, 2*len(src))
	for _, name := range all {
		for _, shuffle := range []string{"noshuffle", "shuffle", "bitshuffle"} {
			c := newCodec(t, codec.BloscOptions{Compressor: name, Level: 5, Shuffle: shuffle, Element: 4})
			frame, err := c.Encode(nil, src)
			if err != nil {
				t.Fatal(err)
			}
			code := func() {
				_, encodeErr := c.Encode(dst, src)
				_, decodeErr := c.Decode(dst, frame, int64(len(src)))
				if err := errors.Join(encodeErr, decodeErr); err != nil {
					t.Fatal(err)
				}
			}
			if n := leastAllocations(code); n > 0 {
				t.Errorf("%s, %s: %v allocations", name, shuffle, n)
			}
		}
	}
}

// leastAllocations returns the allocations of a run. Pools are emptied by collections,
// and at random by the race detector, which is why the least of several is taken.
func leastAllocations(run func()) float64 {
	least := math.Inf(1)
	for i := 0; i < 100 && least > 0; i++ {
		least = min(least, testing.AllocsPerRun(1, run))
	}
	return least
}

// FuzzFrame decodes any bytes whole and in part, which has to agree.
func FuzzFrame(f *testing.F) {
	for _, g := range goldens(f) {
		if len(g.frame) < 3000 {
			f.Add(g.frame, uint16(100), uint16(50))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte, off, n uint16) {
		const most = 1 << 20
		whole, err := coder{}.Decode(nil, frame, most)
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("error is %v, want ErrCorrupt", err)
			}
			return
		}
		from := min(int(off), len(whole))
		to := min(from+int(n), len(whole))
		part := make([]byte, to-from)
		if err := (coder{}).DecodeRange(part, frame, int64(from), int64(len(whole))); err != nil || !bytes.Equal(part, whole[from:to]) {
			t.Errorf("bytes %d to %d of %d differ, %v", from, to, len(whole), err)
		}
	})
}

// FuzzBloscLZ decodes any bytes as a stream, and encodes and decodes them.
func FuzzBloscLZ(f *testing.F) {
	f.Add([]byte("\x00a\xe0\xff\x00\x00\x00b"), uint8(5))
	f.Add(content(4, 500), uint8(9))
	f.Add(content(3, 30_000), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, level uint8) {
		_ = blosclz{}.decompress(make([]byte, 300), data)
		stream := make([]byte, 2*len(data)+100)
		w := compressors[kindBloscLZ][level%10].Get().(*bloscLZWriter)
		defer compressors[kindBloscLZ][level%10].Put(w)
		n := w.compress(stream, data)
		got := make([]byte, len(data))
		if n == 0 {
			return
		}
		if err := (blosclz{}).decompress(got, stream[:n]); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes come back otherwise, %v", len(data), err)
		}
	})
}
