// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// doubling is a store behind a proxy that delivers writes of documents and journals twice
// and gives the second answer. Drivers know their own writes of other values. between is
// called between the two, unless nil.
type doubling struct {
	stepping.ObjectStore
	between func(key store.Key)
}

func (d *doubling) Write(ctx context.Context, c store.Change, how store.Durability) (store.Written, error) {
	if c.Op != store.OpPutIf || c.Key.Base() != "zarr.json" && !isJournal(stepping.Op{Key: c.Key}) {
		return d.ObjectStore.Write(ctx, c, how)
	}
	_, _ = d.ObjectStore.Write(ctx, c, how)
	if d.between != nil {
		d.between(c.Key)
	}
	return d.ObjectStore.Write(ctx, c, how)
}

// doubled returns a node in a store behind such a proxy.
func doubled(u *unlocked) (*doubling, publish.Node) {
	d := &doubling{ObjectStore: u.node.Store.(stepping.ObjectStore)}
	n := u.node
	n.Store = d
	return d, n
}

// TestDeliveredTwice publishes over a proxy that delivers twice, over a free key and over
// chunks that are there. Each change is published once and is no conflict.
func TestDeliveredTwice(t *testing.T) {
	for name, plan := range map[string]func(publish.Document) (*publish.Change, error){
		"a free key":     puts("a/c/4", "4", "a/c/4"),
		"other chunks":   puts("a/c/1", "123", "a/c/1", "a/c/2", "a/c/3"),
		"several fences": puts("", "", "a/c/1", "a/c/2"),
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnlocked(t)
			_, n := doubled(u)
			if err := publish.Update(t.Context(), n, plan); err != nil {
				t.Fatal(err)
			}
			u.wants("a/zarr.json", "new")
		})
	}
	u := newUnlocked(t)
	_, n := doubled(u)
	n.Path = at(t, "b")
	if _, err := publish.Create(t.Context(), n, []byte("new")); err != nil {
		t.Errorf("a creation: %v", err)
	}
	if _, err := publish.Create(t.Context(), n, []byte("new")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second creation: %v", err)
	}
	n = u.node
	n.Store, n.SingleWriter = &doubling{ObjectStore: u.node.Store.(stepping.ObjectStore)}, true
	if err := publish.Update(t.Context(), n, puts("", "", "a/c/1")); err != nil {
		t.Errorf("a single writer: %v", err)
	}
	p := newPair(t)
	for i := range p.parts {
		p.parts[i].Store = &doubling{ObjectStore: p.parts[i].Store.(stepping.ObjectStore)}
	}
	if err := publish.UpdateAll(t.Context(), p.parts, nil); err != nil || !p.holds("a", "new") || !p.holds("b", "new") {
		t.Errorf("two nodes: %v", err)
	}
}

// TestRivalsBetween lets others publish between the two deliveries: as many that the
// trail has the first delivery, too many, or another program without a trail.
func TestRivalsBetween(t *testing.T) {
	publications := func(u *unlocked, n int) {
		for range n {
			if err := publish.Update(context.Background(), u.node, becomes("rival")); err != nil {
				u.t.Error(err)
			}
		}
	}
	for name, c := range map[string]struct {
		rivals func(u *unlocked)
		want   error
	}{
		"one":             {func(u *unlocked) { publications(u, 1) }, nil},
		"some":            {func(u *unlocked) { publications(u, 12) }, nil},
		"too many":        {func(u *unlocked) { publications(u, 40) }, publish.ErrOutcomeUnknown},
		"another program": {func(u *unlocked) { u.put("a/zarr.json", "foreign") }, publish.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnlocked(t)
			d, n := doubled(u)
			d.between = func(store.Key) {
				d.between = nil
				c.rivals(u)
			}
			if err := publish.Update(t.Context(), n, puts("a/c/4", "4", "a/c/4")); !errors.Is(err, c.want) {
				t.Errorf("error is %v, want %v", err, c.want)
			}
		})
	}
	// The rival comes before both deliveries: that is a conflict.
	u := newUnlocked(t)
	err := publish.Update(t.Context(), u.node, planned("writer", "a/c/4", "", func(put func(string) error) error {
		publications(u, 3)
		return put("a/c/4")
	}))
	if !errors.Is(err, store.ErrConflict) || errors.Is(err, publish.ErrOutcomeUnknown) {
		t.Errorf("error is %v", err)
	}
}

