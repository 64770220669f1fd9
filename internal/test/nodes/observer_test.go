// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// seenEvents keeps events by operation.
type seenEvents struct {
	mu     sync.Mutex
	events map[observe.Op][]observe.Event
}

func (t *seenEvents) Observe(_ context.Context, e observe.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.events == nil {
		t.events = map[observe.Op][]observe.Event{}
	}
	t.events[e.Op] = append(t.events[e.Op], e)
}

// take returns the events since its last call.
func (t *seenEvents) take() map[observe.Op][]observe.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	events := t.events
	t.events = nil
	return events
}

// sumOf returns the sum of the bytes of events, and their distinct keys in order.
func sumOf(events []observe.Event) (bytes int64, keys []string) {
	for _, e := range events {
		bytes += e.Bytes
		keys = append(keys, e.Key.String())
	}
	slices.Sort(keys)
	return bytes, slices.Compact(keys)
}

// TestObserver checks that an observer gets exactly the events of each operation, for
// chunks stored in several ways.
func TestObserver(t *testing.T) {
	ctx, ten := t.Context(), grid.Chunks(10)
	for name, c := range map[string]struct {
		spec  zarr.Spec
		coded int
		fetch observe.Op
	}{
		"plain":  {spec: zarr.Spec{Codecs: []metadata.Extension{codec.Bytes("little")}}, fetch: observe.Get},
		"zstd":   {coded: 4, fetch: observe.Get},
		"shards": {spec: zarr.Spec{InnerChunks: grid.Chunks(5)}, coded: 8, fetch: observe.Read},
		"old":    {spec: zarr.Spec{Format: 2}, coded: 4, fetch: observe.Get},
	} {
		t.Run(name, func(t *testing.T) {
			seen := new(seenEvents)
			c.spec.Shape, c.spec.Type, c.spec.Chunks = []int64{40}, dtype.Int32, ten
			opt := &zarr.CreateOptions{Options: zarr.Options{Write: true, Observer: seen}}
			a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, c.spec, opt)
			if err != nil {
				t.Fatal(err)
			}
			if got := seen.take()[observe.PutIf]; len(got) != 2 { // the documents of the array and of the group above
				t.Errorf("creation is %v", got)
			}
			keys := []string{"a/c/0", "a/c/1", "a/c/2", "a/c/3"}
			if c.spec.Format == 2 {
				keys = []string{"a/0", "a/1", "a/2", "a/3"}
			}
			values := make([]int32, 40)
			for i := range values {
				values[i] = int32(i + 1)
			}
			if err := zarr.Write(ctx, a, nil, values); err != nil {
				t.Fatal(err)
			}
			wrote := seen.take()
			check := func(what string, events []observe.Event, number int, bytes int64) {
				t.Helper()
				n, got := sumOf(events)
				if len(events) != number || n != bytes && bytes >= 0 || number > 0 && !slices.Equal(got, keys) {
					t.Errorf("%s: %d events of %d bytes on %v, want %d of %d on %v", what, len(events), n, got, number, bytes, keys)
				}
			}
			check("encoding", wrote[observe.Encode], c.coded, int64(min(1, c.coded)*160))
			check("putting", wrote[observe.Put], 4, -1)
			if len(wrote[observe.Commit]) != 1 {
				t.Errorf("the batch is committed %d times", len(wrote[observe.Commit]))
			}
			if _, err := zarr.Read[int32](ctx, a, nil); err != nil {
				t.Fatal(err)
			}
			read := seen.take()
			check("decoding", read[observe.Decode], c.coded, int64(min(1, c.coded)*160))
			stored, _ := sumOf(wrote[observe.Put])
			check("fetching", read[c.fetch], 4, stored)
		})
	}
}

