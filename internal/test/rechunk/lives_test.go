// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// life is a random history of an array and of two programs that change it. One of them
// has often opened it before the other one has rechunked it.
type life struct {
	*world
	writers [2]*zarr.Array
	foreign bool // another program merges chunks in place, without Varve's protocol
	actions map[string]int
}

func newLife(t *testing.T, kind string, seed, number uint64) (*life, error) {
	w, _ := newWorld(t, kind, seed, number, randomizer.spec)
	l := &life{world: w, actions: map[string]int{}}
	w.rate, w.most, w.sparse = 20, 10, 3
	l.foreign = kind == "conditions" && w.one(3)
	for i := range l.writers {
		var err error
		if l.writers[i], err = w.writer(); err != nil {
			return nil, err
		}
	}
	return l, w.put(l.writers[0])
}

// act makes one random change.
func (l *life) act() error {
	a := l.writers[l.IntN(2)]
	what, do := "write", func() error { return l.put(a) }
	switch k := l.IntN(20); {
	case k < 5:
		what, do = "append", func() error { return l.add(a) }
	case k < 8:
		what, do = "resize", func() error { return l.reshapes(a) }
	case k < 12:
		what, do = "rechunk", func() error { return l.rechunks(a) }
	case k == 12:
		what, do = "vacuum", func() error { return l.clean(a) }
	case k == 13:
		what, do = "revert", func() error { return l.reverts(a) }
	case k == 14:
		what, do = "refresh", l.refreshes
	case k < 17 && l.foreign:
		what, do = "merge in place", l.merges
	}
	l.actions[what]++
	if err := l.during(do); err != nil {
		return fmt.Errorf("%s: %s: %w", l.seed, what, err)
	}
	return l.settled()
}

// rechunks rechunks the array, after a vacuum if all keys are in use.
func (l *life) rechunks(a *zarr.Array) error {
	if err := a.Refresh(context.Background()); err != nil {
		return err
	}
	q := l.request(a)
	if _, isCuts := q.(rechunk.Rechunking); !isCuts && l.one(4) && a.Rank() > 1 {
		q = rechunk.Regularization{}
	}
	_, err := rechunk.Do(context.Background(), a, q, nil)
	if errors.Is(err, rechunk.ErrNoKeys) {
		l.actions["no keys"]++
		if err = l.clean(a); err == nil {
			_, err = rechunk.Do(context.Background(), a, q, nil)
		}
	}
	if errors.Is(err, rechunk.ErrNoKeys) && (l.foreign || a.Format() == 2 && a.Rank() == 1) {
		err = nil // what another program has done is not deleted
	}
	if err != nil {
		return fmt.Errorf("%+v of %s: %w", q, a, err)
	}
	return nil
}

func (l *life) clean(a *zarr.Array) error {
	_, err := rechunk.Vacuum(context.Background(), a, &rechunk.VacuumOptions{Grace: -1})
	return err
}

func (l *life) reverts(a *zarr.Array) error {
	err := rechunk.Revert(context.Background(), a)
	if errors.Is(err, rechunk.ErrNoRevert) {
		return nil
	}
	if err == nil {
		l.actions["reverted"]++
	}
	return err
}

// refreshes lets a reader look at the document. From then on it finds only what elements
// have from then on, unless they are changed meanwhile.
func (l *life) refreshes() error {
	if len(l.readers) == 0 {
		return nil
	}
	l.guard.Lock()
	defer l.guard.Unlock()
	r := l.readers[l.IntN(len(l.readers))]
	if r.blind {
		return nil
	}
	r.since = l.clock
	return r.array.Refresh(context.Background())
}

