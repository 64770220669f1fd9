// SPDX-License-Identifier: Apache-2.0

package crc32c

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/internal/codecs/zstd"
)

func newCodec() any { return coder{} }

func TestContract(t *testing.T) { codectest.Run(t, newCodec, &codectest.Options{Checksum: true}) }

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, newCodec) }

func Benchmark(b *testing.B) { codectest.Benchmark(b, newCodec) }

// TestCheckValue uses the check value that catalogues of checksums give for CRC-32C.
func TestCheckValue(t *testing.T) {
	got, err := coder{}.Encode(nil, []byte("123456789"))
	if want := "123456789\x83\x92\x06\xe3"; err != nil || string(got) != want {
		t.Errorf("encoded %q, %v, want %q", got, err, want)
	}
}

// TestGolden reads chunks that zarr-python wrote, through zstd and crc32c.
func TestGolden(t *testing.T) {
	for file, want := range map[string]string{
		"zstd-a": "220744c1a7a650f5f20cb878c2806264700c768217c91b21315f3c391a918c27",
		"zstd-b": "b02a4e893a3fa15fcae73f6d87bb207e23e6ffbcc717d1ea8e56d86da982be04",
	} {
		stored, err := os.ReadFile("testdata/" + file + ".crc32c")
		if err != nil {
			t.Fatal(err)
		}
		inner, err := coder{}.Trim(stored)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := z.(codec.BytesBytes).Decode(make([]byte, 0, 1024), inner, 1024)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(plain)); got != want {
			t.Errorf("%s: SHA-256 of the elements is %s, want %s", file, got, want)
		}
		if again, _ := (coder{}).Encode(nil, inner); string(again) != string(stored) {
			t.Errorf("%s: encoding gives other bytes", file)
		}
	}
}

func TestMismatch(t *testing.T) {
	_, err := coder{}.Decode(nil, []byte("abc\x01\x02\x03\x04"), 10)
	if !errors.Is(err, codec.ErrChecksum) || !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("error is %v, want ErrChecksum and ErrCorrupt", err)
	}
	if !strings.Contains(err.Error(), "0x364b3fb7") || !strings.Contains(err.Error(), "0x04030201") {
		t.Errorf("error %q does not name both sums", err)
	}
}

// TestEveryBit flips every bit of a value: CRC-32C finds all errors of one bit.
func TestEveryBit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stored, _ := coder{}.Encode(nil, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "data"))
		for i := range 8 * len(stored) {
			stored[i/8] ^= 1 << (i % 8)
			if _, err := (coder{}).Trim(stored); !errors.Is(err, codec.ErrChecksum) {
				t.Fatalf("bit %d flipped: error is %v", i, err)
			}
			stored[i/8] ^= 1 << (i % 8)
		}
	})
}

func TestConfiguration(t *testing.T) {
	for raw, ok := range map[string]bool{`{}`: true, `null`: false, `{"location": "end"}`: false, `[]`: false} {
		if _, err := New([]byte(raw)); (err == nil) != ok || !ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("New(%s): %v", raw, err)
		}
	}
	c, err := codec.Default.New(codec.CRC32C())
	if err != nil {
		t.Fatal(err)
	}
	if b := c.(codec.BytesBytes); b.MaxEncoded(10) != 14 || b.MaxEncoded(math.MaxInt64) != math.MaxInt64 {
		t.Error("MaxEncoded is not four bytes more")
	}
}

// TestSum adds up random bytes in random pieces, damaged or not: the verdict is that of
// Trim.
func TestSum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stored := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "sound") {
			stored, _ = coder{}.Encode(nil, stored)
		}
		_, want := coder{}.Trim(stored)
		s := coder{}.Sum()
		for rest := stored; len(rest) > 0; {
			n := rapid.IntRange(0, len(rest)).Draw(t, "piece")
			s.Add(rest[:n])
			rest = rest[n:]
		}
		if got := s.Err(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}
