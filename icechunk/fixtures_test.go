// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// found is what the reference finds at a branch or a tag: testdata/expected.json, which
// interop/icechunk_expected.py writes.
type found struct {
	Snapshot string
	Log      [][3]string // ID, message and time
	Keys     map[string]string
}

// expected returns what the reference finds in each repository.
func expected(t testing.TB) map[string]map[string]found {
	t.Helper()
	raw, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]map[string]found
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// repository opens a repository of the reference.
func repository(t testing.TB, name string) *icechunk.Repository {
	t.Helper()
	s, err := filestore.Open("testdata/"+name, &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(s); err != nil {
			t.Error(err)
		}
	})
	r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
	if err != nil {
		t.Fatal(name, err)
	}
	return r
}

// TestFixtures compares branches, tags, commits, and the keys and values of each with
// what the reference finds.
func TestFixtures(t *testing.T) {
	for name, refs := range expected(t) {
		t.Run(name, func(t *testing.T) {
			r := repository(t, name)
			branches, err := r.Branches(t.Context())
			tags, tagsErr := r.Tags(t.Context())
			if err := errors.Join(err, tagsErr); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, ref := range branches {
				names = append(names, "branch:"+ref.Name)
			}
			for _, ref := range tags {
				names = append(names, "tag:"+ref.Name)
			}
			if want := slices.Sorted(maps.Keys(refs)); !slices.Equal(names, want) {
				t.Errorf("references %q, want %q", names, want)
			}
			for at, want := range refs {
				compareLog(t, r, at, want)
				compareKeys(t, r, at, want)
			}
		})
	}
}

func compareLog(t *testing.T, r *icechunk.Repository, at string, want found) {
	t.Helper()
	i := 0
	for c, err := range r.Log(t.Context(), at) {
		if err != nil {
			t.Fatal(at, err)
		}
		if i >= len(want.Log) {
			t.Fatalf("%s: more commits than %d", at, len(want.Log))
		}
		is, err := time.Parse(time.RFC3339Nano, want.Log[i][2])
		if err != nil {
			t.Fatal(err)
		}
		if c.ID.String() != want.Log[i][0] || c.Message != want.Log[i][1] || !c.Time.Equal(is) {
			t.Errorf("%s: commit %d is %v %q %v, want %q", at, i, c.ID, c.Message, c.Time, want.Log[i])
		}
		i++
	}
	if i != len(want.Log) {
		t.Errorf("%s: %d commits, want %d", at, i, len(want.Log))
	}
}

func compareKeys(t *testing.T, r *icechunk.Repository, at string, want found) {
	t.Helper()
	s, err := r.Snapshot(t.Context(), at)
	if err != nil {
		t.Fatal(at, err)
	}
	if s.ID().String() != want.Snapshot {
		t.Errorf("%s is the snapshot %v, want %s", at, s.ID(), want.Snapshot)
	}
	got := map[string]string{}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(at, err)
		}
		data, info, err := s.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			got[e.Name] = "error"
			continue
		}
		if info.Size != e.Size || info.Version != e.Version {
			t.Errorf("%s: %s is listed as %v, and is %v", at, e.Name, e, info)
		}
		sum := sha256.Sum256(data)
		got[e.Name] = hex.EncodeToString(sum[:])
	}
	for key, sum := range want.Keys {
		if got[key] != sum && !(got[key] == "error" && strings.HasPrefix(sum, "error")) {
			t.Errorf("%s: %s is %s, want %s", at, key, got[key], sum)
		}
		delete(got, key)
	}
	if len(got) > 0 {
		t.Errorf("%s has keys that the reference does not list: %v", at, got)
	}
}
