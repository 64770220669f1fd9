// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
)

// created returns an empty repository in memory.
func created(t testing.TB) (*icechunk.Repository, store.Store) {
	t.Helper()
	s := memstore.New()
	r, err := icechunk.Create(t.Context(), s, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

// session begins a session at the branch main.
func session(t testing.TB, r *icechunk.Repository) *icechunk.Session {
	t.Helper()
	s, err := r.Session(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// commit commits a session.
func commit(t testing.TB, s *icechunk.Session, message string) icechunk.ID {
	t.Helper()
	id, err := s.Commit(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// wants compares the elements of an array.
func wants(t testing.TB, s store.Store, path string, want []int32) {
	t.Helper()
	a, err := zarr.At(s, path).OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || !slices.Equal(got.Data, want) {
		t.Fatalf("%v, %v, want %v", got.Data, err, want)
	}
}

func numbers(from, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(from + i)
	}
	return list
}

// months is an array with chunks of unequal length.
var months = zarr.Spec{Shape: []int64{59}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(31, 28)}, Codecs: []metadata.Extension{codec.Bytes("little")}}

// TestCommit creates, appends, and reads each snapshot as it was.
func TestCommit(t *testing.T) {
	r, below := created(t)
	s := session(t, r)
	a, err := zarr.At(s, "g/a").CreateArray(t.Context(), months, &zarr.CreateOptions{})
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, numbers(0, 59))
	}
	if err != nil {
		t.Fatal(err)
	}
	wants(t, s, "g/a", numbers(0, 59))
	first := commit(t, s, "two months")
	if _, err := s.Commit(t.Context(), "again"); !errors.Is(err, icechunk.ErrEnded) {
		t.Error(err)
	}
	s = session(t, r)
	if a, err = zarr.At(s, "g/a").OpenArray(t.Context(), &zarr.Options{Write: true}); err == nil {
		err = zarr.Append(t.Context(), a, 0, numbers(59, 31), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	second := commit(t, s, "March")
	again, err := icechunk.Open(t.Context(), below, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string][]int32{"": numbers(0, 90), first.String(): numbers(0, 59), "snapshot:" + second.String(): numbers(0, 90)} {
		is, err := again.Snapshot(t.Context(), at)
		if err != nil {
			t.Fatal(at, err)
		}
		wants(t, is, "g/a", want)
	}
	var messages []string
	for c, err := range again.Log(t.Context(), "main") {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, c.Message)
	}
	if want := []string{"March", "two months", "Repository initialized"}; !slices.Equal(messages, want) {
		t.Errorf("%q", messages)
	}
	if _, err := session(t, again).Commit(t.Context(), "nothing"); !errors.Is(err, icechunk.ErrNothing) {
		t.Error(err)
	}
}

// TestConflict commits two sessions that began at the same snapshot.
func TestConflict(t *testing.T) {
	r, _ := created(t)
	one, two := session(t, r), session(t, r)
	for i, s := range []*icechunk.Session{one, two} {
		if _, err := zarr.At(s, fmt.Sprint("g", i)).CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	id := commit(t, one, "the first one")
	_, err := two.Commit(t.Context(), "the second one")
	if !errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), id.String()) || !strings.Contains(err.Error(), "the first one") {
		t.Error(err)
	}
}

// TestCompaction merges chunks in a session. Those that stay keep their objects. The last
// merged chunk has the fill value only, so that it is not stored, unlike the chunk with
// its index before.
func TestCompaction(t *testing.T) {
	r, below := created(t)
	s := session(t, r)
	spec, values := months, numbers(0, 4000)
	clear(values[3000:])
	spec.Shape, spec.Chunks = []int64{4000}, []grid.Cut{grid.Edges(1000, 1000, 500, 500, 500, 500)}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, values)
	}
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "six chunks")
	before := objects(t, below)
	s = session(t, r)
	if a, err = zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{Axis: 0, UpTo: 1000}, nil); err != nil {
		t.Fatal(err)
	}
	commit(t, s, "compact")
	if n := len(objects(t, below)) - len(before); n != 1 {
		t.Errorf("%d chunks were stored, want 1", n)
	}
	is, err := r.Snapshot(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	wants(t, is, "a", values)
	var keys []string
	for e, err := range store.List(t.Context(), is, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, e.Name)
	}
	if slices.Sort(keys); !slices.Equal(keys, []string{"a/c/0", "a/c/1", "a/c/2", "a/zarr.json", "zarr.json"}) {
		t.Error(keys)
	}
}

