// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// meter counts the requests that a plan predicts.
type meter struct {
	memtest.Store
	mu   sync.Mutex
	took rechunk.Requests
	read int64 // bytes
}

// count adds to a number if key is that of a chunk, of scratch or of a record.
func (m *meter) count(key store.Key, n *int64, by int64) {
	name := key.String()
	if strings.Contains(name, "zarr.json") || strings.Contains(name, "__varve") &&
		!strings.Contains(name, "/scratch/") && !strings.Contains(name, "/regrid/") ||
		strings.HasSuffix(name, "running.json") {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	*n += by
}

func (m *meter) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	m.count(key, &m.took.Get, 1)
	out, info, err := m.Store.Get(ctx, key, q, dst)
	m.count(key, &m.read, int64(len(out)-len(dst)))
	return out, info, err
}

func (m *meter) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := m.Store.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	return &metered{o, m, key}, nil
}

// metered counts reads of an object.
type metered struct {
	store.Object
	m   *meter
	key store.Key
}

func (o *metered) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	o.m.count(o.key, &o.m.took.Get, 1)
	out, err := o.Object.Read(ctx, q, dst)
	o.m.count(o.key, &o.m.read, int64(len(out)-len(dst)))
	return out, err
}

func (m *meter) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	m.count(key, &m.took.Head, 1)
	return m.Store.Stat(ctx, key)
}

func (m *meter) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	switch c.Op {
	case store.OpPut:
		m.count(c.Key, &m.took.Put, 1)
	case store.OpClone, store.OpAssemble:
		m.count(c.Key, &m.took.Copy, 1)
	}
	return m.Store.Write(ctx, c, d)
}

func (m *meter) Batch(context.Context, store.Durability) (store.Batch, error) {
	return meteredBatch{m}, nil
}

// meteredBatch counts deletions, too: those are in place of chunks that have only the
// fill value.
type meteredBatch struct{ m *meter }

func (b meteredBatch) Can(op store.Op) bool { return op == store.OpPut || op == store.OpDelete }

func (b meteredBatch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	if c.Op == store.OpDelete {
		b.m.count(c.Key, &b.m.took.Put, 1)
	}
	return b.m.Write(ctx, c, store.Flush)
}

func (b meteredBatch) Commit(context.Context) error { return nil }
func (b meteredBatch) Discard()                     {}

// reset begins to count anew.
func (m *meter) reset() { m.took, m.read = rechunk.Requests{}, 0 }

// TestPlanIsExecuted compares plans with what is done.
func TestPlanIsExecuted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &meter{Store: memtest.New()}
		shape := []int64{rapid.Int64Range(20, 60).Draw(t, "rows"), rapid.Int64Range(20, 60).Draw(t, "columns")}
		rows, columns := rapid.Int64Range(1, 8).Draw(t, "from"), rapid.Int64Range(1, 60).Draw(t, "from")
		kind, memory := rapid.IntRange(0, 3).Draw(t, "request"), 16*4*rapid.Int64Range(15, 300).Draw(t, "elements of a block")
		switch kind {
		case 0: // merge what fits
			memory = 16 * 4 * 4000
		case 3: // from rows to columns, in stages
			rows, columns, memory = 1, 60, 16*4*70
		}
		from := []grid.Cut{grid.Every(rows), grid.Every(columns)}
		a, err := zarr.At(m, "a").CreateArray(t.Context(), zarr.Spec{Type: dtype.Int32, Shape: shape, Chunks: from, Codecs: fixture.Packed()}, nil)
		if err != nil {
			t.Fatal(err)
		}
		x := &transposed{store: m, array: a, shape: shape, data: make([]int32, shape[0]*shape[1]), rand: seeded(t)}
		for range rapid.IntRange(1, 3).Draw(t, "writes") {
			x.write(t)
		}
		cuts := rechunk.Cuts{grid.Every(rapid.Int64Range(1, 60).Draw(t, "to")), grid.Every(rapid.Int64Range(1, 8).Draw(t, "to"))}
		request := rechunk.Request(rechunk.Rechunking{Chunks: cuts})
		switch kind {
		case 3:
			request = rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(60), grid.Every(1)}}
		case 0:
			request = rechunk.Compaction{UpTo: rapid.Int64Range(1, 60).Draw(t, "merged"), LeaveTail: 2}
		case 1:
			request = rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(8 * rows), grid.Every(2 * columns)}, Inner: rechunk.Cuts(from)}
		}
		opt := rechunk.Options{Memory: memory}.PlanStages(1)
		plan, err := rechunk.NewPlan(t.Context(), a, request, opt)
		if err != nil {
			if !errors.Is(err, zarr.ErrLimit) {
				t.Fatal(err)
			}
			return // a chunk exceeds the memory
		}
		m.reset()
		report, err := rechunk.Do(t.Context(), a, request, opt)
		if err != nil {
			t.Fatal(err)
		}
		did := report.Staged
		// Chunks that turned out to have only the fill value.
		did.Encoded, did.Dropped = did.Encoded+did.Dropped, 0
		// Which bytes are shared turns out when they are.
		did.BytesCopied, did.BytesLinked = did.BytesCopied+did.BytesLinked, 0
		if did != plan.Counts {
			t.Fatalf("did  %+v\nplan %+v", did, plan.Counts)
		}
		plan.Requests.List = 0 // an estimate
		if m.took != plan.Requests {
			t.Fatalf("took %+v\nplan %+v", m.took, plan.Requests)
		}
		if m.read != plan.BytesRead {
			t.Fatalf("read %d\nplan %d", m.read, plan.BytesRead)
		}
		planned.Add(did)
		x.check(t, a)
	})
	if t.Failed() {
		return
	}
	if min(planned.Cloned, planned.Arranged, planned.Encoded, planned.Scratch) == 0 {
		t.Errorf("a way of staging was never taken: %+v", planned)
	}
}

