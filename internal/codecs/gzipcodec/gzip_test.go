// SPDX-License-Identifier: Apache-2.0

package gzipcodec

import (
	"bytes"
	stdgzip "compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
)

func newLevel(t testing.TB, level int) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(codec.Gzip(level))
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

func newCodec() any { return coder{efforts[defaultLevel]} }

func TestContract(t *testing.T) { codectest.Run(t, newCodec, &codectest.Options{Checksum: true}) }

func TestContractStored(t *testing.T) {
	codectest.Run(t, func() any { return newLevel(t, 0) }, &codectest.Options{Checksum: true})
}

func FuzzDecode(f *testing.F) { codectest.Fuzz(f, newCodec) }

func Benchmark(b *testing.B) {
	for _, level := range []int{1, 5, 8, 9} {
		b.Run(fmt.Sprint(level), func(b *testing.B) { codectest.Benchmark(b, func() any { return newLevel(b, level) }) })
	}
}

// TestGolden reads chunks that zarr-python wrote.
func TestGolden(t *testing.T) {
	for file, want := range map[string]string{
		"int32-16x16-a": "fef3e0dda999a455ccc36d7ccf9f512692ca96e8ec18a9f837c9ecd9196846b3",
		"int32-16x16-b": "b29913ce130ebdeac9ab511fadd033359a8e9ed97a6cd076eeff8b6ff22ae910",
	} {
		stored, err := os.ReadFile("testdata/" + file + ".gz")
		if err != nil {
			t.Fatal(err)
		}
		plain, err := newLevel(t, 5).Decode(make([]byte, 0, 1024), stored, 1024)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(plain)); got != want || len(plain) != 1024 {
			t.Errorf("%s: SHA-256 of the %d bytes is %s, want %s", file, len(plain), got, want)
		}
	}
}

// TestStandardReads reads what all levels write with the package of the standard library.
func TestStandardReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.ByteRange(0, 7)).Draw(t, "data")
		c := coder{efforts[rapid.IntRange(0, 9).Draw(t, "level")]}
		stored, err := c.Encode(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		r, err := stdgzip.NewReader(bytes.NewReader(stored))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, data) {
			t.Fatalf("read %q, %v, want %q", got, err, data)
		}
		if !r.ModTime.IsZero() && r.ModTime.Unix() != 0 || r.Name != "" || r.OS != 255 {
			t.Fatalf("header is %+v, want one that says nothing", r.Header)
		}
	})
}

// member returns data as the standard library writes it, with all that a header can hold.
func member(t *testing.T, data string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdgzip.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "chunk", "a comment", make([]byte, 300)
	if _, err := w.Write([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMembers(t *testing.T) {
	src := bytes.Join([][]byte{member(t, "one "), member(t, ""), member(t, "two")}, nil)
	c := newLevel(t, 5)
	if out, err := c.Decode(nil, src, 7); err != nil || string(out) != "one two" {
		t.Errorf("decoded %q, %v", out, err)
	}
	if _, err := c.Decode(nil, src, 6); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("most 6: error is %v, want ErrCorrupt", err)
	}
	if _, err := c.Decode(nil, src[:len(src)-1], 7); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("truncated: error is %v, want ErrCorrupt", err)
	}
}

func TestChecksum(t *testing.T) {
	for _, fromEnd := range []int{1, 8} { // length, CRC-32
		src := member(t, "some data")
		src[len(src)-fromEnd] ^= 1
		if _, err := newLevel(t, 5).Decode(nil, src, 9); !errors.Is(err, codec.ErrChecksum) {
			t.Errorf("byte %d from the end altered: error is %v, want ErrChecksum", fromEnd, err)
		}
	}
}

func TestConfiguration(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{}`: true, `{"level": 0}`: true, `{"level": 9}`: true, `{"level": 5.0}`: true,
		`{"level": 10}`: false, `{"level": -1}`: false, `{"level": "5"}`: false, `{"level": true}`: false,
		`{"level": null}`: false, `{"Level": 5}`: false, `{"level": 5, "x": 1}`: false, `[]`: false,
	} {
		if _, err := New([]byte(raw)); (err == nil) != ok || !ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("New(%s): %v", raw, err)
		}
	}
}

// TestLevels checks that levels do what they are asked for.
func TestLevels(t *testing.T) {
	data := bytes.Repeat([]byte("rows of values, rows of numbers; "), 3000)
	last := 2 * len(data)
	for level := range 10 {
		stored, err := newLevel(t, level).Encode(nil, data)
		if err != nil {
			t.Fatal(err)
		}
		if most := newLevel(t, level).MaxEncoded(int64(len(data))); len(stored) > last || int64(len(stored)) > most {
			t.Errorf("level %d: %d bytes, the level before %d, MaxEncoded %d", level, len(stored), last, most)
		}
		last = len(stored)
	}
}
