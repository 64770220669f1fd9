// SPDX-License-Identifier: Apache-2.0

package transpose

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/codecs/zstd"
)

func parseType(t testing.TB, name string) dtype.Type {
	t.Helper()
	typ, err := dtype.Parse(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func bound(t testing.TB, typeName string, order ...int) codec.ArrayArray {
	t.Helper()
	c, err := codec.Default.New(codec.Transpose(order...))
	if err != nil {
		t.Fatal(err)
	}
	spec := codec.Spec{Type: parseType(t, typeName), Rank: len(order)}
	out, err := c.(codec.ArrayArray).Bind(spec)
	if err != nil {
		t.Fatal(err)
	}
	if out.Type != spec.Type || out.Rank != spec.Rank {
		t.Fatalf("Bind returns %+v, want %+v", out, spec)
	}
	return c.(codec.ArrayArray)
}

// TestContract runs the suite for every order of up to three axes, and some of four.
func TestContract(t *testing.T) {
	for _, order := range [][]int{{}, {0}, {0, 1}, {1, 0}, {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}, {3, 1, 0, 2}, {2, 3, 0, 1}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			var specs []codec.Spec
			for _, name := range []string{"bool", "uint16", "float32", "complex64", "complex128", "r24"} {
				specs = append(specs, codec.Spec{Type: parseType(t, name), Rank: len(order)})
			}
			newCodec := func() any {
				c, err := New(codec.Transpose(order...).Configuration)
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			codectest.Run(t, newCodec, &codectest.Options{Specs: specs})
		})
	}
}

func ascending(rank int) []int {
	order := make([]int, rank)
	for i := range order {
		order[i] = i
	}
	return order
}

// TestPermute compares the tiled ways with moving every element alone, and goes back.
func TestPermute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(0, 5).Draw(t, "rank")
		order := rapid.Permutation(ascending(rank)).Draw(t, "order")
		shape := rapid.SliceOfN(rapid.SampledFrom([]int64{0, 1, 2, 3, 5, 33}), rank, rank).Draw(t, "shape")
		size := rapid.SampledFrom([]int{1, 2, 3, 4, 8, 12, 16}).Draw(t, "size")
		src := codec.Block{Shape: shape}
		n := int64(size)
		for _, l := range shape {
			n *= l
		}
		if n > 1<<18 {
			t.Skip("more bytes than a case needs:", n)
		}
		for i := range n {
			src.Data = append(src.Data, byte(i^i>>7))
		}
		checkPermute(t, src, order, size)
	})
}

func checkPermute(t *rapid.T, src codec.Block, order []int, size int) {
	c := coder{order: order, inverse: make([]int, len(order)), size: size}
	for i, a := range order {
		c.inverse[a] = i
	}
	shape, err := c.EncodedShape(nil, src.Shape)
	if err != nil {
		t.Fatal(err)
	}
	dst := codec.Block{Shape: shape, Data: make([]byte, len(src.Data))}
	if err := c.Encode(&dst, src); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(dst.Data, codectest.Permuted(src, order, size)) {
		t.Fatal("not the elements that the plain way gives")
	}
	back := codec.Block{Shape: src.Shape, Data: make([]byte, len(src.Data))}
	if err := c.Decode(&back, dst); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Data, src.Data) {
		t.Fatal("decoding does not go back")
	}
}

// TestOffsets transposes texts.
func TestOffsets(t *testing.T) {
	c := coder{order: []int{1, 0}, inverse: []int{1, 0}}
	src := codec.Block{Shape: []int64{2, 3}, Data: []byte("abbcccdeeff"), Offsets: []int64{0, 1, 3, 6, 7, 9, 11}}
	dst := codec.Block{Shape: []int64{3, 2}}
	if err := c.Encode(&dst, src); err != nil {
		t.Fatal(err)
	}
	if string(dst.Data) != "adbbeecccff" || !slices.Equal(dst.Offsets, []int64{0, 1, 2, 4, 6, 9, 11}) {
		t.Errorf("encoded %q, %d", dst.Data, dst.Offsets)
	}
	back := codec.Block{Shape: []int64{2, 3}, Data: []byte("old"), Offsets: []int64{0, 3}}
	if err := c.Decode(&back, dst); err != nil || string(back.Data) != string(src.Data) || !slices.Equal(back.Offsets, src.Offsets) {
		t.Errorf("decoded %q, %d, %v", back.Data, back.Offsets, err)
	}
	none := codec.Block{Shape: []int64{0, 3}, Offsets: []int64{0}}
	if err := c.Encode(&dst, none); err != nil || len(dst.Data) != 0 || len(dst.Offsets) != 1 {
		t.Errorf("no elements: %q, %d, %v", dst.Data, dst.Offsets, err)
	}
}

