// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/codec/sharding"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/strided"
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

// TestMerge cuts the elements of drawn shards into parts, encodes each by itself, edits
// some, leaves some out, and merges them: what comes out is what encodes all elements at
// once.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		d := drawShards(rt, rapid.IntRange(1, 3).Draw(rt, "rank"))
		shape := d.drawShape(rt)
		data := d.drawElements(rt, shape)
		v := strided.Contiguous(data, shape, 2)
		var parts []coding.Fragment
		for _, box := range d.drawParts(rt, shape) {
			if rapid.IntRange(0, 5).Draw(rt, "left out") == 0 {
				strided.Fill(v.Sub(box), d.codec.Fill)
				continue
			}
			p := coding.Fragment{}
			for _, in := range box {
				p.Start, p.Shape = append(p.Start, in.Start), append(p.Shape, in.Len())
			}
			part := make([]byte, 2*elements(p.Shape))
			strided.Copy(strided.Contiguous(part, p.Shape, 2), v.Sub(box))
			shard := d.encode(rt, p.Shape, part)
			if rapid.Bool().Draw(rt, "edited") {
				e := d.drawEdit(rt, p.Shape, part)
				e.Patches = false
				if out := d.edited(rt, e, coding.Stored(shard)); !out.Same {
					shard = spliced(rt, out, shard)
				}
				strided.Copy(v.Sub(box), strided.Contiguous(part, p.Shape, 2))
			}
			switch n := strided.AllEqual(part, d.codec.Fill); {
			case n && rapid.Bool().Draw(rt, "no source"):
			case n && rapid.Bool().Draw(rt, "not stored"):
				k := keep(t, nil)
				k.key = store.MustKey("none")
				k.Expect(store.Info{})
				p.Source = k
			case rapid.Bool().Draw(rt, "in memory"):
				p.Source = coding.Stored(shard)
			default:
				p.Source = keep(t, shard)
			}
			parts = append(parts, p)
		}
		out, err := d.chain.Merge(ctx, work(), shape, rapid.Permutation(parts).Draw(rt, "parts"))
		if err != nil {
			rt.Fatal(err)
		}
		want := d.encode(rt, shape, data)
		got := out.AppendTo(nil)
		if !bytes.Equal(got, want) || out.Size != int64(len(got)) || out.Spliced() || out.Empty != strided.AllEqual(data, d.codec.Fill) {
			rt.Fatalf("%x, want %x (size %d, empty %t)", got, want, out.Size, out.Empty)
		}
		out.Release()
	})
}

// TestMergeReads counts what merging costs: one request for each part.
func TestMergeReads(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	a, b := keep(t, d.encodeLine(t, 1, 2, 3, 4)), keep(t, d.encodeLine(t, 0, 0, 7, 8))
	out, err := d.chain.Merge(context.Background(), work(), []int64{8}, []coding.Fragment{
		{Start: []int64{4}, Shape: []int64{4}, Source: b}, {Start: []int64{0}, Shape: []int64{4}, Source: a},
	})
	if err != nil || a.reads != 1 || b.reads != 1 {
		t.Fatalf("%d and %d reads (%v)", a.reads, b.reads, err)
	}
	if got := out.AppendTo(nil); !bytes.Equal(got, d.encodeLine(t, 1, 2, 3, 4, 0, 0, 7, 8)) {
		t.Errorf("%x", got)
	}
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

// TestMergeRefused merges parts that do not fit, and parts that are damaged.
func TestMergeRefused(t *testing.T) {
	d := lineShards(t, codec.Environment{Unaligned: true}, "uint8")
	part := func(start, n int64) coding.Fragment {
		return coding.Fragment{Start: []int64{start}, Shape: []int64{n}, Source: coding.Stored(d.encodeLine(t, make([]byte, n)...))}
	}
	damaged := coding.Fragment{Start: []int64{4}, Shape: []int64{4}, Source: coding.Stored(handmade([]byte{1}, [2]uint64{0, 2}, absent))}
	for _, tt := range []struct {
		name  string
		parts []coding.Fragment
		want  error
		says  string
	}{
		{"in the middle of an inner chunk", []coding.Fragment{part(3, 2)}, codec.ErrConfiguration, "part 0: axis 0: codec: invalid configuration: no inner chunk begins at element 3"},
		{"before the shard", []coding.Fragment{part(-2, 2)}, codec.ErrConfiguration, "axis 0"},
		{"behind the shard", []coding.Fragment{part(0, 2), part(10, 2)}, codec.ErrConfiguration, "part 1"},
		{"longer than the shard", []coding.Fragment{part(6, 6)}, codec.ErrConfiguration, "6 elements from element 6 on, the new shard has 9"},
		{"clipped in the middle", []coding.Fragment{part(0, 3)}, codec.ErrConfiguration, "inner chunk 1 has 1 elements and would have 2"},
		{"not clipped at the end", []coding.Fragment{part(6, 4)}, codec.ErrConfiguration, "4 elements from element 6 on"},
		{"in two parts", []coding.Fragment{part(0, 4), part(2, 2)}, codec.ErrConfiguration, "part 1: codec: invalid configuration: inner chunk [1] is in part 0 too"},
		{"another rank", []coding.Fragment{{Start: []int64{0, 0}, Shape: []int64{2, 2}}}, codec.ErrConfiguration, "1 axes"},
		{"damaged", []coding.Fragment{part(0, 4), damaged}, codec.ErrCorrupt, "part 1: inner chunk [0]"},
		{"no index", []coding.Fragment{{Start: []int64{0}, Shape: []int64{4}, Source: coding.Stored(nil)}}, codec.ErrCorrupt, "part 0"},
	} {
		if _, err := d.chain.Merge(context.Background(), work(), []int64{9}, tt.parts); !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
	turned := must(coding.NewChain(new(codec.Environment), []metadata.Extension{transposed(1, 0), must(sharding.Extension(sharding.Configuration{
		Inner: []grid.Cut{grid.Every(2), grid.Every(3)}, Codecs: raw(),
	}))}, codec.Spec{Type: mustType("uint8"), Fill: []byte{0}, Rank: 2}))
	if _, err := turned.Merge(context.Background(), work(), []int64{3, 4}, []coding.Fragment{{Start: []int64{0}, Shape: []int64{3, 2}}}); !errors.Is(err, codec.ErrConfiguration) {
		t.Errorf("another rank, transposed: %v", err)
	}
}
