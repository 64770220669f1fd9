package bzip2

import (
	"bytes"
	"compress/bzip2"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"testing"
)

// files returns bzip2 files that Python wrote.
func files(t testing.TB) [][]byte {
	t.Helper()
	var list [][]byte
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile("testdata/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, data)
	}
	return append(list, bytes.Join(list, nil))
}

// standard decodes with the package of the standard library.
func standard(src []byte) ([]byte, error) { return io.ReadAll(bzip2.NewReader(bytes.NewReader(src))) }

func TestStandard(t *testing.T) {
	for i, src := range files(t) {
		want, err := standard(src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Append([]byte("x"), src, len(want))
		if err != nil || !bytes.Equal(got[1:], want) {
			t.Errorf("file %d: %d bytes, %v, want %d", i, len(got), err, len(want))
		}
		if len(want) == 0 {
			continue
		}
		if _, err := Append(nil, src, len(want)-1); !errors.Is(err, ErrCorrupt) {
			t.Errorf("file %d with room for a byte less: %v", i, err)
		}
	}
}

func TestCut(t *testing.T) {
	for i, src := range files(t) {
		if len(src) > 3000 {
			continue
		}
		for n := range src {
			_, err := Append(nil, src[:n], 1<<20)
			if _, want := standard(src[:n]); (err == nil) != (want == nil) {
				t.Errorf("file %d, the first %d of %d bytes: %v, want %v", i, n, len(src), err, want)
			}
		}
		if _, err := Append(nil, append(bytes.Clone(src), 0), 1<<20); !errors.Is(err, ErrCorrupt) {
			t.Errorf("file %d and a byte: %v", i, err)
		}
	}
}

func TestChecksums(t *testing.T) {
	src, _ := hex.DecodeString("425a683931415926535919" + "31652d" + "00000000")
	if _, err := Append(nil, src, 10); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	for _, src := range files(t) {
		src = bytes.Clone(src)
		src[10] ^= 1 // of the sum of the first block
		if len(src) < 20 {
			continue
		}
		if _, err := Append(nil, src, 1<<20); !errors.Is(err, ErrChecksum) {
			t.Errorf("%d bytes: %v", len(src), err)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, src := range files(f) {
		if len(src) < 1<<12 {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		const limit = 1 << 16
		got, err := Append(make([]byte, 0, limit), src, limit)
		want, wantErr := io.ReadAll(io.LimitReader(bzip2.NewReader(bytes.NewReader(src)), limit+1))
		if len(want) > limit || len(src) == 0 {
			wantErr = errors.New("too many")
		}
		if err == nil && wantErr == nil && !bytes.Equal(got, want) {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
		if err == nil && wantErr != nil {
			t.Errorf("decodes, and the standard library says %v", wantErr)
		}
	})
}

func Benchmark(b *testing.B) {
	for _, src := range files(b) {
		plain, err := standard(src)
		if err != nil || len(plain) < 1<<16 {
			continue
		}
		b.Run("own", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			dst := make([]byte, 0, len(plain))
			for b.Loop() {
				if _, err := Append(dst, src, len(plain)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("standard", func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := standard(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
