// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
)

// fragile is a shard to be damaged.
type fragile struct {
	*drawnShards
	shape   []int64
	shard   []byte
	index   int // where the index begins
	entries int // bytes of the index without its checksum
	compact bool
	full    bool // all inner chunks are stored
	fixed   bool // they have one length
}

// newFragile makes a shard of 9 inner chunks.
func newFragile(t *testing.T, r *rand.Rand) *fragile {
	t.Helper()
	f := &fragile{drawnShards: &drawnShards{codec: codec.Spec{Type: mustType("int16"), Fill: []byte{7, 7}, Rank: 2}}, shape: []int64{6, 6}, entries: 9 * 16}
	f.env = codec.Environment{Order: []codec.Order{codec.C, codec.Fortran, codec.Morton}[r.IntN(3)], Strategy: codec.Append}
	checks := [][]metadata.Extension{{codec.CRC32C()}, {codec.Gzip(1)}, {codec.ZstdChecksum(1, true)}, {codec.ZstdChecksum(1, false), codec.CRC32C()}}
	kind := r.IntN(len(checks))
	f.fixed = kind == 0
	c := codec.Sharding{Inner: []grid.Cut{grid.Every(2), grid.Every(2)}, Codecs: append(raw(), checks[kind]...), AtStart: r.IntN(2) == 0}
	if r.IntN(3) == 0 {
		c.IndexCodecs = []metadata.Extension{codec.Bytes("big"), codec.CRC32C()}
	}
	f.exts = []metadata.Extension{must(codec.Shards(c))}
	f.chain = must(coding.NewChain(&f.env, f.exts, f.codec))
	f.fill(t, r)
	if c.AtStart {
		return f
	}
	f.index = len(f.shard) - f.entries - 4
	return f
}

// fill stores elements in some inner chunks or all, and changes some of them, which
// leaves dead bytes.
func (f *fragile) fill(t *testing.T, r *rand.Rand) {
	data := make([]byte, 2*36)
	strided.FillBytes(data, f.codec.Fill)
	f.full = r.IntN(2) == 0
	for i := range 36 {
		if y, x := i/6, i%6; f.full || (y/2+x/2)%3 != 0 {
			data[2*i], data[2*i+1] = byte(r.Uint32()), byte(i)
		}
	}
	f.shard, f.compact = f.encode(t, f.shape, data), true
	for range r.IntN(3) {
		f.compact = false
		one := strided.Contiguous([]byte{byte(r.Uint32()), 99}, []int64{1, 1}, 2)
		at := strided.Part{Start: []int64{r.Int64N(6), r.Int64N(6)}, Step: []int64{1, 1}, Count: []int64{1, 1}}
		out, err := f.chain.EncodePart(context.Background(), work(), coding.Edit{Shape: f.shape, Part: at, Values: one}, coding.Stored(f.shard))
		if err != nil {
			t.Fatal(err)
		}
		f.shard = spliced(t, out, f.shard)
	}
}

// mend restores the index of a shard in a store, and expects all other bytes as they
// were.
func (f *fragile) mend(t *testing.T, damaged []byte) ([]byte, error) {
	t.Helper()
	out, err := f.chain.EncodePart(context.Background(), work(), coding.Edit{Shape: f.shape, Mend: true}, keep(t, damaged))
	if err != nil {
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("%v is no damage", err)
		}
		return nil, err
	}
	defer out.Release()
	if out.Same {
		return damaged, nil
	}
	return out.AppendTo(nil), nil
}

