// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// planned is a plan of the named writer whose chunks stage puts.
func planned(name, marker, guarded string, stage func(put func(key string) error) error) func(publish.Document) (*publish.Change, error) {
	return func(publish.Document) (*publish.Change, error) {
		c := &publish.Change{Document: []byte(name), Stage: func(ctx context.Context, b store.Batch) error {
			return stage(func(key string) error { return b.Put(ctx, store.MustKey(key), []byte(name)) })
		}}
		c.Marker = store.MustKey(marker)
		c.Guarded = func(key store.Key) bool { return strings.Contains(guarded, key.Base()) }
		return c, nil
	}
}

// TestRivals lets a concurrent writer plan on the document that a writer has fenced, and
// put a chunk that the writer overwrites afterwards. All chunks belong to the one that
// publishes.
func TestRivals(t *testing.T) {
	for name, c := range map[string]struct {
		before, guarded string // chunks put before the rival plans, and what its marker 1 guards
		rival           string // what the rival puts besides
	}{
		"another marker":         {"a/c/1", "1", "a/c/4"},
		"the marker comes later": {"a/c/2", "12345", "a/c/4"},
		"a fence of the rival":   {"a/c/1", "12345", "a/c/3"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnlocked(t)
			rival := make(chan error, 1)
			err := publish.Update(t.Context(), u.node, planned("writer", "a/c/1", c.guarded, func(put func(string) error) error {
				if err := put(c.before); err != nil { // something is left there: the fence is raised
					return err
				}
				ready, goOn := make(chan bool), make(chan bool)
				go func() {
					rival <- publish.Update(t.Context(), u.node, planned("rival", "a/c/4", "", func(put func(string) error) error {
						err := errors.Join(put(c.rival), put("a/c/5")) // 5 is not there: no fence for it
						close(ready)
						<-goOn
						return err
					}))
				}()
				<-ready
				err := put("a/c/5")
				close(goOn)
				return errors.Join(err, <-rival)
			}))
			if err != nil && !errors.Is(err, store.ErrConflict) {
				t.Fatal(err)
			}
			document, _, err := u.others.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if published := strings.TrimSpace(string(document)); published != "old" {
				u.wants("a/c/5", published)
			}
		})
	}
}

// TestAbandoned checks that staged chunks are abandoned if staging fails, even after the
// context has ended, and not if it succeeds.
func TestAbandoned(t *testing.T) {
	for name, fault := range map[string]error{"fails": errFault, "ends": context.Canceled, "succeeds": nil} {
		t.Run(name, func(t *testing.T) {
			r, n := prepared(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			abandoned := 0
			err := publish.Update(ctx, n, func(publish.Document) (*publish.Change, error) {
				return &publish.Change{
					Document: []byte("new"),
					Stage: func(ctx context.Context, b store.Batch) error {
						if err := b.Put(ctx, store.MustKey("a/c/9"), []byte("staged")); err != nil {
							return err
						}
						if errors.Is(fault, context.Canceled) {
							cancel()
						}
						return fault
					},
					Abandon: func(ctx context.Context, b store.Batch) error {
						abandoned++
						return errors.Join(ctx.Err(), b.Delete(ctx, store.MustKey("a/c/9")))
					},
				}, nil
			})
			found, statErr := store.Exists(t.Context(), r.Store, store.MustKey("a/c/9"))
			if !errors.Is(err, fault) || statErr != nil || found != (fault == nil) || (abandoned == 1) != (fault != nil) {
				t.Errorf("error %v, abandoned %d times, the chunk is there: %v", err, abandoned, found)
			}
		})
	}
}

// waiting is a store whose locks are granted only after something else has happened.
type waiting struct {
	*memstore.Store
	t         *testing.T
	meanwhile func()
}

// newWaiting returns a store in which the node "a" has the document "old" and a pointer
// to a journal.
func newWaiting(t *testing.T) *waiting {
	w := &waiting{Store: memstore.New(), t: t}
	w.put("a/zarr.json", "old")
	w.put(pointerA, `{"journal": "__varve/together-x.json"}`)
	return w
}

func (w *waiting) put(key, value string) {
	w.t.Helper()
	if _, err := w.Put(context.Background(), store.MustKey(key), []byte(value), store.Flush); err != nil {
		w.t.Fatal(err)
	}
}

func (w *waiting) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	if do := w.meanwhile; do != nil {
		w.meanwhile = nil
		do()
	}
	return w.Store.Lock(ctx, dir)
}

// TestUndoWaits checks that a transaction is not rolled back if its journal is stored
// while the recovery waits for the lock.
func TestUndoWaits(t *testing.T) {
	w, ctx := newWaiting(t), t.Context()
	w.meanwhile = func() { w.put(journalX, `{"aborted": true}`) }
	n := publish.Node{Store: w, Path: at(t, "a"), Document: "zarr.json"}
	if found, err := publish.Recover(ctx, n, nil); !found || !errors.Is(err, publish.ErrPending) {
		t.Errorf("found %v, error %v", found, err)
	}
	if there, err := store.Exists(ctx, w, store.MustKey(pointerA)); !there || err != nil {
		t.Errorf("the pointer is there: %v, %v", there, err)
	}
}
