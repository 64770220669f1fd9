// SPDX-License-Identifier: Apache-2.0

package conditional

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	_ "varve.dev/zarr/internal/codecs/bytescodec"
	_ "varve.dev/zarr/internal/codecs/crc32c"
	_ "varve.dev/zarr/internal/codecs/gzipcodec"
	_ "varve.dev/zarr/internal/codecs/zstd"
	"varve.dev/zarr/internal/coding"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/codectest"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

func nested(t testing.TB, ext metadata.Extension) codec.BytesBytes {
	t.Helper()
	c, err := codec.Default.New(ext)
	if err == nil {
		err = c.(codec.Nester).Nest(new(codec.Environment))
	}
	if err != nil {
		t.Fatal(err)
	}
	return c.(codec.BytesBytes)
}

// flip is a filter that keeps lengths.
type flip struct{}

func (flip) MaxEncoded(n int64) int64 { return n }
func (flip) Encode(dst, src []byte) ([]byte, error) {
	for _, b := range src {
		dst = append(dst, ^b)
	}
	return dst, nil
}
func (f flip) Decode(dst, src []byte, most int64) ([]byte, error) {
	if int64(len(src)) > most {
		return dst, codec.ErrTooLong
	}
	return f.Encode(dst, src)
}

func init() { codec.Register("flip", func([]byte) (any, error) { return flip{}, nil }) }

func TestContract(t *testing.T) {
	for _, tt := range []struct {
		ext metadata.Extension
		o   *codectest.Options
	}{
		{codec.Conditional(0), &codectest.Options{Unframed: true}},
		{codec.Conditional(16), &codectest.Options{Unframed: true}},
		{codec.Conditional(0, codec.CRC32C()), nil},
		{codec.Conditional(0, codec.Gzip(1), codec.CRC32C()), nil},
		{codec.Conditional(0, codec.CRC32C(), codec.ZstdChecksum(1, false)), nil},
		{codec.Conditional(24, metadata.Extension{Name: "flip"}, codec.ZstdChecksum(1, false), codec.CRC32C()), nil},
		{codec.Conditional(0, codec.Conditional(8, codec.ZstdChecksum(1, false), codec.CRC32C()), codec.Gzip(1), codec.CRC32C()), nil},
	} {
		t.Run(string(tt.ext.Configuration), func(t *testing.T) {
			codectest.Run(t, func() any { return nested(t, tt.ext) }, tt.o)
		})
	}
}

// TestMasks decodes every mask over codecs that are applied by hand.
func TestMasks(t *testing.T) {
	exts := []metadata.Extension{{Name: "flip"}, codec.ZstdChecksum(1, false), codec.Gzip(1), codec.CRC32C()}
	c := nested(t, codec.Conditional(16, exts...))
	plain := bytes.Repeat([]byte("layer"), 30)
	for mask := range 16 {
		data := plain
		for i, ext := range exts {
			if mask>>i&1 == 1 {
				made, err := codec.Default.New(ext)
				if err != nil {
					t.Fatal(err)
				}
				if data, err = made.(codec.BytesBytes).Encode(nil, data); err != nil {
					t.Fatal(err)
				}
			}
		}
		stored := append([]byte{byte(mask), 0}, data...)
		got, err := c.Decode(make([]byte, 0, len(plain)), stored, int64(len(plain)))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("mask %04b: %q, %v", mask, got, err)
		}
		if _, err := c.Decode(nil, stored, int64(len(plain)-1)); !errors.Is(err, codec.ErrTooLong) {
			t.Errorf("mask %04b: a byte less: %v", mask, err)
		}
	}
}

// TestLayout has the stored form of chunks worked out by hand.
func TestLayout(t *testing.T) {
	flipped := metadata.Extension{Name: "flip"}
	for _, tt := range []struct {
		ext        metadata.Extension
		src, wants string
	}{
		{codec.Conditional(0), "ab", "ab"},
		{codec.Conditional(8), "ab", "\x00ab"},
		{codec.Conditional(0, flipped), "\x00\x01", "\x01\xff\xfe"},
		{codec.Conditional(24, flipped), "\x00\x01", "\x01\x00\x00\xff\xfe"},
		{codec.Conditional(0, codec.Gzip(1), flipped), "\x00\x01", "\x02\xff\xfe"}, // too short to compress
		{codec.Conditional(0, flipped, flipped, flipped, flipped, flipped, flipped, flipped, flipped, flipped), "\x00", "\xff\x01\xff"},
	} {
		if got, err := nested(t, tt.ext).Encode(nil, []byte(tt.src)); err != nil || string(got) != tt.wants {
			t.Errorf("%s: %q, %v, want %q", tt.ext.Configuration, got, err, tt.wants)
		}
	}
}