// TestMend damages indexes in ways that are always repaired: the result is the shard as
// it was.
func TestMend(t *testing.T) {
	n := 300
	if os.Getenv("VARVE_LONG") != "" {
		n = 30_000
	}
	tried := map[string]int{}
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		f := newFragile(t, r)
		for name, damage := range map[string]func(index []byte) bool{
			"a bit": func(index []byte) bool {
				index[r.IntN(len(index))] ^= 1 << r.IntN(8)
				return true
			},
			"an entry": func(index []byte) bool {
				for b := range index[16*r.IntN(9):][:16] {
					index[b] = byte(r.Uint32())
				}
				return f.compact
			},
			"a byte of the checksum": func(index []byte) bool {
				index[f.entries+r.IntN(4)] ^= byte(1 + r.IntN(255))
				return true
			},
			"a sector": func(index []byte) bool {
				from := r.IntN(9)
				for b := range index[16*from:][:16*(1+r.IntN(9-from))] {
					index[16*from+b] = 0xee
				}
				return f.compact && f.full && f.fixed
			},
			"all entries": func(index []byte) bool {
				clear(index[:f.entries])
				return f.compact && f.full && f.fixed
			},
		} {
			damaged := slices.Clone(f.shard)
			if !damage(damaged[f.index:][:f.entries+4]) {
				continue
			}
			tried[name]++
			if mended, err := f.mend(t, damaged); !bytes.Equal(mended, f.shard) {
				t.Fatalf("%s, shard %d: %v", name, i, err)
			}
		}
	}
	for _, name := range []string{"a bit", "an entry", "a byte of the checksum", "a sector", "all entries"} {
		if tried[name] < n/50 {
			t.Errorf("%s: %d tries", name, tried[name])
		}
	}
}

// TestMendNeverGuesses damages shards at random: in the index and elsewhere, with bits,
// runs and other bytes, and cuts them. A shard whose index is restored has the index that
// it had, and all other bytes as they are.
func TestMendNeverGuesses(t *testing.T) {
	n := 3000
	if os.Getenv("VARVE_LONG") != "" {
		n = 300_000
	}
	mended, left := 0, 0
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		f := newFragile(t, r)
		damaged := slices.Clone(f.shard)
		for range 1 + r.IntN(3) {
			damaged = f.damage(r, damaged)
		}
		got, err := f.mend(t, damaged)
		if err != nil {
			left++
			continue
		}
		want := damaged
		if len(damaged) == len(f.shard) {
			want = slices.Clone(damaged)
			copy(want[f.index:], f.shard[f.index:][:f.entries+4])
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("shard %d: an index was made up:\n%x damaged\n%x restored\n%x wanted\n%x at first", i, damaged, got, want, f.shard)
		}
		if !bytes.Equal(got, damaged) {
			mended++
		}
	}
	t.Logf("of %d shards %d were mended, and %d left", n, mended, left)
	if mended < n/20 || left < n/20 {
		t.Errorf("of %d shards %d were mended, and %d left", n, mended, left)
	}
}

// damage damages a shard somewhere, most often its index.
func (f *fragile) damage(r *rand.Rand, shard []byte) []byte {
	if len(shard) < f.entries+4 {
		return shard
	}
	part := shard
	if at := min(f.index, len(shard)-f.entries-4); r.IntN(4) > 0 {
		part = shard[at:][:f.entries+4]
	}
	switch r.IntN(6) {
	case 0:
		part[r.IntN(len(part))] ^= 1 << r.IntN(8)
	case 1: // another entry, or bytes of an inner chunk
		copy(part[r.IntN(len(part)):], shard[r.IntN(len(shard)-15):][:16])
	case 2:
		from := r.IntN(len(part))
		for i := range part[from:][:r.IntN(len(part)-from+1)] {
			part[from+i] = byte(-r.IntN(2)) // zeros and ones, as disks leave them
		}
	case 3: // whole entries change places
		a, b := 16*r.IntN(f.entries/16), 16*r.IntN(f.entries/16)
		if len(part) == f.entries+4 {
			for i := range 16 {
				part[a+i], part[b+i] = part[b+i], part[a+i]
			}
		}
	case 4:
		return shard[:len(shard)-r.IntN(min(len(shard), 40))]
	default:
		part[r.IntN(len(part))] = byte(r.Uint32())
	}
	return shard
}

