// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// documentOf returns the document of an array of int8 on one axis.
func documentOf(shape int, chunks, more string) []byte {
	return fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": [%d], "data_type": "int8", "fill_value": 0,
		"chunk_grid": {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [%s]}},
		"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}], "attributes": {%s}}`, shape, chunks, more)
}

func groupOf(more string) []byte {
	return fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "group", "attributes": {%s}}`, more)
}

// apply changes a session as a text says: "KEY=TEXT" puts a value, where group, array and
// longer are documents, and "-KEY" deletes one.
func apply(t testing.TB, s store.Store, changes string) {
	t.Helper()
	for change := range strings.FieldsSeq(changes) {
		var err error
		if key, ok := strings.CutPrefix(change, "-"); ok {
			_, err = store.Write(t.Context(), s, store.Delete(store.MustKey(key)), store.Flush)
		} else if key, ok := strings.CutPrefix(change, "?"); ok {
			_, _, err = s.Get(t.Context(), store.MustKey(key), store.Request{}, nil)
		} else {
			key, value, _ := strings.Cut(change, "=")
			name, more, _ := strings.Cut(value, ":")
			if more != "" {
				more = `"n": "` + more + `"`
			}
			data, known := map[string][]byte{
				"group": groupOf(more), "array": documentOf(6, "[[2, 3]]", more),
				"longer": documentOf(8, "[[2, 4]]", more), "merged": documentOf(6, "[2, 4]", more), "shorter": documentOf(4, "[[2, 2]]", more),
			}[name]
			if !known {
				data = []byte(value)
			}
			_, err = store.Write(t.Context(), s, store.Put(store.MustKey(key), data), store.Flush)
		}
		if err != nil {
			t.Fatal(change, err)
		}
	}
}

// kindsOf returns the kinds and paths of the conflicts of an error.
func kindsOf(t testing.TB, err error) (list []string) {
	t.Helper()
	var c *icechunk.ConflictError
	if err == nil {
		return nil
	}
	if !errors.As(err, &c) || !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	for _, one := range c.Conflicts {
		text := fmt.Sprint(one.Kind, " ", one.Path)
		if len(one.Chunks) > 0 {
			text += fmt.Sprint(" ", one.Chunks)
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// conflicts are what becomes of a session and a commit beside it, which both begin with
// the groups /, g and h, and the arrays g/a and g/b of three chunks.
var conflicts = []struct{ name, committed, staged, want string }{
	{"other nodes", "x/zarr.json=group", "y/zarr.json=group", ""},
	{"other arrays", "g/a/c/0=hi g/a/zarr.json=array:1", "g/b/c/0=hi", ""},
	{"other chunks", "g/a/c/0=hi", "g/a/c/1=hi", ""},
	{"a document beside chunks", "g/a/c/0=hi", "g/a/zarr.json=array:1", ""},
	{"an append beside chunks", "g/a/c/0=hi", "g/a/zarr.json=longer g/a/c/3=hi", ""},
	{"the same new node", "x/zarr.json=group", "x/zarr.json=array", "NewNodeConflictsWithExistingNode x"},
	{"a new node below a new array", "x/zarr.json=array", "x/y/zarr.json=group", "NewNodeInInvalidGroup x"},
	{"a new array above a new node", "x/y/zarr.json=group", "x/zarr.json=array", "NewNodeInInvalidGroup x"},
	{"both documents of an array", "g/a/zarr.json=array:1", "g/a/zarr.json=array:2", "ZarrMetadataDoubleUpdate g/a"},
	{"both documents of a group", "g/zarr.json=group:1", "g/zarr.json=group:2", "ZarrMetadataDoubleUpdate g"},
	{"the document of the root", "zarr.json=group:1", "zarr.json=group:2", "ZarrMetadataDoubleUpdate "},
	{"the document of a deleted array", "-g/a/zarr.json", "g/a/zarr.json=array:1", "ZarrMetadataUpdateOfDeletedArray g/a"},
	{"the document of a deleted group", "-h/zarr.json", "h/zarr.json=group:1", "ZarrMetadataUpdateOfDeletedGroup h"},
	{"the same chunks", "g/a/c/0=hi g/a/c/1=hi", "g/a/c/1=ho g/a/c/2=ho", "ChunkDoubleUpdate g/a [[1]]"},
	{"a deleted chunk", "-g/a/c/0", "g/a/c/0=ho", "ChunkDoubleUpdate g/a [[0]]"},
	{"chunks of a deleted array", "-g/a/zarr.json", "g/a/c/1=ho", "ChunksUpdatedInDeletedArray g/a"},
	{"chunks of an updated array", "g/a/zarr.json=array:1", "g/a/c/1=ho", "ChunksUpdatedInUpdatedArray g/a"},
	{"deleting an updated array", "g/a/zarr.json=array:1", "-g/a/zarr.json", "DeleteOfUpdatedArray g/a"},
	{"deleting an array with new chunks", "g/a/c/1=ho", "-g/a/zarr.json", "DeleteOfUpdatedArray g/a"},
	{"deleting an array that was replaced", "-g/a/zarr.json g/a/zarr.json=array:2", "-g/a/zarr.json", "DeleteOfUpdatedArray g/a"},
	{"replacing an array that was replaced", "-g/a/zarr.json g/a/zarr.json=array:2", "-g/a/zarr.json g/a/zarr.json=array:3", "NewNodeConflictsWithExistingNode g/a"},
	{"replacing an array", "g/b/c/0=hi", "-g/a/zarr.json g/a/zarr.json=array:3 g/a/c/0=ho", ""},
	{"deleting an updated group", "h/zarr.json=group:1", "-h/zarr.json", "DeleteOfUpdatedGroup h"},
	{"deleting the same nodes", "-g/a/zarr.json", "-g/a/zarr.json", ""},
	{"chunks of a merged grid", "g/a/c/2=hi", "g/a/zarr.json=merged g/a/c/1=long -g/a/c/0", "ChunksUpdatedInChangedGrid g/a [[2]]"},
	{"chunks before a merged one", "g/a/c/0=hi", "g/a/zarr.json=merged g/a/c/1=long -g/a/c/2", ""},
	{"chunks beyond the end", "g/a/c/2=hi", "g/a/zarr.json=shorter", "ChunksUpdatedInChangedGrid g/a [[2]]"},
	{"a node in a deleted group", "h/x/zarr.json=group", "-h/zarr.json", "NewNodeInDeletedGroup h"},
	{"a deleted group above a node", "-h/zarr.json", "h/x/zarr.json=group", "NewNodeInDeletedGroup h"},
	{"the same document again", "g/a/zarr.json=array:1", "g/a/zarr.json=array", ""},
	{"made and deleted", "x/zarr.json=group", "x/zarr.json=group -x/zarr.json y/zarr.json=group", ""},
	{"a chunk that was read", "g/a/c/0=hi", "?g/a/c/0 g/b/c/1=ho", "ReadOfUpdatedNode g/a"},
	{"a document that was read", "g/a/zarr.json=array:1", "?g/a/zarr.json g/b/c/1=ho", "ReadOfUpdatedNode g/a"},
	{"another chunk that was read", "g/a/c/1=hi", "?g/a/c/0 ?g/a/zarr.json g/b/c/1=ho", ""},
	{"several", "g/a/zarr.json=array:1 g/b/c/0=hi", "g/a/zarr.json=array:2 g/b/c/0=ho", "ChunkDoubleUpdate g/b [[0]], ZarrMetadataDoubleUpdate g/a"},
}

// based returns a repository in the state that conflicts begin with.
func based(t testing.TB) *icechunk.Repository {
	t.Helper()
	r, _ := created(t)
	s := session(t, r)
	apply(t, s, "zarr.json=group g/zarr.json=group h/zarr.json=group g/a/zarr.json=array g/b/zarr.json=array g/a/c/0=00 g/a/c/1=11 g/a/c/2=22 g/b/c/0=00")
	commit(t, s, "base")
	return r
}

// contents returns all keys and values.
func contents(t testing.TB, s store.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := s.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(e.Name, err)
		}
		all[e.Name] = string(data)
	}
	return all
}

// TestConflicts rebases a session onto a commit beside it. If they do not conflict, the
// result is that of the one after the other.
func TestConflicts(t *testing.T) {
	for _, c := range conflicts {
		r := based(t)
		ours, theirs := session(t, r), session(t, r)
		apply(t, ours, c.staged)
		apply(t, theirs, c.committed)
		id := commit(t, theirs, "theirs")
		err := ours.Rebase(t.Context(), icechunk.Policy{Reads: strings.Contains(c.staged, "?")})
		if got := strings.Join(kindsOf(t, err), ", "); got != c.want {
			t.Errorf("%s: %s, want %s (%v)", c.name, got, c.want, err)
			continue
		}
		if err != nil {
			if text := err.Error(); !strings.Contains(text, id.String()) || !strings.Contains(text, `"theirs"`) || strings.Contains(text, "%!") {
				t.Errorf("%s: %v", c.name, err)
			}
			if ours.Base() == id {
				t.Errorf("%s: the session has another base", c.name)
			}
			continue
		}
		if _, err := ours.Commit(t.Context(), "ours"); err != nil && !errors.Is(err, icechunk.ErrNothing) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		one := based(t)
		for _, changes := range []string{c.committed, c.staged} {
			s := session(t, one)
			if net, ok := strings.CutPrefix(changes, "x/zarr.json=group -x/zarr.json "); ok {
				changes = net
			} else if c.name == "the same document again" && changes == c.staged {
				changes = "" // the session has changed nothing
			}
			apply(t, s, changes)
			if _, err := s.Commit(t.Context(), changes); err != nil && !errors.Is(err, icechunk.ErrNothing) {
				t.Fatal(c.name, err)
			}
		}
		if got, want := tipOf(t, r), tipOf(t, one); !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

func tipOf(t testing.TB, r *icechunk.Repository) map[string]string {
	t.Helper()
	s, err := r.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return contents(t, s)
}

// TestPolicy resolves conflicts as a policy says.
func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		committed, staged string
		policy            icechunk.Policy
		key, want         string
	}{
		{"g/a/c/0=hi", "g/a/c/0=ho g/a/c/1=ho", icechunk.Policy{Chunks: icechunk.Ours}, "g/a/c/0", "ho"},
		{"g/a/c/0=hi", "g/a/c/0=ho g/a/c/1=ho", icechunk.Policy{Chunks: icechunk.Theirs}, "g/a/c/0", "hi"},
		{"g/a/c/0=hi", "g/a/c/0=ho g/a/c/1=ho", icechunk.Policy{Chunks: icechunk.Theirs}, "g/a/c/1", "ho"},
		{"g/a/c/0=hi", "-g/a/c/0", icechunk.Policy{Chunks: icechunk.Ours}, "g/a/c/0", ""},
		{"g/a/c/0=hi", "-g/a/zarr.json", icechunk.Policy{Delete: true}, "g/a/c/0", ""},
		{"h/zarr.json=group:1", "-h/zarr.json", icechunk.Policy{Delete: true}, "h/zarr.json", ""},
		{"g/a/c/0=hi", "?g/a/c/0 g/b/c/0=ho", icechunk.Policy{}, "g/a/c/0", "hi"},
	} {
		r := based(t)
		ours, theirs := session(t, r), session(t, r)
		apply(t, ours, c.staged)
		apply(t, theirs, c.committed)
		commit(t, theirs, "theirs")
		if _, err := ours.CommitRebased(t.Context(), "ours", c.policy); err != nil {
			t.Errorf("%s beside %s: %v", c.staged, c.committed, err)
		}
		if got := tipOf(t, r)[c.key]; got != c.want {
			t.Errorf("%s beside %s by %v: %s is %q, want %q", c.staged, c.committed, c.policy, c.key, got, c.want)
		}
	}
}

// TestRebaseHistory rebases onto branches that were deleted, reset and amended, and onto
// commits whose logs are gone.
func TestRebaseHistory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*icechunk.Repository, store.Store) error
		want   string
	}{
		"reset": {func(r *icechunk.Repository, _ store.Store) error {
			return r.ResetBranch(t.Context(), "dev", "tag:first")
		}, "no longer the snapshot"},
		"deleted": {func(r *icechunk.Repository, _ store.Store) error { return r.DeleteBranch(t.Context(), "dev") }, "was deleted"},
		"amended": {func(r *icechunk.Repository, _ store.Store) error {
			s, err := r.Session(t.Context(), "dev")
			if err == nil {
				apply(t, s, "y/zarr.json=group")
				_, err = s.Amend(t.Context(), "amended")
			}
			return err
		}, "no longer the snapshot"},
		"a log is gone": {func(r *icechunk.Repository, s store.Store) error {
			for i := range 2 {
				one, err := r.Session(t.Context(), "dev")
				if err != nil {
					return err
				}
				apply(t, one, fmt.Sprintf("y%d/zarr.json=group", i))
				id := commit(t, one, "y")
				if i == 0 {
					if _, err := store.Write(t.Context(), s, store.Delete(store.MustKey("transactions/"+id.String())), store.Flush); err != nil {
						return err
					}
				}
			}
			return nil
		}, "there is no such object"},
		"a log of another commit": {func(r *icechunk.Repository, s store.Store) error {
			one, err := r.Session(t.Context(), "dev")
			if err != nil {
				return err
			}
			apply(t, one, "y/zarr.json=group")
			other := "transactions/" + one.Base().String()
			id := commit(t, one, "y")
			data, _, err := s.Get(t.Context(), store.MustKey(other), store.Request{}, nil)
			put(t, s, store.MustKey("transactions/"+id.String()), data)
			return err
		}, "it is the log of"},
	} {
		r, below := created(t)
		if err := r.CreateTag(t.Context(), "first", ""); err != nil {
			t.Fatal(err)
		}
		s := session(t, r)
		apply(t, s, "zarr.json=group")
		commit(t, s, "base")
		if err := r.CreateBranch(t.Context(), "dev", ""); err != nil {
			t.Fatal(err)
		}
		s, err := r.Session(t.Context(), "dev")
		if err == nil {
			apply(t, s, "x/zarr.json=group")
			err = c.change(r, below)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		err = s.Rebase(t.Context(), icechunk.Policy{})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, store.ErrConflict) == strings.HasPrefix(name, "a log") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAmend replaces a commit twice, the second time only its message. A session that
// began before the two compares with both.
func TestAmend(t *testing.T) {
	r := based(t)
	old := session(t, r)
	apply(t, old, "g/b/c/1=ho")
	s := session(t, r)
	if err := r.CreateTag(t.Context(), "base", ""); err != nil {
		t.Fatal(err)
	}
	apply(t, s, "g/a/c/0=hi g/b/c/1=hi")
	first := commit(t, s, "chunks")
	s = session(t, r)
	apply(t, s, "g/a/c/1=hi x/zarr.json=group")
	if _, err := s.Amend(t.Context(), "chunks and a group"); err != nil {
		t.Fatal(err)
	}
	if _, err := session(t, r).Amend(t.Context(), "another message"); err != nil {
		t.Fatal(err)
	}
	var messages []string
	for c, err := range r.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, c.Message)
	}
	if want := []string{"another message", "base", "Repository initialized"}; !slices.Equal(messages, want) {
		t.Errorf("%q", messages)
	}
	is := tipOf(t, r)
	if is["g/a/c/0"] != "hi" || is["g/a/c/1"] != "hi" || is["x/zarr.json"] == "" {
		t.Errorf("%q", is)
	}
	if _, err := r.Snapshot(t.Context(), first.String()); err != nil {
		t.Error(err)
	}
	if got := kindsOf(t, old.Rebase(t.Context(), icechunk.Policy{})); !slices.Equal(got, []string{"ChunkDoubleUpdate g/b [[1]]"}) {
		t.Errorf("%q", got)
	}
	empty, _ := created(t)
	s = session(t, empty)
	apply(t, s, "zarr.json=group")
	if _, err := s.Amend(t.Context(), "the first one"); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
}

// change is one that a random session makes.
type change struct {
	key, value string // the value is "" if the key is deleted
}

// randomChanges returns changes of a state, by keys of documents and chunks.
func randomChanges(random *rand.Rand, state map[string]string) (list []change) {
	for range 1 + random.IntN(3) {
		node := []string{"", "g/", "h/", "g/a/", "g/b/", "h/k/"}[random.IntN(6)]
		_, exists := state[node+"zarr.json"]
		is := strings.Contains(state[node+"zarr.json"], "chunk_grid")
		value := fmt.Sprint(random.IntN(1000))
		array := strings.Count(node, "/") == 2
		switch n := random.IntN(8); {
		case n < 5 && exists && is:
			c := change{fmt.Sprintf("%sc/%d", node, random.IntN(3)), "v" + value}
			if _, stored := state[c.key]; stored && random.IntN(4) == 0 {
				c.value = ""
			}
			list = append(list, c)
		case n == 5 && node != "" && exists && array:
			list = append(list, change{node + "zarr.json", ""})
		case array:
			list = append(list, change{node + "zarr.json", string(documentOf(6, "[[2, 3]]", `"n": `+value))})
		default:
			list = append(list, change{node + "zarr.json", string(groupOf(`"n": ` + value))})
		}
		for _, c := range list {
			applyModel(state, c)
		}
	}
	return list
}

// applyModel makes a change in a map.
func applyModel(state map[string]string, c change) {
	if c.value != "" {
		state[c.key] = c.value
		return
	}
	delete(state, c.key)
	if node, ok := strings.CutSuffix(c.key, "zarr.json"); ok {
		maps.DeleteFunc(state, func(key, _ string) bool { return strings.HasPrefix(key, node+"c/") })
	}
}

// changedKeys returns the keys that differ.
func changedKeys(a, b map[string]string) map[string]bool {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = a[key] != b[key]
	}
	for key := range b {
		keys[key] = a[key] != b[key]
	}
	maps.DeleteFunc(keys, func(_ string, differs bool) bool { return !differs })
	return keys
}

// TestRandomRebases has two writers change one repository at random. A rebase succeeds
// exactly if a model of the detector of the reference finds no conflict, and then the
// changes of both are there.
func TestRandomRebases(t *testing.T) {
	conflicting := 0
	for seed := range uint64(400) {
		random := rand.New(rand.NewPCG(seed, 1))
		r := based(t)
		base := tipOf(t, r)
		write := func(s *icechunk.Session) map[string]string {
			state := maps.Clone(base)
			for _, c := range randomChanges(random, state) {
				var err error
				if key := store.MustKey(c.key); c.value == "" {
					_, err = store.Write(t.Context(), s, store.Delete(key), store.Flush)
				} else {
					_, err = store.Write(t.Context(), s, store.Put(key, []byte(c.value)), store.Flush)
				}
				if err != nil {
					t.Fatal(seed, c, err)
				}
			}
			return state
		}
		one, two := session(t, r), session(t, r)
		theirs, ours := write(one), write(two)
		if _, err := one.Commit(t.Context(), "theirs"); errors.Is(err, icechunk.ErrNothing) {
			continue
		} else if err != nil {
			t.Fatal(seed, err)
		}
		theirKeys, ourKeys := changedKeys(base, theirs), changedKeys(base, ours)
		_, err := two.CommitRebased(t.Context(), "ours", icechunk.Policy{})
		if errors.Is(err, icechunk.ErrNothing) {
			continue
		}
		if want := meet(base, theirKeys, ourKeys, ours); (len(kindsOf(t, err)) > 0) != want {
			t.Fatalf("seed %d: %v, want a conflict: %v; they change %v, and the session %v", seed, err, want, theirKeys, ourKeys)
		}
		if err != nil {
			conflicting++
			continue
		}
		want := maps.Clone(theirs)
		for key := range ourKeys {
			if want[key] = ours[key]; ours[key] == "" {
				delete(want, key)
			}
		}
		if got := tipOf(t, r); !maps.Equal(got, want) {
			t.Fatalf("seed %d: %q, want %q", seed, got, want)
		}
	}
	if conflicting < 40 {
		t.Errorf("only %d sessions conflict", conflicting)
	}
}

// meet says whether changed keys conflict: the same key, or a document and a chunk of its
// array unless only the session changes the document and the array stays.
func meet(base map[string]string, theirs, ours map[string]bool, state map[string]string) bool {
	for key := range ours {
		if theirs[key] {
			return true
		}
		array, _, isChunk := strings.Cut(key, "c/")
		if isChunk && theirs[array+"zarr.json"] {
			return true
		}
		if !isChunk && state[key] == "" {
			for other := range theirs {
				if strings.HasPrefix(other, strings.TrimSuffix(key, "zarr.json")+"c/") {
					return true
				}
			}
		}
	}
	return false
}

// retried counts the calls of a change.
func retried(t testing.TB, r *icechunk.Repository, message string, change func(context.Context, *icechunk.Session) error) (calls int) {
	t.Helper()
	if _, err := r.Change(t.Context(), "main", message, func(ctx context.Context, s *icechunk.Session) error {
		calls++
		return change(ctx, s)
	}); err != nil {
		t.Fatal(message, err)
	}
	return calls
}

// rewritten changes an object of a repository.
func rewritten(t testing.TB, s store.Store, name string, kind format.Kind, change func(body []byte) ([]byte, error)) {
	t.Helper()
	key := store.MustKey(name)
	data, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, body, err := format.Open(data, kind, 1<<30)
	if err == nil {
		body, err = change(body)
	}
	if err == nil {
		data, err = format.Seal("test", kind, body)
	}
	if err == nil {
		_, err = store.Write(t.Context(), s, store.Put(key, data), store.Flush)
	}
	if err != nil {
		t.Fatal(name, err)
	}
}

// TestRebaseOntoMove rebases onto a commit that has moved a node, as the reference can,
// and amends it.
func TestRebaseOntoMove(t *testing.T) {
	r, below := created(t)
	s := session(t, r)
	apply(t, s, "zarr.json=group g/zarr.json=group")
	commit(t, s, "base")
	old := session(t, r)
	apply(t, old, "x/zarr.json=group")
	s = session(t, r)
	apply(t, s, "y/zarr.json=group")
	id := commit(t, s, "moved")
	rewritten(t, below, "transactions/"+id.String(), format.KindTransactionLog, func(body []byte) ([]byte, error) {
		l, err := format.ParseTransactionLog(body)
		if err != nil {
			return nil, err
		}
		l.Moves = []format.Move{{From: "/g", To: "/y"}}
		return l.Encode(), nil
	})
	if got := kindsOf(t, old.Rebase(t.Context(), icechunk.Policy{Chunks: icechunk.Ours, Delete: true})); !slices.Equal(got, []string{"MoveOperationCannotBeRebased g"}) {
		t.Errorf("%q", got)
	}
	s = session(t, r)
	apply(t, s, "z/zarr.json=group")
	if _, err := s.Amend(t.Context(), "amended"); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
}

// TestRebaseOntoExpired rebases onto a commit whose predecessors have expired: their logs
// count from the base on, also if the base itself has expired.
func TestRebaseOntoExpired(t *testing.T) {
	for _, baseToo := range []bool{false, true} {
		for _, key := range []string{"a/c/0", "a/c/1", "a/c/2"} {
			r, below := created(t)
			var ids []icechunk.ID
			var old *icechunk.Session
			for i, changes := range []string{"zarr.json=group a/zarr.json=array a/c/0=00", "a/c/1=11", "a/c/2=22"} {
				s := session(t, r)
				apply(t, s, changes)
				ids = append(ids, commit(t, s, changes))
				if i == 0 {
					old = session(t, r)
				}
			}
			rewritten(t, below, "repo", format.KindRepository, func(body []byte) ([]byte, error) {
				repo, err := format.ParseRepository(body)
				if err != nil {
					return nil, err
				}
				gone := ids[1:2]
				if baseToo {
					gone = ids[:2]
				}
				fresh := &format.Repository{Branches: []format.Reference{{Name: "main"}}, Status: repo.Status, Updates: repo.Updates}
				for _, s := range repo.Snapshots {
					if !slices.Contains(gone, s.ID) {
						s.Parent = -1
						fresh.Snapshots = append(fresh.Snapshots, s)
					}
				}
				index := func(id icechunk.ID) int {
					i, _ := fresh.FindSnapshot(id)
					return i
				}
				tip := index(ids[2])
				fresh.Branches[0].Snapshot = tip
				first := index(format.InitialSnapshot)
				fresh.Snapshots[tip].Parent, fresh.Snapshots[tip].Pruned = first, gone
				if !baseToo {
					fresh.Snapshots[tip].Parent = index(ids[0])
					fresh.Snapshots[index(ids[0])].Parent = first
				}
				return fresh.Encode(), nil
			})
			apply(t, old, key+"=xx")
			err := old.Rebase(t.Context(), icechunk.Policy{})
			if got := len(kindsOf(t, err)) > 0; got != (key != "a/c/0") {
				t.Errorf("base expired: %v, %s: %v", baseToo, key, err)
			}
		}
	}
}
