// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// past is a store that reports an old time of writing for every chunk, and one constant
// version for the document. Its readers cannot notice replaced chunks.
type past struct{ memtest.Store }

func (p past) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := p.Store.Get(ctx, key, q, dst)
	info.Modified = time.Unix(1, 0)
	return out, info, err
}

// eras is a random history of an array with listed edges, and of its readers.
type eras struct {
	s       memtest.Store
	h       *zarr.Location
	r       *rand.Rand
	truth   []int32
	edges   []int64
	dropped []int64 // indices of orphaned chunks: stored, but no longer in the grid
	readers []*zarr.Array
	guarded bool

	reads, wrong int
}

func newEras(ctx context.Context, r *rand.Rand, guarded bool) (*eras, error) {
	e := &eras{s: memtest.New(), r: r, truth: fixture.Numbers(1, 4), edges: []int64{3, 1}, guarded: guarded}
	e.h = zarr.At(e.s, "")
	spec := fixture.Edges(3, 1)
	spec.Codecs = fixture.Plain()
	a, err := e.h.At("a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, e.truth)
	}
	return e, err
}

// step makes one random step.
func (e *eras) step(ctx context.Context) error {
	switch n := e.r.IntN(10); {
	case n < 3:
		return e.append(ctx)
	case n < 5:
		return e.merge(ctx)
	case n < 6:
		return e.drop(ctx)
	case n < 7:
		return e.open(ctx)
	}
	return e.read(ctx)
}

func (e *eras) append(ctx context.Context) error {
	n := 1 + e.r.IntN(2)
	data := fixture.Numbers(int32(len(e.truth)+1), int32(n))
	a, err := e.h.At("a").OpenArray(ctx, &zarr.Options{Write: true, Concurrency: 1})
	if err == nil {
		err = zarr.Append(ctx, a, 0, data, nil)
	}
	at := int64(len(e.edges))
	e.dropped = slices.DeleteFunc(e.dropped, func(i int64) bool { return i == at })
	e.edges, e.truth = append(e.edges, int64(n)), append(e.truth, data...)
	return err
}

// merge joins the last chunks into one, in place, without Varve's protocol: it writes
// the chunk first and then the document.
func (e *eras) merge(ctx context.Context) error {
	if len(e.edges) < 3 {
		return nil
	}
	p := 1 + e.r.IntN(len(e.edges)-2)
	from := sum(e.edges[:p])
	for i := p + 1; i < len(e.edges); i++ {
		e.dropped = append(e.dropped, int64(i))
	}
	merged := append(slices.Clone(e.edges[:p]), sum(e.edges[p:]))
	spec := fixture.Edges(merged...)
	made, err := grid.New(spec.Shape, spec.Chunks...)
	if err != nil {
		return err
	}
	a, err := e.h.At("a").OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	doc := a.Metadata().Resized(spec.Shape, metadata.Extension{Name: made.Name(), Configuration: made.AppendConfiguration(nil)})
	raw, err := doc.Marshal(metadata.Limits{})
	if err != nil {
		return err
	}
	if err := e.put(ctx, fmt.Sprintf("a/c/%d", p), fixture.LittleEndian(e.truth[from:])); err != nil {
		return err
	}
	if e.r.IntN(4) == 0 { // a concurrent reader may find a chunk that is longer than the document says
		if err := e.read(ctx); err != nil && !errors.Is(err, zarr.ErrCorrupt) {
			return err
		}
	}
	e.edges = merged
	return e.put(ctx, "a/zarr.json", raw)
}

func (e *eras) put(ctx context.Context, key string, value []byte) error {
	_, err := e.s.Write(ctx, store.Put(store.MustKey(key), value), store.Flush)
	return err
}

// drop deletes some orphaned chunks.
func (e *eras) drop(ctx context.Context) error {
	for _, i := range e.dropped {
		if _, err := e.s.Write(ctx, store.Delete(store.MustKey(fmt.Sprintf("a/c/%d", i))), store.Sync); err != nil {
			return err
		}
	}
	e.dropped = nil
	return nil
}

