// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// manyArrays makes a group with the given number of arrays, and one in a group below.
func manyArrays(t *testing.T, n int) (memtest.Store, publish.Node) {
	t.Helper()
	s := memtest.New()
	put := func(key, text string) {
		k, err := store.ParseKey(key)
		if err == nil {
			_, err = store.Write(t.Context(), s, store.Put(k, []byte(text)), store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	put("g/zarr.json", `{"node_type": "group"}`)
	put("g/deep/zarr.json", `{"node_type": "group"}`)
	put("g/deep/a/zarr.json", `{"node_type": "array"}`)
	put("g/z/.zarray", `{}`)
	for i := range n {
		put(fmt.Sprintf("g/a%04d/zarr.json", i), `{"node_type": "array"}`)
		put(fmt.Sprintf("g/a%04d/c/0", i), "chunk")
	}
	return s, publish.Node{Store: s, Path: at(t, "g"), Document: "zarr.json", Locking: store.Locking{Timeout: -1}}
}

// count returns the number of values.
func count(t *testing.T, s store.Store) (n int) {
	t.Helper()
	for _, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestRemoveBelowLocks checks that a group stays whole while a node below it is locked,
// and is removed after that.
func TestRemoveBelowLocks(t *testing.T) {
	for _, held := range []string{"g", "g/deep", "g/deep/a", "g/z", "g/a0000", "g/a1099"} {
		s, n := manyArrays(t, 1100)
		before := count(t, s)
		unlock, err := s.Lock(t.Context(), at(t, held))
		if err != nil {
			t.Fatal(err)
		}
		for name, remove := range map[string]func() error{
			"Remove":    func() error { return publish.Remove(t.Context(), n, nil) },
			"Removable": func() error { return publish.CheckRemovable(t.Context(), n) },
		} {
			if err := remove(); !errors.Is(err, store.ErrLocked) || count(t, s) != before {
				t.Errorf("%s while %s is held: %v, %d of %d values", name, held, err, count(t, s), before)
			}
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		if err := publish.Remove(t.Context(), n, nil); err != nil || count(t, s) != 0 {
			t.Errorf("afterwards: %v, %d values", err, count(t, s))
		}
		for _, p := range []string{"g", "g/deep/a", "g/a0000"} {
			unlock, err := store.Lock(store.WithLocking(t.Context(), n.Locking), s, at(t, p))
			if err != nil {
				t.Fatalf("%s is still locked: %v", p, err)
			}
			_ = unlock()
		}
	}
}

// mounted is a store in which directories have second names that are not links.
type mounted struct {
	memtest.Store
	store.Directories
	names map[string]string
}

func (m mounted) Identify(dir store.Path) (store.Identity, error) {
	return store.MakeIdentity(cmp.Or(m.names[dir.String()], dir.String()), nil), nil
}

// TestRemoveMounted refuses to remove a group that is mounted below itself, or that has
// its parent mounted below it.
func TestRemoveMounted(t *testing.T) {
	for _, c := range []struct{ name, content, refused string }{
		{"g/deep", "g", `"/g/deep"`}, {"g/deep", "top", `"/g/deep"`}, {"g/deep/a", "g/a0000", ""}, {"g/deep", "other", ""},
	} {
		s, n := manyArrays(t, 2)
		before := count(t, s)
		n.Store = mounted{s, store.DirectoriesOf(s), map[string]string{c.name: c.content, "": "top"}}
		err := publish.Remove(t.Context(), n, nil)
		if c.refused == "" && (err != nil || count(t, s) > 0) || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || count(t, s) != before) {
			t.Errorf("%s is %q: %v, %d of %d values", c.name, c.content, err, count(t, s), before)
		}
	}
}

// TestReclaimBesideOthers reclaims superseded chunks while another writer runs. A chunk
// that was written again since stays. After a concurrent writer published, all chunks
// stay: they may belong to its document.
func TestReclaimBesideOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		interrupt     func(u *unlocked) // after the chunks were looked at
		first, second string            // what is left of them
	}{
		"nobody":        {func(*unlocked) {}, "", ""},
		"a chunk":       {func(u *unlocked) { u.put("a/c/1", "theirs") }, "theirs", ""},
		"the same":      {func(u *unlocked) { u.put("a/c/1", "left") }, "left", ""},
		"a publication": {func(u *unlocked) { u.put("a/zarr.json", "theirs") }, "left", "left"},
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnlocked(t)
			err := publish.Update(t.Context(), u.node, func(publish.Document) (*publish.Change, error) {
				return &publish.Change{Document: []byte("new"), Reclaim: func(ctx context.Context, b store.Batch) error {
					u.do = func(before bool) error { // the fence
						if before {
							tt.interrupt(u)
						}
						return nil
					}
					return errors.Join(errOf(b.Write(ctx, store.Delete(store.MustKey("a/c/1")))), errOf(b.Write(ctx, store.Delete(store.MustKey("a/c/2")))))
				}}, nil
			})
			if err != nil {
				t.Error(err)
			}
			for key, want := range map[string]string{"a/c/1": tt.first, "a/c/2": tt.second, "a/c/3": "left"} {
				got, _, _ := u.others.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
				if string(got) != want {
					t.Errorf("%s is %q, want %q", key, got, want)
				}
			}
		})
	}
}

