// SPDX-License-Identifier: Apache-2.0

package sharding_test

import (
	"context"
	"errors"
	"fmt"
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

// drawWork draws how much may be read and held at a time.
func drawWork(t *rapid.T) *coding.Work {
	return &coding.Work{
		Cores: coding.NewCores(), Requests: 1, Bytes: rapid.Int64Range(0, 200).Draw(t, "bytes"), Gap: rapid.Int64Range(0, 50).Draw(t, "gap"),
		Span: rapid.Int64Range(0, 100).Draw(t, "span"), Guess: rapid.Int64Range(0, 50).Draw(t, "guess"),
	}
}

// check checks a shard in memory and in a far store, and expects the same result.
func (d *drawnShards) check(t *rapid.T, k *kept, shape []int64, shard []byte, deep bool) *codec.Check {
	ctx := context.Background()
	got, err := d.chain.Check(ctx, drawWork(t), shape, coding.Stored(shard), deep)
	if err != nil {
		t.Fatal(err)
	}
	k.put(shard)
	far, err := d.chain.Check(ctx, drawWork(t), shape, k, deep)
	if err != nil {
		t.Fatal(err)
	}
	if g, f := fmt.Sprint(got.Inner, got.Dead, paths(got)), fmt.Sprint(far.Inner, far.Dead, paths(far)); g != f {
		t.Fatalf("in memory %s, far away %s", g, f)
	}
	return got
}

// paths returns the faults of a check in short form, in order.
func paths(c *codec.Check) string {
	var all []string
	for _, f := range c.Faults {
		all = append(all, fmt.Sprint(f.Inner, f.Off, f.Len, f.Shared))
	}
	slices.Sort(all)
	return fmt.Sprint(all, c.More)
}

// TestCheck checks drawn shards, finds no faults, and counts the dead bytes that edits
// leave. After bytes are altered, it finds faults in exactly those shards that do not
// decode.
func TestCheck(t *testing.T) {
	damaged, dead := 0, 0
	k := keep(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		d := drawShards(rt, rapid.IntRange(1, 3).Draw(rt, "rank"))
		shape := d.drawShape(rt)
		data := d.drawElements(rt, shape)
		shard := d.encode(rt, shape, data)
		for range rapid.IntRange(0, 3).Draw(rt, "edits") {
			e := d.drawEdit(rt, shape, data)
			e.Patches = false
			if out := d.edited(rt, e, coding.Stored(shard)); !out.Same {
				shard = spliced(rt, out, shard)
			}
		}
		stored := int64(0)
		for index := range grid.BoxOf(innerChunks(rt, d, shape)).Indices() {
			got, err := d.chain.EncodedInner(context.Background(), work(), shape, index, coding.Stored(shard), nil)
			if err != nil {
				rt.Fatal(err)
			}
			if got != nil {
				stored++
			}
		}
		gaps := int64(len(shard) - len(d.encode(rt, shape, data)))
		for _, deep := range []bool{false, true} {
			got := d.check(rt, k, shape, shard, deep)
			if len(got.Faults) > 0 || got.Inner != stored || got.Dead != gaps || got.Bytes != int64(len(shard)) {
				rt.Fatalf("deep %t: %+v, %d inner chunks, %d bytes of %d are dead", deep, got, stored, gaps, len(shard))
			}
		}
		if gaps > 0 {
			dead++
		}
		if len(shard) == 0 {
			return
		}
		for range rapid.IntRange(1, 3).Draw(rt, "flips") {
			shard[rapid.IntRange(0, len(shard)-1).Draw(rt, "at")] ^= byte(1 << rapid.IntRange(0, 7).Draw(rt, "bit"))
		}
		v := strided.Contiguous(make([]byte, len(data)), shape, 2)
		err := d.chain.Decode(&v, shard)
		got := d.check(rt, k, shape, shard, true)
		found := slices.ContainsFunc(got.Faults, func(f codec.Fault) bool { return !f.Shared })
		if found != (err != nil) {
			rt.Fatalf("decoding says %v, checking %v", err, got.Faults)
		}
		if found {
			damaged++
		}
	})
	if damaged == 0 || dead == 0 {
		t.Errorf("%d damaged shards and %d with dead bytes were tried", damaged, dead)
	}
}

