// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	_ "varve.dev/zarr/internal/codecs/crc32c"

	_ "varve.dev/zarr/internal/codecs/bitround"
	_ "varve.dev/zarr/internal/codecs/vlen"
	"varve.dev/zarr/internal/coding"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	_ "varve.dev/zarr/internal/codecs/conditional"
	_ "varve.dev/zarr/internal/codecs/n5"
	_ "varve.dev/zarr/internal/codecs/numcodecs"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

func init() { parallel.Crash.Store(true) } // tests look for panics

// errBroken is what the codec "broken" fails with.
var errBroken = errors.New("broken on purpose")

// broken is an array codec that binds and then fails, in EncodedShape or later.
type broken struct{ shape error }

func (broken) Bind(s codec.Spec) (codec.Spec, error) { return s, nil }
func (b broken) EncodedShape(dst, shape []int64) ([]int64, error) {
	return append(dst, shape...), b.shape
}
func (broken) Encode(*codec.Block, codec.Block) error { return errBroken }
func (broken) Decode(*codec.Block, codec.Block) error { return errBroken }

// opaque returns a registry of the known codecs in wrappers that show none of their
// further powers, so that a chain has to take the plain way. It also has codecs that are
// good for nothing.
func opaque() *codec.Registry {
	r := new(codec.Registry)
	for _, name := range codec.Default.Names() {
		r.Register(name, func(configuration []byte) (any, error) {
			made, err := codec.Default.New(metadata.Extension{Name: name, Configuration: configuration})
			switch c := made.(type) {
			case codec.ArrayArray:
				return struct{ codec.ArrayArray }{c}, err
			case codec.ArrayBytes:
				return struct{ codec.ArrayBytes }{c}, err
			case codec.BytesBytes:
				return struct{ codec.BytesBytes }{c}, err
			}
			return nil, err
		})
	}
	r.Register("number", func([]byte) (any, error) { return 7, nil })
	r.Register("broken", func([]byte) (any, error) { return broken{}, nil })
	r.Register("shapeless", func([]byte) (any, error) { return broken{errBroken}, nil })
	return r
}

func specOf(t dtype.Type, rank int) codec.Spec {
	return codec.Spec{Type: t, Fill: make([]byte, t.Size()), Rank: rank}
}

// newChain makes a chain that has to be valid.
func newChain(t testing.TB, r *codec.Registry, spec codec.Spec, exts ...metadata.Extension) *coding.Chain {
	t.Helper()
	c, err := coding.NewChain(&codec.Environment{Registry: r}, exts, spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantPlace expects an error that names a codec and its place; an empty name is an error
// of the whole chain.
func wantPlace(t *testing.T, err, is error, name string, place int) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("error is %v, want %v", err, is)
	}
	var at *coding.Error
	switch found := errors.As(err, &at); {
	case found != (name != ""):
		t.Fatalf("%v names a codec: %t", err, found)
	case found && (at.Codec != name || at.Place != place):
		t.Errorf("%v names codec %d (%s), want %d (%s)", err, at.Place, at.Codec, place, name)
	}
}

func TestChainOrder(t *testing.T) {
	little, turned := codec.Bytes("little"), codec.Transpose(1, 0)
	named := func(name string) metadata.Extension { return metadata.Extension{Name: name} }
	for _, tt := range []struct {
		name   string
		exts   []metadata.Extension
		target error
		codec  string
		place  int
	}{
		{"array codec behind bytes", []metadata.Extension{little, turned}, codec.ErrConfiguration, "transpose", 1},
		{"array codec at the end", []metadata.Extension{turned, little, codec.Gzip(1), turned}, codec.ErrConfiguration, "transpose", 3},
		{"two serializers", []metadata.Extension{little, little}, codec.ErrConfiguration, "bytes", 1},
		{"bytes codec first", []metadata.Extension{codec.Gzip(1), little}, codec.ErrConfiguration, "gzip", 0},
		{"bytes codec behind an array codec", []metadata.Extension{turned, codec.CRC32C(), little}, codec.ErrConfiguration, "crc32c", 1},
		{"only array codecs", []metadata.Extension{turned, turned}, codec.ErrConfiguration, "", 0},
		{"nothing", nil, codec.ErrConfiguration, "", 0},
		{"other rank", []metadata.Extension{codec.Transpose(2, 1, 0), little}, codec.ErrConfiguration, "transpose", 0},
		{"no byte order", []metadata.Extension{turned, codec.Bytes("")}, codec.ErrConfiguration, "bytes", 1},
		{"unknown", []metadata.Extension{little, named("nope")}, codec.ErrUnsupported, "nope", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := coding.NewChain(new(codec.Environment), tt.exts, specOf(dtype.Int32, 2))
			wantPlace(t, err, tt.target, tt.codec, tt.place)
		})
	}
	_, err := coding.NewChain(&codec.Environment{Registry: opaque()}, []metadata.Extension{little, named("number")}, specOf(dtype.Int32, 2))
	wantPlace(t, err, err, "number", 1)
}

