// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// edited applies an edit to a stored shard.
func (d *drawnShards) edited(t fataler, e coding.Edit, src coding.Source) *coding.Revision {
	t.Helper()
	out, err := d.chain.EncodePart(context.Background(), work(), e, src)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// spliced returns the bytes that a store splices for an edit.
func spliced(t fataler, out *coding.Revision, old []byte) []byte {
	t.Helper()
	if _, err := store.Splice(store.MustKey("c"), store.Version{}, out.Fragments).Size(int64(len(old))); out.Spliced() && err != nil {
		t.Fatal(err)
	}
	out.Old = old
	made := out.AppendTo(nil)
	if int64(len(made)) != out.Size {
		t.Fatalf("%d bytes, Size says %d", len(made), out.Size)
	}
	return made
}

// drawEdit draws new elements for a part of a shard and puts them into data as well.
func (d *drawnShards) drawEdit(t *rapid.T, shape []int64, data []byte) coding.Edit {
	part := strided.Part{}
	for _, n := range shape {
		from := rapid.Int64Range(0, n-1).Draw(t, "from")
		part.Start, part.Step = append(part.Start, from), append(part.Step, 1)
		part.Count = append(part.Count, rapid.Int64Range(1, n-from).Draw(t, "count"))
	}
	value := rapid.SampledFrom([][]byte{d.codec.Fill, {1, 2}, {3, 4}}).Draw(t, "value")
	values := strided.View{Data: value, Shape: part.Count, Strides: make([]int64, len(shape)), Size: 2}
	box := make(grid.Box, len(shape))
	for i := range box {
		box[i] = grid.Interval{Start: part.Start[i], Stop: part.Start[i] + part.Count[i]}
	}
	strided.Copy(strided.Contiguous(data, shape, 2).Sub(box), values)
	return coding.Edit{Shape: shape, Part: part, Values: values, Patches: true}
}

// TestCompact changes drawn shards in parts and compacts them. The result equals encoding
// all elements at once, whether the store splices or not. Compacting it again changes
// nothing and reads only the index.
func TestCompact(t *testing.T) {
	shrunk := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := drawShards(rt, rapid.IntRange(1, 3).Draw(rt, "rank"))
		shape := d.drawShape(rt)
		data := d.drawElements(rt, shape)
		shard := d.encode(rt, shape, data)
		for range rapid.IntRange(0, 4).Draw(rt, "edits") {
			out := d.edited(rt, d.drawEdit(rt, shape, data), coding.Stored(shard))
			switch {
			case out.Same:
			case out.Patches != nil:
				shard = slices.Clone(shard)
				for _, p := range out.Patches {
					copy(shard[p.Off:], p.Data)
				}
			default:
				shard = spliced(rt, out, shard)
			}
		}
		want := d.encode(rt, shape, data)
		compact := coding.Edit{Shape: shape, Compact: true, Splices: rapid.Bool().Draw(rt, "splices")}
		for _, src := range []coding.Source{coding.Stored(shard), keep(t, shard)} {
			out, err := d.chain.EncodePart(context.Background(), drawWork(rt), compact, src)
			if err != nil {
				rt.Fatal(err)
			}
			if out.Same != bytes.Equal(shard, want) {
				rt.Fatalf("same: %t, for %x, in order %x", out.Same, shard, want)
			}
			if out.Same {
				continue
			}
			if got := spliced(rt, out, shard); !bytes.Equal(got, want) {
				rt.Fatalf("%x, want %x", got, want)
			}
		}
		if len(want) < len(shard) {
			shrunk++
		}
		k := keep(t, want)
		if out := d.edited(rt, compact, k); !out.Same || k.reads > 1 || out.Size != int64(len(want)) {
			rt.Fatalf("compacted twice: %+v after %d reads", out, k.reads)
		}
	})
	if shrunk == 0 {
		t.Error("no shard had dead bytes")
	}
}

// absent is the entry of an inner chunk that is not stored.
var absent = [2]uint64{1<<64 - 1, 1<<64 - 1}

// handmade returns a shard with an index of its own, as lineShards has it.
func handmade(body []byte, entries ...[2]uint64) []byte {
	var index []byte
	for _, e := range entries {
		index = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(index, e[0]), e[1])
	}
	return slices.Concat(body, handmadeIndex(index))
}

// handmadeIndex returns the entries of an index with their checksum.
func handmadeIndex(entries []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(entries), crc32.Checksum(entries, crc32.MakeTable(crc32.Castagnoli)))
}

