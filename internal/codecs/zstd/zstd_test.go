// SPDX-License-Identifier: Apache-2.0

package zstd

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
)

func newLevel(t testing.TB, level int, checksum bool) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(codec.ZstdChecksum(level, checksum))
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

func newCodec() any { return coder{effort: zstd.SpeedDefault} }

func TestContract(t *testing.T) { codectest.Run(t, newCodec, nil) }

func TestContractFastest(t *testing.T) {
	codectest.Run(t, func() any { return newLevel(t, -5, true) }, nil)
}

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, newCodec) }

func FuzzDecodeChecksum(f *testing.F) {
	codectest.Fuzz(f, func() any { return newLevel(f, 1, true) })
}

func Benchmark(b *testing.B) {
	for _, level := range []int{1, 3, 7, 10} {
		for _, checksum := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/checksum=%t", level, checksum), func(b *testing.B) {
				codectest.Benchmark(b, func() any { return newLevel(b, level, checksum) })
			})
		}
	}
}

// TestGolden reads chunks that zarr-python wrote.
func TestGolden(t *testing.T) {
	for _, g := range []struct {
		file string
		size int64
		want string
	}{
		{"checksum-a", 1024, "39b4099ca630a5eac7a3fb4745965ab0ed6bf260700cc28b65b62103b96eddfb"},
		{"checksum-b", 1024, "68f2e75cc88046a4365e12f46b900bd198af57e649de4626a2bd1e84e2582206"},
		{"plain-a", 40, "0e4aee094656b58f8f73041b73b10bc4edada55f3dfc679ee80b37dd320d4a79"},
		{"plain-b", 40, "5f1e4138c214fdfc4c36b60579967a926a0ec4d35289a8be750e32dc9719dbf0"},
	} {
		stored, err := os.ReadFile("testdata/" + g.file + ".zst")
		if err != nil {
			t.Fatal(err)
		}
		plain, err := newLevel(t, 0, false).Decode(nil, stored, g.size)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(plain)); got != g.want {
			t.Errorf("%s: SHA-256 of the %d bytes is %s, want %s", g.file, len(plain), got, g.want)
		}
	}
}

// TestHeader checks that frames say what other readers want to know, whatever their size.
func TestHeader(t *testing.T) {
	for _, n := range []int{1, 100, 255, 256, 1023, 1 << 17, 1<<17 + 1, 1<<23 + 5} {
		for _, checksum := range []bool{false, true} {
			stored, err := newLevel(t, 1, checksum).Encode(nil, make([]byte, n))
			if err != nil {
				t.Fatal(err)
			}
			var h zstd.Header
			if err := h.Decode(stored); err != nil {
				t.Fatal(err)
			}
			if !h.HasFCS || h.FrameContentSize != uint64(n) || h.HasCheckSum != checksum || !h.SingleSegment && h.WindowSize > 8<<20 {
				t.Errorf("%d bytes, checksum %t: header is %+v", n, checksum, h)
			}
		}
	}
}

// streamed returns data in a frame without content size, whose window is larger than the
// data.
func streamed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(8<<20))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{data[:len(data)/2], data[len(data)/2:]} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFrames(t *testing.T) {
	c := newLevel(t, 3, true)
	one, err := c.Encode(nil, []byte("one "))
	if err != nil {
		t.Fatal(err)
	}
	skipped := []byte("\x50\x2a\x4d\x18\x03\x00\x00\x00abc")
	src := bytes.Join([][]byte{skipped, one, skipped, streamed(t, []byte("two"))}, nil)
	if out, err := c.Decode(nil, src, 7); err != nil || string(out) != "one two" {
		t.Errorf("decoded %q, %v", out, err)
	}
	if _, err := c.Decode(nil, src, 6); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("most 6: error is %v, want ErrCorrupt", err)
	}
}

