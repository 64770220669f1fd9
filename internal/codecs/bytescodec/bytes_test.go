// SPDX-License-Identifier: Apache-2.0

package bytescodec

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/coding"
)

func newEndian(t testing.TB, name, endian string) codec.ArrayBytes {
	t.Helper()
	e := codec.Bytes(endian)
	e.Name = name
	c, err := codec.Default.New(e)
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.ArrayBytes)
}

func bound(t testing.TB, typeName, endian string) codec.ArrayBytes {
	t.Helper()
	c := newEndian(t, "bytes", endian)
	if err := c.Bind(codec.Spec{Type: parse(t, typeName), Rank: 1}); err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func TestContract(t *testing.T) {
	for _, endian := range []string{"little", "big"} {
		t.Run(endian, func(t *testing.T) {
			codectest.Run(t, func() any { return newEndian(t, "bytes", endian) }, nil)
		})
	}
}

func TestContractWithoutOrder(t *testing.T) {
	var specs []codec.Spec
	for _, name := range []string{"bool", "int8", "uint8", "r16", "r40"} {
		specs = append(specs, codec.Spec{Type: parse(t, name), Rank: 2})
	}
	codectest.Run(t, func() any { return newEndian(t, "bytes", "") }, &codectest.Options{Specs: specs})
}

// TestGolden reads chunks that zarr-python wrote in big-endian order, and compares their
// little-endian form.
func TestGolden(t *testing.T) {
	for file, want := range map[string]string{
		"float64-big-a": "1e40d124d395c3da3c667e10f6ab6679cbea97586ce96d111353fb52a3e0a2b8",
		"float64-big-b": "95e45d82e7094663a14966fea454d512cb8a3d978e0fcd09cd0f890231146aa2",
	} {
		stored, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		block := codec.Block{Shape: []int64{16, 16}, Data: make([]byte, 2048)}
		if err := bound(t, "float64", "big").Decode(&block, stored); err != nil {
			t.Fatal(err)
		}
		little, err := bound(t, "float64", "little").Encode(nil, block)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(little)); got != want {
			t.Errorf("%s: SHA-256 of the elements is %s, want %s", file, got, want)
		}
	}
}

func TestOrders(t *testing.T) {
	for _, c := range []struct{ typeName, endian, little, stored string }{
		{"uint16", "little", "\x01\x02", "\x01\x02"},
		{"uint16", "big", "\x01\x02", "\x02\x01"},
		{"float32", "big", "\x01\x02\x03\x04", "\x04\x03\x02\x01"},
		{"complex64", "big", "\x01\x02\x03\x04\x05\x06\x07\x08", "\x04\x03\x02\x01\x08\x07\x06\x05"},
		{"r24", "big", "\x01\x02\x03", "\x01\x02\x03"},
		{"int8", "", "\x01\x02", "\x01\x02"},
	} {
		n := int64(len(c.little) / parse(t, c.typeName).Size())
		block := codec.Block{Shape: []int64{n}, Data: make([]byte, len(c.little))}
		if err := bound(t, c.typeName, "little").Decode(&block, []byte(c.little)); err != nil {
			t.Fatal(err)
		}
		got, err := bound(t, c.typeName, c.endian).Encode(nil, block)
		if err != nil || string(got) != c.stored {
			t.Errorf("%s, endian %q: %q is stored as %q, %v, want %q", c.typeName, c.endian, c.little, got, err, c.stored)
		}
	}
}

func TestTransparent(t *testing.T) {
	host, other := "little", "big"
	if !byteorder.Little() {
		host, other = "big", "little"
	}
	for _, c := range []struct {
		typeName, endian string
		want             bool
	}{{"float64", host, true}, {"float64", other, false}, {"int8", other, true}, {"bool", "", true}, {"r32", other, true}} {
		if got := bound(t, c.typeName, c.endian).(codec.Transparent).Transparent(); got != c.want {
			t.Errorf("%s, endian %q: Transparent is %t", c.typeName, c.endian, got)
		}
	}
}

func TestSizes(t *testing.T) {
	block := codec.Block{Shape: []int64{3}, Data: make([]byte, 6)}
	err := bound(t, "uint16", "little").Decode(&block, make([]byte, 7))
	if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "7") || !strings.Contains(err.Error(), "6") {
		t.Errorf("error is %v, want ErrCorrupt with both sizes", err)
	}
}

// TestValidate compares the check of whole words with one of single bytes.
func TestValidate(t *testing.T) {
	v := bound(t, "bool", "").(coding.Validator)
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.ByteRange(0, 1), 0, 200).Draw(t, "data")
		if err := v.Validate(data); err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			return
		}
		at := rapid.IntRange(0, len(data)-1).Draw(t, "offset")
		data[at] = rapid.ByteRange(2, 255).Draw(t, "byte")
		err := v.Validate(data)
		if want := fmt.Sprintf("offset %d ", at); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Fatalf("error is %v, want ErrCorrupt at %s", err, want)
		}
	})
	if err := bound(t, "uint8", "").(coding.Validator).Validate([]byte{2}); err != nil {
		t.Errorf("uint8: %v", err)
	}
}

func TestBindRefuses(t *testing.T) {
	if err := newEndian(t, "bytes", "").Bind(codec.Spec{Type: parse(t, "int16")}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("int16 without endian: %v", err)
	}
	if err := newEndian(t, "bytes", "little").Bind(codec.Spec{}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("no type: %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{}`: true, `{"endian": "little"}`: true, `{"endian": "big"}`: true,
		`{"endian": "Little"}`: false, `{"endian": ""}`: false, `{"endian": null}`: false, `{"endian": 1}`: false,
		`{"Endian": "little"}`: false, `{"order": "C"}`: false, `"little"`: false,
	} {
		if _, err := New([]byte(raw)); (err == nil) != ok || !ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("New(%s): %v", raw, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	c := bound(f, "bool", "")
	f.Add([]byte{0, 1, 1}, 3)
	f.Add([]byte("\x00\x01\x02"), 3)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		block := codec.Block{Shape: []int64{1}, Data: make([]byte, uint16(n))}
		if err := c.Decode(&block, src); err != nil {
			return
		}
		if again, err := c.Encode(nil, block); err != nil || string(again) != string(src) {
			t.Errorf("%q comes back as %q, %v", src, again, err)
		}
	})
}

func Benchmark(b *testing.B) {
	for _, c := range []struct{ typeName, endian string }{{"float32", "little"}, {"float32", "big"}, {"float64", "big"}, {"bool", ""}} {
		b.Run(c.typeName+c.endian, func(b *testing.B) { benchmark(b, bound(b, c.typeName, c.endian)) })
	}
}

func benchmark(b *testing.B, c codec.ArrayBytes) {
	const n = 1 << 20
	block := codec.Block{Shape: []int64{n}, Data: make([]byte, n)}
	stored := make([]byte, n)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(n)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Encode(stored[:0], block); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(n)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Decode(&block, stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ExampleExtension() {
	e := codec.Bytes("little")
	fmt.Println(e.Name, string(e.Configuration))
	// Output: bytes {"endian":"little"}
}