// TestCheckHandmade checks shards that Varve does not write.
func TestCheckHandmade(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	body := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	flipped := handmade(body, absent, absent, absent, absent)
	flipped[20] ^= 4
	for _, tt := range []struct {
		name  string
		shard []byte
		inner int64
		dead  int64
		want  string // the sizes tell, so a check that reads no inner chunks finds the same
	}{
		{name: "in order", shard: handmade(body, [2]uint64{0, 2}, [2]uint64{2, 2}, [2]uint64{4, 2}, [2]uint64{6, 2}), inner: 4},
		{name: "empty", shard: handmade(nil, absent, absent, absent, absent)},
		{name: "dead bytes", shard: handmade(body, [2]uint64{6, 2}, absent, absent, [2]uint64{1, 2}), inner: 2, dead: 4},
		{name: "shared", shard: handmade(body, [2]uint64{0, 2}, [2]uint64{0, 2}, [2]uint64{3, 2}, [2]uint64{4, 2}), inner: 4, dead: 3,
			want: "[[[1]] 0 2 true [[3]] 4 2 true]"},
		{name: "one within another", shard: handmade(body, [2]uint64{0, 2}, [2]uint64{1, 2}, [2]uint64{1, 1}, [2]uint64{6, 2}), inner: 4, dead: 3,
			want: "[[[1]] 1 2 true [[2]] 1 1 false [[2]] 1 1 true]"},
		{name: "too long", shard: handmade(body, [2]uint64{0, 3}, [2]uint64{3, 2}, absent, absent), inner: 2, dead: 6, want: "[[[0]] 0 3 false]"},
		{name: "an inner chunk that is too short", shard: handmade(body, [2]uint64{0, 1}, [2]uint64{3, 0}, absent, absent), inner: 2, dead: 7,
			want: "[[[0]] 0 1 false [[1]] 3 0 false]"},
		{name: "beyond the end", shard: handmade(body, [2]uint64{7, 2}, [2]uint64{8, 0}, [2]uint64{9, 0}, [2]uint64{8, 1}), inner: 4, dead: 8,
			want: "[[[0]] 7 2 false [[1]] 8 0 false [[2]] 9 0 false [[3]] 8 1 false]"},
		{name: "numbers that wrap", shard: handmade(body, [2]uint64{1<<64 - 2, 4}, [2]uint64{2, 1<<64 - 1}, [2]uint64{1<<64 - 1, 0}, absent), inner: 3, dead: 8,
			want: "[[[0]] 9223372036854775807 4 false [[1]] 2 9223372036854775807 false [[2]] 9223372036854775807 0 false]"},
		{name: "a flipped bit of the index", shard: flipped, want: "[[] 8 68 false]"},
		{name: "short", shard: flipped[:60], want: "[[] 0 68 false]"},
		{name: "no bytes", want: "[[] 0 68 false]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want == "" {
				tt.want = "[]"
			}
			for _, src := range []coding.Source{coding.Stored(tt.shard), keep(t, tt.shard)} {
				for _, deep := range []bool{true, false} {
					got, err := d.chain.Check(context.Background(), work(), []int64{8}, src, deep)
					if err != nil {
						t.Fatal(err)
					}
					if paths(got) != tt.want+" 0" && paths(got) != tt.want+"0" || got.Inner != tt.inner || got.Dead != tt.dead {
						t.Errorf("deep %t: %s, %d inner chunks, %d bytes are dead; want %s, %d, %d", deep, paths(got), got.Inner, got.Dead, tt.want, tt.inner, tt.dead)
					}
					for _, f := range got.Faults {
						if errors.Is(f, codec.ErrCorrupt) == f.Shared {
							t.Errorf("%v", f)
						}
					}
				}
			}
		})
	}
}

// TestCheckReads counts requests, replaces the shard between them, and checks a shard
// that is not stored.
func TestCheckReads(t *testing.T) {
	ctx := context.Background()
	d := lineShards(t, codec.Environment{}, "uint8")
	shard := handmade([]byte{1, 2, 3, 4, 5, 6, 7, 8}, [2]uint64{0, 2}, [2]uint64{2, 2}, [2]uint64{4, 2}, [2]uint64{6, 2})
	k := keep(t, shard)
	near := &coding.Work{Cores: coding.NewCores(), Bytes: 1 << 20, Span: 4, Requests: 1}
	for deep, want := range map[bool]int{false: 1, true: 3} {
		k.reads = 0
		if _, err := d.chain.Check(ctx, near, []int64{8}, k, deep); err != nil || k.reads != want {
			t.Errorf("deep %t: %d reads (%v), want %d", deep, k.reads, err, want)
		}
	}
	k.reads, k.before = 0, func(read int) {
		if pinned := k.pinned; read == 1 {
			k.put(shard)
			k.pinned = pinned
		}
	}
	if _, err := d.chain.Check(ctx, near, []int64{8}, k, true); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a shard that is replaced meanwhile: %v", err)
	}
	k.key, k.before = store.MustKey("none"), nil
	k.Expect(store.Info{})
	if _, err := d.chain.Check(ctx, near, []int64{8}, k, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a shard that is not stored: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := d.chain.Check(ended, near, []int64{8}, coding.Stored(shard), true); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled: %v", err)
	}
}

