// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// pair is a store without locks that has the nodes "a" and "b". It calls before ahead of
// every operation.
type pair struct {
	t      *testing.T
	others memtest.Store
	parts  []publish.Participant
	before func(op stepping.Op) error // one call at a time, although requests are parallel
	mu     sync.Mutex                 // held during before
}

func newPair(t *testing.T) *pair {
	p := &pair{t: t, others: memtest.New()}
	s := stepping.Conditional(p.others, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.before == nil {
			return nil
		}
		return p.before(op)
	}})
	for _, name := range []string{"a", "b"} {
		p.put(name+"/zarr.json", "old")
		n := publish.Node{Store: s, Path: at(t, name), Document: "zarr.json"}
		p.parts = append(p.parts, publish.Participant{Node: n, Plan: becomes("new")})
	}
	return p
}

func (p *pair) put(key, value string) {
	p.t.Helper()
	if _, err := p.others.Write(context.Background(), store.Put(store.MustKey(key), []byte(value)), store.Flush); err != nil {
		p.t.Fatal(err)
	}
}

// value returns the value of a key, or "" if there is none.
func (p *pair) value(key string) string {
	got, _, _ := p.others.Get(context.Background(), store.MustKey(key), store.Request{}, nil)
	return string(got)
}

// holds reports whether the document of a node is a text with a trail.
func (p *pair) holds(name, text string) bool {
	got := p.value(name + "/zarr.json")
	return publish.Same([]byte(got), []byte(text)) && got != text
}

const (
	pointerA = "a/__varve/pending.json"
	pointerB = "b/__varve/pending.json"
	journalX = "a/__varve/together-x.json"
)

// isJournal reports whether an operation is on a journal.
func isJournal(op stepping.Op) bool { return strings.Contains(op.Key.String(), "__varve/together-") }

// TestTogetherOrder checks what is stored when the journal is written, and when it is
// deleted: both pointers, and at the first time both fences.
func TestTogetherOrder(t *testing.T) {
	p := newPair(t)
	wrote, deleted := 0, 0
	p.before = func(op stepping.Op) error {
		if !isJournal(op) || op.Name == "Get" || op.Name == "Stat" {
			return nil
		}
		if p.value(pointerA) == "" || p.value(pointerB) == "" {
			t.Errorf("%s without pointers to it", op)
		}
		if op.Name != "PutIf" {
			deleted++
			return nil
		}
		wrote++
		if !p.holds("a", "old") || !p.holds("b", "old") {
			t.Errorf("%s without fences", op)
		}
		return nil
	}
	if err := publish.UpdateAll(t.Context(), p.parts, nil); err != nil {
		t.Error(err)
	}
	if wrote != 1 || deleted != 1 || p.value(pointerA)+p.value(pointerB) != "" {
		t.Errorf("the journal was written %d times and deleted %d times, pointers %q", wrote, deleted, p.value(pointerA)+p.value(pointerB))
	}
}

// TestTogetherRetracted checks that no pointer stays if the journal cannot be written, or
// if a node gets the pointer of another transaction meanwhile, which stays.
func TestTogetherRetracted(t *testing.T) {
	for _, want := range []error{store.ErrConflict, driver.Refused(fs.ErrPermission)} {
		p, writes := newPair(t), 0
		p.before = func(op stepping.Op) error {
			if isJournal(op) && op.Name == "PutIf" {
				if writes++; writes == 1 {
					return want
				}
			}
			return nil
		}
		err := publish.UpdateAll(t.Context(), p.parts, nil)
		if !errors.Is(err, want) || errors.Is(err, publish.ErrOutcomeUnknown) || p.value(pointerA)+p.value(pointerB) != "" {
			t.Errorf("error %v, pointers %q", err, p.value(pointerA)+p.value(pointerB))
		}
	}
	const other = `{"journal": "__varve/together-y.json"}`
	for _, last := range []bool{false, true} { // before the last look, or after it
		p, looks := newPair(t), 0
		p.before = func(op stepping.Op) error {
			if op.Key.String() != pointerB {
				return nil
			}
			if op.Name == "Get" {
				looks++
			}
			if !last && op.Name == "Get" && looks == 2 || last && op.Name == "PutIf" {
				p.put(pointerB, other)
			}
			return nil
		}
		err := publish.UpdateAll(t.Context(), p.parts, nil)
		if !last && !errors.Is(err, publish.ErrPending) || !errors.Is(err, store.ErrConflict) || p.value(pointerA) != "" || p.value(pointerB) != other {
			t.Errorf("error %v, pointers %q and %q", err, p.value(pointerA), p.value(pointerB))
		}
	}
}

// TestRecoverUndoes checks that a transaction without a journal is rolled back for good:
// its journal cannot be written later. Another recovery finds the aborted journal and
// removes the pointer.
func TestRecoverUndoes(t *testing.T) {
	p := newPair(t)
	for range 2 {
		p.put(pointerA, `{"journal": "__varve/together-x.json"}`)
		if found, err := publish.Recover(t.Context(), p.parts[0].Node, nil); !found || err != nil {
			t.Fatalf("found %v, error %v", found, err)
		}
		if p.value(pointerA) != "" || p.value("a/zarr.json") != "old" {
			t.Errorf("pointer %q, document %q", p.value(pointerA), p.value("a/zarr.json"))
		}
		_, err := p.others.Write(t.Context(), store.PutIf(store.MustKey(journalX), nil, store.IfAbsent()), store.Flush)
		if !errors.Is(err, store.ErrConflict) {
			t.Errorf("the journal can be written later: %v", err)
		}
	}
}

// TestFencedConflict lets a concurrent writer publish while another one stages: the
// latter fails.
func TestFencedConflict(t *testing.T) {
	u := newUnlocked(t)
	err := publish.Update(t.Context(), u.node, planned("writer", "a/c/4", "", func(put func(string) error) error {
		return errors.Join(put("a/c/4"), publish.Update(t.Context(), u.node, becomes("rival")))
	}))
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("error is %v", err)
	}
	u.wants("a/zarr.json", "rival")
}

// TestChangedBehindFence changes a chunk that the document describes. A concurrent writer
// that planned on the document before cannot publish, because it does not know of the
// change.
func TestChangedBehindFence(t *testing.T) {
	u := newUnlocked(t)
	err := publish.Update(t.Context(), u.node, planned("rival", "a/c/4", "", func(put func(string) error) error {
		err := publish.Update(t.Context(), u.node, func(publish.Document) (*publish.Change, error) {
			return &publish.Change{Document: []byte("writer"), Stage: func(ctx context.Context, b store.Batch) error {
				info, err := u.others.Stat(ctx, store.MustKey("a/c/1"))
				if err == nil {
					_, err = b.Write(ctx, store.PutIf(store.MustKey("a/c/1"), []byte("writer"), store.IfVersion(info.Version)))
				}
				return errors.Join(err, errFault) // it crashes here
			}}, nil
		})
		if !errors.Is(err, errFault) {
			t.Errorf("the writer: %v", err)
		}
		return put("a/c/4")
	}))
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("the rival: error is %v", err)
	}
}