// TestCompactHandmade compacts shards that Varve does not write.
func TestCompactHandmade(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	body := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	shape := []int64{8}
	for _, tt := range []struct {
		name  string
		shard []byte
		want  []byte // nil where nothing changes
	}{
		{"in order", handmade(body, [2]uint64{0, 2}, [2]uint64{2, 2}, [2]uint64{4, 2}, [2]uint64{6, 2}), nil},
		{"empty", handmade(nil, absent, absent, absent, absent), nil},
		{"empty, of dead bytes", handmade(body, absent, absent, absent, absent), handmade(nil, absent, absent, absent, absent)},
		{"a gap", handmade(body, [2]uint64{0, 2}, absent, absent, [2]uint64{6, 2}),
			handmade([]byte{1, 2, 7, 8}, [2]uint64{0, 2}, absent, absent, [2]uint64{2, 2})},
		{"dead bytes at the end", handmade(body, [2]uint64{0, 2}, absent, absent, absent),
			handmade([]byte{1, 2}, [2]uint64{0, 2}, absent, absent, absent)},
		{"backwards", handmade(body, [2]uint64{6, 2}, [2]uint64{4, 2}, [2]uint64{2, 2}, [2]uint64{0, 2}),
			handmade([]byte{7, 8, 5, 6, 3, 4, 1, 2}, [2]uint64{0, 2}, [2]uint64{2, 2}, [2]uint64{4, 2}, [2]uint64{6, 2})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, splices := range []bool{false, true} {
				for _, src := range []coding.Source{coding.Stored(tt.shard), keep(t, tt.shard)} {
					out := d.edited(t, coding.Edit{Shape: shape, Compact: true, Splices: splices}, src)
					if out.Same != (tt.want == nil) {
						t.Fatalf("same: %t", out.Same)
					}
					if out.Same {
						continue
					}
					if got := spliced(t, out, tt.shard); !bytes.Equal(got, tt.want) {
						t.Errorf("%x, want %x", got, tt.want)
					}
				}
			}
		})
	}
}

// TestCompactThroughMemory splices inner chunks if they are long or exceed the memory,
// and else reads them.
func TestCompactThroughMemory(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	scattered := handmade(make([]byte, 8), [2]uint64{6, 2}, [2]uint64{4, 2}, [2]uint64{2, 2}, [2]uint64{0, 2})
	together := handmade(make([]byte, 8), [2]uint64{2, 2}, [2]uint64{4, 2}, [2]uint64{6, 2}, absent)
	for _, tt := range []struct {
		shard  []byte
		bytes  int64
		copies int // old fragments
	}{
		{scattered, 0, 4}, {scattered, 15, 4}, {scattered, 16, 0}, {together, 0, 1}, {together, 1 << 20, 0},
	} {
		k, w := keep(t, tt.shard), work()
		w.Bytes, w.Guess = tt.bytes, 0
		out, err := d.chain.EncodePart(context.Background(), w, coding.Edit{Shape: []int64{8}, Compact: true, Splices: true}, k)
		if err != nil {
			t.Fatal(err)
		}
		copies := 0
		for _, p := range out.Fragments {
			if p.Data == nil {
				copies++
			}
		}
		if copies != tt.copies || (k.reads > 1) != (copies == 0) {
			t.Errorf("%d bytes: %d fragments are copied, want %d", tt.bytes, copies, tt.copies)
		}
		spliced(t, out, tt.shard)
	}
}