// TestChainPlace damages what each codec of a chain is given.
func TestChainPlace(t *testing.T) {
	r, spec := opaque(), specOf(dtype.Bool, 1)
	exts := []metadata.Extension{codec.Transpose(0), codec.Bytes(""), codec.CRC32C(), codec.Gzip(1)}
	for _, c := range []*coding.Chain{newChain(t, codec.Default, spec, exts...), newChain(t, r, spec, exts...)} {
		decode := func(src []byte) error {
			return c.Decode(&strided.View{Data: make([]byte, 3), Shape: []int64{3}, Size: 1}, src)
		}
		pack := func(data []byte, from int) []byte {
			packer := newChain(t, codec.Default, specOf(dtype.Uint8, 1), append([]metadata.Extension{codec.Bytes("")}, exts[from:]...)...)
			return must(packer.Encode(nil, strided.Contiguous(data, []int64{int64(len(data))}, 1)))
		}
		if err := decode(pack([]byte{0, 1, 0}, 2)); err != nil {
			t.Fatal(err)
		}
		wantPlace(t, decode([]byte("no gzip")), codec.ErrCorrupt, "gzip", 3)
		wantPlace(t, decode(pack([]byte{0, 1, 0, 1, 1, 1, 1}, 3)), codec.ErrChecksum, "crc32c", 2)
		wantPlace(t, decode(pack([]byte{0, 1, 2}, 2)), codec.ErrCorrupt, "bytes", 1)
	}
	for place, exts := range [][]metadata.Extension{{{Name: "broken"}}, {codec.Transpose(0), {Name: "shapeless"}}} {
		c := newChain(t, r, spec, append(exts, codec.Bytes(""))...)
		_, err := c.Encode(nil, strided.Contiguous(make([]byte, 3), []int64{3}, 1))
		wantPlace(t, err, errBroken, exts[place].Name, place)
		err = c.Decode(&strided.View{Data: make([]byte, 3), Shape: []int64{3}, Size: 1}, make([]byte, 3))
		wantPlace(t, err, errBroken, exts[place].Name, place)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestChainFacts(t *testing.T) {
	little := codec.Bytes("little")
	for _, tt := range []struct {
		name           string
		typ            dtype.Type
		exts           []metadata.Extension
		plain, inOrder bool
	}{
		{"bytes", dtype.Uint8, []metadata.Extension{little}, true, true},
		{"bools have to be looked at", dtype.Bool, []metadata.Extension{little}, false, true},
		{"packed", dtype.Uint8, []metadata.Extension{little, codec.Gzip(1)}, false, true},
		{"turned", dtype.Uint8, []metadata.Extension{codec.Transpose(1, 0), little}, false, false},
		{"turned back", dtype.Uint8, []metadata.Extension{codec.Transpose(1, 0), codec.Transpose(1, 0), little}, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChain(t, codec.Default, specOf(tt.typ, 2), tt.exts...)
			if c.Plain() != tt.plain || c.InOrder() != tt.inOrder {
				t.Errorf("plain %t, in order %t", c.Plain(), c.InOrder())
			}
			if names := c.Names(); len(names) != len(tt.exts) || names[0] != tt.exts[0].Name {
				t.Errorf("names are %q", names)
			}
			if slow := newChain(t, opaque(), specOf(tt.typ, 2), tt.exts...); slow.Plain() || !slow.InOrder() {
				t.Error("the wrappers hide nothing")
			}
		})
	}
}

// TestHasChecksum tells chains that find damage from those that do not.
func TestHasChecksum(t *testing.T) {
	little, index := codec.Bytes("little"), []metadata.Extension{codec.Bytes("little"), codec.CRC32C()}
	shards := func(chain ...metadata.Extension) metadata.Extension {
		return must(codec.Shards(codec.Sharding{Inner: grid.Chunks(1, 1), Codecs: chain, IndexCodecs: index}))
	}
	named := func(name, configuration string) metadata.Extension {
		return metadata.Extension{Name: name, Configuration: []byte(configuration)}
	}
	has := [][]metadata.Extension{
		{little, codec.ZstdChecksum(0, true)}, {little, codec.ZstdChecksum(0, true), codec.ZstdChecksum(0, false)}, {little, codec.Gzip(1)},
		{little, codec.ZstdChecksum(0, false), codec.CRC32C()}, {shards(little, codec.ZstdChecksum(0, true))}, {shards(shards(little, codec.CRC32C()))},
		{shards(little), codec.CRC32C()}, {little, named("numcodecs.zlib", `{}`)}, {little, named("numcodecs.bz2", `{}`)}, {little, named("numcodecs.fletcher32", `{}`)},
		{little, named("conditional", `{"codecs":["zstd","crc32c"]}`)},
		{named("n5_default", `{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"gzip","configuration":{"level":1}}]}`)},
	}
	lacks := [][]metadata.Extension{
		{little}, {little, codec.ZstdChecksum(0, false)}, {little, codec.Zstd(0)}, {little, codec.Blosc(codec.BloscOptions{Element: 4})}, {little, named("numcodecs.lz4", `{}`)},
		{shards(little)}, {shards(little, codec.ZstdChecksum(0, false))}, {shards(shards(little))}, {little, named("numcodecs.zstd", `{}`)},
		{little, named("conditional", `{"codecs":[{"name":"zstd","configuration":{"checksum":true}}]}`)},
	}
	for i, chain := range slices.Concat(has, lacks) {
		c := newChain(t, codec.Default, specOf(dtype.Int32, 2), chain...)
		if got := c.HasChecksum(); got != (i < len(has)) {
			t.Errorf("%q: %t", c.Names(), got)
		}
	}
}

// pair is one chain made of codecs that show all their powers, and made of the same
// codecs that hide them.
type pair struct {
	fast, slow *coding.Chain
	typ        dtype.Type
	shape      []int64
}

func drawPair(t *rapid.T) pair {
	types := slices.DeleteFunc(dtype.All(), dtype.Type.Variable)
	typ := rapid.SampledFrom(append(types, must(dtype.Parse("r24", nil)))).Draw(t, "type")
	shape := rapid.SliceOfN(rapid.Int64Range(1, 6), 0, 4).Draw(t, "shape")
	axes := make([]int, len(shape))
	for i := range axes {
		axes[i] = i
	}
	var exts []metadata.Extension
	for range rapid.IntRange(0, 2).Draw(t, "transposes") {
		exts = append(exts, codec.Transpose(rapid.Permutation(axes).Draw(t, "order")...))
	}
	exts = append(exts, codec.Bytes(rapid.SampledFrom([]string{"little", "big"}).Draw(t, "endian")))
	packers := []metadata.Extension{codec.Gzip(1), codec.ZstdChecksum(0, false), codec.ZstdChecksum(3, true), codec.CRC32C()}
	exts = append(exts, rapid.SliceOfN(rapid.SampledFrom(packers), 0, 3).Draw(t, "packers")...)
	spec := specOf(typ, len(shape))
	return pair{must(coding.NewChain(new(codec.Environment), exts, spec)), must(coding.NewChain(&codec.Environment{Registry: opaque()}, exts, spec)), typ, shape}
}

// bytes returns the number of bytes of the elements.
func (p *pair) bytes() int64 {
	n := int64(p.typ.Size())
	for _, l := range p.shape {
		n *= l
	}
	return n
}

// elements draws elements in C order.
func (p *pair) elements(t *rapid.T) []byte {
	r := rand.New(rand.NewPCG(1, rapid.Uint64().Draw(t, "elements")))
	data := make([]byte, p.bytes())
	for i := range data {
		data[i] = byte(r.IntN(256))
		if p.typ.Kind() == dtype.KindBool {
			data[i] &= 1
		}
	}
	p.typ.Normalize(data)
	return data
}

// spread shows the elements as every second one of a larger block.
func (p *pair) spread(data []byte) strided.View {
	wide := slices.Clone(p.shape)
	for i := range wide {
		wide[i] *= 2
	}
	v := strided.Contiguous(make([]byte, len(data)<<len(wide)), wide, p.typ.Size())
	for i := range v.Strides {
		v.Strides[i] *= 2
	}
	v.Shape = p.shape
	strided.Copy(v, strided.Contiguous(data, p.shape, p.typ.Size()))
	return v
}

// decode returns the elements in C order. The memory that they are decoded to holds other
// bytes before.
func (p *pair) decode(c *coding.Chain, src []byte) ([]byte, error) {
	before := slices.Clone(src)
	v := strided.View{Data: bytes.Repeat([]byte{0xa5}, int(p.bytes())), Shape: p.shape, Size: p.typ.Size()}
	if err := c.Decode(&v, src); err != nil {
		return nil, err
	}
	if !bytes.Equal(src, before) {
		return nil, errors.New("the stored bytes were changed")
	}
	out := make([]byte, len(v.Data))
	strided.Copy(strided.Contiguous(out, p.shape, p.typ.Size()), v)
	return out, nil
}

// TestFastChains draws chains and elements: chains that go through strides, read in place
// and write in place give the bytes and the elements that plain ones do.
func TestFastChains(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPair(t)
		data := p.elements(t)
		want := must(p.slow.Encode([]byte("before"), strided.Contiguous(data, p.shape, p.typ.Size())))
		for name, v := range map[string]strided.View{"block": strided.Contiguous(data, p.shape, p.typ.Size()), "strides": p.spread(data)} {
			for _, c := range []*coding.Chain{p.fast, p.slow} {
				if got, err := c.Encode([]byte("before"), v); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%q, %s: encoded to %x, want %x (%v)", c.Names(), name, got, want, err)
				}
			}
		}
		stored := want[len("before"):]
		for _, c := range []*coding.Chain{p.fast, p.slow} {
			if got, err := p.decode(c, stored); err != nil || !bytes.Equal(got, data) {
				t.Fatalf("%q: decoded to %x, want %x (%v)", c.Names(), got, data, err)
			}
			if most := c.MaxEncoded(p.shape, p.bytes()); int64(len(stored)) > most {
				t.Fatalf("%q: %d bytes, though at most %d are announced", c.Names(), len(stored), most)
			}
		}
	})
}

