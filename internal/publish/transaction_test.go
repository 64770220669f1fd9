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
	"varve.dev/zarr/store/storetest"
)

// becomes is a plan that replaces the document.
func becomes(document string) func(publish.Document) (*publish.Change, error) {
	return func(publish.Document) (*publish.Change, error) {
		return &publish.Change{Document: []byte(document)}, nil
	}
}

// TestOvertaken lets a recovery finish a transaction of two nodes as soon as it is
// committed, and restore the document of one of them. The original writer publishes
// nothing again.
func TestOvertaken(t *testing.T) {
	others, ctx := memstore.New(), t.Context()
	a := publish.Node{Store: storetest.Conditional(others, storetest.Hooks{}), Path: at(t, "a"), Document: "zarr.json"}
	b := a
	b.Path = at(t, "b")
	for _, key := range []string{"a/zarr.json", "b/zarr.json"} {
		if _, err := others.Put(ctx, store.MustKey(key), []byte("old"), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	mine, decided := a, false
	mine.Store = storetest.Conditional(others, storetest.Hooks{After: func(op storetest.Op, err error) error {
		if op.Name != "PutIf" || !strings.Contains(op.Key.String(), "__varve/together-") || decided {
			return err
		}
		decided = true
		if err := publish.Update(ctx, a, becomes("x")); !errors.Is(err, publish.ErrPending) {
			t.Errorf("a change beside it: %v", err)
		}
		if err := publish.CheckPending(ctx, b, store.Key{}); !errors.Is(err, publish.ErrPending) {
			t.Errorf("pending: %v", err)
		}
		if err := publish.CheckPending(ctx, b, op.Key); err != nil {
			t.Errorf("pending for one who knows: %v", err)
		}
		if found, err := publish.Recover(ctx, b, nil); !found || err != nil {
			t.Errorf("finished: %v, %v", found, err)
		}
		return errors.Join(err, publish.Update(ctx, a, becomes("old")))
	}})
	two := mine
	two.Path = b.Path
	var versions []store.Version
	plan := func(d publish.Document) (*publish.Change, error) {
		return &publish.Change{Document: []byte("new"), Published: func(v store.Version) { versions = append(versions, v) }}, nil
	}
	if err := publish.UpdateAll(ctx, []publish.Participant{{Node: mine, Plan: plan}, {Node: two, Plan: plan}}, nil); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"a/zarr.json": "old", "b/zarr.json": "new"} {
		got, _, err := others.Get(ctx, store.MustKey(key), store.Request{}, nil)
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s is %q (%v), want %q", key, got, err, want)
		}
	}
	for _, v := range versions {
		if !v.IsZero() {
			t.Errorf("the version %v is told, of a document that somebody else wrote", v)
		}
	}
	for e, err := range others.List(context.Background(), store.Path{}, true) {
		if err != nil || strings.Contains(e.Name, "__varve") {
			t.Errorf("%s is left (%v)", e.Name, err)
		}
	}
}
