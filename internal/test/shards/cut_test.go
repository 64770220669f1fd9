// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestNothingBeyondExtent resizes planes at random, with locks and behind fences, and
// checks the stored chunks themselves. No chunk is outside the grid, and none has
// elements beyond the extent, which other implementations would bring back when the
// array grows.
func TestNothingBeyondExtent(t *testing.T) {
	cut := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		var s store.Store = memtest.New()
		if seed%2 == 1 {
			s = fixture.Conditional(s)
		}
		side := func() int64 { return 1 + r.Int64N(7) }
		shape := []int64{side(), side()}
		step := []int64{1 + r.Int64N(3), 1 + r.Int64N(3)}
		a, err := zarr.At(s, "a").CreateArray(t.Context(), zarr.Spec{
			Shape: shape, Type: dtype.Int32, Chunks: grid.Chunks(step[0], step[1]), Codecs: fixture.Plain(),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 6 {
			to := []int64{side(), side()}
			err := zarr.Write(t.Context(), a, nil, fixture.Numbers(1, int32(fixture.Count(a.Shape()))))
			if err == nil {
				err = a.Resize(t.Context(), to, nil)
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			cut += reaching(t, s, a, step)
		}
	}
	if cut < 100 {
		t.Errorf("only %d chunks reached beyond the extent", cut)
	}
}

// reaching checks the unencoded chunks of a plane, and returns the number of chunks that
// reach beyond its extent.
func reaching(t *testing.T, s store.Store, a *zarr.Array, step []int64) (reach int) {
	t.Helper()
	shape := a.Shape()
	for e, err := range store.List(t.Context(), s, store.MustKey("a/c/-").Dir(), store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		var i, j int64
		if _, err := fmt.Sscanf(e.Name, "%d/%d", &i, &j); err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		if i*step[0] >= shape[0] || j*step[1] >= shape[1] {
			t.Errorf("chunk %s of an array of %d in chunks of %d is still stored", e.Name, shape, step)
		}
		data, _, err := s.Get(t.Context(), store.MustKey("a/c/"+e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		reached := false
		for k := range step[0] * step[1] {
			beyond := i*step[0]+k/step[1] >= shape[0] || j*step[1]+k%step[1] >= shape[1]
			reached = reached || beyond
			if v := binary.NativeEndian.Uint32(data[4*k:]); beyond && v != 0 {
				t.Errorf("chunk %s of an array of %d in chunks of %d has %d beyond the extent", e.Name, shape, step, v)
			}
		}
		if reached {
			reach++
		}
	}
	return reach
}

// TestCompactConflict lets another writer change a shard between the read and the write
// of a compaction. The change is kept.
func TestCompactConflict(t *testing.T) {
	others := memtest.New()
	want := fragmented(t, others, sharded())
	filled := memtest.New() // the same array with other elements
	fragmented(t, filled, sharded())
	b, err := zarr.At(filled, "g/a").OpenArray(t.Context(), appendingShards())
	if err == nil {
		err = zarr.Fill(t.Context(), b, nil, int32(-7))
	}
	if err != nil {
		t.Fatal(err)
	}
	changed := map[store.Key]bool{}
	s := stepping.Conditional(others, stepping.Hooks{Before: func(ctx context.Context, op stepping.Op) error {
		if changed[op.Key] || !strings.HasPrefix(op.Name, "Put") || !strings.Contains(op.Key.String(), "/c/") {
			return nil
		}
		changed[op.Key] = true
		shard, _, err := filled.Get(ctx, op.Key, store.Request{}, nil)
		if err == nil {
			_, err = store.Write(ctx, others, store.Put(op.Key, shard), store.Flush)
		}
		return err
	}})
	a, err := zarr.At(s, "g/a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		_, err = a.CompactShards(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = -7
	}
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || len(changed) != 3 || fmt.Sprint(got.Data) != fmt.Sprint(want) {
		t.Errorf("read %v (%v)", got.Data, err)
	}
}

// TestShorterInPlace patches inner chunks with shorter encoded forms, which do not fill
// their places.
func TestShorterInPlace(t *testing.T) {
	spec := sharded()
	spec.Codecs = append(fixture.Plain(), codec.Gzip(5))
	s := memtest.New()
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := fixture.Numbers(1, int32(fixture.Count(spec.Shape)))
	if err := zarr.Write(t.Context(), a, nil, data); err != nil {
		t.Fatal(err)
	}
	b, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true, Shards: zarr.Shards{Strategy: codec.InPlace}})
	if err == nil {
		err = zarr.Fill(t.Context(), b, selection.Box{{0, 2}, {0, 2}}, int32(7))
	}
	if err != nil {
		t.Fatal(err)
	}
	data[0], data[1], data[11], data[12] = 7, 7, 7, 7
	if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || fmt.Sprint(got.Data) != fmt.Sprint(data) {
		t.Errorf("read %v (%v)", got.Data, err)
	}
}

// TestCompactEmptyShard compacts a shard that has no inner chunk, but unused bytes. It
// stays stored, since an array may declare that a missing shard is damage.
func TestCompactEmptyShard(t *testing.T) {
	s, spec := memtest.New(), fixture.Every(4, 4)
	spec.Codecs = []metadata.Extension{fixture.Must(codec.Shards(codec.Sharding{
		Inner: grid.Chunks(2), Codecs: fixture.Plain(), IndexCodecs: fixture.Plain(),
	}))}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	empty := strings.Repeat("\xff", 2*16)
	fixture.Put(t, s, "a/c/0", "dead bytes"+empty)
	report, err := a.CompactShards(t.Context(), nil)
	if err != nil || report.Changed != 1 || report.After != int64(len(empty)) {
		t.Errorf("%+v (%v)", report, err)
	}
	if got, _, err := s.Get(t.Context(), store.MustKey("a/c/0"), store.Request{}, nil); err != nil || string(got) != empty {
		t.Errorf("the shard is %q (%v)", got, err)
	}
}
