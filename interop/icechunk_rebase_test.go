// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// staged are changes of a session: "KEY=VALUE" sets a key, and "-KEY" deletes one. The
// values group and array are documents.
func staged(text string) (list [][2]*string) {
	for change := range strings.FieldsSeq(text) {
		if key, ok := strings.CutPrefix(change, "-"); ok {
			list = append(list, [2]*string{&key, nil})
			continue
		}
		key, value, _ := strings.Cut(change, "=")
		kind, n, _ := strings.Cut(value, ":")
		if n == "" {
			n = "0"
		}
		switch kind {
		case "group":
			value = fmt.Sprintf(`{"zarr_format": 3, "node_type": "group", "attributes": {"n": %s}}`, n)
		case "array":
			value = fmt.Sprintf(`{"zarr_format": 3, "node_type": "array", "shape": [6], "data_type": "int8", "fill_value": 0,
				"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"},
				"codecs": [{"name": "bytes"}], "attributes": {"n": %s}}`, n)
		}
		list = append(list, [2]*string{&key, &value})
	}
	return list
}

// TestIcechunkRebases compares the verdicts of Varve with those of the reference on
// sessions beside one commit, each made by both. Sessions that do not conflict are
// committed by both, with the same result.
func TestIcechunkRebases(t *testing.T) {
	dir := t.TempDir()
	s, err := filestore.Open(dir, nil)
	check(t, err)
	r, err := icechunk.Create(t.Context(), s, store.Path{}, nil)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	h := &rebasing{r, startReference(t, dir)}
	h.begin(t, "Varve", "base", "main", "zarr.json=group g/zarr.json=group h/zarr.json=group g/a/zarr.json=array g/b/zarr.json=array g/a/c/0=00 g/a/c/1=11 g/a/c/2=22 g/b/c/0=00")(t)
	for i, c := range []struct{ name, committed, session string }{
		{"other nodes", "x/zarr.json=group", "y/zarr.json=group"},
		{"other arrays", "g/a/c/0=hi g/a/zarr.json=array:1", "g/b/c/0=hi"},
		{"other chunks", "g/a/c/0=hi", "g/a/c/1=hi"},
		{"a document beside chunks", "g/a/c/0=hi", "g/a/zarr.json=array:1"},
		{"the same new node", "x/zarr.json=group", "x/zarr.json=array"},
		{"a new node below a new array", "x/zarr.json=array", "x/y/zarr.json=group"},
		{"both documents of an array", "g/a/zarr.json=array:1", "g/a/zarr.json=array:2"},
		{"both documents of a group", "g/zarr.json=group:1", "g/zarr.json=group:2"},
		{"the document of a deleted array", "-g/a/zarr.json", "g/a/zarr.json=array:1"},
		{"the document of a deleted group", "-h/zarr.json", "h/zarr.json=group:1"},
		{"the same chunks", "g/a/c/0=hi g/a/c/1=hi", "g/a/c/1=ho g/a/c/2=ho"},
		{"a deleted chunk", "-g/a/c/0", "g/a/c/0=ho g/b/c/1=ho"},
		{"chunks of a deleted array", "-g/a/zarr.json", "g/a/c/1=ho"},
		{"chunks of an updated array", "g/a/zarr.json=array:1", "g/a/c/1=ho"},
		{"deleting an updated array", "g/a/zarr.json=array:1", "-g/a/zarr.json"},
		{"deleting an array with new chunks", "g/a/c/1=ho", "-g/a/zarr.json"},
		{"deleting an updated group", "h/zarr.json=group:1", "-h/zarr.json"},
		{"deleting the same nodes", "-g/a/zarr.json", "-g/a/zarr.json y/zarr.json=group"},
		{"replacing an array", "g/b/c/0=hi", "-g/a/zarr.json g/a/zarr.json=array:3 g/a/c/0=ho"},
		{"several", "g/a/zarr.json=array:1 g/b/c/0=hi", "g/a/zarr.json=array:2 g/b/c/0=ho"},
	} {
		for _, committer := range []string{"Varve", "reference"} {
			var results []map[string]string
			var verdicts []string
			for _, writer := range []string{"Varve", "reference"} {
				branch := fmt.Sprintf("b%d-%s-%s", i, committer, writer)
				check(t, h.CreateBranch(t.Context(), branch, ""))
				session := h.begin(t, writer, "session", branch, c.session)
				h.begin(t, committer, "committed", branch, c.committed)(t)
				verdict := h.verdict(t, writer, "session"+branch, "", icechunk.Policy{})
				if verdict != "" {
					how, policy := "UseOurs", icechunk.Policy{Chunks: icechunk.Ours, Delete: true}
					if committer == "reference" {
						how, policy.Chunks = "UseTheirs", icechunk.Theirs
					}
					resolved := h.verdict(t, writer, "session"+branch, how, policy)
					if resolved != "" {
						resolved = "unresolved" // the reference lists what it could resolve, too
					}
					verdicts, verdict = append(verdicts, verdict), resolved
				}
				if verdicts = append(verdicts, verdict); verdict == "" {
					session(t)
					results = append(results, h.contents(t, branch))
				}
			}
			if n := len(verdicts) / 2; !slices.Equal(verdicts[:n], verdicts[n:]) {
				t.Errorf("%s beside a commit of %s: %q, and the reference says %q", c.name, committer, verdicts[:n], verdicts[n:])
			} else if len(results) == 2 && !maps.Equal(results[0], results[1]) {
				t.Errorf("%s beside a commit of %s: %q, and the reference makes %q", c.name, committer, results[0], results[1])
			}
		}
	}
}