// TestChainDamage cuts, extends and alters stored bytes: another length is an error in
// every chain, and whatever else was done, fast and plain chains agree on it.
func TestChainDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPair(t)
		stored := must(p.fast.Encode(nil, strided.Contiguous(p.elements(t), p.shape, p.typ.Size())))
		cut := stored[:rapid.IntRange(0, len(stored)-1).Draw(t, "cut")]
		long := append(slices.Clone(stored), rapid.SliceOfN(rapid.Byte(), 1, 9).Draw(t, "more")...)
		for _, c := range []*coding.Chain{p.fast, p.slow} {
			for _, src := range [][]byte{cut, long, nil} {
				if _, err := p.decode(c, src); !errors.Is(err, codec.ErrCorrupt) {
					t.Fatalf("%q: %d bytes instead of %d: error is %v", c.Names(), len(src), len(stored), err)
				}
			}
		}
		stored[rapid.IntRange(0, len(stored)-1).Draw(t, "at")] ^= rapid.ByteRange(1, 255).Draw(t, "flip")
		fast, err := p.decode(p.fast, stored)
		slow, other := p.decode(p.slow, stored)
		if !bytes.Equal(fast, slow) || (err == nil) != (other == nil) || errors.Is(err, codec.ErrCorrupt) != errors.Is(other, codec.ErrCorrupt) {
			t.Fatalf("%q: %x (%v), the plain chain has %x (%v)", p.fast.Names(), fast, err, slow, other)
		}
	})
}

