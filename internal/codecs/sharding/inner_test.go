// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
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

// TestEncodedInner takes every inner chunk of drawn shards out and puts it into an empty
// shard, until all are there: the elements are the same. A source that is far away gives
// the same bytes as memory does.
func TestEncodedInner(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		d := drawShards(rt, rapid.IntRange(1, 3).Draw(rt, "rank"))
		shape := d.drawShape(rt)
		data := d.drawElements(rt, shape)
		shard := d.encode(rt, shape, data)
		far := keep(t, shard)
		var made coding.Source
		for index := range grid.BoxOf(innerChunks(rt, d, shape)).Indices() {
			got, err := d.chain.EncodedInner(ctx, work(), shape, index, coding.Stored(shard), []byte("x"))
			if err != nil {
				rt.Fatal(err)
			}
			again, err := d.chain.EncodedInner(ctx, work(), shape, index, far, []byte("x"))
			if err != nil || !bytes.Equal(got, again) || (got == nil) != (again == nil) {
				rt.Fatalf("%v: %v from memory, %v from afar (%v)", index, got, again, err)
			}
			if got == nil {
				continue
			}
			e := coding.Edit{Shape: shape, Index: slices.Clone(index), Encoded: got[1:]}
			out, err := d.chain.EncodePart(ctx, work(), e, made)
			if err != nil {
				rt.Fatal(err)
			}
			made = coding.Stored(out.AppendTo(nil))
			out.Release()
		}
		if made == nil {
			made = coding.Stored(d.encode(rt, shape, bytes.Repeat(d.codec.Fill, int(elements(shape)))))
		}
		if got := d.decode(rt, shape, made.(coding.Stored)); !bytes.Equal(got, data) {
			rt.Fatalf("%v, want %v", got, data)
		}
	})
}

// innerChunks returns how many inner chunks a shard has along every axis.
func innerChunks(t fataler, d *drawnShards, shape []int64) []int64 {
	t.Helper()
	g, err := grid.New(shape, d.chain.Inner()...)
	if err != nil {
		t.Fatal(err)
	}
	return g.Chunks()
}

// lineShards returns shards of one axis whose inner chunks have two bytes.
func lineShards(t testing.TB, env codec.Environment, typ string) *drawnShards {
	t.Helper()
	d := &drawnShards{env: env, codec: codec.Spec{Type: mustType(typ), Fill: make([]byte, mustType(typ).Size()), Rank: 1}, inner: []int64{2}}
	d.exts = []metadata.Extension{must(codec.Shards(codec.Sharding{
		Inner: []grid.Cut{grid.Every(2)}, Codecs: []metadata.Extension{codec.Bytes("")},
	}))}
	d.chain = must(coding.NewChain(&d.env, d.exts, d.codec))
	return d
}

// TestEncodedInnerReads counts requests, has the shard replaced between them, and asks
// for what is not there.
func TestEncodedInnerReads(t *testing.T) {
	ctx := context.Background()
	d := lineShards(t, codec.Environment{}, "uint8")
	shape := []int64{8}
	k := keep(t, must(d.chain.Encode(nil, strided.Contiguous([]byte{1, 2, 0, 0, 5, 6, 7, 8}, shape, 1))))
	near := &coding.Work{Cores: coding.NewCores(), Bytes: 1 << 20, Requests: 1}
	get := func(index ...int64) ([]byte, error) { return d.chain.EncodedInner(ctx, near, shape, index, k, nil) }
	for _, tt := range []struct {
		index int64
		want  []byte
		reads int
	}{
		{1, nil, 1}, {0, []byte{1, 2}, 1}, {3, []byte{7, 8}, 1}, {1, nil, 1},
	} {
		k.reads = 0
		if got, err := get(tt.index); err != nil || !bytes.Equal(got, tt.want) || (got == nil) != (tt.want == nil) || k.reads != tt.reads {
			t.Errorf("inner chunk %d: %v in %d reads (%v), want %v in %d", tt.index, got, k.reads, err, tt.want, tt.reads)
		}
	}
	next := must(d.chain.Encode(nil, strided.Contiguous([]byte{0, 0, 0, 0, 9, 9, 0, 0}, shape, 1)))
	k.reads, k.before = 0, func(read int) {
		if read == 0 {
			pinned := k.pinned
			k.put(next)
			k.pinned = pinned
		}
	}
	if got, err := get(2); err != nil || !bytes.Equal(got, []byte{9, 9}) {
		t.Errorf("after the shard was replaced: %v (%v)", got, err)
	}
	k.before = nil
	for _, index := range [][]int64{{4}, {-1}, {}, {0, 0}} {
		if _, err := get(index...); !errors.Is(err, grid.ErrOutOfRange) {
			t.Errorf("index %v: %v", index, err)
		}
	}
	k.key = store.MustKey("none")
	k.Expect(store.Info{})
	if _, err := get(0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a shard that is not stored: %v", err)
	}
}