// merges joins the last chunks along the first axis in place: it stores the merged chunks
// under keys that are in use, and then the document, as other programs do.
func (l *life) merges() error {
	ctx := context.Background()
	a, err := zarr.At(l.plain, "a").OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	first := a.Grid().Axis(0)
	n := first.Chunks()
	if first.IsRegular() || n < 2 || first.Cells() != n || a.Format() == 2 {
		return nil
	}
	l.actions["merged in place"]++
	p := l.between(0, n-2)
	g, err := a.Grid().Merged(0, grid.Interval{Start: p, Stop: n})
	if err != nil {
		return err
	}
	doc := a.Metadata().Resized(g.Shape(), metadata.Extension{Name: g.Name(), Configuration: g.AppendConfiguration(nil)})
	raw, err := doc.Marshal(metadata.Limits{})
	if err != nil {
		return err
	}
	merged, err := l.copied(a, raw)
	if err != nil {
		return err
	}
	l.window = true
	defer func() { l.window = false }()
	box := grid.BoxOf(g.Chunks())
	box[0] = grid.Interval{Start: p, Stop: p + 1}
	keys := a.Spec().KeyEncoding
	for index := range box.Indices() {
		name := "a/" + string(keys.AppendKey(nil, index))
		value, _, err := merged.Get(ctx, store.MustKey(name), store.Request{}, nil)
		if err == nil {
			_, err = l.plain.Write(ctx, store.Put(store.MustKey(name), value), store.Flush)
		}
		if err != nil {
			return err
		}
		l.step()
	}
	if _, err = l.plain.Write(ctx, store.Put(store.MustKey("a/zarr.json"), raw), store.Flush); err != nil || l.one(2) {
		return err
	}
	l.step()
	// Delete the chunks that are in no grid any more.
	box = grid.BoxOf(a.Grid().Chunks())
	box[0].Start = p + 1
	for index := range box.Indices() {
		if _, err := l.plain.Write(ctx, store.Delete(store.MustKey("a/"+string(keys.AppendKey(nil, index)))), store.Sync); err != nil {
			return err
		}
	}
	return nil
}

// copied stores the elements of an array in another store, with another document.
func (l *life) copied(a *zarr.Array, raw []byte) (store.Store, error) {
	ctx, s := context.Background(), memstore.New()
	b, err := zarr.Read[int32](ctx, a, nil)
	if err != nil {
		return nil, err
	}
	if _, err = store.Write(ctx, s, store.Put(store.MustKey("a/zarr.json"), raw), store.Flush); err != nil {
		return nil, err
	}
	to, err := zarr.At(s, "a").OpenArray(ctx, &zarr.Options{Write: true, StoreFill: true})
	if err != nil {
		return nil, err
	}
	return s, zarr.Write(ctx, to, nil, b.Data)
}

// TestLives plays random histories of drawn arrays: appends, writes, other shapes, merges
// of other programs in place, rechunks of every kind, reverts and vacuums without
// grace, by two programs that have opened the array at any time. Readers of any time find
// what the elements have, or have had since; an error only tells that elements are gone.
// Readers that cannot see that the array has changed find wrong elements.
func TestLives(t *testing.T) {
	for kind, lives := range map[string]int{"conditions": fixture.Soaked(t, 120, 20_000), "files": fixture.Soaked(t, 12, 2000)} {
		t.Run(kind, func(t *testing.T) {
			fixture.Sequential(t)
			seed := uint64(time.Now().UnixNano())
			var guarded, blind outcomes
			did := map[string]int{}
			for i := range lives {
				l, err := newLife(t, kind, seed, uint64(i))
				for n := 0; n < 14 && err == nil; n++ {
					err = l.act()
				}
				if err != nil {
					t.Fatal(err)
				}
				for what, n := range l.actions {
					did[what] += n
				}
				guarded.add(*l.found[false])
				blind.add(*l.found[true])
			}
			t.Logf("%d lives, %v\n\treaders: %s\n\tblind readers: %s", lives, did, guarded, blind)
			if guarded[filled]+guarded[silent] > 0 {
				t.Error("a reader found wrong elements")
			}
			if guarded[right] < 50*lives || blind[filled]+blind[silent] == 0 {
				t.Error("the model shows too little")
			}
		})
	}
}