// TestWithoutSize bounds frames that do not state their size, exactly.
func TestWithoutSize(t *testing.T) {
	for _, n := range []int{1, 1000, 1 << 17, 1<<20 + 1} {
		data := bytes.Repeat([]byte("abcdefg"), n/7+1)[:n]
		src := streamed(t, data)
		out, err := newLevel(t, 3, false).Decode(make([]byte, 0, n), src, int64(n))
		if err != nil || !bytes.Equal(out, data) {
			t.Errorf("%d bytes: decoded %d, %v", n, len(out), err)
		}
		if _, err := newLevel(t, 3, false).Decode(make([]byte, 0, n), src, int64(n-1)); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%d bytes into one less: error is %v, want ErrCorrupt", n, err)
		}
	}
}

func TestChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 1, 300).Draw(t, "data")
		c := coder{effort: zstd.SpeedFastest, checksum: true}
		stored, err := c.Encode(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		stored[len(stored)-1-rapid.IntRange(0, 3).Draw(t, "byte")] ^= 1
		if _, err := c.Decode(nil, stored, int64(len(data))); !errors.Is(err, codec.ErrChecksum) {
			t.Fatalf("error is %v, want ErrChecksum", err)
		}
	})
}

// TestChecksumOfFrames damages the checksum of one of several frames, which may not state
// their size. Each is checked, whatever the configuration says.
func TestChecksumOfFrames(t *testing.T) {
	one, err := newLevel(t, 3, true).Encode(nil, []byte("one "))
	if err != nil {
		t.Fatal(err)
	}
	two := streamed(t, []byte("two "))
	var h zstd.Header
	if err := h.Decode(two); err != nil || h.HasFCS || !h.HasCheckSum {
		t.Fatalf("%+v, %v", h, err)
	}
	frames := [][]byte{one, two, one}
	whole := bytes.Join(frames, nil)
	for end, i := 0, 0; i < len(frames); i++ {
		end += len(frames[i])
		damaged := bytes.Clone(whole)
		damaged[end-1] ^= 0x10
		for _, checksum := range []bool{false, true} {
			if out, err := newLevel(t, 0, checksum).Decode(nil, damaged, 12); !errors.Is(err, codec.ErrChecksum) || len(out) > 0 {
				t.Errorf("frame %d: decoded %q, %v", i, out, err)
			}
		}
	}
}

// TestPools uses every kind of encoder on data around the bounds of its window, twice.
func TestPools(t *testing.T) {
	data := bytes.Repeat([]byte("layers of sand and silt "), 400_000)
	for _, level := range []int{-131072, 1, 3, 6, 22} {
		for _, n := range []int{0, 1, 1 << 17, 1<<17 + 1, 1 << 20, 1 << 23, 1<<23 + 1} {
			for range 2 {
				c := newLevel(t, level, true)
				stored, err := c.Encode(nil, data[:n])
				if err != nil {
					t.Fatal(err)
				}
				out, err := c.Decode(make([]byte, 0, n), stored, int64(n))
				if err != nil || !bytes.Equal(out, data[:n]) {
					t.Errorf("level %d, %d bytes: decoded %d bytes, %v", level, n, len(out), err)
				}
			}
		}
	}
}

func TestKinds(t *testing.T) {
	for n, want := range map[int]kind{
		0:         {windowLog: 17, whole: true},
		1 << 17:   {windowLog: 17, whole: true},
		1<<17 + 1: {windowLog: 18, whole: true},
		1 << 23:   {windowLog: 23, whole: true},
		1<<23 + 1: {windowLog: 23},
		1 << 30:   {windowLog: 23},
	} {
		if got := kindFor(0, false, n); got != want {
			t.Errorf("kindFor(%d) = %+v, want %+v", n, got, want)
		}
	}
}

func TestConfiguration(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{}`: true, `{"level": 0, "checksum": false}`: true, `{"level": -131072}`: true, `{"level": 22, "checksum": true}`: true,
		`{"level": 23}`: false, `{"level": -131073}`: false, `{"level": 1.5}`: false, `{"checksum": 1}`: false,
		`{"checksum": "true"}`: false, `{"checksum": null}`: false, `{"level": 1, "threads": 2}`: false, `null`: false,
	} {
		if _, err := New([]byte(raw)); (err == nil) != ok || !ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("New(%s): %v", raw, err)
		}
	}
}
