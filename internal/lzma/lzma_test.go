package lzma

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// sample is a file that Python wrote, and how it is decoded.
type sample struct {
	file, plain string
	decode      func(dst, src []byte, most int) ([]byte, error)
}

func usual(dst, src []byte, most int) ([]byte, error) { return Append(dst, src, most, Usual) }

var samples = []sample{
	{"text.xz", "text.plain", AppendXZ}, {"text-crc32.xz", "text.plain", AppendXZ}, {"text-none.xz", "text.plain", AppendXZ},
	{"field-delta.xz", "field.plain", AppendXZ}, {"empty.xz", "", AppendXZ}, {"text.lzma", "text.plain", AppendAlone},
	{"empty.lzma", "", AppendAlone}, {"field.lzma2", "field.plain", Append2}, {"field.lzma1", "field.plain", usual},
}

func (s sample) read(t testing.TB) (src, plain []byte) {
	t.Helper()
	if s.plain != "" {
		plain = read(t, s.plain)
	}
	return read(t, s.file), plain
}

func TestSamples(t *testing.T) {
	for _, s := range samples {
		src, plain := s.read(t)
		out, err := s.decode([]byte("kept"), src, len(plain))
		if err != nil || string(out) != "kept"+string(plain) {
			t.Errorf("%s: %d bytes, %v, want %d", s.file, len(out), err, len(plain))
		}
		if len(plain) > 0 {
			if _, err := s.decode(nil, src, len(plain)-1); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s with room for a byte less: %v", s.file, err)
			}
		}
	}
}

// TestCut decodes beginnings of all lengths, and what is followed by something.
func TestCut(t *testing.T) {
	for _, s := range samples {
		src, plain := s.read(t)
		for n := range src {
			if _, err := s.decode(nil, src[:n], len(plain)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s, the first %d of %d bytes: %v", s.file, n, len(src), err)
			}
		}
		for _, end := range []string{"\x00", "\x00\x00\x00\x00", "\xff", "x"} {
			if _, err := s.decode(nil, append(bytes.Clone(src), end...), len(plain)+10); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s and %q: %v", s.file, end, err)
			}
		}
	}
}

// TestFlips alters a bit of every byte: containers with a checksum never decode to anything else.
func TestFlips(t *testing.T) {
	for _, s := range samples {
		src, plain := s.read(t)
		checked := strings.HasSuffix(s.file, ".xz") && s.file != "text-none.xz"
		for n := range src {
			i := 8*n + n%8
			src[i/8] ^= 1 << (i % 8)
			out, err := s.decode(make([]byte, 0, len(plain)), src, len(plain))
			known := errors.Is(err, ErrCorrupt) || errors.Is(err, ErrChecksum) || errors.Is(err, ErrUnsupported)
			if err != nil && !known || len(out) > len(plain) || err == nil && checked && !bytes.Equal(out, plain) {
				t.Errorf("%s, bit %d of byte %d: %d bytes, %v", s.file, i%8, i/8, len(out), err)
			}
			src[i/8] ^= 1 << (i % 8)
		}
	}
}

// TestFiles decodes files that follow each other.
func TestFiles(t *testing.T) {
	plain := read(t, "text.plain")
	src := bytes.Join([][]byte{read(t, "text.xz"), read(t, "empty.xz"), read(t, "text-none.xz")}, nil)
	if out, err := AppendXZ(nil, src, 2*len(plain)); err != nil || !bytes.Equal(out, append(bytes.Clone(plain), plain...)) {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// TestSizes decodes .lzma files that say how much they have.
func TestSizes(t *testing.T) {
	plain := read(t, "text.plain")
	n := uint64(len(plain))
	for size, want := range map[uint64]error{n: nil, n - 1: ErrCorrupt, n + 1: ErrCorrupt, 1 << 62: ErrCorrupt, 0: ErrCorrupt} {
		src := read(t, "text.lzma")
		binary.LittleEndian.PutUint64(src[5:], size)
		if _, err := AppendAlone(nil, src, len(plain)+10); !errors.Is(err, want) {
			t.Errorf("size %d: %v, want %v", size, err, want)
		}
	}
}

// TestUnsupported names a filter and a checksum that are not known.
func TestUnsupported(t *testing.T) {
	if _, err := AppendXZ(nil, read(t, "text-x86.xz"), 1<<20); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "0x4") {
		t.Errorf("a filter for machine code: %v", err)
	}
	src := read(t, "text.xz")
	src[7] = 2 // a checksum that is reserved
	binary.LittleEndian.PutUint32(src[8:], crc32.ChecksumIEEE(src[6:8]))
	if _, err := AppendXZ(nil, src, 1<<20); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "checksum 2") {
		t.Errorf("checksum 2: %v", err)
	}
}

