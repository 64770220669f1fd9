// SPDX-License-Identifier: Apache-2.0

package filter_test

import (
	"context"
	"fmt"
	"iter"
	"os"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/statistics"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestReadsWhatMatches filters a table whose rows are clustered. With statistics, it
// reads hardly more than the chunks that match.
func TestReadsWhatMatches(t *testing.T) {
	chunks, edge := int64(1500), int64(500)
	if os.Getenv("VARVE_LONG") != "" {
		chunks = 100_000
	}
	for name, spec := range map[string]zarr.Spec{
		"chunks": {Chunks: grid.Chunks(edge)},
		"shards": {Chunks: grid.Chunks(100 * edge), InnerChunks: grid.Chunks(edge)},
	} {
		t.Run(name, func(t *testing.T) { countReads(t, spec, chunks, edge) })
	}
}

func countReads(t *testing.T, spec zarr.Spec, chunks, edge int64) {
	ctx, s := t.Context(), memstore.New()
	spec.Shape, spec.Type, spec.DimensionNames = []int64{chunks * edge}, dtype.Float64, []string{"row"}
	at := zarr.At(s, "t/x")
	if _, err := zarr.At(s, "t").CreateGroup(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	values := make([]float64, spec.Shape[0])
	for i := range values {
		values[i] = float64(i) + 0.125*float64(i*i%7)
	}
	if err := put(ctx, at, spec, values); err != nil {
		t.Fatal(err)
	}
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	first, last := 0.4*float64(len(values)), 0.45*float64(len(values))
	request := parsed(t, fmt.Sprintf("x >= %g and x < %g", first, last))
	plan := func() (*filter.Plan, int64, int64) {
		count := new(observe.Counter)
		opt := &filter.Options{}
		opt.Observer = count
		p, err := filter.NewPlan(ctx, zarr.At(s, "t"), zarr.At(memstore.New(), ""), request, opt)
		if err != nil {
			t.Fatal(err)
		}
		stats := count.Stats()
		return p, stats.Of(observe.Get).Bytes + stats.Of(observe.Read).Bytes, stats.Of(observe.Decode).Times
	}
	was, all, _ := plan()
	if _, err := statistics.Make(ctx, a, nil); err != nil {
		t.Fatal(err)
	}
	is, bytes, decoded := plan()
	if is.Kept != was.Kept || is.Counts != was.Counts {
		t.Fatalf("%v with statistics, %v without", is, was)
	}
	matching := all * is.Kept / is.Rows
	t.Logf("%d of %d rows: read %d bytes of %d in %d chunks, %d match", is.Kept, is.Rows, bytes, all, decoded, matching)
	if bytes > 2*matching || decoded > chunks/50 {
		t.Errorf("read %d bytes, %d match; decoded %d chunks", bytes, matching, decoded)
	}
	// Another program writes a chunk that did not match: only that one is read as well.
	if err := zarr.Write(ctx, a, selection.Box{{7, 8}}, []float64{first + 1}); err != nil {
		t.Fatal(err)
	}
	if p, _, again := plan(); p.Kept != is.Kept+1 || again <= decoded || again > decoded+101 {
		t.Errorf("after a write: %v, %d chunks decoded, %d before", p, again, decoded)
	}
}

// asked counts the requests to a store that cannot be listed, as a web server.
type asked struct {
	store.Store
	gets, heads, bytes atomic.Int64
}

func (s *asked) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := s.Store.Get(ctx, key, q, dst)
	s.gets.Add(1)
	s.bytes.Add(int64(len(out) - len(dst)))
	return out, info, err
}

func (s *asked) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	s.heads.Add(1)
	return store.Stat(ctx, s.Store, key)
}

func (s *asked) reset() { s.gets.Store(0); s.heads.Store(0); s.bytes.Store(0) }

