// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/packed"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// everyType returns all data types, with an example of those that have a configuration.
func everyType() []dtype.Type {
	list := append(dtype.All(), fixture.Must(dtype.Parse("r24", nil)))
	for name, configuration := range map[string]string{
		"numpy.datetime64": `{"unit":"s","scale_factor":1}`, "numpy.timedelta64": `{"unit":"ms","scale_factor":10}`,
		"fixed_length_utf32": `{"length_bytes":8}`, "null_terminated_bytes": `{"length_bytes":3}`,
	} {
		list = append(list, fixture.Must(dtype.Parse(name, []byte(configuration))))
	}
	return list
}

// elementsOf returns n elements of a fixed length. Every other one is 1 or 0.
func elementsOf(t dtype.Type, n int, r *rand.Rand) []byte {
	mask := byte(0xff)
	switch name := t.Name(); {
	case packed.HasBool(t), strings.HasSuffix(name, "int2"), strings.HasSuffix(name, "int4"), strings.HasPrefix(name, "fixed"):
		mask = 1
	case strings.Contains(name, "float4"), strings.Contains(name, "float6"):
		mask = 7
	}
	data := make([]byte, n*t.Size())
	for i := range data {
		switch data[i] = byte(r.Uint32()) & mask; {
		case i%4 > 0 && strings.HasPrefix(t.Name(), "fixed"):
			data[i] = 0 // of a letter
		case i/t.Size()%2 == 0:
			data[i] = byte(r.Uint32() & 1)
		}
	}
	data[0] = 1 // a chunk of zeros is not stored
	return data
}

// newDefault makes an array with the default codecs, one chunk, and elements.
func newDefault(t *testing.T, s memtest.Store, typ dtype.Type, n int, spec zarr.Spec) {
	t.Helper()
	ctx := context.Background()
	spec.Type, spec.Shape, spec.Chunks = typ, []int64{int64(n)}, grid.Chunks(int64(n))
	g := fixture.Must(zarr.At(s, "").CreateGroup(ctx, nil, &zarr.CreateOptions{Format: spec.Format}))
	a, err := g.At("a").CreateArray(ctx, spec, nil)
	r := rand.New(rand.NewPCG(1, uint64(n)))
	switch {
	case err != nil:
	case typ.Name() == "string":
		err = zarr.Write(ctx, a, nil, []string{"", "varve", "ä", "one more text, and one more text"}[:n])
	case typ.Variable():
		err = zarr.Write(ctx, a, nil, [][]byte{nil, []byte("varve"), {0}, []byte("one more text, and one more text")}[:n])
	default:
		err = a.WriteBytes(ctx, nil, elementsOf(typ, n, r))
	}
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
}

// flips flips every bit of a value, one by one. It returns how many there are, how many
// a check misses, and how many of these change an element.
func flips(t *testing.T, s memtest.Store, key string) (all, missed, wrong int) {
	t.Helper()
	ctx, k := context.Background(), store.MustKey(key)
	before := fixture.Must(reopened(t, s).Digest(ctx, nil))
	stored := value(t, s, key)
	for bit := range 8 * len(stored) {
		damaged := bytes.Clone(stored)
		damaged[bit/8] ^= 1 << (bit % 8)
		if _, err := s.Write(ctx, store.Put(k, damaged), store.Sync); err != nil {
			t.Fatal(err)
		}
		all++
		g := reopened(t, s)
		if report := fixture.Must(check.Run(ctx, g, nil)); len(report.Findings) > 0 {
			continue
		}
		missed++
		if now, err := g.Digest(ctx, nil); err != nil || now != before {
			wrong++
		}
	}
	if _, err := s.Write(ctx, store.Put(k, stored), store.Sync); err != nil {
		t.Fatal(err)
	}
	return all, missed, wrong
}

// TestEveryFlip flips every bit of chunks and shards with the default codecs of format 3,
// of each data type. A check finds all flips that change an element. The others are few:
// bits of zstd that mean nothing, or another way to say the same.
func TestEveryFlip(t *testing.T) {
	for _, typ := range everyType() {
		t.Run(typ.String(), func(t *testing.T) {
			t.Parallel()
			for key, spec := range map[string]zarr.Spec{"chunk": {}, "shard": {InnerChunks: grid.Chunks(2)}} {
				s := memtest.New()
				newDefault(t, s, typ, 4, spec)
				all, missed, wrong := flips(t, s, "a/c/0")
				if wrong > 0 || missed*20 > all {
					t.Errorf("%s: of %d flips a check misses %d, and %d of them change elements", key, all, missed, wrong)
				}
			}
		})
	}
}

// TestFlipsWithoutChecksum shows what the checksum is for: without it, as in format 2,
// flips change elements, and nothing tells.
func TestFlipsWithoutChecksum(t *testing.T) {
	s := memtest.New()
	newDefault(t, s, dtype.Float32, 4, zarr.Spec{Format: 2})
	if all, _, wrong := flips(t, s, "a/0"); wrong == 0 {
		t.Errorf("none of %d flips changes an element unseen: then there is a checksum, and info need not warn", all)
	}
}

// TestRepairOfDefaultShards restores every index with one flipped bit: default inner
// chunks have the checksums that the proof needs.
func TestRepairOfDefaultShards(t *testing.T) {
	ctx, s := context.Background(), memtest.New()
	newDefault(t, s, dtype.Float32, 4, zarr.Spec{InnerChunks: grid.Chunks(2)})
	stored := value(t, s, "a/c/0")
	const index = 2*16 + 4 // offsets, lengths and their checksum
	for bit := 8 * (len(stored) - index); bit < 8*len(stored); bit++ {
		spoil(t, s, "a/c/0", func(b []byte) []byte { b[bit/8] ^= 1 << (bit % 8); return b })
		done, err := check.Repair(ctx, zarr.At(s, ""), &check.RepairOptions{Shards: true})
		if err != nil || len(done) != 1 || done[0].Err != nil || !bytes.Equal(value(t, s, "a/c/0"), stored) {
			t.Fatalf("bit %d: %+v, %v", bit, done, err)
		}
	}
}
