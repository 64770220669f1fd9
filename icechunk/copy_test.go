// SPDX-License-Identifier: Apache-2.0

package icechunk_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
	"varve.dev/zarr/virtual"
)

// copying is a store that counts the objects that it copies itself.
type copying struct {
	store.Store
	copied atomic.Int64
}

func (c *copying) Can(op store.Op) bool { return store.Can(c.Store, op) }

func (c *copying) Write(ctx context.Context, change store.Change, d store.Durability) (store.Written, error) {
	if change.Op == store.OpCopy {
		if from, ok := change.From.(*copying); ok {
			change.From = from.Store
		}
		made, err := c.Store.(store.Writer).Write(ctx, change, d) // or an error, and no other way
		if err == nil {
			c.copied.Add(1)
		}
		return made, err
	}
	return store.Write(ctx, c.Store, change, d)
}

func (c *copying) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, c.Store, dir, how)
}

// copyingStore returns a store of files that counts its copies.
func copyingStore(t *testing.T) *copying {
	t.Helper()
	s, err := filestore.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(s) })
	return &copying{Store: s}
}

// objectsIn counts the chunk objects of a store.
func objectsIn(t *testing.T, s store.Store) (n int) {
	t.Helper()
	for _, err := range store.List(t.Context(), s, mustPath(t, "chunks"), store.Deep) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// TestCopies copies an array in plain Zarr to a repository, within it, to another one and
// out of it. Stores copy the chunks themselves, except short ones, and within a
// repository nothing is copied.
func TestCopies(t *testing.T) {
	ctx := t.Context()
	plain, below, other := copyingStore(t), copyingStore(t), copyingStore(t)
	spec := months
	spec.Shape = []int64{400}
	spec.Chunks = []grid.Cut{grid.Edges(400)}
	a, err := zarr.At(plain, "a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Append(ctx, a, 0, numbers(400, 20), nil) // a short chunk
	}
	if err == nil {
		err = zarr.Write(ctx, a, nil, numbers(0, 420))
	}
	if err != nil {
		t.Fatal(err)
	}
	move := func(from store.Store, path string, to store.Store, as string) {
		t.Helper()
		if _, err := transfer.Copy(ctx, zarr.At(from, path), zarr.At(to, as), nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := icechunk.Create(ctx, below, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, r)
	move(plain, "a", s, "a")
	if objectsIn(t, below) != 1 || below.copied.Load() != 1 {
		t.Errorf("import: objects %d, copied by the store %d", objectsIn(t, below), below.copied.Load())
	}
	move(s, "a", s, "b")
	commit(t, s, "import")
	snapshot, err := r.Snapshot(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	s = session(t, r)
	move(snapshot, "b", s, "c")
	commit(t, s, "within")
	if objectsIn(t, below) != 1 || below.copied.Load() != 1 {
		t.Errorf("within: objects %d, copied by the store %d", objectsIn(t, below), below.copied.Load())
	}
	if snapshot, err = r.Snapshot(ctx, ""); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		wants(t, snapshot, name, numbers(0, 420))
	}
	q, err := icechunk.Create(ctx, other, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s = session(t, q)
	move(snapshot, "c", s, "d")
	wants(t, s, "d", numbers(0, 420))
	if objectsIn(t, other) != 1 || other.copied.Load() != 1 {
		t.Errorf("between: objects %d, copied by the store %d", objectsIn(t, other), other.copied.Load())
	}
	out := copyingStore(t)
	move(snapshot, "c", out, "e")
	wants(t, out, "e", numbers(0, 420))
	if out.copied.Load() == 0 {
		t.Error("export: the store has copied nothing itself")
	}
	// A store that cannot copy gets the bytes.
	memory := memstore.New()
	move(snapshot, "c", memory, "f")
	wants(t, memory, "f", numbers(0, 420))
	for e, err := range store.List(ctx, below, mustPath(t, "chunks"), store.Flat) {
		if err != nil {
			t.Fatal(err)
		}
		// The reference permits an object that is longer than its reference.
		key := store.MustKey("chunks/" + e.Name)
		data, _, err := below.Get(ctx, key, store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		put(t, below, key, append(data, "more"...))
	}
	move(snapshot, "c", out, "part")
	wants(t, out, "part", numbers(0, 420))
	for e, err := range store.List(ctx, below, mustPath(t, "chunks"), store.Flat) {
		if err == nil {
			_, err = store.Write(ctx, below, store.Delete(store.MustKey("chunks/"+e.Name)), store.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]store.Store{"plain": out, "repository": session(t, q)} {
		if _, err := transfer.Copy(ctx, zarr.At(snapshot, "c"), zarr.At(to, "gone"), nil); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a chunk object that is gone: %v", name, err)
		}
	}
}

// TestEarlyChunks copies arrays whose names look like parts of the names of chunks, by
// all encodings. Copies store chunks before the documents that say whose they are.
func TestEarlyChunks(t *testing.T) {
	for _, e := range []metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Slash, metadata.V2Dot} {
		for _, path := range []string{"", "a", "levels/0", "0/1/2", "c", "c/c", "c.5", "g/c.0/1.5"} {
			plain := memstore.New()
			spec := months
			spec.KeyEncoding = e
			a, err := zarr.At(plain, path).CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, numbers(1, 59))
			}
			if err != nil {
				t.Fatal(path, err)
			}
			r, _ := created(t)
			s := session(t, r)
			if _, err := transfer.Copy(t.Context(), zarr.At(plain, path), zarr.At(s, path), nil); err != nil {
				t.Fatalf("%v %q: %v", e, path, err)
			}
			wants(t, s, path, numbers(1, 59))
			commit(t, s, "copied")
			is, err := r.Snapshot(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			wants(t, is, path, numbers(1, 59))
		}
	}
}

// TestCopyReads rebases a session that has copied a chunk which somebody else has changed
// meanwhile: it has read that chunk, although no bytes have moved.
func TestCopyReads(t *testing.T) {
	r := based(t)
	ours, theirs := session(t, r), session(t, r)
	if _, err := store.Write(t.Context(), ours, store.Copy(store.MustKey("g/b/c/1"), ours, store.MustKey("g/a/c/0")), store.Flush); err != nil {
		t.Fatal(err)
	}
	apply(t, theirs, "g/a/c/0=hi")
	commit(t, theirs, "theirs")
	err := ours.Rebase(t.Context(), icechunk.Policy{Reads: true})
	if got := strings.Join(kindsOf(t, err), ", "); got != "ReadOfUpdatedNode g/a" {
		t.Errorf("%s (%v)", got, err)
	}
}

// TestListReads reads a chunk after a list of everything. The other chunks count as read.
func TestListReads(t *testing.T) {
	r := based(t)
	ours, theirs := session(t, r), session(t, r)
	for _, err := range store.List(t.Context(), ours, store.Path{}, store.Deep) {
		try(t, err)
	}
	_, _, err := ours.Get(t.Context(), store.MustKey("g/a/c/0"), store.Request{}, nil)
	try(t, err)
	apply(t, theirs, "g/a/c/1=hi")
	commit(t, theirs, "theirs")
	err = ours.Rebase(t.Context(), icechunk.Policy{Reads: true})
	if got := strings.Join(kindsOf(t, err), ", "); got != "ReadOfUpdatedNode an array" {
		t.Errorf("%s (%v)", got, err)
	}
}

// TestReferences copies references in the context of WithReferences: chunks become
// virtual ones, with the version of their file. Without the context they are copied.
func TestReferences(t *testing.T) {
	ctx, files := t.Context(), t.TempDir()
	raw, err := binary.Append(nil, binary.LittleEndian, numbers(0, 400))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(files, "100% of #1?.bin")
	if err := os.WriteFile(file, raw, 0o666); err != nil {
		t.Fatal(err)
	}
	// A file has been written in the last part of a second.
	at := time.Now().Add(-time.Hour).Truncate(time.Second).Add(999 * time.Millisecond)
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	refs := `{"version":1,"refs":{".zgroup":"{\"zarr_format\":2}","a/.zarray":"{\"zarr_format\":2,\"shape\":[400],\"chunks\":[200],\"dtype\":\"<i4\",\"compressor\":null,\"filters\":null,\"fill_value\":0,\"order\":\"C\"}",
		"a/0":["` + strings.ReplaceAll(fileURL(file), `\`, `/`) + `",0,800],"a/1":["` + fileURL(file) + `",800,800]}}`
	if err := os.WriteFile(filepath.Join(files, "refs.json"), []byte(refs), 0o666); err != nil {
		t.Fatal(err)
	}
	node := filepath.Join(files, "node.zarr")
	if _, err := zarr.CreateGroup(ctx, node, nil, nil); err != nil {
		t.Fatal(err)
	}
	spec := months
	spec.Shape, spec.Chunks = []int64{200}, nil
	p, err := zarr.CreateArray(ctx, node+"/p", spec, nil)
	if err == nil {
		err = errors.Join(zarr.Write(ctx, p, nil, numbers(0, 200)), p.Close(), os.Chtimes(filepath.Join(node, "p", "c", "0"), at, at))
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := virtual.NewJoined(virtual.Join{})
	if err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(files, "m.vz")
	c, err := virtual.NewCollector(manifest)
	if err == nil {
		err = c.Collect(ctx, j, []string{filepath.Join(files, "refs.json"), node})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := m.Show(ctx, manifest)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(shown) }()
	repo := filepath.Join(t.TempDir(), "repo")
	below, err := filestore.Open(repo, &filestore.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := icechunk.Create(ctx, below, store.Path{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	s := session(t, r)
	for name, ctx := range map[string]context.Context{"virtual": icechunk.WithReferences(ctx), "copied": ctx} {
		if _, err := transfer.Copy(ctx, zarr.At(shown, "a"), zarr.At(s, name), nil); err != nil {
			t.Fatal(name, err)
		}
	}
	if _, err := transfer.Copy(icechunk.WithReferences(ctx), zarr.At(shown, "p"), zarr.At(s, "p"), nil); err != nil {
		t.Fatal(err)
	}
	commit(t, s, "references")
	if n := objectsIn(t, below); n != 2 {
		t.Errorf("%d chunks are copied, want 2", n)
	}
	for e, err := range store.List(ctx, below, mustPath(t, "manifests"), store.Flat) {
		if err != nil {
			t.Fatal(err)
		}
		data, _, err := below.Get(ctx, store.MustKey("manifests/"+e.Name), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, body, err := format.Open(data, format.KindManifest, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		list, err := format.ParseManifest(body)
		if err != nil {
			t.Fatal(err)
		}
		for _, refs := range list.Arrays() {
			for ref, err := range refs.All() {
				// The reference refuses a file that is younger by a part of a second.
				if isNode := strings.Contains(string(ref.Location), "node.zarr"); err != nil || isNode && int64(ref.Modified) != at.Unix()+1 {
					t.Errorf("%+v of a file that was modified at %v (%v)", ref, at, err)
				}
			}
		}
	}
	location := "icechunk+file://" + filepath.ToSlash(repo) + "@main/"
	allowed := virtual.WithAllowed(ctx, files)
	for name, ctx := range map[string]context.Context{"virtual": allowed, "copied": ctx} {
		if got, err := readAt(ctx, location+name); err != nil || len(got) != 400 || got[399] != 399 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := readAt(ctx, location+"virtual"); !errors.Is(err, virtual.ErrNotAllowed) {
		t.Errorf("without permission: %v", err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, later, later); err != nil {
		t.Fatal(err)
	}
	if _, err := readAt(allowed, location+"virtual"); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Errorf("a file that has changed: %v", err)
	}
}

// bucket is the store of locations of the scheme bucket.
var bucket = memstore.New()

func init() {
	store.Register("bucket", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		_, path, _ := strings.Cut(strings.TrimPrefix(location, "bucket://"), "/")
		at, err := store.ParsePath(path)
		return bucket, at, err
	})
}

// TestKeys reads virtual chunks in an object store. Their keys are percent-decoded once,
// as by the reference, and a key that a location here does not express is refused.
func TestKeys(t *testing.T) {
	data, err := binary.Append(nil, binary.LittleEndian, numbers(0, 59))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a b/x", "100%/x", "a%20b", "ü"} {
		put(t, bucket, store.MustKey(key), data)
	}
	for location, want := range map[string]error{
		"bucket://B/a%20b/x": nil, "bucket://B/a b/x": nil, "bucket://B/100%25/x": nil, "bucket://B/100%/x": nil, "bucket://B/a%2520b": nil,
		"bucket://B/%C3%BC": nil, "bucket://B/ü": nil, "bucket://B/ü?versionId=7": nil, "bucket://B/ü#part": nil,
		"bucket://B/a%3Fb": zarr.ErrUnsupported, "bucket://B/a//b": zarr.ErrUnsupported, "bucket://B/x/../ü": zarr.ErrUnsupported, "bucket://B/%2E%2E/ü": zarr.ErrUnsupported,
	} {
		s := memstore.New()
		if _, err := icechunk.Create(t.Context(), s, store.Path{}, nil); err != nil {
			t.Fatal(err)
		}
		r, err := icechunk.Open(virtual.WithAllowed(t.Context(), "bucket://B"), s, store.Path{}, &icechunk.Options{Location: "memory://here"})
		if err != nil {
			t.Fatal(err)
		}
		c := session(t, r)
		whole := months
		whole.Chunks = nil
		a, err := zarr.At(c, "a").CreateArray(t.Context(), whole, nil)
		if err == nil {
			err = c.SetVirtual(store.MustKey("a/c/0"), icechunk.Virtual{Location: location, Length: int64(len(data))})
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := zarr.Read[int32](t.Context(), a, nil)
		if !errors.Is(err, want) || want == nil && (err != nil || got.Data[58] != 58) {
			t.Errorf("%s: %v, %v, want %v", location, got.Data, err, want)
		}
	}
}

// TestConsolidated commits no consolidated metadata: the reference ignores them, and
// would leave them stale.
func TestConsolidated(t *testing.T) {
	r, _ := created(t)
	s := session(t, r)
	g, err := zarr.At(s, "").CreateGroup(t.Context(), map[string]any{"title": "x"}, nil)
	if err == nil {
		_, err = g.At("b").CreateGroup(t.Context(), nil, nil)
	}
	if err == nil {
		err = g.Consolidate(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, "consolidated")
	is, err := r.Snapshot(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	text, _, err := is.Get(t.Context(), store.MustKey("zarr.json"), store.Request{}, nil)
	if err != nil || strings.Contains(string(text), "consolidated") || !strings.Contains(string(text), "title") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestImportInterrupted crashes at each operation on the repository while an array is
// copied to it. The branch has the array then, whole, or nothing of it.
func TestImportInterrupted(t *testing.T) {
	ctx, plain := t.Context(), memstore.New()
	spec := months
	spec.Shape, spec.Chunks = []int64{420}, []grid.Cut{grid.Edges(400, 20)}
	a, err := zarr.At(plain, "a").CreateArray(ctx, spec, nil)
	if err == nil {
		err = zarr.Write(ctx, a, nil, numbers(0, 420))
	}
	if err != nil {
		t.Fatal(err)
	}
	imported := func(s store.Store) error {
		r, err := icechunk.Open(ctx, s, store.Path{}, nil)
		if err != nil {
			return err
		}
		c, err := r.Session(ctx, "main")
		if err != nil {
			return err
		}
		if _, err := transfer.Copy(ctx, zarr.At(plain, "a"), zarr.At(c, "g/a"), nil); err != nil {
			return err
		}
		_, err = c.Commit(ctx, "import")
		return err
	}
	points, whole := 0, 0
	for number, ended := 1, false; !ended; number++ {
		for _, after := range []bool{false, true} {
			r, below := created(t)
			err := imported(&interrupted{Store: below, left: number, after: after})
			ended = err == nil
			points++
			s, openErr := r.Snapshot(ctx, "")
			if openErr != nil {
				t.Fatal(openErr)
			}
			n := len(messagesOf(t, r, ""))
			switch {
			case n == 2:
				whole++
				wants(t, s, "g/a", numbers(0, 420))
			case err == nil:
				t.Fatalf("crash %d: the commit has succeeded and is not there", number)
			}
			if n == 1 {
				if err := imported(below); err != nil {
					t.Fatalf("after crash %d: %v", number, err)
				}
			}
		}
	}
	if points < 16 || whole < 2 {
		t.Errorf("points: %d, with the array: %d", points, whole)
	}
}

// TestCollectedSource copies chunks from a snapshot and from a session of the repository.
// A garbage collection deletes them before the commit, which does not publish them.
func TestCollectedSource(t *testing.T) {
	for name, from := range map[string]func(t *testing.T, r *icechunk.Repository) store.Store{
		"orphan": func(t *testing.T, r *icechunk.Repository) store.Store {
			id := commit(t, stage(t, r, "main", "a", 0), "a")
			try(t, r.ResetBranch(t.Context(), "main", format.InitialSnapshot.String()))
			orphan, err := r.Snapshot(t.Context(), id.String())
			try(t, err)
			return orphan
		},
		"session": func(t *testing.T, r *icechunk.Repository) store.Store {
			early := stage(t, r, "main", "a", 0)
			early.Age(10 * 24 * time.Hour)
			return early
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newDated()
			r := opened(t, s)
			source := from(t, r)
			s.pass(10 * 24 * time.Hour)
			late := session(t, r)
			document, _, err := source.Get(t.Context(), store.MustKey("a/zarr.json"), store.Request{}, nil)
			try(t, err)
			put(t, late, store.MustKey("b/zarr.json"), document)
			for _, chunk := range []string{"c/0", "c/1", "c/2"} {
				_, err := late.Write(t.Context(), store.Copy(store.MustKey("b/"+chunk), source, store.MustKey("a/"+chunk)), store.Sync)
				try(t, err)
			}
			report, err := r.CollectGarbage(t.Context(), nil)
			if try(t, err); report.Chunks.Objects != 3 {
				t.Fatalf("%+v", report)
			}
			if _, err := late.Commit(t.Context(), "b"); !errors.Is(err, icechunk.ErrCollected) {
				t.Error(err)
			}
			sound(t, opened(t, s))
		})
	}
}