// TestMatch finds the rows of a table for which a condition holds, and reads these, as
// varve export --where does: with a listing, without one, and without statistics.
func TestMatch(t *testing.T) {
	chunks, edge := int64(1500), int64(500)
	if os.Getenv("VARVE_LONG") != "" {
		chunks = 100_000
	}
	ctx, below := t.Context(), memstore.New()
	at := zarr.At(below, "t/x")
	values := make([]float64, chunks*edge)
	for i := range values {
		values[i] = float64(i) + 0.125*float64(i*i%7)
	}
	spec := zarr.Spec{Shape: []int64{chunks * edge}, Type: dtype.Float64, DimensionNames: []string{"row"}, Chunks: grid.Chunks(edge), Codecs: fixture.Plain()}
	if err := put(ctx, at, spec, values); err != nil {
		t.Fatal(err)
	}
	first, last := 0.4*float64(len(values)), 0.45*float64(len(values))
	where := parsed(t, fmt.Sprintf("x >= %g and x < %g", first, last)).Where
	type result struct{ gets, heads, bytes int64 }
	match := func(s store.Store, count *asked) (r result) {
		t.Helper()
		count.reset()
		m, err := filter.Match(ctx, zarr.At(s, "t"), where, nil)
		if err != nil {
			t.Fatal(err)
		}
		var from, to int64
		for row, x := range values {
			is := x >= first && x < last
			if m.Contains(int64(row)) != is {
				t.Fatalf("row %d: %v", row, x)
			}
			if is {
				if to++; to == 1 {
					from = int64(row)
				}
			}
		}
		if m.Len() != to || m.Rows() != int64(len(values)) || m.Dimension != "row" || m.Contains(-1) || m.Contains(m.Rows()) {
			t.Fatal(m)
		}
		a, err := zarr.At(s, "t/x").OpenArray(ctx, nil)
		if err == nil {
			_, err = zarr.Read[float64](ctx, a, selection.Box{{from, from + to}})
		}
		if err != nil {
			t.Fatal(err)
		}
		return result{count.gets.Load(), count.heads.Load(), count.bytes.Load()}
	}
	listable := func() (store.Store, *asked) { c := &asked{Store: below}; return listing{c, below}, c }
	bare := func() (store.Store, *asked) { c := &asked{Store: below}; return c, c }
	all := match(bare())
	a, err := at.OpenArray(ctx, &zarr.Options{Write: true})
	if err == nil {
		_, err = statistics.Make(ctx, a, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	matching := int64(0.05*float64(len(values))) * 8
	for name, open := range map[string]func() (store.Store, *asked){"listed": listable, "unlisted": bare} {
		is := match(open())
		t.Logf("%s: %+v; without statistics %+v; %d bytes match", name, is, all, matching)
		if is.bytes > 2*matching || is.gets > all.gets/10 || name == "listed" && is.heads > 100 || is.heads > chunks+100 {
			t.Errorf("%s: %+v", name, is)
		}
	}
	// Another program stores a chunk that matches in place of one that does not.
	data, _, err := below.Get(ctx, store.MustKey("t/x/c/620"), store.Request{}, nil)
	if err == nil {
		_, err = store.Write(ctx, below, store.Put(store.MustKey("t/x/c/7"), data), store.Flush)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (store.Store, *asked){"listed": listable, "unlisted": bare} {
		s, _ := open()
		m, err := filter.Match(ctx, zarr.At(s, "t"), where, nil)
		if err != nil || !m.Contains(7*edge) || m.Contains(8*edge) {
			t.Errorf("%s, after a change: %v", name, err)
		}
	}
	if err := put(ctx, zarr.At(below, "t/short"), zarr.Spec{Shape: []int64{3}, Type: dtype.Float64, DimensionNames: []string{"row"}}, []float64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	_, err = filter.Match(ctx, zarr.At(below, "t"), parsed(t, "x > 1 and short > 1").Where, nil)
	fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "is 3")
	_, err = filter.Match(ctx, zarr.At(below, "t"), parsed(t, "none > 1").Where, nil)
	fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "none")
}

// listing is a store whose values are counted, and that can be listed.
type listing struct {
	*asked
	of store.Store
}

func (l listing) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, l.of, dir, how)
}