// TestObservedNodes checks that every node reached from an observed node is observed,
// once.
func TestObservedNodes(t *testing.T) {
	ctx, first, second := t.Context(), new(seenEvents), new(seenEvents)
	m := memtest.New()
	g, err := zarr.At(m, "").CreateGroup(ctx, nil, &zarr.CreateOptions{Options: zarr.Options{Write: true, Observer: first}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.At("a").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Uint8}, nil); err != nil {
		t.Fatal(err)
	}
	if store.Driver(g.Location().Store()) != store.Store(m) {
		t.Error("store.Driver does not return the driver")
	}
	first.take()
	a, err := g.At("a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Fill(ctx, a, nil, uint8(1)); err != nil {
		t.Fatal(err)
	}
	if e := first.take(); len(e[observe.Encode]) != 1 || len(e[observe.Put]) != 1 {
		t.Errorf("an array of an observed group: %v", e)
	}
	b, err := g.At("a").OpenArray(ctx, &zarr.Options{Observer: second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.Read[uint8](ctx, b, nil); err != nil {
		t.Fatal(err)
	}
	if e := second.take(); len(e[observe.Decode]) != 1 || len(e[observe.Get]) != 3 { // one reads the pointer of a pending change, because the group is open for writing
		t.Errorf("with an observer of its own: %v", e)
	}
	if e := first.take(); len(e) != 0 {
		t.Errorf("the observer of the group got events, too: %v", e)
	}
}

// TestObservedShard checks the events of a shard of which single inner chunks are read.
func TestObservedShard(t *testing.T) {
	ctx, seen := t.Context(), new(seenEvents)
	s := stepping.Conditional(memtest.New(), stepping.Hooks{}) // every range is one request
	opt := zarr.Options{Write: true, Observer: seen, Shards: zarr.Shards{Gap: -1}}
	a, err := zarr.At(s, "a").CreateArray(ctx, zarr.Spec{
		Shape: []int64{1 << 20}, Type: dtype.Uint8, Chunks: grid.Chunks(1 << 20), InnerChunks: grid.Chunks(1 << 10),
		Codecs: []metadata.Extension{codec.Bytes("")},
	}, &zarr.CreateOptions{Options: opt})
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Fill(ctx, a, nil, uint8(1)); err != nil {
		t.Fatal(err)
	}
	seen.take()
	for try, want := range []observe.Op{observe.IndexMiss, observe.IndexHit} {
		if _, err := zarr.Read[uint8](ctx, a, selection.Basic{selection.Span(0, 4096)}); err != nil {
			t.Fatal(err)
		}
		e := seen.take()
		merged := e[observe.Coalesce]
		if len(e[want]) != 1 || len(e[observe.IndexHit])+len(e[observe.IndexMiss]) != 1 || len(e[observe.Decode]) != 4 {
			t.Errorf("read %d: %v", try, e)
		}
		if len(merged) != 1 || merged[0].Count != 4 || merged[0].Bytes != 4096 || merged[0].Key.String() != "a/c/0" {
			t.Errorf("read %d merged %v", try, merged)
		}
	}
}

// TestObserverTakesNoMemory checks that observed reads make no more allocations than
// others.
func TestObserverTakesNoMemory(t *testing.T) {
	racing.Skip(t)
	ctx := t.Context()
	allocations := func(o observe.Observer) float64 {
		a, err := zarr.At(memtest.New(), "a").CreateArray(ctx, zarr.Spec{
			Shape: []int64{1000}, Type: dtype.Uint8, Chunks: grid.Chunks(10),
		}, &zarr.CreateOptions{Options: zarr.Options{Write: true, Observer: o, Concurrency: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Fill(ctx, a, nil, uint8(1)); err != nil {
			t.Fatal(err)
		}
		values := make([]uint8, 1000)
		return testing.AllocsPerRun(20, func() {
			if err := zarr.ReadInto(ctx, a, nil, values); err != nil {
				t.Fatal(err)
			}
		})
	}
	alone, observed := allocations(nil), allocations(new(observe.Counter))
	if observed > alone+20 { // pools may be emptied; an allocation for each chunk would be 100 more
		t.Errorf("100 chunks take %v allocations, %v if observed", alone, observed)
	}
}

func ExampleOptions_observer() {
	ctx := context.Background()
	var c observe.Counter
	a, err := zarr.At(memtest.New(), "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{6}, Type: dtype.Float64, Chunks: []grid.Cut{grid.Edges(1, 2, 3)},
	}, &zarr.CreateOptions{Options: zarr.Options{Write: true, Observer: &c}})
	if err != nil {
		panic(err)
	}
	before := c.Stats()
	if err := zarr.Write(ctx, a, nil, []float64{1, 2, 3, 4, 5, 6}); err != nil {
		panic(err)
	}
	s := c.Stats().Sub(before)
	fmt.Println("encoded:", s.Of(observe.Encode).Times, "chunks of", s.Of(observe.Encode).Bytes, "bytes")
	fmt.Println("stored:", s.Of(observe.Put).Times, "values")
	// Output:
	// encoded: 3 chunks of 48 bytes
	// stored: 3 values
}

func ExampleOptions_log() {
	ctx := context.Background()
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{} // times and durations vary
		}
		return a
	}})
	_, err := zarr.At(memtest.New(), "nothing").Open(ctx, &zarr.Options{Observer: observe.Log(slog.New(handler))})
	fmt.Println(strings.Contains(err.Error(), "no Zarr node here"))
	// Output:
	// level=DEBUG msg=get key=nothing/zarr.json bytes=0 outcome=absent
	// level=DEBUG msg=get key=nothing/.zarray bytes=0 outcome=absent
	// level=DEBUG msg=get key=nothing/.zgroup bytes=0 outcome=absent
	// level=DEBUG msg=list key=nothing bytes=0 outcome=ok
	// level=DEBUG msg=stat key=nothing bytes=0 outcome=absent
	// true
}
