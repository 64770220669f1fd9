// SPDX-License-Identifier: Apache-2.0

package n5

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/transpose"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/coding"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// extension returns the metadata for arrays of a rank.
func extension(rank int, compressors ...metadata.Extension) metadata.Extension {
	order := make([]int, rank)
	for i := range order {
		order[i] = rank - 1 - i
	}
	return codec.N5Default(append([]metadata.Extension{codec.Transpose(order...), codec.Bytes("big")}, compressors...)...)
}

func bound(t testing.TB, ext metadata.Extension, spec codec.Spec) *coder {
	t.Helper()
	c, err := codec.Default.New(ext)
	if err == nil {
		err = c.(codec.Nester).Nest(new(codec.Environment))
	}
	if err == nil {
		err = c.(codec.ArrayBytes).Bind(spec)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.(*coder)
}

func TestContract(t *testing.T) {
	for _, name := range types {
		typ, err := dtype.Parse(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for rank := range 4 {
			for _, compressors := range [][]metadata.Extension{nil, {codec.Gzip(1)}, {codec.ZstdChecksum(1, true)}} {
				if len(compressors) > 0 && name != "uint16" {
					continue
				}
				o := &codectest.Options{Cuts: true, Specs: []codec.Spec{{Type: typ, Fill: make([]byte, typ.Size()), Rank: rank}}}
				codectest.Run(t, func() any {
					c, err := New(extension(rank, compressors...).Configuration)
					if err != nil {
						t.Fatal(err)
					}
					return c
				}, o)
			}
		}
	}
}

// TestGolden compares with blocks that zarr-python 2 wrote.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/blocks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var row struct {
			Type, Compressor string
			Shape            []int64
			Elements, Block  string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		compressors := map[string][]metadata.Extension{"gzip": {codec.Gzip(5)}, "zstd": {codec.ZstdChecksum(3, false)}}[row.Compressor]
		typ, err := dtype.Parse(row.Type, nil)
		if err != nil {
			t.Fatal(err)
		}
		elements, block := fromHex(t, row.Elements), fromHex(t, row.Block)
		if !byteorder.Little() {
			byteorder.Bytes(elements, elements, typ.Unit())
		}
		c := bound(t, extension(len(row.Shape), compressors...), codec.Spec{Type: typ, Rank: len(row.Shape)})
		dst := codec.Block{Shape: row.Shape, Data: make([]byte, len(elements))}
		if err := c.Decode(&dst, block); err != nil || !bytes.Equal(dst.Data, elements) {
			t.Errorf("%s: %x, %v", line, dst.Data, err)
		}
		if got, err := c.Encode(nil, dst); row.Compressor == "raw" && (err != nil || !bytes.Equal(got, block)) {
			t.Errorf("%s: written as %x, %v", line, got, err)
		}
	}
}

func fromHex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLayout has a block of 1×2×3 elements by hand: a header, and 1 to 6 with the first
// axis the fastest.
func TestLayout(t *testing.T) {
	c := bound(t, extension(3), codec.Spec{Type: dtype.Uint16, Rank: 3})
	block := fromHex(t, "0000"+"0003"+"000000010000000200000003"+"000100020003000400050006")
	dst := codec.Block{Shape: []int64{1, 2, 3}, Data: make([]byte, 12)}
	if err := c.Decode(&dst, block); err != nil {
		t.Fatal(err)
	}
	if got := numbers(dst.Data); !slices.Equal(got, []uint16{1, 3, 5, 2, 4, 6}) {
		t.Errorf("elements are %d", got)
	}
}

func numbers(data []byte) (list []uint16) {
	for ; len(data) > 0; data = data[2:] {
		list = append(list, binary.NativeEndian.Uint16(data))
	}
	return list
}