var planned rechunk.Counts

// TestPlanSparse plans for an array with far more chunks than can be visited, of which
// few are stored, and rechunks one with many.
func TestPlanSparse(t *testing.T) {
	for _, c := range []struct {
		rows, tall int64
		do         bool
	}{{1e15, 1e9, false}, {1e8, 1e4, true}} {
		a, err := zarr.At(memtest.New(), "a").CreateArray(t.Context(), zarr.Spec{
			Type: dtype.Int8, Shape: []int64{c.rows, 4}, Chunks: []grid.Cut{grid.Every(1), grid.Every(4)}, Codecs: fixture.Packed(),
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range []int64{7, c.rows - 1} {
			if err := zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: row, Stop: row + 1}, {Stop: 4}}), []int8{1, 2, 3, 4}); err != nil {
				t.Fatal(err)
			}
		}
		request := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(c.tall), grid.Every(1)}}
		plan, err := rechunk.NewPlan(t.Context(), a, request, nil)
		if err != nil || plan.Encoded != 8 {
			t.Fatalf("%+v (%v)", plan, err)
		}
		if !c.do {
			continue
		}
		if _, err := rechunk.Do(t.Context(), a, request, nil); err != nil {
			t.Fatal(err)
		}
		got, err := zarr.Read[int8](t.Context(), a, selection.BoxOf(grid.Box{{Start: 6, Stop: 9}, {Stop: 4}}))
		if want := []int8{0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0}; err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%v (%v)", got.Data, err)
		}
	}
}

// small is a store with little room.
type small struct {
	memtest.Store
	store.Directories
	room store.Room
}

func newSmall() *small {
	m := memtest.New()
	return &small{Store: m, Directories: store.DirectoriesOf(m)}
}

func (s *small) Room(store.Path) (store.Room, error) { return s.room, nil }