// TestNeverInflates has noise stored as it is, and its checksum with it.
func TestNeverInflates(t *testing.T) {
	c := nested(t, codec.Conditional(0, codec.ZstdChecksum(3, false), codec.Gzip(6), codec.CRC32C()))
	rapid.Check(t, func(t *rapid.T) {
		src := make([]byte, rapid.IntRange(0, 3000).Draw(t, "n"))
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for i := range src {
			src[i] = byte(r.Uint32() >> rapid.IntRange(0, 7).Draw(t, "shift"))
		}
		got, err := c.Encode(nil, src)
		if err != nil || len(got) > len(src)+5 {
			t.Fatalf("%d bytes of %d, %v", len(got), len(src), err)
		}
		if got[0]>>2 != 1 {
			t.Fatalf("mask %b is without the checksum", got[0])
		}
		back, err := c.Decode(make([]byte, 0, len(src)), got, int64(len(src)))
		if err != nil || !bytes.Equal(back, src) {
			t.Fatalf("%v", err)
		}
	})
}

func TestDamage(t *testing.T) {
	c := nested(t, codec.Conditional(16, codec.Gzip(1), codec.CRC32C()))
	for src, says := range map[string]string{
		"": "too few", "\x00": "too few", "\x04\x00": "has codec 2, but there are 2", "\x00\x80": "has codec 15", "\x01\x00no": "codec 0 (gzip)",
		"\x02\x00no": "codec 1 (crc32c)", "\x03\x00\x00\x00\x00\x00\x00": "codec 1 (crc32c)",
	} {
		if _, err := c.Decode(nil, []byte(src), 100); !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", src, err, says)
		}
	}
}

func TestRefuses(t *testing.T) {
	for configuration, says := range map[string]string{
		`{}`: "codecs are missing", `{"codecs":null}`: "null", `{"codecs":{}}`: "codecs", `{"codecs":[5]}`: "codecs: 0",
		`{"codecs":[{"configuration":{}}]}`: "codecs: 0", `{"codecs":[],"header_bits":4}`: "multiple of 8", `{"codecs":[],"header_bits":-8}`: "header_bits is -8",
		`{"codecs":["gzip"],"header_bits":0}`: "header_bits is 0, and there are 1", `{"codecs":[],"header_bits":1e15}`: "limit",
		`{"codecs":[],"header_bits":"8"}`: "header_bits", `{"codecs":[],"mask":1}`: "unknown member", `[]`: "JSON object",
	} {
		if _, err := New([]byte(configuration)); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", configuration, err, says)
		}
	}
	for configuration, is := range map[string]error{
		`{"codecs":["flip","nope"]}`:                                                     codec.ErrUnsupported,
		`{"codecs":["flip",{"name":"bytes"}]}`:                                           codec.ErrConfiguration,
		`{"codecs":["flip",{"name":"gzip","configuration":{"level":99}}]}`:               codec.ErrConfiguration,
		`{"codecs":["flip",{"name":"conditional"}]}`:                                     codec.ErrConfiguration,
		`{"codecs":["flip",{"name":"conditional","configuration":{"codecs":["nope"]}}]}`: codec.ErrUnsupported,
	} {
		c, err := New([]byte(configuration))
		if err != nil {
			t.Fatal(err)
		}
		var at *coding.Error
		if err = c.(codec.Nester).Nest(new(codec.Environment)); !errors.Is(err, is) || !errors.As(err, &at) || at.Place != 1 {
			t.Errorf("%s: %v, want %v at place 1", configuration, err, is)
		}
	}
}