// TestGolden reads chunks that zarr-python wrote through transpose, bytes and zstd.
func TestGolden(t *testing.T) {
	z, err := zstd.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"uint16-7x5x6-a": "c941f6f881b39fb15067472b0c777ae895eeafae54b2fc7436dd9e6bfb901977",
		"uint16-7x5x6-b": "193aa763b59ed61d230a8bd68bfae948e1af7bd24308971b49236d553b1ce53d",
	} {
		stored, err := os.ReadFile("testdata/" + file + ".zst")
		if err != nil {
			t.Fatal(err)
		}
		plain, err := z.(codec.BytesBytes).Decode(nil, stored, 420)
		if err != nil {
			t.Fatal(err)
		}
		dst := codec.Block{Shape: []int64{5, 6, 7}, Data: make([]byte, 420)}
		src := codec.Block{Shape: []int64{7, 5, 6}, Data: plain}
		if err := bound(t, "uint16", 2, 0, 1).Decode(&dst, src); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", sha256.Sum256(dst.Data)); got != want {
			t.Errorf("%s: SHA-256 of the elements is %s, want %s", file, got, want)
		}
	}
}

func TestConfiguration(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"order": []}`: true, `{"order": [1.0, 0]}`: true, `{"order": "C"}`: false, `{"order": "F"}`: false, `{"order": [0]}`: true, `{"order": [1, 0]}`: true,
		`{}`: false, `{"order": null}`: false, `{"order": "A"}`: false, `{"order": "f"}`: false, `{"order": 1}`: false,
		`{"order": [1]}`: false, `{"order": [0, 0]}`: false, `{"order": [0, -1]}`: false, `{"order": [0.5]}`: false,
		`{"order": [9223372036854775807, 0]}`: false, `{"order": ["0"]}`: false, `{"order": [false]}`: false, `{"order": [0], "x": 1}`: false,
	} {
		if _, err := New([]byte(raw)); (err == nil) != ok || !ok && !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("New(%s): %v", raw, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	c, err := New([]byte(`{"order": [1, 0]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(codec.ArrayArray).Bind(codec.Spec{Rank: 3}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("rank 3: %v", err)
	}
	b := bound(t, "uint16", 1, 0)
	if _, err := b.EncodedShape(nil, []int64{1}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("shape of one axis: %v", err)
	}
	for _, src := range []codec.Block{
		{Shape: []int64{2, 2}, Data: make([]byte, 7)},
		{Shape: []int64{4}, Data: make([]byte, 8)},
		{Shape: []int64{1 << 40, 1 << 40}, Data: make([]byte, 8)},
		{Shape: []int64{1 << 62, 2}, Data: nil},
	} {
		if err := b.Encode(&codec.Block{Data: make([]byte, 8)}, src); !errors.Is(err, codec.ErrConfiguration) {
			t.Errorf("shape %d, %d bytes: %v", src.Shape, len(src.Data), err)
		}
	}
	if err := (&coder{order: []int{0}}).Encode(new(codec.Block), codec.Block{Shape: []int64{2}}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("no offsets: %v", err)
	}
}

func FuzzNew(f *testing.F) {
	f.Add([]byte(`{"order": [2, 0, 1]}`))
	f.Add([]byte(`{"order": "F"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := New(raw)
		if err != nil {
			return
		}
		a, rank := c.(codec.ArrayArray), len(c.(codec.Permuter).Order())
		if _, err := a.Bind(codec.Spec{Rank: rank}); err != nil {
			t.Errorf("New(%q) is refused by Bind: %v", raw, err)
		}
	})
}

func Benchmark(b *testing.B) {
	for _, c := range []struct {
		typeName string
		shape    []int64
		order    []int
	}{
		{"uint8", []int64{1024, 1024}, []int{1, 0}},
		{"uint16", []int64{512, 1024}, []int{1, 0}},
		{"float32", []int64{512, 512}, []int{1, 0}},
		{"float64", []int64{64, 64, 32}, []int{2, 0, 1}},
		{"complex128", []int64{256, 256}, []int{1, 0}},
		{"r24", []int64{512, 512}, []int{1, 0}},
		{"float32", []int64{64, 64, 64}, []int{1, 0, 2}},
	} {
		b.Run(fmt.Sprint(c.typeName, c.shape, c.order), func(b *testing.B) {
			a := bound(b, c.typeName, c.order...)
			shape, err := a.EncodedShape(nil, c.shape)
			if err != nil {
				b.Fatal(err)
			}
			n := int64(parseType(b, c.typeName).Size())
			for _, l := range shape {
				n *= l
			}
			src, dst := codec.Block{Shape: c.shape, Data: make([]byte, n)}, codec.Block{Shape: shape, Data: make([]byte, n)}
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				if err := a.Decode(&src, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
