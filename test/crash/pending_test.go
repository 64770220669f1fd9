// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/test/fixture"
)

// notes are files beside an array that no writer has left there: what they name must not
// be touched.
var notes = map[string]string{
	"a document":      `{"journal": "../b/zarr.json"}`,
	"its document":    `{"journal": "zarr.json"}`,
	"a file":          `{"journal": "../b/new"}`,
	"itself":          `{"journal": "__varve/pending.json"}`,
	"outside":         `{"journal": "../../__varve/together-1.json"}`,
	"other nodes":     `{"journal": "../b/__varve/together-others.json"}`,
	"a node twice":    `{"journal": "__varve/together-twice.json"}`,
	"no nodes":        `{"journal": "__varve/together-none.json"}`,
	"elsewhere":       `{"journal": "../b/__varve/together-elsewhere.json"}`,
	"no object":       `[]`,
	"no number":       `1e999`,
	"cut short":       `{"journal`,
	"without note":    `{"holder": "x"}`,
	"no axis":         `{"holder": "x", "note": {"axis": 7, "start": 4, "lengths": [1]}}`,
	"no parts":        `{"holder": "x", "note": null}`,
	"negative length": `{"holder": "x", "note": {"axis": 0, "start": 4, "lengths": [-4]}}`,
	"negative start":  `{"holder": "x", "note": {"axis": 0, "start": -4, "lengths": [8]}}`,
	"too long":        `{"holder": "x", "note": {"axis": 0, "start": 4, "lengths": [9223372036854775807]}}`,
}

var journals = map[string]string{
	"b/__varve/together-others.json":    `{"parts": [{"path": ""}]}`,
	"a/__varve/together-twice.json":     `{"parts": [{"path": ""}, {"path": ""}]}`,
	"a/__varve/together-none.json":      `{}`,
	"b/__varve/together-elsewhere.json": `{"parts": [{"path": "../a"}, {"path": ""}]}`,
}

// TestDamagedNotes opens arrays beside which somebody has left notes that make no sense:
// this is an error that names the file, at once, and nothing is changed.
func TestDamagedNotes(t *testing.T) {
	for name, note := range notes {
		for kind, open := range map[string]func() store.Store{
			"memory":     func() store.Store { return memstore.New() },
			"conditions": func() store.Store { return storetest.Conditional(memstore.New(), storetest.Hooks{}) },
			"file":       func() store.Store { return fixture.OpenStore(t, t.TempDir()) },
		} {
			t.Run(name+" in "+kind, func(t *testing.T) {
				s := open()
				h := zarr.At(s, "")
				for _, path := range []string{"a", "b"} {
					if _, err := h.At(path).CreateArray(t.Context(), fixture.Edges(4), nil); err != nil {
						t.Fatal(err)
					}
				}
				for key, journal := range journals {
					fixture.Put(t, s, key, journal)
				}
				fixture.Put(t, s, "a/__varve/pending.json", note)
				before := namesIn(t, s)
				if err := soon(t, func() error {
					_, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
					return err
				}); !errors.Is(err, zarr.ErrInvalidMetadata) {
					t.Errorf("opened for writing: %v", err)
				}
				if after := namesIn(t, s); !slices.Equal(after, before) {
					t.Errorf("there is now %v, there was %v", after, before)
				}
				if _, err := h.At("a").OpenArray(t.Context(), nil); err != nil {
					t.Errorf("opened for reading: %v", err)
				}
			})
		}
	}
}

// namesIn returns the names of everything in a store.
func namesIn(t *testing.T, s store.Store) []string {
	t.Helper()
	var names []string
	for e, err := range store.List(t.Context(), s, store.Path{}, true) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// soon returns what do returns, unless that takes too long.
func soon(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("this does not end")
		return nil
	}
}

// TestForeignJournal opens an array beside which a journal stands that names another
// array as well: that one, whose own note names no journal, is left alone.
func TestForeignJournal(t *testing.T) {
	s := memstore.New()
	h := zarr.At(s, "")
	for _, path := range []string{"a", "b"} {
		if _, err := h.At(path).CreateArray(t.Context(), fixture.Edges(4), nil); err != nil {
			t.Fatal(err)
		}
	}
	was, _, err := s.Get(t.Context(), store.MustKey("b/zarr.json"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(was)
	fixture.Put(t, s, "a/__varve/pending.json", `{"journal": "__varve/together-1.json"}`)
	fixture.Put(t, s, "a/__varve/together-1.json", `{"parts": [{"path": "", "was": ""}, {"path": "../b", "was": "`+hex.EncodeToString(sum[:])+`", "document": "{}"}]}`)
	if _, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Error(err)
	}
	if is, _, err := s.Get(t.Context(), store.MustKey("b/zarr.json"), store.Request{}, nil); err != nil || !slices.Equal(is, was) {
		t.Errorf("the other array has the document %s, %v", is, err)
	}
}

// decidedStores yields stores in which a writer died once its change of the arrays a and
// b was decided, by the number of requests that it made before.
func decidedStores(t *testing.T) iter.Seq2[int, *memstore.Store] {
	return func(yield func(int, *memstore.Store) bool) {
		decided := 0
		for n := 1; ; n++ {
			died := halfway(t, n, true)
			if died == nil {
				break
			}
			if !slices.ContainsFunc(died.names, func(name string) bool { return strings.HasPrefix(name, "a/__varve/together-") }) {
				continue
			}
			decided++
			s := memstore.New()
			for name, data := range died.files {
				fixture.Put(t, s, name, string(data))
			}
			if !yield(n, s) {
				return
			}
		}
		if decided < 4 {
			t.Errorf("only %d writers died once the change was decided", decided)
		}
	}
}

// TestOtherJournalAmongThem finishes a change of several arrays of which one points to
// another journal by now, as one does that was made anew, or that is damaged. That one is
// left to whoever opens it: its lock is held, so nobody may wait for it.
func TestOtherJournalAmongThem(t *testing.T) {
	const other = `{"journal":"../a/__varve/together-OTHER.json"}`
	for n, s := range decidedStores(t) {
		fixture.Put(t, s, "b/__varve/pending.json", other)
		h, opt := zarr.At(s, ""), &zarr.Options{Write: true}
		for _, path := range []string{"a", "b"} {
			if err := soon(t, func() error {
				_, err := h.At(path).OpenArray(t.Context(), opt)
				return err
			}); err != nil {
				t.Errorf("died after %d requests: %s: %v", n, path, err)
			}
		}
		for _, name := range namesIn(t, s) {
			if strings.Contains(name, "__varve") && !strings.HasPrefix(name, "c/") {
				t.Errorf("died after %d requests: %s is left", n, name)
			}
		}
		if a := fixture.Must(h.At("a").OpenArray(t.Context(), nil)); a.Shape()[0] != 12 {
			t.Errorf("died after %d requests: %v, want the rows that were decided", n, a.Shape())
		}
	}
}

// TestOtherDecidedAmongThem finishes a change of several arrays of which one is by now
// part of another decided change, with an array that somebody has locked. Only the first
// change is finished: whoever waits for that lock while they hold others may wait for
// ever.
func TestOtherDecidedAmongThem(t *testing.T) {
	const was = `"was":"","document":"{}"`
	for n, s := range decidedStores(t) {
		fixture.Put(t, s, "b/__varve/pending.json", `{"journal":"__varve/together-OTHER.json"}`)
		fixture.Put(t, s, "b/__varve/together-OTHER.json", `{"parts":[{"path":"",`+was+`},{"path":"../c",`+was+`}]}`)
		unlock, err := store.Lock(t.Context(), s, mustPath("c"))
		if err != nil {
			t.Fatal(err)
		}
		h := zarr.At(s, "")
		if err := soon(t, func() error {
			_, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
			return err
		}); err != nil {
			t.Errorf("died after %d requests: %v", n, err)
		}
		if a := fixture.Must(h.At("a").OpenArray(t.Context(), nil)); a.Shape()[0] != 12 {
			t.Errorf("died after %d requests: %v, want the rows that were decided", n, a.Shape())
		}
		if found, err := store.Exists(t.Context(), s, store.MustKey("b/__varve/together-OTHER.json")); err != nil || !found {
			t.Errorf("died after %d requests: the other change is gone, %v", n, err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConsolidateAfterDeath consolidates a group in which a writer died at any time of a
// change of several arrays: that is finished or undone first, and nobody waits for a lock
// of its own.
func TestConsolidateAfterDeath(t *testing.T) {
	for n := 1; ; n++ {
		died := halfway(t, n, true)
		if died == nil {
			break
		}
		for name, s := range map[string]store.Store{"memory": memstore.New(), "objects": fixture.Conditional(memstore.New()), "file": fixture.OpenStore(t, t.TempDir())} {
			for key, data := range died.files {
				fixture.Put(t, s, key, string(data))
			}
			h := zarr.At(s, "")
			err := soon(t, func() error {
				g, err := h.At("").OpenGroup(t.Context(), &zarr.Options{Write: true, Durability: store.Flush})
				if err != nil {
					return err
				}
				return g.Consolidate(t.Context())
			})
			if err != nil {
				t.Errorf("%s, died after %d requests: %v", name, n, err)
			}
			g := fixture.Must(h.At("").OpenGroup(t.Context(), nil))
			a, b := fixture.Must(g.At("a").OpenArray(t.Context(), nil)), fixture.Must(g.At("b").OpenArray(t.Context(), nil))
			if a.Shape()[0] != b.Shape()[0] || a.Shape()[0] != 3 && a.Shape()[0] != 12 {
				t.Errorf("%s, died after %d requests: the arrays have %v and %v", name, n, a.Shape(), b.Shape())
			}
		}
	}
}
