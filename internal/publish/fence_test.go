// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// document is the key of the document of the node "a".
var document = store.MustKey("a/zarr.json")

// unlocked is a store without locks. Its node "a" has a document and leftover chunks 1 to
// 3. Concurrent writers use others.
type unlocked struct {
	t      *testing.T
	others memtest.Store
	node   publish.Node
	// do is called before and after every write of the document; what it returns is the
	// answer. It may be nil.
	do func(before bool) error
	// blind makes reads of the document fail.
	blind bool
}

func newUnlocked(t *testing.T) *unlocked {
	u := &unlocked{t: t, others: memtest.New()}
	at := func(before bool) func(op stepping.Op) error {
		return func(op stepping.Op) error {
			switch {
			case op.Name == "PutIf" && op.Key == document && u.do != nil:
				return u.do(before)
			case op.Name == "Get" && op.Key == document && u.blind:
				return errFault
			}
			return nil
		}
	}
	s := stepping.Conditional(u.others, stepping.Hooks{
		Before: func(_ context.Context, op stepping.Op) error { return at(true)(op) },
		After:  func(op stepping.Op, err error) error { return errors.Join(err, at(false)(op)) },
	})
	u.node = publish.Node{Store: s, Path: document.Dir(), Document: "zarr.json"}
	u.put("a/zarr.json", "old\n")
	for _, key := range []string{"a/c/1", "a/c/2", "a/c/3"} {
		u.put(key, "left")
	}
	return u
}

// put writes as a concurrent writer.
func (u *unlocked) put(key, value string) {
	u.t.Helper()
	if _, err := u.others.Write(context.Background(), store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
		u.t.Fatal(err)
	}
}

// wants compares a value. A document may have a trail besides.
func (u *unlocked) wants(key, value string) {
	u.t.Helper()
	got, _, err := u.others.Get(context.Background(), store.MustKey(key), store.Request{}, nil)
	if err != nil || string(got) != value && !(store.MustKey(key) == document && publish.Same(got, []byte(value))) {
		u.t.Errorf("%s is %q (%v), want %q", key, got, err, value)
	}
}

// puts is a change that puts chunks in an order; the first is the marker chunk.
func puts(marker string, guarded string, keys ...string) func(publish.Document) (*publish.Change, error) {
	return func(publish.Document) (*publish.Change, error) {
		c := &publish.Change{Document: []byte("new"), Stage: func(ctx context.Context, b store.Batch) error {
			for _, key := range keys {
				if _, err := b.Write(ctx, store.Put(store.MustKey(key), []byte("ours"))); err != nil {
					return err
				}
			}
			return nil
		}}
		if marker != "" {
			c.Marker = store.MustKey(marker)
			c.Guarded = func(key store.Key) bool { return strings.Contains(guarded, key.Base()) }
		}
		return c, nil
	}
}

// TestFencesRaised counts the fences that a change raises over leftover chunks: one if
// the marker guards them all, one more for each that it does not guard, and one for each
// as long as the marker is not put.
func TestFencesRaised(t *testing.T) {
	for name, tt := range map[string]struct {
		plan   func(publish.Document) (*publish.Change, error)
		fences int
	}{
		"guarded":         {puts("a/c/1", "123", "a/c/1", "a/c/2", "a/c/3"), 1},
		"one is not":      {puts("a/c/1", "12", "a/c/1", "a/c/2", "a/c/3"), 2},
		"no marker":       {puts("", "", "a/c/1", "a/c/2", "a/c/3"), 3},
		"not yet put":     {puts("a/c/3", "123", "a/c/1", "a/c/2", "a/c/3"), 3},
		"nothing is left": {puts("a/c/4", "4", "a/c/4"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			u, writes := newUnlocked(t), 0
			u.do = func(before bool) error {
				if before {
					writes++
				}
				return nil
			}
			if err := publish.Update(t.Context(), u.node, tt.plan); err != nil {
				t.Fatal(err)
			}
			if u.wants("a/zarr.json", "new"); writes != 1+tt.fences {
				t.Errorf("%d fences, want %d", writes-1, tt.fences)
			}
		})
	}
}

