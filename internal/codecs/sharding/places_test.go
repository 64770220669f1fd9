// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
)

// drawParts cuts a shard at the edges of inner chunks.
func (d *drawnShards) drawParts(t *rapid.T, shape []int64) []grid.Box {
	parts := []grid.Box{{}}
	for i, n := range shape {
		var more []grid.Box
		for from := int64(0); from < n; {
			to := min(n, from+d.inner[i]*rapid.Int64Range(1, 3).Draw(t, "inner chunks"))
			for _, p := range parts {
				more = append(more, append(append(grid.Box{}, p...), grid.Interval{Start: from, Stop: to}))
			}
			from = to
		}
		parts = more
	}
	return parts
}

// source is a stored part of a longer shard.
type source struct {
	box    grid.Box
	shard  []byte
	places *coding.Places
}

// TestArrange cuts the elements of drawn shards into parts, encodes each by itself, edits
// some, and puts the whole together from their encoded inner chunks. The result is what
// encoding all elements at once gives.
func TestArrange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		d := drawShards(rt, rapid.IntRange(1, 3).Draw(rt, "rank"))
		shape := d.drawShape(rt)
		data := d.drawElements(rt, shape)
		v := strided.Contiguous(data, shape, 2)
		var sources []*source
		for _, box := range d.drawParts(rt, shape) {
			part := make([]byte, 2*elements(box.Shape()))
			strided.Copy(strided.Contiguous(part, box.Shape(), 2), v.Sub(box))
			s := &source{box: box, shard: d.encode(rt, box.Shape(), part)}
			if rapid.Bool().Draw(rt, "edited") {
				e := d.drawEdit(rt, box.Shape(), part)
				e.Patches = false
				if out := d.edited(rt, e, coding.Stored(s.shard)); !out.Same {
					s.shard = spliced(rt, out, s.shard)
				}
				strided.Copy(v.Sub(box), strided.Contiguous(part, box.Shape(), 2))
			}
			var from coding.Source = coding.Stored(s.shard)
			if len(sources) == 0 && rapid.Bool().Draw(rt, "in a store") {
				from = keep(t, s.shard) // only one: all have the same key, which indexes are cached by
			}
			var err error
			if s.places, err = d.chain.Places(ctx, work(), box.Shape(), from); err != nil {
				rt.Fatal(err)
			}
			sources = append(sources, s)
		}
		// of returns the bytes of an inner chunk of the whole.
		of := func(index []int64) []byte {
			first := make([]int64, len(index))
			for i := range index {
				first[i] = index[i] * d.inner[i]
			}
			for _, s := range sources {
				if !s.box.Contains(first) {
					continue
				}
				within := make([]int64, len(index))
				for i := range within {
					within[i] = (first[i] - s.box[i].Start) / d.inner[i]
				}
				if off, n, stored := s.places.Of(within); stored {
					return s.shard[off : off+n]
				}
			}
			return nil
		}
		ranked := rapid.Bool().Draw(rt, "ranked")
		rank := func(index []int64) uint64 {
			if !ranked {
				return 0
			}
			n := int64(0)
			for _, k := range index {
				n = 7*n - k
			}
			return uint64(n % 5)
		}
		a, err := d.chain.Arrange(shape, func(index []int64) (uint64, int64) {
			if b := of(index); b != nil {
				return rank(index), int64(len(b))
			}
			return 0, -1
		})
		if err != nil {
			rt.Fatal(err)
		}
		got, last := bytes.Clone(a.Head), uint64(0)
		for index := range a.All() {
			got = append(got, of(index)...)
			if r := rank(index); r < last {
				rt.Fatalf("inner chunk %v has rank %d, after one of %d", index, r, last)
			} else {
				last = r
			}
		}
		got = append(got, a.Tail...)
		want := d.encode(rt, shape, data)
		if !ranked && !bytes.Equal(got, want) {
			rt.Fatalf("%x, want %x", got, want)
		}
		if len(a.Order) > 0 {
			one, other := strided.Contiguous(make([]byte, len(data)), shape, 2), strided.Contiguous(make([]byte, len(data)), shape, 2)
			if err := errors.Join(d.chain.Decode(&one, got), d.chain.Decode(&other, want)); err != nil || !bytes.Equal(one.Data, other.Data) {
				rt.Fatalf("%x, want %x (%v)", one.Data, other.Data, err)
			}
		}
		if empty := len(a.Order) == 0; empty != strided.AllEqual(data, d.codec.Fill) {
			rt.Fatalf("no inner chunk is stored: %t", empty)
		}
	})
}

// encodeLine encodes a shard of lineShards.
func (d *drawnShards) encodeLine(t *testing.T, data ...byte) []byte {
	t.Helper()
	out, err := d.chain.Encode(nil, strided.Contiguous(data, []int64{int64(len(data))}, 1))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestPlacesReads counts the requests: one for the index and, if that is cached, one to
// confirm that it is still the one of the present version.
func TestPlacesReads(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	src := keep(t, d.encodeLine(t, 1, 2, 0, 0, 5, 6))
	for reads := 1; reads <= 2; reads++ {
		p, err := d.chain.Places(t.Context(), work(), []int64{6}, src)
		if err != nil || src.reads != reads {
			t.Fatalf("%d reads (%v)", src.reads, err)
		}
		if _, _, stored := p.Of([]int64{1}); stored {
			t.Error("an inner chunk of fill values is stored")
		}
	}
	src.put(d.encodeLine(t, 0, 0, 3, 4, 0, 0))
	p, err := d.chain.Places(t.Context(), work(), []int64{6}, src)
	if err != nil {
		t.Fatal(err)
	}
	if _, n, stored := p.Of([]int64{1}); !stored || n != 2 {
		t.Errorf("after another write: %d bytes, %t", n, stored)
	}
}

// TestPlacesRefused reads shards whose index is wrong.
func TestPlacesRefused(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	for name, shard := range map[string][]byte{
		"shared bytes":  handmade([]byte{1, 2, 3}, [2]uint64{0, 2}, [2]uint64{1, 2}),
		"wrong length":  handmade([]byte{1}, [2]uint64{0, 1}, absent),
		"behind":        handmade([]byte{1, 2}, [2]uint64{40, 2}, absent),
		"too short":     {1, 2},
		"in the middle": handmade([]byte{1, 2}, [2]uint64{1, 2}, absent),
	} {
		if _, err := d.chain.Places(t.Context(), work(), []int64{4}, coding.Stored(shard)); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := d.chain.Arrange([]int64{4}, func([]int64) (uint64, int64) { return 0, 1000 })
	if !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("too long an inner chunk: %v", err)
	}
}