// TestManyFaults lists some faults of a shard and counts the others.
func TestManyFaults(t *testing.T) {
	d := lineShards(t, codec.Environment{}, "uint8")
	const n = coding.MostFaults + 17
	entries := make([][2]uint64, n)
	for i := range entries {
		entries[i] = [2]uint64{5, 5}
	}
	got, err := d.chain.Check(context.Background(), work(), []int64{2 * n}, coding.Stored(handmade(nil, entries...)), true)
	if err != nil || len(got.Faults) != coding.MostFaults || got.More != 17 {
		t.Errorf("%d faults and %d more (%v)", len(got.Faults), got.More, err)
	}
}

// TestCheckTooMany checks shards with too many inner chunks. That is a fault of a stored
// shard, but not of one that is not stored.
func TestCheckTooMany(t *testing.T) {
	d, ctx := lineShards(t, codec.Environment{Inner: 3}, "uint8"), context.Background()
	k := keep(t, make([]byte, 100))
	got, err := d.chain.Check(ctx, work(), []int64{8}, k, false)
	if err != nil || len(got.Faults) != 1 || got.Bytes != 100 || !errors.Is(got.Faults[0], codec.ErrLimit) {
		t.Errorf("%+v (%v)", got, err)
	}
	k.key = store.MustKey("none")
	k.Expect(store.Info{})
	if _, err := d.chain.Check(ctx, work(), []int64{8}, k, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a shard that is not stored: %v", err)
	}
}

// TestCheckNested locates a fault in shards of shards whose axes are transposed twice.
func TestCheckNested(t *testing.T) {
	d := &drawnShards{codec: codec.Spec{Type: mustType("int16"), Fill: []byte{0, 0}, Rank: 2}}
	inside := []metadata.Extension{transposed(1, 0), must(codec.Shards(codec.Sharding{
		Inner: []grid.Cut{grid.Every(1), grid.Every(1)}, Codecs: raw(),
	}))}
	outside := must(codec.Shards(codec.Sharding{Inner: []grid.Cut{grid.Every(3), grid.Every(2)}, Codecs: inside, AtStart: true}))
	d.chain = must(coding.NewChain(&d.env, []metadata.Extension{transposed(1, 0), outside}, d.codec))
	shape := []int64{4, 9} // of shards; as the codec sees them 9, 4, with inner chunks 3, 2, with inner chunks 1, 1 of 2, 3
	data := make([]byte, 2*36)
	data[2*(9*3+7)] = 1 // in the inner chunk 1, 2; as the codec sees it 2, 1
	shard := d.encode(t, shape, data)
	shard[96+4+2] ^= 1 // in the index of the inner chunk, behind that of the shard and an element
	for _, deep := range []bool{false, true} {
		got, err := d.chain.Check(context.Background(), work(), shape, keep(t, shard), deep)
		if err != nil || paths(got) != "[[[1 2]] 102 100 false] 0" {
			t.Errorf("%s (%v) of %d bytes", paths(got), err, len(shard))
		}
	}
	shard[96+4+2] ^= 1
	at := 96 + 4 + 2
	for i := range 6 { // take the checksum off: a wrong length of the only inner chunk that is stored
		if entry := shard[at+16*i:][:16]; entry[15] == 0 {
			entry[8] = 1
			copy(shard[at:], handmadeIndex(shard[at:][:96]))
		}
	}
	got, err := d.chain.Check(context.Background(), work(), shape, keep(t, shard), true)
	if err != nil || paths(got) != "[[[1 2] [1 1]] 100 1 false] 0" || got.Dead != 1 {
		t.Errorf("%s (%v), %d bytes are dead", paths(got), err, got.Dead)
	}
}