// TestBorders reads blocks that are shorter or longer than the chunk along any axis.
func TestBorders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rank := rapid.IntRange(1, 3).Draw(t, "rank")
		shapes := rapid.SliceOfN(rapid.Int64Range(1, 5), rank, rank)
		stored, chunk := shapes.Draw(t, "block"), shapes.Draw(t, "chunk")
		made, err := New(extension(rank, rapid.SampledFrom([][]metadata.Extension{nil, {codec.ZstdChecksum(1, false)}}).Draw(t, "compressor")...).Configuration)
		if err != nil {
			t.Fatal(err)
		}
		c := made.(*coder)
		if err := c.Bind(codec.Spec{Type: dtype.Uint16, Fill: binary.NativeEndian.AppendUint16(nil, 999), Rank: rank}); err != nil {
			t.Fatal(err)
		}
		src := codec.Block{Shape: stored}
		for i := range count(stored) {
			src.Data = binary.NativeEndian.AppendUint16(src.Data, uint16(i))
		}
		block, err := c.Encode(nil, src)
		if err != nil {
			t.Fatal(err)
		}
		dst := codec.Block{Shape: chunk, Data: make([]byte, 2*count(chunk))}
		if err := c.Decode(&dst, block); err != nil {
			t.Fatal(err)
		}
		if most, _ := c.EncodedSize(chunk, int64(len(dst.Data))); int64(len(block)) > most {
			t.Fatalf("a block of %d bytes, at most %d are read", len(block), most)
		}
		for at, got := range numbers(dst.Data) {
			want, place := uint16(0), at
			index := make([]int64, rank)
			for i := rank - 1; i >= 0; i-- {
				index[i], place = int64(place)%chunk[i], place/int(chunk[i])
			}
			for i, n := range stored {
				if index[i] >= n {
					want = 999
					break
				}
				want = want*uint16(n) + uint16(index[i])
			}
			if got != want {
				t.Fatalf("block %d, chunk %d: element %d is %d, want %d", stored, chunk, index, got, want)
			}
		}
	})
}

func count(shape []int64) int64 {
	n := int64(1)
	for _, l := range shape {
		n *= l
	}
	return n
}

func TestDamage(t *testing.T) {
	for _, tt := range []struct {
		block, says string
		target      error
	}{
		{"", "too few for a header", codec.ErrCorrupt},
		{"0000", "too few for a header", codec.ErrCorrupt},
		{"00000002", "too few for a header of 2 axes", codec.ErrCorrupt},
		{"0000000200000001", "too few for a header of 2 axes", codec.ErrCorrupt},
		{"00000003000000010000000100000001", "a block of 3 axes, but the array has 2", codec.ErrCorrupt},
		{"00010002000000010000000100000001ff", `mode "varlength"`, codec.ErrUnsupported},
		{"00020002000000010000000100000001ff", `mode "object"`, codec.ErrUnsupported},
		{"00030002000000010000000100000001ff", "mode 0x0003", codec.ErrCorrupt},
		{"000000020000000200000002" + "01020304" + "05", "5 stored bytes, a block of shape [2 2] has 4", codec.ErrCorrupt},
		{"000000020000000200000002" + "010203", "3 stored bytes, a block of shape [2 2] has 4", codec.ErrCorrupt},
		{"00000002ffffffffffffffff" + "010203", "3 stored bytes are a block of shape", codec.ErrCorrupt},
		{"0000000200ffffff00000fff" + "010203", "3 stored bytes are a block of shape", codec.ErrCorrupt},
	} {
		c := bound(t, extension(2), codec.Spec{Type: dtype.Uint8, Rank: 2})
		dst := codec.Block{Shape: []int64{2, 2}, Data: make([]byte, 4)}
		if err := c.Decode(&dst, fromHex(t, tt.block)); !errors.Is(err, tt.target) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.block, err, tt.says)
		}
	}
	c := bound(t, extension(2, codec.Gzip(1)), codec.Spec{Type: dtype.Uint8, Rank: 2})
	dst := codec.Block{Shape: []int64{2, 2}, Data: make([]byte, 4)}
	if err := c.Decode(&dst, fromHex(t, "000000020000000200000002"+"0102030405")); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "codec 2 (gzip)") {
		t.Errorf("error is %v", err)
	}
}

