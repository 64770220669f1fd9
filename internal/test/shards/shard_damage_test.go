// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/codecs/sharding"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// rottenReaders are arrays that read a damaged shard in different ways.
type rottenReaders struct {
	*goldenShard
	store *fixture.Rotten
	whole *zarr.Array // reads a short shard whole
	cold  *zarr.Array // reads the index, then ranges
	warm  *zarr.Array // has the index cached, reads ranges
}

func (s *goldenShard) readers(t *testing.T) *rottenReaders {
	t.Helper()
	r := &rottenReaders{goldenShard: s, store: &fixture.Rotten{ObjectStore: stepping.Conditional(s.inMemory(t), stepping.Hooks{}), Key: s.key}}
	open := func(how zarr.Shards) *zarr.Array {
		return fixture.Must(zarr.At(r.store, "").OpenArray(t.Context(), &zarr.Options{Shards: how, Concurrency: 1}))
	}
	r.whole, r.cold, r.warm = open(zarr.Shards{IndexCache: -1}), open(zarr.Shards{Gap: 1, IndexCache: -1}), open(zarr.Shards{Gap: 1})
	return r
}

// try reads the damaged shard: all of it, an element of the damaged inner chunk hurt (-1
// if unknown), and an element of another one. blind says that readers that need the
// index must fail.
func (r *rottenReaders) try(t *testing.T, damaged []byte, hurt int, blind bool, label string) (failed int) {
	t.Helper()
	r.store.Data = nil
	if box, ok := r.box(0); ok { // caches the index
		r.check(t, r.warm, first(box), -1, false, label+", sound")
	}
	r.store.Data = damaged
	failed += r.check(t, r.whole, r.region, hurt, blind, label+", all of it")
	for _, k := range []int{max(0, hurt), (max(0, hurt) + 1) % r.n} {
		box, ok := r.box(k)
		if !ok {
			continue
		}
		mine := -1
		if k == hurt {
			mine = k
		}
		part := first(box)
		if k == hurt {
			part = box
		}
		failed += r.check(t, r.whole, part, mine, blind, label+", a part, whole")
		failed += r.check(t, r.cold, part, mine, blind, label+", a part, cold")
		failed += r.check(t, r.warm, part, mine, blind && len(damaged) != len(r.data), label+", a part, warm")
	}
	return failed
}

// check reads a box. The result must be right, or an error that names the damage.
// Elements of the inner chunk hurt may be wrong if no checksum guards them. It returns
// the number of failed reads.
func (r *rottenReaders) check(t *testing.T, a *zarr.Array, box selection.Box, hurt int, blind bool, label string) int {
	t.Helper()
	want := r.goldenArray.whole.Elements(box)
	got := make([]byte, len(want))
	err := a.ReadBytes(context.Background(), box, got)
	if err != nil {
		r.checkError(t, err, hurt, blind, label)
		return 1
	}
	if blind {
		t.Fatalf("%s: read without an error", label)
	}
	r.compare(t, got, box, hurt, label)
	return 0
}

// checkError expects an error to name the shard, and the inner chunk if only one is
// damaged.
func (s *goldenShard) checkError(t *testing.T, err error, hurt int, blind bool, label string) {
	t.Helper()
	var at *zarr.Error
	if !errors.Is(err, zarr.ErrCorrupt) || !errors.As(err, &at) || at.Key != s.key.String() || !slices.Equal(at.Chunk, s.at) {
		t.Fatalf("%s: error is %v, want ErrCorrupt that names %s", label, err, s.key)
	}
	if blind {
		return
	}
	var inner *sharding.InnerError
	if hurt < 0 || !errors.As(err, &inner) || !slices.Equal(inner.Index, s.place(hurt)) {
		t.Fatalf("%s: %v does not name the inner chunk %d", label, err, hurt)
	}
}

// compare compares the elements of a box with the stored ones, except in a damaged inner
// chunk without a checksum. A read never gives the fill value in its place.
func (s *goldenShard) compare(t *testing.T, got []byte, box selection.Box, hurt int, label string) {
	t.Helper()
	want := s.whole.Elements(box)
	if bytes.Equal(got, want) {
		return
	}
	if hurt < 0 || s.checked {
		t.Fatalf("%s: the elements read differ from those stored", label)
	}
	region, ok := s.box(hurt)
	if !ok {
		t.Fatalf("%s: the elements read differ from those stored", label)
	}
	m := s.whole.Clone()
	m.Set(box, got)
	if spoiled := m.Elements(region); strided.AllEqual(spoiled, m.Fill) && !strided.AllEqual(s.whole.Elements(region), m.Fill) {
		t.Fatalf("%s: the fill value was read", label)
	}
	m.Set(region, s.whole.Elements(region))
	if !bytes.Equal(m.Data, s.whole.Data) {
		t.Fatalf("%s: elements of other inner chunks were read", label)
	}
}

// someShards runs do on the shards to be damaged: the first and the last one of every
// array, or all.
func someShards(t *testing.T, do func(t *testing.T, s *goldenShard)) {
	for name := range goldenShards {
		t.Run(name, func(t *testing.T) {
			list := loadGolden(t, name).shards(t)
			if !fixture.Long() && len(list) > 2 {
				list = []*goldenShard{list[0], list[len(list)-1]}
			}
			for _, s := range list {
				do(t, s)
			}
		})
	}
}