// open opens the array for a reader that keeps it open.
func (e *eras) open(ctx context.Context) error {
	h := e.h
	if !e.guarded {
		h = zarr.At(past{e.s}, "")
	}
	a, err := h.At("a").OpenArray(ctx, &zarr.Options{Concurrency: 1})
	e.readers = append(e.readers, a)
	return err
}

// read reads a random part of the array with one of the readers.
func (e *eras) read(ctx context.Context) error {
	if len(e.readers) == 0 {
		return nil
	}
	a := e.readers[e.r.IntN(len(e.readers))]
	n := a.Shape()[0]
	from := e.r.Int64N(n)
	to := from + 1 + e.r.Int64N(n-from)
	b, err := zarr.Read[int32](ctx, a, selection.Box{{from, to}})
	e.reads++
	if err != nil {
		return fmt.Errorf("read %d to %d: %w", from, to, err)
	}
	if !slices.Equal(b.Data, e.truth[from:to]) {
		e.wrong++
	}
	return nil
}

func sum(n []int64) (total int64) {
	for _, v := range n {
		total += v
	}
	return total
}

// TestGuard checks readers during random appends and in-place merges of the last chunks,
// so that a key may come to name a chunk at another place. Readers stay open from any
// time on. None reads elements of another place, and reads fail only during a merge.
// Readers that cannot see the times of chunks do read elements of other places.
func TestGuard(t *testing.T) {
	fixture.Sequential(t)
	histories := 1200
	switch {
	case fixture.Long():
		histories = 30_000
	case fixture.Whole():
		histories = 3000
	}
	seed := uint64(time.Now().UnixNano())
	for _, guarded := range []bool{true, false} {
		if !guarded {
			histories /= 6
		}
		reads, wrong := 0, 0
		for i := range histories {
			e, err := newEras(t.Context(), rand.New(rand.NewPCG(seed, uint64(i))), guarded)
			for n := 0; n < 30 && err == nil; n++ {
				err = e.step(t.Context())
			}
			if err != nil || guarded && e.wrong > 0 {
				t.Fatalf("seed %d, history %d: %d wrong reads, %v", seed, i, e.wrong, err)
			}
			reads, wrong = reads+e.reads, wrong+e.wrong
		}
		t.Logf("%d histories, guarded %t: %d reads, %d wrong", histories, guarded, reads, wrong)
		if !guarded && wrong < histories/50 {
			t.Errorf("unguarded: %d of %d reads were wrong, want more: the histories are too easy", wrong, reads)
		}
	}
}

// TestGuardTrimmed shrinks an array by whole edges and appends again, so that a key
// names a chunk at another place. A reader of the first state gets the present elements,
// even if there are fewer.
func TestGuardTrimmed(t *testing.T) {
	ctx, s := t.Context(), memtest.New()
	spec := fixture.Edges(2, 1, 1, 1)
	a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 5)); err != nil {
		t.Fatal(err)
	}
	old, err := zarr.At(s, "a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	blind, err := zarr.At(past{s}, "a").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = a.Resize(ctx, []int64{2}, &zarr.ResizeOptions{Shrink: grid.TrimEdges})
	for _, n := range []int32{2, 1, 1} { // the edges are 2, 2, 1, 1 then
		if err == nil {
			err = zarr.Append(ctx, a, 0, fixture.Numbers(100*n, n), nil)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	part := selection.Box{{3, 4}} // was in chunk 2, which now begins at 4
	if b, err := zarr.Read[int32](ctx, blind, part); err != nil || b.Data[0] != 100 {
		t.Errorf("without a guard: %v (%v)", b.Data, err)
	}
	if b, err := zarr.Read[int32](ctx, old, part); err != nil || b.Data[0] != 201 {
		t.Errorf("%v (%v), want 201", b.Data, err)
	}
}