// TestDecodeAllocations records how many allocations a chain needs for a small chunk once
// its pools are filled.
func TestDecodeAllocations(t *testing.T) {
	racing.Skip(t)
	little := codec.Bytes("little")
	for _, tt := range []struct {
		exts []metadata.Extension
		most float64
	}{
		{[]metadata.Extension{little}, 0},
		{[]metadata.Extension{codec.Bytes("big")}, 0},
		{[]metadata.Extension{little, codec.CRC32C()}, 0},
		{[]metadata.Extension{little, codec.ZstdChecksum(0, false)}, 0},
		{[]metadata.Extension{little, codec.Gzip(1)}, 0},
		{[]metadata.Extension{little, codec.ZstdChecksum(0, false), codec.CRC32C()}, 0},
		{[]metadata.Extension{codec.Transpose(1, 0), little}, 0},
		{[]metadata.Extension{codec.Transpose(1, 0), little, codec.ZstdChecksum(0, false)}, 0},
		{[]metadata.Extension{codec.BitRound(5), little}, 0},
		{[]metadata.Extension{codec.Transpose(1, 0), codec.BitRound(5), codec.BitRound(4), little, codec.ZstdChecksum(0, false)}, 0},
	} {
		c := newChain(t, codec.Default, specOf(dtype.Float32, 2), tt.exts...)
		t.Run(fmt.Sprint(c.Names()), func(t *testing.T) {
			v := strided.Contiguous(make([]byte, 400), []int64{10, 10}, 4)
			src := must(c.Encode(nil, v))
			if got := testing.AllocsPerRun(200, func() { must(0, c.Decode(&v, src)) }); got > tt.most {
				t.Errorf("%g allocations, at most %g are expected", got, tt.most)
			}
		})
	}
}