// stored returns an LZMA2 stream of data in chunks that are not compressed.
func stored(data []byte) []byte {
	var out []byte
	control := byte(chunkFresh)
	for len(data) > 0 {
		n := min(len(data), 1<<16)
		out = append(append(out, control, byte((n-1)>>8), byte(n-1)), data[:n]...)
		data, control = data[n:], chunkStored
	}
	return append(out, chunkEnd)
}

func TestWrapXZ(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "data")
		deltas := rapid.SliceOfN(rapid.IntRange(1, 256), 0, 3).Draw(t, "deltas")
		check := rapid.SampledFrom([]Check{None, CRC32, CRC64, SHA256}).Draw(t, "check")
		size := rapid.Int64Range(0, 1<<33).Draw(t, "size")
		packed := bytes.Clone(data)
		for _, d := range deltas {
			Delta(packed, d)
		}
		src := WrapXZ([]byte("kept"), stored(packed), data, size, deltas, check)
		out, err := AppendXZ(nil, src[4:], len(data))
		if err != nil || !bytes.Equal(out, data) {
			t.Fatalf("%d bytes, %v, want %d", len(out), err, len(data))
		}
	})
}

func TestDictionary(t *testing.T) {
	for size, want := range map[int64]int64{0: 4096, 4096: 4096, 4097: 6144, 6145: 8192, 1 << 26: 1 << 26, 1<<26 + 1: 3 << 25} {
		if got := dictionarySize(dictionary(size)); got != want {
			t.Errorf("%d: %d, want %d", size, got, want)
		}
	}
	if dictionary(1<<40) != last {
		t.Error("no end")
	}
}

func TestProperties(t *testing.T) {
	for b := range 256 {
		p, err := properties(byte(b))
		if err == nil && (p.Byte() != byte(b) || !p.Valid()) {
			t.Errorf("%#x: %+v", b, p)
		}
	}
	if Usual.Byte() != 0x5d {
		t.Errorf("%#x", Usual.Byte())
	}
}

// TestChunks refuses LZMA2 streams whose chunks do not begin with what they need.
func TestChunks(t *testing.T) {
	for src, why := range map[string]string{
		"": "cut off", "\x02\x00\x00a\x00": "does not begin", "\x80\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00": "does not begin",
		"\x01\x00\x00a\x80\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00": "no properties", "\x03\x00\x00a\x00": "does not begin",
		"\x01\x00\x01a": "cut off", "\xe0\x00\x00\x00\x05\xff": "properties", "\x01\x00\x00a\x00\x00": "follows",
	} {
		if _, err := Append2(nil, []byte(src), 100); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), why) {
			t.Errorf("%x: %v, want %q", src, err, why)
		}
	}
}

// Fuzz decodes any bytes in all four ways.
func Fuzz(f *testing.F) {
	for i, s := range samples {
		src, _ := s.read(f)
		f.Add(src, uint8(i))
	}
	f.Fuzz(func(t *testing.T, src []byte, which uint8) {
		const most = 1 << 14
		out, err := samples[int(which)%len(samples)].decode(make([]byte, 0, most), src, most)
		if err == nil && len(out) > most {
			t.Errorf("%d bytes", len(out))
		}
	})
}

func Benchmark(b *testing.B) {
	for _, s := range samples {
		src, plain := s.read(b)
		if len(plain) == 0 {
			continue
		}
		b.Run(s.file, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			dst := make([]byte, 0, len(plain))
			for b.Loop() {
				if _, err := s.decode(dst, src, len(plain)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