// TestFenceOfAnother loses the answer to a fence that a concurrent writer raises instead.
// The chunks which that writer is about to overwrite must not be published.
func TestFenceOfAnother(t *testing.T) {
	u := newUnlocked(t)
	u.do = func(bool) error {
		u.do = nil
		info, err := u.others.Stat(t.Context(), document)
		if err == nil {
			err = publish.Disturb(t.Context(), u.node, info.Version) // it raises a fence
		}
		return errors.Join(err, errFault)
	}
	if err := publish.Update(t.Context(), u.node, puts("a/c/1", "1", "a/c/1")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	u.wants("a/c/1", "left")
	u.wants("a/zarr.json", "old")
}

// TestFenceRepeated loses the answer to a fence that was not raised: it is raised again.
func TestFenceRepeated(t *testing.T) {
	u := newUnlocked(t)
	u.do = func(bool) error {
		u.do = nil
		return errFault
	}
	if err := publish.Update(t.Context(), u.node, puts("a/c/1", "1", "a/c/1")); err != nil {
		t.Error(err)
	}
	u.wants("a/zarr.json", "new")
}

// TestFenceRefused refuses to write the document: when it is published, and when a fence
// is raised before. One try is enough, and the error is that of the service.
func TestFenceRefused(t *testing.T) {
	for name, chunk := range map[string]string{"publishing": "a/c/4", "fencing": "a/c/1"} {
		t.Run(name, func(t *testing.T) {
			u, tries := newUnlocked(t), 0
			u.do = func(bool) error {
				tries++
				return driver.Refused(fs.ErrPermission)
			}
			err := publish.Update(t.Context(), u.node, puts(chunk, "", chunk))
			if !errors.Is(err, fs.ErrPermission) || errors.Is(err, publish.ErrOutcomeUnknown) || errors.Is(err, store.ErrConflict) {
				t.Errorf("error is %v", err)
			}
			if tries != 1 {
				t.Errorf("the document is written %d times, want 1", tries)
			}
			u.wants("a/zarr.json", "old")
		})
	}
}

// full is a store that has no space left for chunks.
type full struct{ stepping.ObjectStore }

func (f full) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf && c.Key != document {
		return store.Written{}, errFault
	}
	return f.ObjectStore.Write(ctx, c, d)
}

// TestFull stores a chunk where there is no space left. The error says so: a conflict
// would be tried again, and hide the cause.
func TestFull(t *testing.T) {
	u := newUnlocked(t)
	u.node.Store = full{u.node.Store.(stepping.ObjectStore)}
	for _, chunk := range []string{"a/c/4", "a/c/1"} { // none is there, and one is left
		err := publish.Update(t.Context(), u.node, puts(chunk, "", chunk))
		if !errors.Is(err, errFault) || errors.Is(err, store.ErrConflict) {
			t.Errorf("%s: error is %v", chunk, err)
		}
	}
	u.wants("a/zarr.json", "old")
}

// TestNoRoom publishes, creates and disturbs documents that could be longer than the
// limit once they have a trail. Nothing is written: nobody could read them.
func TestNoRoom(t *testing.T) {
	for name, do := range map[string]func(n publish.Node) error{
		"a new document": func(n publish.Node) error {
			return publish.Update(t.Context(), n, func(publish.Document) (*publish.Change, error) {
				return &publish.Change{Document: []byte(strings.Repeat("x", 900))}, nil
			})
		},
		"a transaction": func(n publish.Node) error {
			plan := func(publish.Document) (*publish.Change, error) {
				return &publish.Change{Document: []byte(strings.Repeat("x", 900))}, nil
			}
			return publish.UpdateAll(t.Context(), []publish.Participant{{Node: n, Plan: plan}}, nil)
		},
		"the present document": func(n publish.Node) error {
			n.Limit = 1100
			return publish.Update(t.Context(), n, puts("a/c/1", "1", "a/c/1"))
		},
		"a creation": func(n publish.Node) error {
			n.Document = "other"
			_, err := publish.Create(t.Context(), n, []byte(strings.Repeat("x", 900)))
			return err
		},
		"a disturbance": func(n publish.Node) error {
			info, err := store.Stat(t.Context(), n.Store, store.MustKey("a/zarr.json"))
			if n.Limit = 1100; err == nil {
				err = publish.Disturb(t.Context(), n, info.Version)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnlocked(t)
			u.node.Limit = 2000
			u.do = func(bool) error { t.Error("the document is written"); return nil }
			if err := do(u.node); !errors.Is(err, store.ErrTooLarge) {
				t.Errorf("error is %v", err)
			}
			u.wants("a/zarr.json", "old")
			if found, err := store.Exists(t.Context(), u.node.Store, store.MustKey("a/other")); found || err != nil {
				t.Errorf("the new node is there: %t, %v", found, err)
			}
		})
	}
}