// TestShardFlips reads golden shards, each with one byte changed: every byte in CI, or a
// third of them.
func TestShardFlips(t *testing.T) {
	fixture.Sequential(t)
	flips, failed, reads, stride := 0, 0, 0, int(fixture.Stride(3))
	someShards(t, func(t *testing.T, s *goldenShard) {
		r, data := s.readers(t), slices.Clone(s.data)
		for i := len(data) % stride; i < len(data); i += stride {
			data[i] ^= 1 << (i % 8)
			flips, reads = flips+1, reads+7
			failed += r.try(t, data, s.owner(i), s.inIndex(i), fmt.Sprintf("%s: byte %d of %d", s.key, i, len(data)))
			data[i] ^= 1 << (i % 8)
		}
	})
	t.Logf("%d bytes changed, %d of %d reads failed", flips, failed, reads)
	if flips < 37_000/stride || failed < 100_000/stride {
		t.Errorf("only %d bytes were changed, and %d reads failed", flips, failed)
	}
}

// TestShardCuts reads golden shards truncated at every length, in CI, or at a third of
// them. If the index is at the start, inner chunks before the end are still read.
func TestShardCuts(t *testing.T) {
	fixture.Sequential(t)
	cuts, stride := 0, int(fixture.Stride(3))
	someShards(t, func(t *testing.T, s *goldenShard) {
		r := s.readers(t)
		from, to := s.indexSpan()
		for n := len(s.data) % stride; n < len(s.data); n += stride {
			label := fmt.Sprintf("%s: %d of %d bytes", s.key, n, len(s.data))
			cuts++
			switch {
			case s.start && n >= to:
				r.tryCut(t, s.data[:n], label)
			case s.crc || n < to-from:
				r.try(t, s.data[:n:n], -1, true, label)
			default:
				r.tryBlind(t, s.data[:n], label)
			}
		}
	})
	t.Logf("%d cuts", cuts)
	if cuts < 37_000/stride {
		t.Errorf("only %d cuts were made", cuts)
	}
}

// tryCut reads a shard that is truncated after its index.
func (r *rottenReaders) tryCut(t *testing.T, data []byte, label string) {
	t.Helper()
	r.store.Data = data
	for k := range r.n {
		box, ok := r.box(k)
		if !ok {
			continue
		}
		off, n, stored := r.entry(k)
		lost := stored && off+n > len(data)
		for name, a := range map[string]*zarr.Array{"whole": r.whole, "cold": r.cold, "warm": r.warm} {
			if r.check(t, a, box, k, false, label+", "+name) == 0 == lost {
				t.Fatalf("%s, %s: inner chunk %d, of bytes %d to %d: failed %t", label, name, k, off, off+n, !lost)
			}
		}
	}
}

// tryBlind reads a truncated shard whose index has no checksum, so its last bytes are
// read as the index. Its entries are followed, or lead out of the shard.
func (r *rottenReaders) tryBlind(t *testing.T, data []byte, label string) {
	t.Helper()
	r.store.Data = data
	for _, a := range []*zarr.Array{r.whole, r.cold, r.warm} {
		if err := a.ReadBytes(t.Context(), r.region, make([]byte, len(r.goldenArray.whole.Elements(r.region)))); err != nil && !errors.Is(err, zarr.ErrCorrupt) {
			t.Fatalf("%s: %v", label, err)
		}
	}
}

// damagedStores are stores of all kinds with a damaged shard.
func damagedStores(t *testing.T, s *goldenShard, data []byte, do func(name string, s memtest.Store, h *zarr.Location)) {
	t.Helper()
	for name, wrap := range map[string]func(memtest.Store) store.Store{
		"memory":      func(m memtest.Store) store.Store { return m },
		"conditional": func(m memtest.Store) store.Store { return stepping.Conditional(m, stepping.Hooks{}) },
	} {
		m := s.inMemory(t)
		if _, err := m.Write(t.Context(), store.Put(s.key, data), store.Flush); err != nil {
			t.Fatal(err)
		}
		do(name, m, zarr.At(wrap(m), ""))
	}
}

// TestShardFlipsAndWrites changes parts of damaged golden shards in every way. The other
// elements stay as they were, and damaged ones stay unreadable unless they are
// overwritten. A write of the whole shard repairs it.
func TestShardFlipsAndWrites(t *testing.T) {
	fixture.Sequential(t)
	every := 127 * int(fixture.Stride(3))
	if fixture.Long() {
		every = 47
	}
	tries, failed := 0, 0
	someShards(t, func(t *testing.T, s *goldenShard) {
		for strategy := range fixture.Strategies {
			for i := len(strategy) % every; i < len(s.data); i += every {
				data := slices.Clone(s.data)
				data[i] ^= 1 << (i % 8)
				damagedStores(t, s, data, func(name string, m memtest.Store, h *zarr.Location) {
					tries++
					w := &damagedWrite{goldenShard: s, m: m, h: h, strategy: strategy, hurt: s.owner(i), label: fmt.Sprintf("%s, %s: byte %d", strategy, name, i)}
					failed += w.run(t)
				})
			}
		}
	})
	t.Logf("%d damaged shards changed in four ways, of which %d failed", tries, failed)
	if tries < 1700/int(fixture.Stride(3)) || failed < tries/2 {
		t.Errorf("only %d damaged shards were changed, and %d changes failed", tries, failed)
	}
}