func TestRefuses(t *testing.T) {
	for configuration, says := range map[string]string{
		`{}`: "codecs are missing", `{"codecs":null}`: "null", `{"codecs":[]}`: "0 codecs", `{"codecs":["transpose"]}`: "1 codec",
		`{"codecs":["transpose","bytes","gzip","gzip"]}`: "4 codecs", `{"codecs":["bytes","transpose"]}`: `begin with "bytes"`,
		`{"codecs":[5,6]}`: "codecs: 0", `{"codecs":["transpose","bytes"],"mode":0}`: "unknown member",
		`{"codecs":["transpose",{"name":"bytes","configuration":{"endian":"little"}}]}`: "N5 is big-endian",
		`{"codecs":["transpose",{"name":"bytes","configuration":{"order":1}}]}`:         "codecs: 1: bytes: unknown member",
	} {
		if _, err := New([]byte(configuration)); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", configuration, err, says)
		}
	}
	big, none := codec.Bytes("big"), codec.Bytes("")
	for _, tt := range []struct {
		ext    metadata.Extension
		spec   codec.Spec
		target error
		says   string
	}{
		{extension(2), codec.Spec{Type: dtype.Bool, Rank: 2}, codec.ErrConfiguration, "N5 has no bool"},
		{extension(2), codec.Spec{Type: dtype.Complex64, Rank: 2}, codec.ErrConfiguration, "N5 has no complex64"},
		{extension(2), codec.Spec{Type: dtype.Uint8, Rank: 3}, codec.ErrConfiguration, "codec 0 (transpose)"},
		{codec.N5Default(codec.Transpose(0, 1), big), codec.Spec{Type: dtype.Uint8, Rank: 2}, codec.ErrConfiguration, "codec 0 (transpose): invalid configuration: its order is [0 1], but N5 reverses"},
		{codec.N5Default(codec.Transpose(1, 0), none), codec.Spec{Type: dtype.Uint16, Rank: 2}, codec.ErrConfiguration, "codec 1 (bytes)"},
		{codec.N5Default(codec.Transpose(1, 0), big, codec.Transpose(1, 0)), codec.Spec{Type: dtype.Uint16, Rank: 2}, codec.ErrConfiguration, "codec 2 (transpose)"},
		{codec.N5Default(codec.Transpose(1, 0), big, metadata.Extension{Name: "nope"}), codec.Spec{Type: dtype.Uint16, Rank: 2}, codec.ErrUnsupported, "codec 2 (nope)"},
	} {
		c, err := New(tt.ext.Configuration)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.(codec.ArrayBytes).Bind(tt.spec); !errors.Is(err, tt.target) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.ext.Configuration, err, tt.says)
		}
	}
	bound(t, codec.N5Default(codec.Transpose(1, 0), none), codec.Spec{Type: dtype.Uint8, Rank: 2})
	if _, err := appendHeader(nil, []int64{1, 1 << 32}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("error is %v", err)
	}
}

// TestChain has the codec in its place.
func TestChain(t *testing.T) {
	spec := codec.Spec{Type: dtype.Int32, Fill: make([]byte, 4), Rank: 2}
	chain, err := coding.NewChain(new(codec.Environment), []metadata.Extension{extension(2, codec.Gzip(1))}, spec)
	if err != nil {
		t.Fatal(err)
	}
	src := []byte("abcdefghijklmnopqrstuvwx")
	stored, err := chain.Encode(nil, strided.Contiguous(src, []int64{2, 3}, 4))
	if err != nil {
		t.Fatal(err)
	}
	v := strided.View{Data: make([]byte, 24), Shape: []int64{2, 3}, Size: 4}
	if err := chain.Decode(&v, stored); err != nil || !bytes.Equal(v.Data, src) {
		t.Errorf("%q, %v", v.Data, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, ext := range []metadata.Extension{extension(2), extension(2, codec.Gzip(1))} {
		c := bound(f, ext, codec.Spec{Type: dtype.Uint16, Rank: 2})
		for _, shape := range [][]int64{{2, 3}, {1, 1}, {4, 4}} {
			block, err := c.Encode(nil, codec.Block{Shape: shape, Data: make([]byte, 2*count(shape))})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(block)
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		for _, ext := range []metadata.Extension{extension(2), extension(2, codec.Gzip(1))} {
			c := bound(t, ext, codec.Spec{Type: dtype.Uint16, Rank: 2})
			c.limit = 1 << 20
			dst := codec.Block{Shape: []int64{2, 3}, Data: make([]byte, 12)}
			if err := c.Decode(&dst, block); err != nil && !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrUnsupported) {
				t.Errorf("error is %v", err)
			}
		}
	})
}

func Benchmark(b *testing.B) {
	c := bound(b, extension(3), codec.Spec{Type: dtype.Uint16, Rank: 3})
	src := codec.Block{Shape: []int64{64, 64, 64}, Data: make([]byte, 1<<19)}
	block, err := c.Encode(nil, src)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(1 << 19)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Encode(block[:0], src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(1 << 19)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Decode(&src, block); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode padded", func(b *testing.B) {
		dst := codec.Block{Shape: []int64{64, 64, 60}, Data: make([]byte, 60<<13)}
		b.SetBytes(60 << 13)
		b.ReportAllocs()
		for b.Loop() {
			if err := c.Decode(&dst, block); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func ExampleExtension() {
	e := codec.N5Default(codec.Transpose(1, 0), codec.Bytes("big"), codec.Gzip(5))
	fmt.Println(string(e.Configuration))
	// Output:
	// {"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"gzip","configuration":{"level":5}}]}
}
