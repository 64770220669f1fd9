// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// sharded makes a group with arrays of two shards each: of one fixed length, compressed,
// and without checksums.
func sharded(t *testing.T) memtest.Store {
	t.Helper()
	ctx, s := context.Background(), memtest.New()
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, nil))
	for name, codecs := range map[string][]metadata.Extension{
		"fixed": append(fixture.Plain(), codec.CRC32C()), "packed": append(fixture.Plain(), codec.ZstdChecksum(1, true)), "plain": fixture.Plain(),
	} {
		spec := zarr.Spec{
			Shape: []int64{16}, Type: dtype.Int32, Chunks: grid.Chunks(8), InnerChunks: grid.Chunks(2), Codecs: codecs,
			IndexAtStart: name == "packed",
		}
		a := fixture.Must(g.At(name).CreateArray(ctx, spec, nil))
		if err := zarr.Write(ctx, a, selection.Box{{0, 14}}, fixture.Numbers(1, 14)); err != nil { // the last inner chunk is not stored
			t.Fatal(err)
		}
	}
	return s
}

var shardNames = []string{"fixed", "packed", "plain"}

// readable returns the elements of all arrays that can be read, one by one.
func readable(t *testing.T, s store.Store) map[string]int32 {
	t.Helper()
	ctx, found := context.Background(), map[string]int32{}
	g := reopened(t, s)
	for _, name := range shardNames {
		a := fixture.Must(g.At(name).OpenArray(ctx, nil))
		for i := range a.Shape()[0] {
			v := make([]int32, 1)
			if zarr.ReadInto(ctx, a, selection.Box{{i, i + 1}}, v) == nil {
				found[fmt.Sprint(name, i)] = v[0]
			}
		}
	}
	return found
}

// value returns the bytes of a stored value.
func value(t *testing.T, s store.Store, key string) []byte {
	t.Helper()
	data, _, err := s.Get(context.Background(), store.MustKey(key), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRepairShards damages indexes, and restores those that are proven, on request only.
func TestRepairShards(t *testing.T) {
	ctx, s := context.Background(), sharded(t)
	before := map[string][]byte{}
	for _, name := range shardNames {
		key := name + "/c/0"
		before[key] = value(t, s, key)
		spoil(t, s, key, func(b []byte) []byte {
			if name != "packed" {
				slices.Reverse(b)
				defer slices.Reverse(b)
			}
			b[21] ^= 0x55 // in the index
			return b
		})
	}
	if done, err := check.Repair(ctx, zarr.At(s, ""), nil); err != nil || len(done) > 0 {
		t.Errorf("%+v, %v", done, err)
	}
	report := fixture.Must(check.Run(ctx, reopened(t, s), nil))
	if want := []string{"checksum fixed", "checksum packed", "checksum plain"}; !slices.Equal(kinds(report), want) || !strings.Contains(report.Findings[0].Repair, "RepairOptions.Shards") {
		t.Errorf("%q", report.Findings)
	}
	done, err := check.Repair(ctx, zarr.At(s, ""), &check.RepairOptions{Shards: true})
	if err != nil || len(done) != 3 {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, r := range done {
		proven := r.Path != "plain"
		if r.Key != r.Path+"/c/0" || !slices.Equal(r.Chunk, []int64{0}) || proven != (r.Err == nil) || proven != (r.Message != "") || proven != bytes.Equal(value(t, s, r.Key), before[r.Key]) {
			t.Errorf("%+v", r)
		}
		if !proven && !strings.Contains(r.Err.Error(), "have no checksums") {
			t.Error(r.Err)
		}
	}
	if report = fixture.Must(check.Run(ctx, reopened(t, s), nil)); !slices.Equal(kinds(report), []string{"checksum plain"}) {
		t.Errorf("%q", report.Findings)
	}
}

// TestRepairShardsAtRandom damages shards at random. After a repair, all elements can be
// read that could be read before, and every element that can be read is what it was, but
// for those of inner chunks without checksums, which no repair makes readable.
func TestRepairShardsAtRandom(t *testing.T) {
	n := 100
	if fixture.Long() {
		n = 1000
	}
	whole := sharded(t)
	at := readable(t, whole)
	indexes := 0
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 4))
		s := sharded(t)
		for range 1 + r.IntN(4) {
			damageShard(t, r, s)
		}
		before := readable(t, s)
		done, err := check.Repair(context.Background(), zarr.At(s, ""), &check.RepairOptions{Shards: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range done {
			if d.Err == nil {
				indexes++
			}
		}
		after := readable(t, s)
		for where, v := range before {
			if is, ok := after[where]; !ok || is != v {
				t.Errorf("group %d: %s was %d, and is %d (%t)", i, where, v, is, ok)
			}
		}
		for where, v := range after {
			if _, was := before[where]; !was && v != at[where] {
				t.Errorf("group %d: %s was %d, and is repaired to %d", i, where, at[where], v)
			}
		}
	}
	if indexes < n/10 {
		t.Errorf("%d indexes of %d groups are restored", indexes, n)
	}
}

// damageShard damages one shard: bits, runs of bytes, or its end, most often the index.
func damageShard(t *testing.T, r *rand.Rand, s memtest.Store) {
	t.Helper()
	name := shardNames[r.IntN(len(shardNames))]
	spoil(t, s, fmt.Sprintf("%s/c/%d", name, r.IntN(2)), func(b []byte) []byte {
		part := b
		const index = 4*16 + 4
		if r.IntN(4) > 0 && len(b) > index {
			if part = b[len(b)-index:]; name == "packed" {
				part = b[:index]
			}
		}
		if len(part) == 0 {
			return b
		}
		from := r.IntN(len(part))
		switch r.IntN(4) {
		case 0, 1:
			part[from] ^= 1 << r.IntN(8)
		case 2:
			for i := range part[from:][:r.IntN(len(part)-from+1)] {
				part[from+i] = byte(r.Uint32())
			}
		default:
			if r.IntN(3) == 0 {
				return b[:len(b)-r.IntN(min(len(b), 30))]
			}
			clear(part[from:min(len(part), from+16)])
		}
		return b
	})
}