// TestCompactDamaged leaves damaged shards alone.
func TestCompactDamaged(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	good := handmade([]byte{1, 2}, [2]uint64{0, 2}, absent, absent, absent)
	flipped := slices.Clone(good)
	flipped[3] ^= 1
	for name, shard := range map[string][]byte{
		"no bytes":                   {},
		"short":                      good[1:],
		"a flipped bit":              flipped,
		"beyond the end":             handmade([]byte{1, 2}, absent, [2]uint64{1, 2}, absent, absent),
		"far beyond":                 handmade([]byte{1, 2}, absent, absent, absent, [2]uint64{1<<64 - 2, 4}),
		"half an entry":              handmade([]byte{1, 2}, [2]uint64{1<<64 - 1, 2}, absent, absent, absent),
		"twice at one place":         handmade([]byte{1, 2, 3, 4}, [2]uint64{2, 2}, [2]uint64{2, 2}, absent, absent),
		"bytes in common":            handmade([]byte{1, 2, 3, 4}, absent, [2]uint64{1, 2}, absent, [2]uint64{0, 2}),
		"a short inner chunk":        handmade([]byte{1, 2, 3}, [2]uint64{0, 2}, [2]uint64{2, 1}, absent, absent),
		"an inner chunk of no bytes": handmade([]byte{1, 2, 3, 4}, [2]uint64{0, 2}, absent, absent, [2]uint64{4, 0}),
	} {
		for _, src := range []coding.Source{coding.Stored(shard), keep(t, shard)} {
			_, err := d.chain.EncodePart(context.Background(), work(), coding.Edit{Shape: []int64{8}, Compact: true, Splices: true}, src)
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestSharedWithoutBounds refuses a shard whose inner chunks share bytes so often that
// separating them would take unbounded memory.
func TestSharedWithoutBounds(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	const n, size = 1 << 12, 1 << 17
	entries := slices.Repeat([][2]uint64{{0, size}}, n)
	shard := handmade(make([]byte, size), entries...)
	for _, e := range []coding.Edit{
		{Compact: true}, {Compact: true, Splices: true}, {Index: []int64{1}, Encoded: []byte{1, 2}},
	} {
		e.Shape = []int64{2 * n}
		for _, src := range []coding.Source{coding.Stored(shard), keep(t, shard)} {
			if _, err := d.chain.EncodePart(context.Background(), work(), e, src); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%+v: %v", e, err)
			}
		}
	}
}

// TestPatchShared changes an inner chunk in place. Another one, which may share its
// bytes, stays.
func TestPatchShared(t *testing.T) {
	d := lineShards(t, codec.Environment{Strategy: codec.InPlace}, "uint8")
	body := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	for _, tt := range []struct {
		entries [4][2]uint64
		want    []byte
		patched bool
	}{
		{[4][2]uint64{{0, 2}, {2, 2}, {4, 2}, {6, 2}}, []byte{1, 2, 9, 9, 5, 6, 7, 8}, true},
		{[4][2]uint64{{6, 2}, {2, 2}, {0, 2}, {4, 2}}, []byte{7, 8, 9, 9, 1, 2, 5, 6}, true},
		{[4][2]uint64{{2, 2}, {2, 2}, {4, 2}, {6, 2}}, []byte{3, 4, 9, 9, 5, 6, 7, 8}, false},
		{[4][2]uint64{{1, 2}, {2, 2}, {4, 2}, {6, 2}}, []byte{2, 3, 9, 9, 5, 6, 7, 8}, false},
		{[4][2]uint64{{0, 2}, {2, 2}, {3, 2}, {6, 2}}, []byte{1, 2, 9, 9, 4, 5, 7, 8}, false},
	} {
		shard := handmade(body, tt.entries[:]...)
		e := coding.Edit{Shape: []int64{8}, Index: []int64{1}, Encoded: []byte{9, 9}, Patches: true}
		out := d.edited(t, e, coding.Stored(shard))
		if (out.Patches != nil) != tt.patched {
			t.Errorf("%v: patches %v", tt.entries, out.Patches)
		}
		made := slices.Clone(shard)
		if out.Patches == nil {
			made = spliced(t, out, shard)
		}
		for _, p := range out.Patches {
			copy(made[p.Off:], p.Data)
		}
		if got := make([]byte, 8); !bytes.Equal(decodeLine(t, d, made, got), tt.want) {
			t.Errorf("%v: %v, want %v", tt.entries, got, tt.want)
		}
	}
}

// decodeLine decodes a shard of lineShards to dst.
func decodeLine(t *testing.T, d *drawnShards, shard, dst []byte) []byte {
	t.Helper()
	v := strided.Contiguous(dst, []int64{int64(len(dst))}, 1)
	if err := d.chain.Decode(&v, shard); err != nil {
		t.Fatal(err)
	}
	return dst
}

// TestCompactChecks leaves alone the shards in which a check finds faults, also with
// codecs that make inner chunks of any length.
func TestCompactChecks(t *testing.T) {
	for _, packed := range []bool{false, true} {
		d := lineShards(t, codec.Environment{}, "uint8")
		if packed {
			d.exts = []metadata.Extension{must(codec.Shards(codec.Sharding{
				Inner: []grid.Cut{grid.Every(2)}, Codecs: []metadata.Extension{codec.Bytes(""), codec.Gzip(1)},
			}))}
			d.chain = must(coding.NewChain(&d.env, d.exts, d.codec))
		}
		rapid.Check(t, func(rt *rapid.T) {
			shard := make([]byte, rapid.IntRange(0, 9).Draw(rt, "bytes"))
			var entries [][2]uint64
			for range 4 {
				at := rapid.SampledFrom([][2]uint64{absent, {0, 0}, {0, 2}, {2, 2}, {4, 2}, {5, 2}, {3, 5}, {9, 0}, {6, 3}}).Draw(rt, "entry")
				entries = append(entries, at)
			}
			shard = handmade(shard, entries...)
			found, err := d.chain.Check(context.Background(), work(), []int64{8}, coding.Stored(shard), !packed)
			if err != nil {
				rt.Fatal(err)
			}
			_, err = d.chain.EncodePart(context.Background(), work(), coding.Edit{Shape: []int64{8}, Compact: true}, coding.Stored(shard))
			damaged := len(found.Faults) > 0 || packed && slices.ContainsFunc(entries, func(e [2]uint64) bool { return e[1] == 0 })
			if errors.Is(err, codec.ErrCorrupt) != damaged {
				rt.Fatalf("%v of %d bytes: compact says %v, check %v", entries, len(shard), err, found.Faults)
			}
		})
	}
}