// damagedWrite changes one damaged shard.
type damagedWrite struct {
	*goldenShard
	m        memtest.Store
	h        *zarr.Location
	strategy string
	hurt     int
	label    string
}

// open opens the array as a new program.
func (w *damagedWrite) open(t *testing.T) *zarr.Array {
	t.Helper()
	return fixture.Must(w.h.At("").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1, Shards: zarr.Shards{Strategy: fixture.Strategies[w.strategy], Gap: 1}}))
}

// snapshot reads every inner chunk by itself. Those that cannot be read are nil.
func (w *damagedWrite) snapshot(t *testing.T) [][]byte {
	t.Helper()
	a := w.open(t)
	list := make([][]byte, w.n)
	for k := range w.n {
		box, ok := w.box(k)
		if !ok {
			continue
		}
		data := make([]byte, len(w.whole.Elements(box)))
		if err := a.ReadBytes(t.Context(), box, data); err == nil {
			list[k] = data
		} else if !errors.Is(err, zarr.ErrCorrupt) {
			t.Fatalf("%s: %v", w.label, err)
		}
	}
	return list
}

func (w *damagedWrite) run(t *testing.T) (failed int) {
	t.Helper()
	k := max(0, w.hurt)
	other := (k + 1) % w.n
	for _, c := range []struct {
		name  string
		k     int
		whole bool
	}{{"an element of another", other, false}, {"all of another", other, true}, {"an element of it", k, false}, {"all of it", k, true}} {
		box, ok := w.box(c.k)
		if !ok {
			continue
		}
		if !c.whole {
			box = first(box)
		}
		failed += w.write(t, box, c.k, c.whole, c.name)
	}
	if err := w.heal(t); err != nil {
		t.Fatalf("%s: writing the whole shard: %v", w.label, err)
	}
	got := make([]byte, len(w.whole.Data))
	if err := w.open(t).ReadBytes(t.Context(), nil, got); err != nil || !bytes.Equal(got, w.whole.Data) {
		t.Fatalf("%s: writing the whole shard does not repair it: %v", w.label, err)
	}
	return failed
}

// heal writes the whole shard. In a store without locks, a chunk at the border is read
// even so, because concurrent writers may grow the array; there it writes the chunk
// itself.
func (w *damagedWrite) heal(t *testing.T) error {
	t.Helper()
	a := w.open(t)
	full := true
	for i, in := range w.region {
		full = full && in[1]-in[0] == w.shape[i]
	}
	if _, locks := w.h.Store().(store.Locker); locks || full {
		return a.WriteBytes(t.Context(), w.region, w.whole.Elements(w.region))
	}
	chunk := fixture.NewModel(w.shape, w.whole.Fill)
	var box selection.Box
	for _, in := range w.region {
		box = append(box, [2]int64{0, in[1] - in[0]})
	}
	chunk.Set(box, w.whole.Elements(w.region))
	return a.WriteChunk(t.Context(), w.at, chunk.Data)
}

// write writes a box of inner chunk k and compares the shard before and afterwards.
func (w *damagedWrite) write(t *testing.T, box selection.Box, k int, whole bool, name string) (failed int) {
	t.Helper()
	label := w.label + ", " + name
	before := w.snapshot(t)
	stored, _, err := w.m.Get(t.Context(), w.key, store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Clone(w.whole.Elements(box))
	for i := range data {
		data[i] ^= 1
	}
	if err := w.open(t).WriteBytes(t.Context(), box, data); err != nil {
		var at *zarr.Error
		if !errors.Is(err, zarr.ErrCorrupt) || !errors.As(err, &at) || at.Key != w.key.String() {
			t.Fatalf("%s: error is %v, want ErrCorrupt that names %s", label, err, w.key)
		}
		if now, _, err := w.m.Get(t.Context(), w.key, store.Request{}, nil); err != nil || !bytes.Equal(now, stored) {
			t.Fatalf("%s: the shard has changed though the write failed (%v)", label, err)
		}
		return 1
	}
	for i, now := range w.snapshot(t) {
		if i != k && !bytes.Equal(now, before[i]) {
			t.Fatalf("%s: inner chunk %d was %.20x and is %.20x", label, i, before[i], now)
		}
		if i == k && now == nil {
			t.Fatalf("%s: the elements just written cannot be read", label)
		}
		if i == k && whole && !bytes.Equal(now, data) {
			t.Fatalf("%s: inner chunk %d is %.20x, want %.20x", label, i, now, data)
		}
		if i == k && !whole && before[i] == nil {
			t.Fatalf("%s: inner chunk %d was unreadable, and became readable when one element was written", label, i)
		}
	}
	return 0
}