// TestMendRefuses says why an index is not restored.
func TestMendRefuses(t *testing.T) {
	flip := func(shard []byte) []byte {
		shard = slices.Clone(shard)
		shard[len(shard)-20] ^= 1
		return shard
	}
	shape := []int64{8}
	shards := func(codecs, index []metadata.Extension) *drawnShards {
		d := lineShards(t, codec.Environment{}, "uint8")
		d.exts = []metadata.Extension{must(codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(2)}, Codecs: codecs, IndexCodecs: index}))}
		d.chain = must(coding.NewChain(&d.env, d.exts, d.codec))
		return d
	}
	inner := []metadata.Extension{codec.Bytes(""), codec.CRC32C()}
	for _, c := range []struct {
		name   string
		d      *drawnShards
		damage func([]byte) []byte
		why    string
	}{
		{"inner chunks without checksums", lineShards(t, codec.Environment{}, "uint8"), flip, "have no checksums"},
		{"shards of shards", shards([]metadata.Extension{must(codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(1)}, Codecs: inner}))}, nil), flip, "are shards"},
		{"another codec of the index", shards(inner, []metadata.Extension{codec.Bytes("little"), codec.CRC32C(), codec.CRC32C()}), flip, "bytes and crc32c"},
		{"an index that was cut off", shards(inner, nil), func(b []byte) []byte { return b[:len(b)-17] }, "tell what it was"},
		{"no bytes", shards(inner, nil), func([]byte) []byte { return nil }, "0 bytes"},
		{"nothing but a wrong checksum", shards(inner, nil), func(b []byte) []byte {
			return append(bytes.Repeat([]byte{0xff}, 64), 1, 2, 3, 4)
		}, "tell what it was"},
	} {
		shard := must(c.d.chain.Encode(nil, strided.Contiguous([]byte{1, 2, 3, 4, 5, 6, 7, 8}, shape, 1)))
		_, err := c.d.chain.EncodePart(context.Background(), work(), coding.Edit{Shape: shape, Mend: true}, keep(t, c.damage(shard)))
		if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), c.why) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMendAmbiguous damages a bit of an entry so that the checksum differs within one
// byte. The entry then leads to an earlier version of the inner chunk, which decodes. So
// sound entries do not show that the checksum is damaged.
func TestMendAmbiguous(t *testing.T) {
	// In an index of so many inner chunks, this bit of the first offset changes only the
	// lowest byte of the checksum, by effect.
	const n, flip, effect = 91_043, 1 << 22, 213
	d := lineShards(t, codec.Environment{}, "uint8")
	inner := []metadata.Extension{codec.Bytes(""), codec.CRC32C()}
	d.exts = []metadata.Extension{must(codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(1)}, Codecs: inner}))}
	d.chain = must(coding.NewChain(&d.env, d.exts, d.codec))
	was, is := handmadeIndex([]byte{9}), handmadeIndex([]byte{5})
	f := &fragile{drawnShards: d, shape: []int64{n}, index: flip + len(is), entries: 16 * n}
	entries := slices.Repeat([][2]uint64{{^uint64(0), ^uint64(0)}}, n)
	entries[0] = [2]uint64{flip, uint64(len(is))}
	body := make([]byte, f.index)
	copy(body[flip:], is)
	for _, c := range []struct {
		name   string
		old    []byte // an earlier version of the inner chunk
		change func(index []byte)
		mended bool
	}{
		{"the entry", was, func(index []byte) { index[2] ^= flip >> 16 }, true},
		{"a byte of the checksum", nil, func(index []byte) { index[f.entries] ^= 1 }, true},
		{"a byte, or the entry", nil, func(index []byte) { index[f.entries] ^= effect }, false},
	} {
		copy(body, make([]byte, len(was)))
		copy(body, c.old)
		f.shard = handmade(body, entries...)
		damaged := slices.Clone(f.shard)
		c.change(damaged[f.index:])
		got, err := f.mend(t, damaged)
		if c.mended != (err == nil) || c.mended && !bytes.Equal(got, f.shard) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestMendHostile mends a shard whose entries all have the same bytes, which would be
// decoded a thousand times.
func TestMendHostile(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	inner := []metadata.Extension{codec.Bytes(""), codec.CRC32C()}
	d.exts = []metadata.Extension{must(codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(1000)}, Codecs: inner}))}
	d.chain = must(coding.NewChain(&d.env, d.exts, d.codec))
	one := must(d.chain.Encode(nil, strided.Contiguous(bytes.Repeat([]byte{5}, 1000), []int64{1000}, 1)))[:1004]
	shard := handmade(one, slices.Repeat([][2]uint64{{0, 1004}}, 1000)...)
	shard[len(shard)-1] ^= 1
	_, err := d.chain.EncodePart(context.Background(), work(), coding.Edit{Shape: []int64{1_000_000}, Mend: true}, keep(t, shard))
	if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), "share too many bytes") {
		t.Error(err)
	}
}
