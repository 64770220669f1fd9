// SPDX-License-Identifier: Apache-2.0

package extra

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/metadata"
)

// TestGolden decodes frames that numcodecs wrote (interop/frames.py). The limit is
// their exact length, and then one byte less.
func TestGolden(t *testing.T) {
	z, err := zip.OpenReader("testdata/frames.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	read := func(name string) []byte {
		data, err := fs.ReadFile(z, name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var rows []struct {
		ID, Plain, Frame string
		Configuration    json.RawMessage
	}
	if err := json.Unmarshal(read("manifest.json"), &rows); err != nil || len(rows) != 105 {
		t.Fatalf("%d frames, %v", len(rows), err)
	}
	for _, r := range rows {
		c := made(t, metadata.Extension{Name: "numcodecs." + r.ID, Configuration: r.Configuration})
		plain, frame := read(r.Plain), read(r.Frame)
		n := int64(len(plain))
		if out, err := c.Decode(make([]byte, 0, n), frame, n); err != nil || !bytes.Equal(out, plain) {
			t.Errorf("%s, %s: decoded %d of %d bytes, %v", r.Configuration, r.Plain, len(out), n, err)
		}
		if n == 0 {
			continue
		}
		if _, err := c.Decode(make([]byte, 0, n), frame, n-1); !errors.Is(err, codec.ErrTooLong) {
			t.Errorf("%s, %s: with room for a byte less: %v", r.Configuration, r.Plain, err)
		}
	}
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/lzma/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sample is a file that Python wrote, its content, and the configuration to read it.
type sample struct{ file, plain, configuration string }

const rawChunks, rawStream = `{"format":3,"filters":[{"id":33}]}`, `{"format":3,"filters":[{"id":` + lzma1 + `}]}`

var samples = []sample{
	{"text.xz", "text.plain", `{}`}, {"text-crc32.xz", "text.plain", `{}`}, {"text-none.xz", "text.plain", `{}`},
	{"field-delta.xz", "field.plain", `{}`}, {"empty.xz", "", `{}`}, {"text.lzma", "text.plain", `{"format":2}`},
	{"empty.lzma", "", `{"format":2}`}, {"field.lzma2", "field.plain", rawChunks}, {"field.lzma1", "field.plain", rawStream},
}

func (s sample) read(t testing.TB) (c codec.BytesBytes, src, plain []byte) {
	t.Helper()
	if s.plain != "" {
		plain = readFile(t, s.plain)
	}
	return made(t, lzmaOf(s.configuration)), readFile(t, s.file), plain
}

// TestSamples decodes whole files, all prefixes of them, and files followed by more
// bytes.
func TestSamples(t *testing.T) {
	for _, s := range samples {
		c, src, plain := s.read(t)
		out, err := c.Decode([]byte("kept"), src, int64(len(plain)))
		if err != nil || string(out) != "kept"+string(plain) {
			t.Errorf("%s: %d bytes, %v, want %d", s.file, len(out), err, len(plain))
		}
		for n := range src {
			if _, err := c.Decode(nil, src[:n], int64(len(plain))); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s, the first %d of %d bytes: %v", s.file, n, len(src), err)
			}
		}
		for _, end := range []string{"\x00", "\x00\x00\x00\x00", "\xff", "x"} {
			if _, err := c.Decode(nil, append(bytes.Clone(src), end...), int64(len(plain)+10)); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s and %q: %v", s.file, end, err)
			}
		}
	}
}

// TestFlips flips a bit of every byte. Containers with a checksum must never decode to
// wrong data.
func TestFlips(t *testing.T) {
	for _, s := range samples {
		c, src, plain := s.read(t)
		checked := strings.HasSuffix(s.file, ".xz") && s.file != "text-none.xz"
		for n := range src {
			i := 8*n + n%8
			src[i/8] ^= 1 << (i % 8)
			out, err := c.Decode(make([]byte, 0, len(plain)), src, int64(len(plain)))
			if err != nil && !errors.Is(err, codec.ErrCorrupt) || len(out) > len(plain) || err == nil && checked && !bytes.Equal(out, plain) {
				t.Errorf("%s, bit %d of byte %d: %d bytes, %v", s.file, i%8, i/8, len(out), err)
			}
			src[i/8] ^= 1 << (i % 8)
		}
	}
}

// TestFiles decodes concatenated files.
func TestFiles(t *testing.T) {
	plain := readFile(t, "text.plain")
	src := bytes.Join([][]byte{readFile(t, "text.xz"), readFile(t, "empty.xz"), readFile(t, "text-none.xz")}, nil)
	out, err := made(t, numcodecs.LZMA(1)).Decode(nil, src, int64(2*len(plain)))
	if err != nil || !bytes.Equal(out, append(bytes.Clone(plain), plain...)) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// TestSizes decodes .lzma files with the size in the header.
func TestSizes(t *testing.T) {
	plain, c := readFile(t, "text.plain"), made(t, lzmaOf(`{"format":2}`))
	n := uint64(len(plain))
	for size, want := range map[uint64]error{n: nil, n - 1: codec.ErrCorrupt, n + 1: codec.ErrCorrupt, n + 11: codec.ErrTooLong, 1 << 63: codec.ErrTooLong, 0: codec.ErrCorrupt} {
		src := readFile(t, "text.lzma")
		binary.LittleEndian.PutUint64(src[5:], size)
		if _, err := c.Decode(nil, src, int64(n+10)); !errors.Is(err, want) {
			t.Errorf("size %d: %v, want %v", size, err, want)
		}
	}
}

// dictionaryOf returns an .xz file whose first block claims a dictionary, and is
// otherwise text.xz.
func dictionaryOf(t *testing.T, claim byte) []byte {
	src := readFile(t, "text.xz")
	head := src[xzHead:][:(int(src[xzHead])+1)*4]
	at := bytes.Index(head, []byte{filterLZMA2, 1})
	head[at+2] = claim
	n := len(head) - crc32.Size
	binary.LittleEndian.PutUint32(head[n:], crc32.ChecksumIEEE(head[:n]))
	return src
}

// TestDictionary reads headers that claim dictionaries of all sizes. The memory must
// depend on the decoded length only. Claims beyond the configuration and preset 9 must
// be refused.
func TestDictionary(t *testing.T) {
	plain := readFile(t, "text.plain")
	const of64, of96, of4096 = 28, 29, 40 // MiB, the last less a byte
	for claim, want := range map[byte]error{0: nil, 22: nil, of64: nil, of96: codec.ErrLimit, of4096: codec.ErrLimit, 41: codec.ErrCorrupt} {
		src, c := dictionaryOf(t, claim), made(t, numcodecs.LZMA(6))
		checkMemory(t, int(claim), 1<<17, func() {
			if _, err := c.Decode(make([]byte, 0, len(plain)), src, int64(len(plain))); !errors.Is(err, want) || want != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("dictionary %d of .xz: %v, want %v", claim, err, want)
			}
		})
	}
	told := made(t, lzmaOf(`{"filters":[{"id":33,"dict_size":100663296}]}`))
	if _, err := told.Decode(nil, dictionaryOf(t, of96), int64(len(plain))); err != nil {
		t.Errorf("a dictionary that the configuration has: %v", err)
	}
	for claim, want := range map[uint32]error{0: nil, 4095: nil, 64 << 20: nil, 64<<20 + 1: codec.ErrLimit, 1<<32 - 1: codec.ErrLimit} {
		src, c := readFile(t, "text.lzma"), made(t, lzmaOf(`{"format":2}`))
		binary.LittleEndian.PutUint32(src[1:], claim)
		checkMemory(t, int(claim), 1<<17, func() {
			if _, err := c.Decode(make([]byte, 0, len(plain)), src, int64(len(plain))); !errors.Is(err, want) || want != nil && !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("dictionary %d of .lzma: %v, want %v", claim, err, want)
			}
		})
	}
}