// TestSpace rechunks arrays in stores with as much room as is needed in any case. One
// byte less is refused, before anything is stored.
func TestSpace(t *testing.T) {
	across := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(64), grid.Every(1)}}
	plain := []metadata.Extension{codec.Bytes("little")}
	packed := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(64), grid.Every(64)}, Inner: rechunk.Cuts{grid.Every(1), grid.Every(64)}}
	for name, c := range map[string]struct {
		request rechunk.Request
		into    bool
		least   int64 // bytes
		hint    string
	}{
		"through scratch": {request: across, least: 4 * 64 * 64, hint: "rechunk.Vacuum"},
		"packed":          {request: packed, least: 4 * 64 * 64, hint: "rechunk.Vacuum"},
		"a copy":          {request: rechunk.Rechunking{}, into: true, least: 4 * 64 * 64, hint: "another place"},
		"encoded":         {request: rechunk.Compaction{UpTo: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSmall()
			spec := zarr.Spec{Type: dtype.Int32, Shape: []int64{64, 64}, Chunks: []grid.Cut{grid.Every(1), grid.Every(64)}, Codecs: plain}
			a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64*64))
			}
			if err != nil {
				t.Fatal(err)
			}
			opt := rechunk.Options{Memory: 16 * 4 * 70}.PlanStages(1)
			if c.into {
				opt.Into = zarr.At(s, "b")
			}
			try := func(room store.Room) error {
				s.room = room
				before := slices.Sorted(keysOf(t, s))
				plan, err := rechunk.NewPlan(t.Context(), a, c.request, opt)
				if err != nil {
					t.Fatal(err)
				}
				if room.Plain && plan.Space.Least != c.least || plan.Space.Free != room.Free || plan.Space.Likely < plan.Space.Least {
					t.Errorf("%+v, want at least %d", plan.Space, c.least)
				}
				_, err = rechunk.Do(t.Context(), a, c.request, opt)
				if err != nil && !slices.Equal(slices.Sorted(keysOf(t, s)), before) {
					t.Errorf("left over: %q", slices.Sorted(keysOf(t, s)))
				}
				return err
			}
			if c.least > 0 {
				err := try(store.Room{Free: c.least - 1, Plain: true})
				if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), c.hint) || zarr.KindOf(err) != "no-space" {
					t.Errorf("too little room: %v", err)
				}
				if _, err := rechunk.Stage(t.Context(), a, c.request, rechunk.StageShare{}, opt); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("a share with too little room: %v", err)
				}
			}
			if err := try(store.Room{Free: c.least, Plain: true}); err != nil {
				t.Error(err)
			}
		})
	}
	// A store that may compress or share is never said to be too small.
	s := newSmall()
	spec := zarr.Spec{Type: dtype.Int32, Shape: []int64{64, 64}, Chunks: []grid.Cut{grid.Every(1), grid.Every(64)}}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64*64))
	}
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, across, rechunk.Options{Memory: 16 * 4 * 70}.PlanStages(1))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestUnpackedBytes predicts the bytes that chunks take from shards.
func TestUnpackedBytes(t *testing.T) {
	s := memtest.New()
	spec := zarr.Spec{Type: dtype.Int32, Shape: []int64{60}, Chunks: []grid.Cut{grid.Every(30)}, InnerChunks: []grid.Cut{grid.Every(5)}}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 60))
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, err := rechunk.NewPlan(t.Context(), a, rechunk.Rechunking{Unpack: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Arranged != 12 || plan.BytesCopied != plan.BytesStored || plan.BytesArranged != plan.BytesStored {
		t.Errorf("%+v, but %d bytes are stored", plan.Counts, plan.BytesStored)
	}
}

// TestState compares an array with the one that a plan was made from.
func TestState(t *testing.T) {
	s := memtest.New()
	a, request := rows(t, s)
	opt := rechunk.Options{Memory: 4 * 4 * 16}.PlanStages(1)
	check := func(plan *rechunk.Plan, want string) {
		t.Helper()
		got, err := plan.State.Changes(t.Context(), again(t, s), plan.Fingerprint, opt)
		if err != nil || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q (%v), want %q", got, err, want)
		}
	}
	plan := func() *rechunk.Plan { return must1(rechunk.NewPlan(t.Context(), again(t, s), request, opt)) }
	first := plan()
	check(first, "")
	if err := a.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"title": "x"}`), nil }); err != nil {
		t.Fatal(err)
	}
	check(first, "")
	// A value of the same length.
	if err := zarr.Write(t.Context(), a, nil, make([]int32, 64)); err != nil {
		t.Fatal(err)
	}
	check(first, "deleted")
	for _, x := range []int32{3, 4} {
		now := make([]int32, 64)
		for i := range now {
			now[i] = x
		}
		first = plan()
		if err := zarr.Write(t.Context(), a, nil, now); err != nil {
			t.Fatal(err)
		}
		check(first, "written")
	}
	second := plan()
	if _, err := rechunk.Stage(t.Context(), again(t, s), request, rechunk.StageShare{}, opt); err != nil {
		t.Fatal(err)
	}
	check(second, "")
	if err := a.Resize(t.Context(), []int64{9, 8}, nil); err != nil {
		t.Fatal(err)
	}
	check(second, "metadata")
}