// TestDecidedBesideOthers lets a recovery finish a transaction of two nodes between the
// read and the write of a document, and change the node again. Its document stays.
func TestDecidedBesideOthers(t *testing.T) {
	p := newPair(t)
	decided := false
	p.before = func(op stepping.Op) error {
		switch {
		case op.Name != "PutIf":
		case isJournal(op):
			decided = true
		case decided && op.Key.String() == "b/zarr.json":
			decided = false
			p.put("b/zarr.json", "newer")
		}
		return nil
	}
	if err := publish.UpdateAll(t.Context(), p.parts, nil); err != nil {
		t.Error(err)
	}
	if !p.holds("a", "new") {
		t.Errorf("a has %q", p.value("a/zarr.json"))
	}
	if got := p.value("b/zarr.json"); got != "newer" {
		t.Errorf("b has %q", got)
	}
}

// TestRedoWaits checks that a journal is not replayed if another recovery finishes and
// deletes it while this one waits for the locks: the node may be back at its old
// document.
func TestRedoWaits(t *testing.T) {
	w := newWaiting(t)
	n := publish.Node{Store: w, Path: at(t, "a"), Document: "zarr.json"}
	was := sha256.Sum256([]byte("old"))
	sum := sha256.Sum256(fmt.Appendf(nil, "0:0:64:%x3:new", was))
	w.put(journalX, fmt.Sprintf(`{"parts": [{"path": "", "was": "%x", "document": "new", "sum": "%x"}]}`, was, sum))
	told := 0
	after := func(context.Context, store.Key, []publish.Node) error { told++; return nil }
	w.interrupt = func() {
		if found, err := publish.Recover(t.Context(), n, nil); !found || err != nil {
			t.Errorf("found %v, error %v", found, err)
		}
		w.put("a/zarr.json", "old")
	}
	if found, err := publish.Recover(t.Context(), n, after); !found || err != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	if got, _, err := w.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil); string(got) != "old" || err != nil || told != 0 {
		t.Errorf("the document is %q, error %v, told %d times", got, err, told)
	}
}

// TestDamagedJournal flips each bit of a journal of two nodes. Recovery publishes both
// documents or neither.
func TestDamagedJournal(t *testing.T) {
	was := fmt.Sprintf("%x", sha256.Sum256([]byte("old")))
	entry := func(path string) string {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s0:64:%s3:new", len(path), path, was))
		return fmt.Sprintf(`{"path":%q,"was":%q,"document":"new","sum":"%x"}`, path, was, sum)
	}
	whole := `{"parts":[` + entry("") + `,` + entry("../b") + `]}`
	recover := func(journal []byte) (a, b string) {
		s := memtest.New()
		put := func(key, value string) {
			if _, err := store.Write(t.Context(), s, store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
				t.Fatal(err)
			}
		}
		get := func(key string) string {
			data, _, err := s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(data))
		}
		put("a/zarr.json", "old")
		put("b/zarr.json", "old")
		put("a/__varve/pending.json", `{"journal":"__varve/together-x.json"}`)
		put("b/__varve/pending.json", `{"journal":"../a/__varve/together-x.json"}`)
		put(journalX, string(journal))
		_, _ = publish.Recover(t.Context(), publish.Node{Store: s, Path: at(t, "a"), Document: "zarr.json"}, nil) // it may be damaged
		return get("a/zarr.json"), get("b/zarr.json")
	}
	if a, b := recover([]byte(whole)); a != "new" || b != "new" {
		t.Fatalf("the journal is not carried out: %s and %s", a, b)
	}
	for i := range 8 * len(whole) {
		damaged := []byte(whole)
		damaged[i/8] ^= 1 << (i % 8)
		if a, b := recover(damaged); a != b || a != "old" && a != "new" {
			t.Errorf("with %s: %s and %s", damaged, a, b)
		}
	}
}