// checkMemory runs f and checks the bytes that it allocates. It takes the minimum of
// three runs, because other goroutines may allocate, too.
func checkMemory(t *testing.T, what int, most int64, f func()) {
	t.Helper()
	least := most + 1
	for range 3 {
		least = min(least, int64(allocated(f)))
	}
	if least > most {
		t.Errorf("%d: %d bytes were allocated, at most %d should be", what, least, most)
	}
}

// TestUnsupported uses an unknown filter, an unknown checksum, and features that are
// read-only.
func TestUnsupported(t *testing.T) {
	c := made(t, numcodecs.LZMA(1))
	if _, err := c.Decode(nil, readFile(t, "text-x86.xz"), 1<<20); !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), "filter 0x4") {
		t.Errorf("a filter for machine code: %v", err)
	}
	src := readFile(t, "text.xz")
	src[7] = 2 // a checksum that is reserved
	binary.LittleEndian.PutUint32(src[8:], crc32.ChecksumIEEE(src[6:8]))
	if _, err := c.Decode(nil, src, 1<<20); !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), "checksum 2") {
		t.Errorf("checksum 2: %v", err)
	}
	c = made(t, lzmaOf(`{"filters":[{"id":3},{"id":33}]}`))
	if _, err := c.Encode(nil, []byte("abc")); !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), "filter 0x3") {
		t.Errorf("a delta in an .xz file: %v", err)
	}
	_, err := codec.Default.New(lzmaOf(`{"filters":[{"id":4},{"id":33}]}`))
	if !errors.Is(err, codec.ErrUnsupported) || !strings.Contains(err.Error(), "filter 4") {
		t.Error(err)
	}
}

