// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// changed replaces the object repo by what a change makes of it.
func changed(t *testing.T, s store.Store, change func(*format.Repository)) {
	t.Helper()
	key := store.MustKey("repo")
	data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	try(t, err)
	_, body, err := format.Open(data, format.KindRepository, 1<<20)
	try(t, err)
	repo, err := format.ParseRepository(body)
	try(t, err)
	change(repo)
	data, err = format.Seal("test", format.KindRepository, repo.Encode())
	try(t, err)
	put(t, s, key, data)
}

// tip returns the last commit of the branch main.
func tip(t *testing.T, r *icechunk.Repository) icechunk.Commit {
	t.Helper()
	for c, err := range r.Log(t.Context(), "") {
		try(t, err)
		return c
	}
	t.Fatal("no commits")
	return icechunk.Commit{}
}

// TestMetadata reads what commits say of themselves, after each way to commit.
func TestMetadata(t *testing.T) {
	r, s := created(t)
	said := map[string]any{"author": "ada", "run": int64(7), "inputs": []any{"a.nc", "b.nc"}}
	for i, commit := range []func(c *icechunk.Session) error{
		func(c *icechunk.Session) error { _, err := c.Commit(t.Context(), "m"); return err },
		func(c *icechunk.Session) error { _, err := c.Amend(t.Context(), "m"); return err },
		func(c *icechunk.Session) error {
			_, err := stage(t, r, "main", "other", 0).Commit(t.Context(), "other")
			try(t, err)
			_, err = c.CommitRebased(t.Context(), "m", icechunk.Policy{})
			return err
		},
	} {
		c := stage(t, r, "main", fmt.Sprint("a", i), 0)
		try(t, c.SetMetadata(map[string]any{"author": "babbage"}))
		try(t, c.SetMetadata(said))
		try(t, commit(c))
		if got, err := tip(t, r).Metadata(); err != nil || !reflect.DeepEqual(got, said) {
			t.Errorf("%d: %v (%v), want %v", i, got, err, said)
		}
	}
	c := session(t, r)
	for name, v := range map[string]any{"x": math.Inf(1), "\xff": 1} {
		if err := c.SetMetadata(map[string]any{name: v}); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("%q: %v", name, err)
		}
	}
	changed(t, s, func(repo *format.Repository) {
		i, _ := repo.FindSnapshot(tip(t, r).ID)
		repo.Snapshots[i].Metadata[0].Value = []byte{1}
	})
	if got, err := tip(t, r).Metadata(); !errors.Is(err, zarr.ErrCorrupt) {
		t.Errorf("metadata that are damaged: %v, %v", got, err)
	}
}

// TestUpdatesOfConfiguration follows the log through former objects, as many as the
// configuration wants.
func TestUpdatesOfConfiguration(t *testing.T) {
	for most, want := range map[any]int{0: 1, 1: 1, 3: 3, -5: 1, "many": 8, math.MaxInt: 8} {
		r, s := created(t)
		changed(t, s, func(repo *format.Repository) {
			config, err := format.EncodeFlex(map[string]any{"num_updates_per_repo_info_file": most})
			try(t, err)
			repo.Config = config
		})
		early := stage(t, r, "main", "a", 0)
		for i := range 7 {
			try(t, r.CreateBranch(t.Context(), fmt.Sprint("b", i), ""))
			changed(t, s, func(repo *format.Repository) {
				if n := len(repo.Updates); n > want {
					t.Errorf("%v: the object has %d updates", most, n)
				}
			})
		}
		// The commit reads the log back to where its session began.
		commit(t, early, "a")
		if _, err := r.CollectGarbage(t.Context(), noAge); err != nil {
			t.Error(err)
		}
		sound(t, r)
	}
}