// objects returns the names of chunk objects.
func objects(t *testing.T, s store.Store) (names []string) {
	t.Helper()
	dir, err := store.ParsePath("chunks")
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range store.List(t.Context(), s, dir, store.Flat) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
	}
	return names
}

// TestCommitters commits from several stores of one folder at once. Every commit that was
// acknowledged is in the log once.
func TestCommitters(t *testing.T) {
	dir := t.TempDir()
	open := func() store.Store {
		s, err := filestore.Open(dir, &filestore.Options{Create: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close(s) })
		return s
	}
	if _, err := icechunk.Create(t.Context(), open(), store.Path{}, nil); err != nil {
		t.Fatal(err)
	}
	const committers, commits = 4, 8
	var running sync.WaitGroup
	for k := range committers {
		r, err := icechunk.Open(t.Context(), open(), store.Path{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for n := 0; n < commits; {
				s, err := r.Session(t.Context(), "main")
				name := fmt.Sprintf("g%d-%d", k, n)
				if err == nil {
					_, err = zarr.At(s, name).CreateGroup(t.Context(), nil, nil)
				}
				if err == nil {
					_, err = s.Commit(t.Context(), name)
				}
				switch {
				case err == nil:
					n++
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	r, err := icechunk.Open(t.Context(), open(), store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for c, err := range r.Log(t.Context(), "main") {
		if err != nil || seen[c.Message] {
			t.Fatal(c, err)
		}
		seen[c.Message] = true
	}
	if len(seen) != committers*commits+1 {
		t.Errorf("%d commits, want %d", len(seen), committers*commits+1)
	}
	is, err := r.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range store.List(t.Context(), is, store.Path{}, store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != committers*commits+1 { // and that of the root
		t.Errorf("%d documents, want %d", n, committers*commits+1)
	}
}

// TestSwapped reads objects that stand under the names of others.
func TestSwapped(t *testing.T) {
	r, s := created(t)
	for i := range 2 {
		c := session(t, r)
		a, err := zarr.At(c, fmt.Sprint("a", i)).CreateArray(t.Context(), months, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, numbers(i, 59))
		}
		if err != nil {
			t.Fatal(err)
		}
		commit(t, c, "an array")
	}
	for _, folder := range []string{"snapshots", "manifests"} {
		dir, err := store.ParsePath(folder)
		if err != nil {
			t.Fatal(err)
		}
		values := map[store.Key][]byte{}
		var keys []store.Key
		for e, err := range store.List(t.Context(), s, dir, store.Flat) {
			if err != nil {
				t.Fatal(err)
			}
			key := dir.MustKey(e.Name)
			values[key], _, err = s.Get(t.Context(), key, store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		for i, key := range keys {
			put(t, s, key, values[keys[(i+1)%len(keys)]])
		}
		fresh, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = fresh.Snapshot(t.Context(), "")
		if folder == "manifests" {
			is, openErr := fresh.Snapshot(t.Context(), "")
			if openErr != nil {
				t.Fatal(openErr)
			}
			_, _, err = is.Get(t.Context(), store.MustKey("a1/c/0"), store.Request{}, nil)
		}
		if !errors.Is(err, zarr.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", folder, err)
		}
		for key, value := range values {
			put(t, s, key, value)
		}
	}
}

func put(t *testing.T, s store.Store, key store.Key, value []byte) {
	t.Helper()
	if _, err := store.Write(t.Context(), s, store.Put(key, value), store.Flush); err != nil {
		t.Fatal(err)
	}
}

// TestBackups finds every former object repo below overwritten/, and none of its bytes
// changed.
func TestBackups(t *testing.T) {
	r, s := created(t)
	var former [][]byte
	for i := range 3 {
		data, _, err := s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		former = append(former, data)
		c := session(t, r)
		if _, err := zarr.At(c, fmt.Sprint("g", i)).CreateGroup(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		commit(t, c, "a group")
		// In a store with locks, what was published is kept at once.
		if data, _, err = s.Get(t.Context(), store.MustKey("repo"), store.Request{}, nil); err != nil {
			t.Fatal(err)
		}
		former = append(former, data)
	}
	dir, err := store.ParsePath("overwritten")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for e, err := range store.List(t.Context(), s, dir, store.Flat) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := s.Get(t.Context(), dir.MustKey(e.Name), store.Request{}, nil)
		if err != nil || !slices.ContainsFunc(former, func(f []byte) bool { return bytes.Equal(f, data) }) {
			t.Errorf("%s is no former object: %v", e.Name, err)
		}
		n++
	}
	if n != len(former) {
		t.Errorf("%d backups, want %d", n, len(former))
	}
}

// lossy is a store that loses the answer of the next conditional writes.
type lossy struct {
	store.Store
	lost  int
	after func() // is called when an answer is lost
}

func (l *lossy) Can(op store.Op) bool { return store.Can(l.Store, op) }

func (l *lossy) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	is, err := store.Write(ctx, l.Store, c, d)
	if c.Op == store.OpPutIf && l.lost > 0 && err == nil {
		l.lost--
		if l.after != nil {
			l.after()
		}
		return store.Written{}, errors.New("the answer is lost")
	}
	return is, err
}

// TestLostAnswer commits although the answer to the publication is lost.
func TestLostAnswer(t *testing.T) {
	_, s := created(t)
	l := &lossy{Store: s, lost: 1}
	r, err := icechunk.Open(t.Context(), l, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := session(t, r)
	if _, err := zarr.At(c, "g").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	id := commit(t, c, "a group")
	n := 0
	for c, err := range r.Log(t.Context(), "") {
		if err != nil || n == 0 && c.ID != id {
			t.Fatal(c, err)
		}
		n++
	}
	if n != 2 || l.lost != 0 {
		t.Errorf("%d commits, want 2", n)
	}
}

// TestMissingObjects reads chunks whose manifest or object is gone. They must not look
// like chunks that are not stored, which have the fill value.
func TestMissingObjects(t *testing.T) {
	for _, folder := range []string{"manifests", "chunks"} {
		r, below := created(t)
		s := session(t, r)
		spec := months
		spec.Shape, spec.Chunks = []int64{4000}, grid.Chunks(2000)
		a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
		if err == nil {
			err = zarr.Write(t.Context(), a, nil, numbers(0, 4000))
		}
		if err != nil {
			t.Fatal(err)
		}
		commit(t, s, "an array")
		dir, err := store.ParsePath(folder)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range store.List(t.Context(), below, dir, store.Flat) {
			if err == nil {
				_, err = store.Write(t.Context(), below, store.Delete(dir.MustKey(e.Name)), store.Flush)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if r, err = icechunk.Open(t.Context(), below, store.Path{}, nil); err != nil {
			t.Fatal(err)
		}
		is, err := r.Snapshot(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for name, from := range map[string]store.Store{"snapshot": is, "session": session(t, r)} {
			_, _, err := from.Get(t.Context(), store.MustKey("a/c/0"), store.Request{}, nil)
			if !errors.Is(err, zarr.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s without %s: %v", name, folder, err)
			}
		}
	}
}

// TestUnreadable commits nothing that could not be read again.
func TestUnreadable(t *testing.T) {
	r, _ := created(t)
	s := session(t, r)
	long := map[string]any{"text": strings.Repeat("a", 4<<20)}
	if _, err := zarr.At(s, "g").CreateGroup(t.Context(), long, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), "caf\xe9"); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
	commit(t, s, "4 MiB that compress well")
	session(t, r)
	if err := r.CreateTag(t.Context(), "caf\xe9", ""); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
	s = session(t, r)
	spec := months
	spec.Shape, spec.Chunks = []int64{1 << 32}, grid.Chunks(1)
	if _, err := zarr.At(s, "long").CreateArray(t.Context(), spec, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), "2^32 chunks"); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	_, below := created(t)
	r, err := icechunk.Open(t.Context(), below, store.Path{}, &icechunk.Options{Object: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s = session(t, r)
	if _, err := zarr.At(s, "g").CreateGroup(t.Context(), long, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), "beyond the limit"); !errors.Is(err, zarr.ErrCorrupt) {
		t.Error(err)
	}
}

// TestLostBeforeOthers loses the answer to a publication, and somebody else commits
// before the next look. The commit is published once, and says so.
func TestLostBeforeOthers(t *testing.T) {
	r, s := created(t)
	l := &lossy{Store: s, lost: 1, after: func() {
		other := session(t, r)
		if _, err := zarr.At(other, "other").CreateGroup(t.Context(), nil, nil); err != nil {
			t.Error(err)
		}
		commit(t, other, "another one")
	}}
	mine, err := icechunk.Open(t.Context(), l, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := session(t, mine)
	if _, err := zarr.At(c, "g").CreateGroup(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	commit(t, c, "mine")
	var messages []string
	for c, err := range r.Log(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, c.Message)
	}
	if want := []string{"another one", "mine", "Repository initialized"}; !slices.Equal(messages, want) {
		t.Errorf("%q", messages)
	}
	l.lost, l.after = 1, nil
	if err := mine.CreateTag(t.Context(), "v1", ""); err != nil {
		t.Error(err)
	}
}

// TestCreateBeside makes a repository where something is.
func TestCreateBeside(t *testing.T) {
	_, s := created(t)
	if _, err := icechunk.Create(t.Context(), s, store.Path{}, nil); !errors.Is(err, icechunk.ErrExists) {
		t.Error(err)
	}
	put(t, s, store.MustKey("repo"), []byte("damaged"))
	if _, err := icechunk.Create(t.Context(), s, store.Path{}, nil); !errors.Is(err, zarr.ErrCorrupt) {
		t.Error(err)
	}
	other := memstore.New()
	put(t, other, store.MustKey("zarr.json"), []byte("{}"))
	if _, err := icechunk.Create(t.Context(), other, store.Path{}, nil); !errors.Is(err, icechunk.ErrExists) {
		t.Error(err)
	}
}

// TestOtherDocuments puts a document of another rank in the place of an array, and one
// with other keys of chunks.
func TestOtherDocuments(t *testing.T) {
	r, _ := created(t)
	s := session(t, r)
	document := func(shape, chunks, keys string) []byte {
		return fmt.Appendf(nil, `{"zarr_format": 3, "node_type": "array", "shape": %s, "data_type": "int8", "fill_value": 0,
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": %s}}, "chunk_key_encoding": %s, "codecs": [{"name": "bytes"}]}`, shape, chunks, keys)
	}
	key, usual := store.MustKey("a/zarr.json"), `{"name": "default"}`
	put(t, s, key, document("[4]", "[2]", usual))
	put(t, s, store.MustKey("a/c/1"), []byte{1, 2})
	put(t, s, key, document("[2, 2]", "[2, 2]", usual))
	put(t, s, store.MustKey("b/c/0"), []byte{7, 8}) // before its document
	put(t, s, store.MustKey("b/zarr.json"), document("[2]", "[2]", usual))
	commit(t, s, "two arrays")
	is, err := r.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if data, _, err := is.Get(t.Context(), store.MustKey("b/c/0"), store.Request{}, nil); err != nil || !bytes.Equal(data, []byte{7, 8}) {
		t.Error(data, err)
	}
	if data, _, err := is.Get(t.Context(), store.MustKey("a/c/1"), store.Request{}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(data, err)
	}
	s = session(t, r)
	put(t, s, store.MustKey("b/zarr.json"), document("[2, 2]", "[1, 1]", usual))
	commit(t, s, "another rank")
	if is, err = r.Snapshot(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	for e, err := range store.List(t.Context(), is, store.Path{}, store.Deep) {
		if err != nil || strings.Contains(e.Name, "/c/") {
			t.Error(e.Name, err)
		}
	}
	s = session(t, r)
	put(t, s, store.MustKey("none/c/0"), []byte{1})
	if _, err := s.Commit(t.Context(), "a chunk of nothing"); !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := store.Write(t.Context(), s, store.Put(store.MustKey("a/.zattrs"), []byte("{}")), store.Flush); !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := store.Write(t.Context(), s, store.Delete(store.MustKey("a/.zattrs")), store.Flush); err != nil {
		t.Error(err)
	}
}

// TestListBeforeGroup lists nodes whose group has no document yet.
func TestListBeforeGroup(t *testing.T) {
	r, _ := created(t)
	s := session(t, r)
	for _, name := range []string{"zarr.json", "x/y/zarr.json"} {
		put(t, s, store.MustKey(name), []byte(`{"zarr_format": 3, "node_type": "group"}`))
	}
	x, err := store.ParsePath("x")
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[store.Listing]string{store.Flat: "y", store.Deep: "y/zarr.json"} {
		var names []string
		for e, err := range store.List(t.Context(), s, x, how) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, e.Name)
		}
		if !slices.Equal(names, []string{want}) {
			t.Errorf("%v: %q, want %s", how, names, want)
		}
	}
}

// TestOwnNames writes and deletes chunks of an array with a name such as Varve has for
// its own values. The reference makes such arrays.
func TestOwnNames(t *testing.T) {
	r, _ := created(t)
	first := session(t, r)
	put(t, first, store.MustKey("__x/zarr.json"), documentOf(4, "[2,2]", ""))
	put(t, first, store.MustKey("__x/c/0"), []byte("ab"))
	put(t, first, store.MustKey("__x/c/1"), []byte("cd"))
	commit(t, first, "chunks")
	second := session(t, r)
	for e, err := range store.List(t.Context(), second, store.Path{}, store.Flat) {
		if err != nil || e.Name != "__x" {
			t.Error(e, err)
		}
	}
	if _, err := store.Write(t.Context(), second, store.Delete(store.MustKey("__x/c/0")), store.Sync); err != nil {
		t.Fatal(err)
	}
	commit(t, second, "deleted")
	is, err := r.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := contents(t, is); got["__x/c/0"] != "" || got["__x/c/1"] != "cd" {
		t.Error(got)
	}
}

// TestManyRechunks rechunks an array in one session more often than there are keys for
// chunks. Snapshots before keep their grids, and so do arrays that the session has open.
func TestManyRechunks(t *testing.T) {
	r, s := created(t)
	commit(t, stage(t, r, "main", "a", 0), "a")
	before, err := r.Snapshot(t.Context(), "")
	try(t, err)
	c := session(t, r)
	early, err := zarr.At(c, "a").OpenArray(t.Context(), nil)
	try(t, err)
	for i := range 9 {
		a, err := zarr.At(c, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
		try(t, err)
		edges := int64(100 + 50*i)
		target := rechunk.Rechunking{Chunks: grid.Chunks(edges)}
		plan, err := rechunk.NewPlan(t.Context(), a, target, nil)
		if err != nil || plan.Blocked != nil {
			t.Fatal(err, plan.Blocked)
		}
		_, err = rechunk.Do(t.Context(), a, target, nil)
		try(t, err)
		wants(t, c, "a", numbers(0, 600))
		late, err := zarr.Read[int32](t.Context(), early, nil)
		if err != nil || !slices.Equal(late.Data, numbers(0, 600)) {
			t.Errorf("an array that was open before the rechunk %d: %v", i, err)
		}
	}
	for i := range 5 {
		a, err := zarr.At(c, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
		try(t, err)
		_, err = rechunk.DoAll(t.Context(), []rechunk.Part{{Array: a, Request: rechunk.Rechunking{Chunks: grid.Chunks(int64(90 + i))}}}, nil)
		try(t, err)
	}
	commit(t, c, "rechunked")
	wants(t, before, "a", numbers(0, 600))
	after, err := opened(t, s).Snapshot(t.Context(), "")
	try(t, err)
	wants(t, after, "a", numbers(0, 600))
	sound(t, r)
}