// TestChunks decodes LZMA2 streams whose chunks have invalid headers.
func TestChunks(t *testing.T) {
	c := made(t, lzmaOf(rawChunks))
	for src, why := range map[string]string{
		"": "truncated", "\x02\x00\x00a\x00": "chunk type", "\x80\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00": "chunk type",
		"\x01\x00\x00a\x80\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00": "chunk type", "\x03\x00\x00a\x00": "begins with 0x3",
		"\x01\x00\x01a": "truncated", "\xe0\x00\x00\x00\x05\xff\x00\x00\x00\x00\x00\x00\x00": "properties", "\x01\x00\x00a\x00\x00": "follow",
		"\xe0\x00\x00\x00\x05\x04\x00\x00\x00\x00\x00\x00": "truncated", "\xe0\x00\x00\x00\x05\x0d\x00\x00\x00\x00\x00\x00\x00": "properties",
	} {
		if _, err := c.Decode(nil, []byte(src), 100); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), why) {
			t.Errorf("%x: %v, want %q", src, err, why)
		}
	}
}

// TestLeftOver decodes chunks whose coder ends early. The library would use the
// remaining bytes for later chunks.
func TestLeftOver(t *testing.T) {
	const most = 100
	const zero = "\x00\x00\x00\x00\x00\x00" // what the byte 0 is
	whole := "\xe0\x00\x00\x00\x05\x00" + zero
	hidden := "\x01\x00\x02abc\x00"
	for _, c := range []struct {
		src string
		ok  bool
	}{
		{whole + "\x00", true},
		{whole + hidden, true}, // which then is no longer hidden
		{"\xe0\x00\x00\x00\x0c\x00" + zero + hidden + "\x00", false},
	} {
		out, err := made(t, lzmaOf(rawChunks)).Decode(nil, []byte(c.src), most)
		if (err == nil) != c.ok || !c.ok && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%x: %q, %v", c.src, out, err)
		}
	}
}

// FuzzLZMA decodes arbitrary bytes in all configurations.
func FuzzLZMA(f *testing.F) {
	codecs := make([]codec.BytesBytes, len(samples))
	for i, s := range samples {
		c, src, _ := s.read(f)
		codecs[i] = c
		f.Add(src, uint8(i))
	}
	f.Fuzz(func(t *testing.T, src []byte, which uint8) {
		const most = 1 << 14
		out, err := codecs[int(which)%len(codecs)].Decode(make([]byte, 0, most), src, most)
		if err == nil && len(out) > most {
			t.Errorf("%d bytes", len(out))
		}
		if err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrUnsupported) {
			t.Error(err)
		}
	})
}