// TestGrowth refuses codecs whose encoded forms could be beyond all measure.
func TestGrowth(t *testing.T) {
	exts := make([]metadata.Extension, 200)
	for i := range exts {
		exts[i] = codec.Gzip(1)
	}
	c, err := New(codec.Conditional(0, exts...).Configuration)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(codec.Nester).Nest(new(codec.Environment)); !errors.Is(err, codec.ErrLimit) || !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("error is %v", err)
	}
}

// TestChain has the codec in its place.
func TestChain(t *testing.T) {
	exts := []metadata.Extension{codec.Bytes("little"), codec.Conditional(0, codec.ZstdChecksum(1, false)), codec.CRC32C()}
	chain, err := coding.NewChain(new(codec.Environment), exts, codec.Spec{Type: dtype.Int32, Fill: make([]byte, 4), Rank: 1})
	if err != nil {
		t.Fatal(err)
	}
	src := make([]byte, 4000)
	stored, err := chain.Encode(nil, strided.Contiguous(src, []int64{1000}, 4))
	if err != nil || len(stored) > 100 || stored[0] != 1 {
		t.Fatalf("%x, %v", stored, err)
	}
	v := strided.View{Data: bytes.Repeat([]byte{1}, 4000), Shape: []int64{1000}, Size: 4}
	if err := chain.Decode(&v, stored); err != nil || !bytes.Equal(v.Data, src) {
		t.Error(err)
	}
	exts[1] = codec.Conditional(0, metadata.Extension{Name: "nope"})
	if _, err = coding.NewChain(new(codec.Environment), exts, codec.Spec{Type: dtype.Int32, Rank: 1}); !errors.Is(err, codec.ErrUnsupported) || !strings.HasPrefix(err.Error(), "codec 1 (conditional): conditional: codecs: codec 0 (nope)") {
		t.Errorf("error is %v", err)
	}
}

// bindable is a codec that wants to know the elements.
type bindable struct {
	flip
	bound *codec.Spec
}

func (b bindable) Bind(s codec.Spec) error {
	*b.bound = s
	if s.Rank > 1 {
		return codec.ErrConfiguration
	}
	return nil
}

func TestBind(t *testing.T) {
	var bound codec.Spec
	r := new(codec.Registry)
	r.Register("bindable", func([]byte) (any, error) { return bindable{bound: &bound}, nil })
	c, err := New([]byte(`{"codecs":["bindable"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.(codec.Nester).Nest(&codec.Environment{Registry: r}); err != nil {
		t.Fatal(err)
	}
	if err := c.(*coder).Bind(codec.Spec{Type: dtype.Int16, Rank: 1}); err != nil || bound.Type != dtype.Int16 {
		t.Errorf("%+v, %v", bound, err)
	}
	if err := c.(*coder).Bind(codec.Spec{Rank: 2}); !errors.Is(err, codec.ErrConfiguration) || !strings.Contains(err.Error(), "codec 0 (bindable)") {
		t.Errorf("error is %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	codectest.Fuzz(f, func() any {
		return nested(f, codec.Conditional(16, metadata.Extension{Name: "flip"}, codec.ZstdChecksum(1, false), codec.Gzip(1), codec.CRC32C()))
	})
}

func FuzzConfiguration(f *testing.F) {
	f.Add([]byte(`{"codecs":["flip",{"name":"gzip","configuration":{"level":1}}],"header_bits":16}`), []byte("\x01\x00abc"))
	f.Fuzz(func(t *testing.T, configuration, data []byte) {
		c, err := New(configuration)
		if err != nil {
			return
		}
		if c.(codec.Nester).Nest(new(codec.Environment)) != nil {
			return
		}
		if _, err := c.(codec.BytesBytes).Decode(make([]byte, 0, 1000), data, 1000); err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("error is %v", err)
		}
	})
}

func Benchmark(b *testing.B) {
	codectest.Benchmark(b, func() any { return nested(b, codec.Conditional(0, codec.ZstdChecksum(1, false), codec.CRC32C())) })
}

func ExampleExtension() {
	e := codec.Conditional(16, codec.Gzip(5), codec.CRC32C())
	fmt.Println(string(e.Configuration))
	// Output:
	// {"codecs":[{"name":"gzip","configuration":{"level":5}},{"name":"crc32c"}],"header_bits":16}
}