// TestEncodeAllocations shows that small chunks take no memory besides that of the bytes
// they are encoded to, in any order of axes and behind codecs that make other arrays of
// them.
func TestEncodeAllocations(t *testing.T) {
	racing.Skip(t)
	little := codec.Bytes("little")
	for _, exts := range [][]metadata.Extension{
		{little}, {codec.Transpose(1, 0), little}, {codec.Transpose(1, 0), little, codec.CRC32C()},
		{codec.BitRound(5), little}, {codec.Transpose(1, 0), codec.BitRound(5), little},
	} {
		c := newChain(t, codec.Default, specOf(dtype.Float32, 2), exts...)
		v, dst := strided.Contiguous(make([]byte, 400), []int64{10, 10}, 4), make([]byte, 0, 500)
		if got := testing.AllocsPerRun(200, func() { must(c.Encode(dst, v)) }); got > 0 {
			t.Errorf("%q: %g allocations", c.Names(), got)
		}
	}
}

// TestTextAllocations shows that chunks of text take, however many elements they have, no
// memory but that in which the elements stay.
func TestTextAllocations(t *testing.T) {
	racing.Skip(t)
	text := must(dtype.Parse("string", nil))
	for _, n := range []int64{10, 1000} {
		c := newChain(t, codec.Default, codec.Spec{Type: text, Rank: 2}, codec.Transpose(1, 0), codec.VariableLength(text), codec.ZstdChecksum(0, false))
		v := strided.Contiguous(make([]byte, 2*n*strided.RefSize), []int64{2, n}, strided.RefSize)
		v.Heap = strided.NewHeap(nil)
		data, offsets := []byte(nil), []int64{0}
		for i := range 2 * n {
			data = fmt.Append(data, i)
			offsets = append(offsets, int64(len(data)))
		}
		v.Heap.Add(v.Data, data, offsets)
		stored := must(c.Encode(nil, v))
		dst := make([]byte, 0, 2*len(stored)+1000)
		if got := testing.AllocsPerRun(200, func() { must(c.Encode(dst, v)) }); got > 0 {
			t.Errorf("encoding %d elements: %g allocations", 2*n, got)
		}
		if got := testing.AllocsPerRun(200, func() { v.Heap = v.Heap.New(); must(0, c.Decode(&v, stored)) }); got > 7 {
			t.Errorf("decoding %d elements: %g allocations, the heap takes 7", 2*n, got)
		}
	}
}