// TestPublishedLost publishes a document, and gets no answer or, as if the request was
// delivered twice, that of a conflict. A concurrent writer writes before the outcome is
// looked up, or that fails. An unknown outcome is no conflict, because who meets a
// conflict makes the change again.
func TestPublishedLost(t *testing.T) {
	for name, tt := range map[string]struct {
		rival string // "" for none
		blind bool   // the document cannot be read afterwards
		want  error
	}{
		"nobody else":      {"", false, nil},
		"a fence upon it":  {"new\n\n\n", false, publish.ErrOutcomeUnknown},
		"a change upon it": {"newer\n\n\n", false, publish.ErrOutcomeUnknown},
		"a fence instead":  {"old\n\n", false, store.ErrConflict},
		"a change instead": {"other\n\n", false, publish.ErrOutcomeUnknown},
		"no look":          {"", true, publish.ErrOutcomeUnknown},
	} {
		for _, answer := range []error{errFault, store.ErrConflict} {
			t.Run(fmt.Sprint(name, answer), func(t *testing.T) {
				u := newUnlocked(t)
				u.do = func(before bool) error {
					if before {
						return nil
					}
					u.do, u.blind = nil, tt.blind
					if tt.rival != "" {
						u.put("a/zarr.json", tt.rival)
					}
					return answer
				}
				err := publish.Update(t.Context(), u.node, puts("a/c/4", "4", "a/c/4"))
				if !errors.Is(err, tt.want) || tt.want == publish.ErrOutcomeUnknown && errors.Is(err, store.ErrConflict) {
					t.Errorf("error is %v, want %v", err, tt.want)
				}
			})
		}
	}
}

// late is a store in which the first write of "new" arrives after it failed.
type late struct {
	stepping.ObjectStore
	write func() error
}

func (l *late) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf && l.write == nil && strings.HasPrefix(string(c.Value), "new") {
		l.write = func() error {
			_, err := l.ObjectStore.Write(context.Background(), c, d)
			return err
		}
		return store.Written{}, errFault
	}
	return l.ObjectStore.Write(ctx, c, d)
}

// TestPublishedLate lets the write of a document arrive after it was reported as failed.
func TestPublishedLate(t *testing.T) {
	u := newUnlocked(t)
	l := &late{ObjectStore: u.node.Store.(stepping.ObjectStore)}
	u.node.Store = l
	if err := publish.Update(t.Context(), u.node, puts("a/c/4", "4", "a/c/4")); !errors.Is(err, store.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	if err := l.write(); !errors.Is(err, store.ErrConflict) {
		t.Errorf("the late write: %v", err)
	}
	u.wants("a/zarr.json", "old")
}

// TestHoldFails holds a node whose fence cannot be raised: the node has no holder then.
func TestHoldFails(t *testing.T) {
	u := newUnlocked(t)
	u.node.Holder = "me"
	u.do = func(bool) error { return errFault }
	if err := publish.Hold(t.Context(), u.node, nil); !errors.Is(err, errFault) {
		t.Errorf("error is %v", err)
	}
	if holder, _, err := publish.Holder(t.Context(), u.node); err != nil || holder != "" {
		t.Errorf("%q holds it (%v)", holder, err)
	}
}

// planned is a plan of the named writer whose chunks stage puts.
func planned(name, marker, guarded string, stage func(put func(key string) error) error) func(publish.Document) (*publish.Change, error) {
	return func(publish.Document) (*publish.Change, error) {
		c := &publish.Change{Document: []byte(name), Stage: func(ctx context.Context, b store.Batch) error {
			return stage(func(key string) error {
				_, err := b.Write(ctx, store.Put(store.MustKey(key), []byte(name)))
				return err
			})
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
						if _, err := b.Write(ctx, store.Put(store.MustKey("a/c/9"), []byte("staged"))); err != nil {
							return err
						}
						if errors.Is(fault, context.Canceled) {
							cancel()
						}
						return fault
					},
					Abandon: func(ctx context.Context, b store.Batch) error {
						abandoned++
						return errors.Join(ctx.Err(), errOf(b.Write(ctx, store.Delete(store.MustKey("a/c/9")))))
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
	memtest.Store
	t         *testing.T
	interrupt func()
}

// newWaiting returns a store in which the node "a" has the document "old" and a pointer
// to a journal.
func newWaiting(t *testing.T) *waiting {
	w := &waiting{Store: memtest.New(), t: t}
	w.put("a/zarr.json", "old")
	w.put(pointerA, `{"journal": "__varve/together-x.json"}`)
	return w
}

func (w *waiting) put(key, value string) {
	w.t.Helper()
	if _, err := w.Write(context.Background(), store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
		w.t.Fatal(err)
	}
}

func (w *waiting) Lock(ctx context.Context, dir store.Path) (func() error, error) {
	if do := w.interrupt; do != nil {
		w.interrupt = nil
		do()
	}
	return w.Store.Lock(ctx, dir)
}

// TestUndoWaits checks that a transaction is not rolled back if its journal is stored
// while the recovery waits for the lock.
func TestUndoWaits(t *testing.T) {
	w, ctx := newWaiting(t), t.Context()
	w.interrupt = func() { w.put(journalX, `{"aborted": true}`) }
	n := publish.Node{Store: w, Path: at(t, "a"), Document: "zarr.json"}
	if found, err := publish.Recover(ctx, n, nil); !found || !errors.Is(err, publish.ErrPending) {
		t.Errorf("found %v, error %v", found, err)
	}
	if there, err := store.Exists(ctx, w, store.MustKey(pointerA)); !there || err != nil {
		t.Errorf("the pointer is there: %v, %v", there, err)
	}
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }
