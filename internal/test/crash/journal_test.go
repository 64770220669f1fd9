// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// notes are pointers beside an array that no writer of Varve stores. Nothing that they
// name may be touched.
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

// TestDamagedNotes opens arrays with damaged pointers beside them. This returns an error
// that names the file, without a delay, and changes nothing.
func TestDamagedNotes(t *testing.T) {
	for name, note := range notes {
		for kind, open := range map[string]func() store.Store{
			"memory":     func() store.Store { return memtest.New() },
			"conditions": func() store.Store { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
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
				if err := withDeadline(t, func() error {
					_, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
					return err
				}); !errors.Is(err, zarr.ErrInvalidMetadata) {
					t.Errorf("opened for writing: %v", err)
				}
				if after := namesIn(t, s); !slices.Equal(after, before) {
					t.Errorf("names after opening: %v, want %v", after, before)
				}
				if _, err := h.At("a").OpenArray(t.Context(), nil); err != nil {
					t.Errorf("opened for reading: %v", err)
				}
			})
		}
	}
}

// namesIn returns all names in a store.
func namesIn(t *testing.T, s store.Store) []string {
	t.Helper()
	var names []string
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names
}

// withDeadline returns the result of do, and fails the test if do takes too long.
func withDeadline(t *testing.T, do func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-time.After(10 * time.Second):
		t.Fatal("the call does not return")
		return nil
	}
}

// TestForeignJournal opens an array with a journal that also names another array. The
// other array, whose own pointer names no journal, does not change.
func TestForeignJournal(t *testing.T) {
	s := memtest.New()
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
	fixture.Put(t, s, "a/__varve/pending.json", `{"journal": "__varve/together-1.json"}`)
	fixture.Put(t, s, "a/__varve/together-1.json", `{"parts": [`+entry("", "", "")+`,`+entry("../b", fmt.Sprintf("%x", sha256.Sum256(was)), "{}")+`]}`)
	if _, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Error(err)
	}
	if is, _, err := s.Get(t.Context(), store.MustKey("b/zarr.json"), store.Request{}, nil); err != nil || !slices.Equal(is, was) {
		t.Errorf("the document of the other array is %s, %v; want %s", is, err, was)
	}
}

// entry returns the entry of a journal for a node.
func entry(path, was, document string) string {
	text := ""
	for _, s := range []string{path, "", was, document} {
		text += fmt.Sprintf("%d:%s", len(s), s)
	}
	return fmt.Sprintf(`{"path":%q,"was":%q,"document":%q,"sum":"%x"}`, path, was, document, sha256.Sum256([]byte(text)))
}

// decidedStores yields stores in which a writer crashed after its change of the arrays a
// and b was decided, by the number of requests before the crash.
func decidedStores(t *testing.T) iter.Seq2[int, memtest.Store] {
	return func(yield func(int, memtest.Store) bool) {
		decided := 0
		for n := 1; ; n++ {
			crashed := halfway(t, n, true)
			if crashed == nil {
				break
			}
			if !slices.ContainsFunc(crashed.names, func(name string) bool { return strings.HasPrefix(name, "a/__varve/together-") }) {
				continue
			}
			decided++
			s := memtest.New()
			for name, data := range crashed.files {
				fixture.Put(t, s, name, string(data))
			}
			if !yield(n, s) {
				return
			}
		}
		if decided < 4 {
			t.Errorf("only %d writers crashed after the change was decided", decided)
		}
	}
}

// TestParticipantOfOtherJournal recovers a change of several arrays of which one now
// points to another journal, because the array was created again or its pointer is
// damaged. That array is left to its next writer. Its lock is held, so waiting for it
// would not end.
func TestParticipantOfOtherJournal(t *testing.T) {
	const other = `{"journal":"../a/__varve/together-OTHER.json"}`
	for n, s := range decidedStores(t) {
		fixture.Put(t, s, "b/__varve/pending.json", other)
		h, opt := zarr.At(s, ""), &zarr.Options{Write: true}
		for _, path := range []string{"a", "b"} {
			if err := withDeadline(t, func() error {
				_, err := h.At(path).OpenArray(t.Context(), opt)
				return err
			}); err != nil {
				t.Errorf("crash after %d requests: %s: %v", n, path, err)
			}
		}
		for _, name := range namesIn(t, s) {
			if strings.Contains(name, "__varve") && !strings.HasPrefix(name, "c/") {
				t.Errorf("crash after %d requests: %s is left", n, name)
			}
		}
		if a := fixture.Must(h.At("a").OpenArray(t.Context(), nil)); a.Shape()[0] != 12 {
			t.Errorf("crash after %d requests: %v, want the rows that were decided", n, a.Shape())
		}
	}
}

// TestParticipantOfDecidedChange recovers a change of several arrays of which one is now
// part of another decided change, with a locked array. Only the first change is
// completed: to wait for that lock while holding others may deadlock.
func TestParticipantOfDecidedChange(t *testing.T) {
	for n, s := range decidedStores(t) {
		fixture.Put(t, s, "b/__varve/pending.json", `{"journal":"__varve/together-OTHER.json"}`)
		fixture.Put(t, s, "b/__varve/together-OTHER.json", `{"parts":[`+entry("", "", "{}")+`,`+entry("../c", "", "{}")+`]}`)
		unlock, err := store.Lock(t.Context(), s, mustPath("c"))
		if err != nil {
			t.Fatal(err)
		}
		h := zarr.At(s, "")
		if err := withDeadline(t, func() error {
			_, err := h.At("a").OpenArray(t.Context(), &zarr.Options{Write: true})
			return err
		}); err != nil {
			t.Errorf("crash after %d requests: %v", n, err)
		}
		if a := fixture.Must(h.At("a").OpenArray(t.Context(), nil)); a.Shape()[0] != 12 {
			t.Errorf("crash after %d requests: %v, want the rows that were decided", n, a.Shape())
		}
		if found, err := store.Exists(t.Context(), s, store.MustKey("b/__varve/together-OTHER.json")); err != nil || !found {
			t.Errorf("crash after %d requests: the other change is gone, %v", n, err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConsolidateAfterCrash consolidates a group in which a writer crashed at any point
// of a change of several arrays. The change is completed or rolled back first, and no
// call waits for a lock that it holds itself.
func TestConsolidateAfterCrash(t *testing.T) {
	racing.Skip(t)
	for n := 1; ; n++ {
		crashed := halfway(t, n, true)
		if crashed == nil {
			break
		}
		for name, s := range map[string]store.Store{"memory": memtest.New(), "objects": fixture.Conditional(memtest.New()), "file": fixture.OpenStore(t, t.TempDir())} {
			for key, data := range crashed.files {
				fixture.Put(t, s, key, string(data))
			}
			h := zarr.At(s, "")
			err := withDeadline(t, func() error {
				g, err := h.At("").OpenGroup(t.Context(), &zarr.Options{Write: true, Durability: store.Flush})
				if err != nil {
					return err
				}
				return g.Consolidate(t.Context())
			})
			if err != nil {
				t.Errorf("%s, crash after %d requests: %v", name, n, err)
			}
			g := fixture.Must(h.At("").OpenGroup(t.Context(), nil))
			a, b := fixture.Must(g.At("a").OpenArray(t.Context(), nil)), fixture.Must(g.At("b").OpenArray(t.Context(), nil))
			if a.Shape()[0] != b.Shape()[0] || a.Shape()[0] != 3 && a.Shape()[0] != 12 {
				t.Errorf("%s, crash after %d requests: the arrays have %v and %v", name, n, a.Shape(), b.Shape())
			}
		}
	}
}
