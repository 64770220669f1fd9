// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// changeRepo changes the object repo of a store, as another program may.
func changeRepo(t testing.TB, s store.Store, change func(*format.Repository)) {
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
	_, err = store.Write(t.Context(), s, store.Put(key, data), store.Flush)
	try(t, err)
}

// TestStatus changes a repository that is read-only or offline, also in a session that
// began before. Each change is refused with the reason, and nothing is changed.
func TestStatus(t *testing.T) {
	for is, want := range map[format.Availability]error{format.ReadOnly: fs.ErrPermission, format.Offline: icechunk.ErrUnavailable} {
		s := newDated()
		r := littered(t, s)
		begun := stage(t, r, "main", "z", 0)
		changeRepo(t, s, func(repo *format.Repository) {
			repo.Status = format.Status{Availability: is, Since: time.Now(), Reason: "a rest"}
		})
		before := names(t, s)
		_, tips := r.Session(t.Context(), "main")
		_, commits := begun.Commit(t.Context(), "late")
		_, collects := r.CollectGarbage(t.Context(), noAge)
		_, expires := r.Expire(t.Context(), time.Now().Add(time.Hour), nil)
		_, adds := r.AddContainer(t.Context(), "s3://bucket")
		for what, err := range map[string]error{
			"session": tips, "commit": commits, "collection": collects, "expiry": expires, "branch": r.CreateBranch(t.Context(), "new", ""), "reset": r.ResetBranch(t.Context(), "main", "side"),
			"tag": r.CreateTag(t.Context(), "new", ""), "container": adds, "deletion": r.DeleteBranch(t.Context(), "side"),
		} {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), "a rest") {
				t.Errorf("%v: %s: %v", is, what, err)
			}
		}
		after := names(t, s)
		for name := range before {
			if _, ok := after[name]; !ok {
				t.Errorf("%v: %s is gone", is, name)
			}
		}
		if after["repo"] != before["repo"] {
			t.Errorf("%v: the repository is changed", is)
		}
	}
}

// TestDisabled makes and deletes tags where the repository does not permit that.
func TestDisabled(t *testing.T) {
	s := newDated()
	r := littered(t, s)
	changeRepo(t, s, func(repo *format.Repository) { repo.Disabled = []uint16{4, 5} })
	_, expires := r.Expire(t.Context(), time.Now().Add(time.Hour), &icechunk.ExpiryOptions{Tags: true})
	for what, err := range map[string]error{"tag": r.CreateTag(t.Context(), "v2", ""), "deletion": r.DeleteTag(t.Context(), "v1"), "expiry": expires} {
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v", what, err)
		}
	}
	readable(t, r)
}