// rebasing are sessions of Varve and of the reference on one repository.
type rebasing struct {
	*icechunk.Repository
	*reference
}

// sessions are those of Varve.
var sessions = map[string]*icechunk.Session{}

// begin begins a session and stages changes. The result commits it.
func (h *rebasing) begin(t *testing.T, writer, name, branch, changes string) (commit func(*testing.T)) {
	t.Helper()
	name += branch
	if writer != "Varve" {
		var ok any
		h.ask(t, map[string]any{"op": "begin", "session": name, "branch": branch}, &ok)
		h.ask(t, map[string]any{"op": "stage", "session": name, "changes": staged(changes)}, &ok)
		return func(t *testing.T) { h.ask(t, map[string]any{"op": "commit", "session": name, "message": name}, &ok) }
	}
	s, err := h.Session(t.Context(), branch)
	check(t, err)
	sessions[name] = s
	for _, c := range staged(changes) {
		change := store.Delete(store.MustKey(*c[0]))
		if c[1] != nil {
			change = store.Put(store.MustKey(*c[0]), []byte(*c[1]))
		}
		_, err := store.Write(t.Context(), s, change, store.Flush)
		check(t, err)
	}
	return func(t *testing.T) {
		_, err := s.Commit(t.Context(), name)
		check(t, err)
	}
}

// verdict rebases a session and returns its conflicts, "" if there are none. how is the
// policy as the reference names it, "" for its detector.
func (h *rebasing) verdict(t *testing.T, writer, name, how string, policy icechunk.Policy) string {
	t.Helper()
	var list []string
	if writer != "Varve" {
		var conflicts [][3]any
		request := map[string]any{"op": "rebase", "session": name}
		if how != "" {
			request["chunks"] = how
		}
		h.ask(t, request, &conflicts)
		for _, c := range conflicts {
			list = append(list, fmt.Sprint(c[0], " ", strings.TrimPrefix(c[1].(string), "/"), " ", c[2]))
		}
	} else if err := sessions[name].Rebase(t.Context(), policy); err != nil {
		var e *icechunk.ConflictError
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		for _, c := range e.Conflicts {
			chunks := c.Chunks
			if chunks == nil {
				chunks = [][]uint32{}
			}
			list = append(list, fmt.Sprint(c.Kind, " ", c.Path, " ", chunks))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// contents returns the keys and values of a branch.
func (h *rebasing) contents(t *testing.T, branch string) map[string]string {
	t.Helper()
	s, err := h.Snapshot(t.Context(), branch)
	check(t, err)
	all := map[string]string{}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		check(t, err)
		data, _, err := s.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		check(t, err)
		all[e.Name] = string(data)
	}
	return all
}

// TestIcechunkAmends amends commits of the other program in turns.
func TestIcechunkAmends(t *testing.T) {
	dir := t.TempDir()
	s, err := filestore.Open(dir, nil)
	check(t, err)
	r, err := icechunk.Create(t.Context(), s, store.Path{}, nil)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	h := &rebasing{r, startReference(t, dir)}
	h.begin(t, "reference", "first", "main", "zarr.json=group a/zarr.json=array a/c/0=00")(t)
	var ok any
	for i := range 6 {
		changes := fmt.Sprintf("a/c/%d=v%d", i%3, i)
		if i%2 == 0 {
			one, err := h.Session(t.Context(), "main")
			check(t, err)
			_, err = store.Write(t.Context(), one, store.Put(store.MustKey(changes[:5]), []byte(changes[6:])), store.Flush)
			check(t, err)
			_, err = one.Amend(t.Context(), fmt.Sprint("amended ", i))
			check(t, err)
		} else {
			h.begin(t, "reference", "amend", "main", changes)
			h.ask(t, map[string]any{"op": "commit", "session": "amendmain", "message": fmt.Sprint("amended ", i), "amend": true}, &ok)
		}
		var log [][2]string
		h.ask(t, map[string]any{"op": "log", "branch": "main"}, &log)
		if len(log) != 2 || log[0][1] != fmt.Sprint("amended ", i) {
			t.Fatalf("the reference has the commits %q", log)
		}
		if got := h.contents(t, "main")[changes[:5]]; got != changes[6:] {
			t.Errorf("%s is %q", changes, got)
		}
	}
	var d struct{ Chunks map[string][][]int }
	h.ask(t, map[string]any{"op": "diff", "branch": "main"}, &d)
	if got := fmt.Sprint(d.Chunks["/a"]); got != "[[0] [1] [2]]" {
		t.Errorf("the amended commit has the chunks %s", got)
	}
}