// TestJournalGone delivers the journal twice. Between the two, a recovery publishes the
// documents and deletes the journal: the change is done.
func TestJournalGone(t *testing.T) {
	p := newPair(t)
	plain := p.parts[0].Node
	for i := range p.parts {
		d := &doubling{ObjectStore: p.parts[i].Store.(stepping.ObjectStore)}
		d.between = func(key store.Key) {
			if isJournal(stepping.Op{Key: key}) {
				if _, err := publish.Recover(context.Background(), plain, nil); err != nil {
					t.Error(err)
				}
				if err := publish.Update(context.Background(), plain, becomes("later")); err != nil {
					t.Error(err)
				}
			}
		}
		p.parts[i].Store = d
	}
	err := publish.UpdateAll(t.Context(), p.parts, nil)
	if errors.Is(err, store.ErrConflict) || err != nil && !errors.Is(err, publish.ErrIncomplete) {
		t.Errorf("error is %v", err)
	}
	if !p.holds("a", "later") || !p.holds("b", "new") {
		t.Errorf("a has %q, b has %q", p.value("a/zarr.json"), p.value("b/zarr.json"))
	}
}

// forgetful is a store that loses the answer to the first write of a journal. then is
// called before.
type forgetful struct {
	stepping.ObjectStore
	follow func()
}

func (f *forgetful) Write(ctx context.Context, c store.Change, how store.Durability) (store.Written, error) {
	made, err := f.ObjectStore.Write(ctx, c, how)
	if then := f.follow; c.Op == store.OpPutIf && err == nil && then != nil && isJournal(stepping.Op{Key: c.Key}) {
		f.follow = nil
		then()
		return store.Written{}, io.ErrUnexpectedEOF
	}
	return made, err
}

// TestJournalMissed loses the answer to the journal. Before the writer looks, a recovery
// publishes the documents and deletes the journal: the change is done.
func TestJournalMissed(t *testing.T) {
	p := newPair(t)
	plain := p.parts[0].Node
	for i := range p.parts {
		f := &forgetful{ObjectStore: p.parts[i].Store.(stepping.ObjectStore)}
		f.follow = func() {
			if _, err := publish.Recover(context.Background(), plain, nil); err != nil {
				t.Error(err)
			}
		}
		p.parts[i].Store = f
	}
	if err := publish.UpdateAll(t.Context(), p.parts, nil); err != nil && !errors.Is(err, publish.ErrIncomplete) {
		t.Errorf("error is %v", err)
	}
	if !p.holds("a", "new") || !p.holds("b", "new") {
		t.Errorf("a has %q, b has %q", p.value("a/zarr.json"), p.value("b/zarr.json"))
	}
}

// TestChunkOnce loses the request of a chunk that is there, and checks that the driver is
// told not to repeat it, and that the fence is looked at before it is made again.
func TestChunkOnce(t *testing.T) {
	u := newUnlocked(t)
	l := &losing{ObjectStore: u.node.Store.(stepping.ObjectStore), key: store.MustKey("a/c/1")}
	n, fences := u.node, 0
	u.do = func(before bool) error {
		if before {
			fences++
		}
		return nil
	}
	n.Store = l
	if err := publish.Update(t.Context(), n, puts("", "", "a/c/1")); err != nil {
		t.Fatal(err)
	}
	u.wants("a/c/1", "ours")
	if l.lost != 1 || l.repeatable || fences != 3 { // with the publication
		t.Errorf("%d requests lost, repeatable %v, the document was written %d times", l.lost, l.repeatable, fences)
	}
}

// losing is a store that loses the first replacement of a value. then is called instead,
// unless nil.
type losing struct {
	stepping.ObjectStore
	key        store.Key
	follow     func()
	lost       int
	repeatable bool // the driver might have repeated it
}

func (l *losing) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf && c.Key == l.key && !c.If.Absent() && l.lost == 0 {
		l.lost++
		if l.repeatable = !c.If.IsUnrepeatable(); l.follow != nil {
			l.follow()
		}
		return store.Written{}, errFault
	}
	return l.ObjectStore.Write(ctx, c, d)
}

// TestChunkChanged loses the request of a part of a chunk, and lets another writer store
// another part meanwhile, which needs no fence. Its part stays.
func TestChunkChanged(t *testing.T) {
	u := newUnlocked(t)
	key := store.MustKey("a/c/1")
	l := &losing{ObjectStore: u.node.Store.(stepping.ObjectStore), key: key, follow: func() { u.put("a/c/1", "region of another") }}
	n := u.node
	n.Store = l
	err := publish.Update(t.Context(), n, func(publish.Document) (*publish.Change, error) {
		return &publish.Change{Document: []byte("new"), Stage: func(ctx context.Context, b store.Batch) error {
			info, err := u.others.Stat(ctx, key)
			if err != nil {
				return err
			}
			_, err = b.Write(ctx, store.PutIf(key, []byte("the merged chunk of the change"), store.IfVersion(info.Version)))
			return err
		}}, nil
	})
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	u.wants("a/c/1", "region of another")
}
