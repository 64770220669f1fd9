// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// drawnShards are the codecs of shards that were drawn, and what they need.
type drawnShards struct {
	env   codec.Environment
	chain *coding.Chain
	codec codec.Spec
	inner []int64 // shape of an inner chunk
	exts  []metadata.Extension
}

// drawShards draws shards of so many axes: nested or not, with other codecs inside and
// transposed outside, and their options.
func drawShards(t *rapid.T, rank int) *drawnShards {
	d := &drawnShards{codec: codec.Spec{Type: mustType("int16"), Fill: []byte{7, 7}, Rank: rank}}
	d.env = codec.Environment{
		Unaligned: true,
		Order:     rapid.SampledFrom([]codec.Order{codec.Morton, codec.C, codec.Fortran}).Draw(t, "order"),
		Strategy:  rapid.SampledFrom([]codec.Strategy{codec.Rewrite, codec.Append, codec.InPlace}).Draw(t, "strategy"),
	}
	chain := []metadata.Extension{codec.Bytes("little")}
	switch rapid.IntRange(0, 3).Draw(t, "packed") {
	case 0:
		chain = append(chain, codec.Gzip(1))
	case 1:
		chain = append(chain, codec.CRC32C())
	}
	if rapid.IntRange(0, 2).Draw(t, "nested") == 0 {
		chain, _ = drawLevel(t, rank, chain)
	}
	chain, d.inner = drawLevel(t, rank, chain)
	if rapid.Bool().Draw(t, "transposed") {
		order := make([]int, rank)
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "axes")
		inner := slices.Clone(d.inner)
		for i, axis := range order {
			d.inner[axis] = inner[i]
		}
		chain = append([]metadata.Extension{codec.Transpose(order...)}, chain...)
	}
	d.exts = chain
	d.chain = must(coding.NewChain(&d.env, chain, d.codec))
	return d
}

// drawLevel puts a chain into inner chunks.
func drawLevel(t *rapid.T, rank int, chain []metadata.Extension) ([]metadata.Extension, []int64) {
	c := codec.Sharding{Codecs: chain, AtStart: rapid.Bool().Draw(t, "at start")}
	var inner []int64
	for range rank {
		n := rapid.Int64Range(1, 4).Draw(t, "inner")
		inner, c.Inner = append(inner, n), append(c.Inner, grid.Every(n))
	}
	if rapid.IntRange(0, 3).Draw(t, "index codecs") == 0 {
		c.IndexCodecs = []metadata.Extension{codec.Bytes("big"), codec.CRC32C()}
	}
	return []metadata.Extension{must(codec.Shards(c))}, inner
}

// drawShape draws the shape of a shard.
func (d *drawnShards) drawShape(t *rapid.T) []int64 {
	shape := make([]int64, d.codec.Rank)
	for i := range shape {
		shape[i] = rapid.Int64Range(1, 9).Draw(t, "length")
	}
	return shape
}

// drawElements draws the elements of a shard, of which many inner chunks are only the
// fill value.
func (d *drawnShards) drawElements(t *rapid.T, shape []int64) []byte {
	data := make([]byte, 2*elements(shape))
	strided.FillBytes(data, d.codec.Fill)
	v := strided.Contiguous(data, shape, 2)
	for range rapid.IntRange(0, 4).Draw(t, "boxes") {
		box := make(grid.Box, len(shape))
		for i, n := range shape {
			box[i].Start = rapid.Int64Range(0, n-1).Draw(t, "from")
			box[i].Stop = rapid.Int64Range(box[i].Start+1, n).Draw(t, "to")
		}
		strided.Fill(v.Sub(box), rapid.SliceOfN(rapid.Byte(), 2, 2).Draw(t, "value"))
	}
	return data
}

// encode returns the stored form of a shard.
func (d *drawnShards) encode(t fataler, shape []int64, data []byte) []byte {
	out, err := d.chain.Encode(nil, strided.Contiguous(data, shape, 2))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// decode returns the elements of a stored shard.
func (d *drawnShards) decode(t fataler, shape []int64, shard []byte) []byte {
	data := make([]byte, 2*elements(shape))
	v := strided.Contiguous(slices.Clone(data), shape, 2)
	if err := d.chain.Decode(&v, shard); err != nil {
		t.Fatal(err)
	}
	strided.Copy(strided.Contiguous(data, shape, 2), v)
	return data
}

type fataler interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func elements(shape []int64) int64 {
	n := int64(1)
	for _, l := range shape {
		n *= l
	}
	return n
}

// work is what a call may use that reads from far away.
func work() *coding.Work {
	return &coding.Work{Cores: coding.NewCores(), Bytes: 1 << 20, Requests: 2, Gap: 8, Span: 1 << 10, Guess: 16}
}

// kept is a shard in a store, seen as one version, whose reads are counted. What is
// wanted happens before a read.
type kept struct {
	memtest.Store
	key    store.Key
	pinned *store.Pinned
	before func(read int)
	reads  int
	bytes  int
}

func keep(t testing.TB, shard []byte) *kept {
	t.Helper()
	k := &kept{Store: memtest.New(), key: store.MustKey("c")}
	k.put(shard)
	return k
}

func (k *kept) put(shard []byte) {
	if _, err := store.Write(context.Background(), k.Store, store.Put(k.key, shard), store.Sync); err != nil {
		panic(err)
	}
	k.Expect(store.Info{})
}

func (k *kept) Key() store.Key { return k.key }

// Expect pins a version of a store that cannot open values, so that every read is a
// request of its own.
func (k *kept) Expect(info store.Info) {
	k.pinned = store.Pin(struct{ store.Store }{k.Store}, k.key, info)
}

func (k *kept) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if k.before != nil {
		k.before(k.reads)
	}
	k.reads++
	out, info, err := k.pinned.Read(ctx, q, dst)
	k.bytes += len(out) - len(dst)
	return out, info, err
}

func mustType(name string) dtype.Type { return must(dtype.Parse(name, nil)) }

// raw is a chain that stores elements as they are, transposed one that only reorders
// axes.
func raw() []metadata.Extension { return []metadata.Extension{codec.Bytes("little")} }

func transposed(order ...int) metadata.Extension { return codec.Transpose(order...) }
