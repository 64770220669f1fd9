// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// storedObject is an object of a repository in a test, which is changed there.
type storedObject struct {
	t    *testing.T
	s    store.Store
	name string
	kind format.Kind
}

func (o storedObject) body() []byte {
	o.t.Helper()
	data, _, err := o.s.Get(o.t.Context(), store.MustKey(o.name), store.Request{}, nil)
	if err == nil {
		_, data, err = format.Open(data, o.kind, 1<<20)
	}
	if err != nil {
		o.t.Fatal(o.name, err)
	}
	return data
}

func (o storedObject) put(body []byte) {
	o.t.Helper()
	data, err := format.Seal("later", o.kind, body)
	if err == nil {
		_, err = store.Write(o.t.Context(), o.s, store.Put(store.MustKey(o.name), data), store.Sync)
	}
	if err != nil {
		o.t.Fatal(o.name, err)
	}
}

// parsed parses an object.
func parsed[T any](o storedObject, parse func([]byte) (T, error)) T {
	o.t.Helper()
	is, err := parse(o.body())
	if err != nil {
		o.t.Fatal(o.name, err)
	}
	return is
}

// enriched returns a repository with an array of two chunks in main, of which one is
// stored, and a group, with a value in each field that Varve itself leaves out.
func enriched(t *testing.T) (*Repository, store.Store) {
	t.Helper()
	ctx, s := t.Context(), memstore.New()
	r, err := Create(ctx, s, store.Path{}, nil)
	if err == nil {
		_, err = r.Change(ctx, "main", "one", func(ctx context.Context, c *Session) error {
			for _, path := range []string{"a", "b"} {
				if _, err := zarr.At(c, path).CreateArray(ctx, plane, nil); err != nil {
					return err
				}
				for _, name := range []string{"/c/0/0", "/c/0/1"} {
					if _, err := store.Write(ctx, c, store.Put(store.MustKey(path+name), []byte{1, 0, 0, 0}), store.Sync); err != nil {
						return err
					}
				}
			}
			_, err := zarr.At(c, "g").CreateGroup(ctx, nil, nil)
			return err
		})
	}
	if err == nil {
		err = r.CreateTag(ctx, "old", "main")
	}
	if err == nil {
		err = r.DeleteTag(ctx, "old")
	}
	if err != nil {
		t.Fatal(err)
	}
	at := storedObject{t, s, repositoryKey, format.KindRepository}
	repo := parsed(at, format.ParseRepository)
	main := repo.Snapshots[repo.Branches[0].Snapshot]
	value, err := format.EncodeFlex(map[string]any{"by": "somebody"})
	if err != nil {
		t.Fatal(err)
	}
	items := []format.Item{{Name: "who", Value: value}}
	snapshot := storedObject{t, s, snapshotName(main.ID), format.KindSnapshot}
	content := parsed(snapshot, format.ParseSnapshot)
	content.Extra, content.Metadata = []byte("snapshot"), items
	for i := range content.Nodes {
		content.Nodes[i].Extra = []byte("node " + content.Nodes[i].Path)
	}
	for i := range content.Files {
		f := &content.Files[i]
		f.Extra = []byte("file " + f.ID.String())
		m := storedObject{t, s, manifestName(f.ID), format.KindManifest}
		old := parsed(m, format.ParseManifest)
		w := format.NewManifestWriter(2)
		for _, refs := range old.Arrays() {
			for ref, err := range refs.All() {
				if err != nil {
					t.Fatal(err)
				}
				ref.Extra = []byte("reference")
				w.Add(ref)
			}
			w.EndArray(refs.Node)
		}
		body, err := w.Finish(f.ID)
		if err != nil {
			t.Fatal(err)
		}
		m.put(body)
	}
	snapshot.put(content.Encode())
	log := storedObject{t, s, transactionName(main.ID), format.KindTransactionLog}
	changes := parsed(log, format.ParseTransactionLog)
	changes.Extra = []byte("log")
	log.put(changes.Encode())
	repo.Metadata, repo.Extra, repo.Enabled, repo.Disabled = items, []byte("repository"), []uint16{1, 7}, []uint16{9}
	repo.Status = format.Status{Since: time.UnixMicro(1_700_000_000_000_000).UTC(), Reason: "all is well"}
	for i := range repo.Snapshots {
		repo.Snapshots[i].Metadata, repo.Snapshots[i].Pruned = items, []ID{{1, 2, 3}}
	}
	last := repo.Updates[0].Time
	for kind := format.RepositoryInitialized; kind <= format.StatusChanged; kind++ {
		last = last.Add(time.Microsecond)
		u := format.Update{Kind: kind, Time: last, Backup: "repo.1.backup"}
		switch kind {
		case format.TagCreated, format.BranchCreated, format.TagDeleted, format.BranchDeleted, format.BranchReset, format.Committed, format.Amended:
			u.Name = "größe"
		case format.RepositoryMigrated:
			u.From, u.To = 1, 2
		case format.FeatureChanged:
			u.Feature = format.Feature{Number: 3, On: true, IsSet: true}
		case format.StatusChanged:
			u.Status = format.Status{Availability: format.ReadOnly, Since: last, Reason: "a rest"}
		}
		switch kind {
		case format.TagDeleted, format.BranchDeleted, format.BranchReset:
			u.Previous = main.ID
		case format.Committed, format.DetachedSnapshot:
			u.New = main.ID
		case format.Amended:
			u.Previous, u.New = ID{7}, main.ID
		}
		repo.Updates = append([]format.Update{u}, repo.Updates...)
	}
	at.put(repo.Encode())
	return r, s
}

// TestKeptFields commits and amends. All fields of the specification of what has not
// changed are as they were, whatever they mean.
func TestKeptFields(t *testing.T) {
	r, s := enriched(t)
	at := storedObject{t, s, repositoryKey, format.KindRepository}
	was := parsed(at, format.ParseRepository)
	old := parsed(storedObject{t, s, snapshotName(was.Snapshots[was.Branches[0].Snapshot].ID), format.KindSnapshot}, format.ParseSnapshot)
	session, err := r.Session(t.Context(), "main")
	if err == nil {
		_, err = store.Write(t.Context(), session, store.Put(store.MustKey("a/c/0/0"), []byte{2, 0, 0, 0}), store.Sync)
	}
	if err == nil {
		var g *zarr.Group
		if g, err = zarr.At(session, "g").OpenGroup(t.Context(), &zarr.Options{Write: true}); err == nil {
			err = g.UpdateAttributes(t.Context(), func([]byte) ([]byte, error) { return []byte(`{"n": 1}`), nil })
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	id, err := session.Amend(t.Context(), "amended")
	if err != nil {
		t.Fatal(err)
	}
	is := parsed(at, format.ParseRepository)
	i, _ := is.FindSnapshot(id)
	if pruned := is.Snapshots[i].Pruned; !slices.Equal(pruned, []ID{{1, 2, 3}}) {
		t.Errorf("the commit has the pruned logs %v", pruned)
	}
	for _, s := range was.Snapshots {
		i, ok := is.FindSnapshot(s.ID)
		if !ok || !reflect.DeepEqual(is.Snapshots[i].Metadata, s.Metadata) || !slices.Equal(is.Snapshots[i].Pruned, s.Pruned) || is.Snapshots[i].Message != s.Message || !is.Snapshots[i].Time.Equal(s.Time) {
			t.Errorf("%v became %v", s, is.Snapshots[i])
		}
	}
	if string(was.Extra) != "repository" {
		t.Errorf("the repository had %q", was.Extra)
	}
	updates := is.Updates[1:]
	was.Updates[0].Backup = updates[0].Backup // it is that of the head before
	for name, pair := range map[string][2]any{
		"metadata": {was.Metadata, is.Metadata}, "extra": {was.Extra, is.Extra}, "enabled": {was.Enabled, is.Enabled}, "disabled": {was.Disabled, is.Disabled},
		"status": {was.Status, is.Status}, "configuration": {was.Config, is.Config}, "deleted tags": {was.DeletedTags, is.DeletedTags}, "updates": {was.Updates, updates},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %+v became %+v", name, pair[0], pair[1])
		}
	}
	content := parsed(storedObject{t, s, snapshotName(id), format.KindSnapshot}, format.ParseSnapshot)
	if !bytes.Equal(content.Extra, old.Extra) {
		t.Errorf("the snapshot has %q", content.Extra)
	}
	for i, n := range content.Nodes {
		if n.Path != old.Nodes[i].Path || !bytes.Equal(n.Extra, old.Nodes[i].Extra) {
			t.Errorf("%s has %q", n.Path, n.Extra)
		}
		for _, m := range n.Manifests {
			f, _ := content.FindFile(m.ID)
			if was, ok := old.FindFile(m.ID); ok && !reflect.DeepEqual(f, was) || ok != (n.Path == "/b") {
				t.Errorf("%s: %+v became %+v", n.Path, was, f)
			}
			for _, refs := range parsed(storedObject{t, s, manifestName(m.ID), format.KindManifest}, format.ParseManifest).Arrays() {
				for ref, err := range refs.All() {
					if changed := n.Path == "/a" && ref.Index[1] == 0; err != nil || !changed && string(ref.Extra) != "reference" {
						t.Errorf("%s %d: %+v, %v", n.Path, ref.Index, ref, err)
					}
				}
			}
		}
	}
	if l := parsed(storedObject{t, s, transactionName(id), format.KindTransactionLog}, format.ParseTransactionLog); string(l.Extra) != "log" {
		t.Errorf("the log has %q", l.Extra)
	}
}

// TestLaterLog neither amends a commit whose log has fields of a later version, nor
// rebases onto it.
func TestLaterLog(t *testing.T) {
	r, s := enriched(t)
	stage := func() *Session {
		c, err := r.Session(t.Context(), "main")
		if err == nil {
			_, err = store.Write(t.Context(), c, store.Put(store.MustKey("a/c/0/0"), []byte{3, 0, 0, 0}), store.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	behind := stage()
	id, err := r.Change(t.Context(), "main", "two", func(ctx context.Context, c *Session) error {
		_, err := zarr.At(c, "h").CreateGroup(ctx, nil, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	log := storedObject{t, s, transactionName(id), format.KindTransactionLog}
	log.put(grown(log.body(), rootOf(log.body()), 19))
	if l := parsed(log, format.ParseTransactionLog); !l.Later {
		t.Fatal("the log has no other field")
	}
	if _, err := stage().Amend(t.Context(), "amended"); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
	if err := behind.Rebase(t.Context(), Policy{}); !errors.Is(err, zarr.ErrUnsupported) {
		t.Error(err)
	}
}

// TestExtraOfManifest does not write a manifest anew that has bytes of its own, because
// nobody knows what they say of its references.
func TestExtraOfManifest(t *testing.T) {
	for name, extend := range map[string]func(body []byte) []byte{
		"manifest": func(body []byte) []byte { return grown(body, rootOf(body), 4) },
		"array":    func(body []byte) []byte { return grown(body, firstOf(body, rootOf(body), 1), 2) },
	} {
		r, s := enriched(t)
		repo := parsed(storedObject{t, s, repositoryKey, format.KindRepository}, format.ParseRepository)
		content := parsed(storedObject{t, s, snapshotName(repo.Snapshots[repo.Branches[0].Snapshot].ID), format.KindSnapshot}, format.ParseSnapshot)
		for _, f := range content.Files {
			m := storedObject{t, s, manifestName(f.ID), format.KindManifest}
			m.put(extend(m.body()))
		}
		c, err := r.Session(t.Context(), "main")
		if err == nil {
			_, err = store.Write(t.Context(), c, store.Put(store.MustKey("a/c/0/0"), []byte{3, 0, 0, 0}), store.Sync)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Commit(t.Context(), "two"); !errors.Is(err, zarr.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// grown returns a body in which the table at a place has a field in a slot.
func grown(body []byte, at, slot int) []byte {
	fields := at - int(int32(binary.LittleEndian.Uint32(body[at:])))
	more := make([]byte, 4+2*20)
	copy(more, body[fields:fields+int(binary.LittleEndian.Uint16(body[fields:]))])
	binary.LittleEndian.PutUint16(more, uint16(len(more)))
	binary.LittleEndian.PutUint16(more[4+2*slot:], 4)
	out := append(slices.Clone(body), make([]byte, 4-len(body)%4)...)
	binary.LittleEndian.PutUint32(out[at:], uint32(at-len(out)))
	return append(out, more...)
}

// rootOf returns where the root of a body is.
func rootOf(body []byte) int { return int(binary.LittleEndian.Uint32(body)) }

// firstOf returns where the first table of a list is, which a table has in a slot.
func firstOf(body []byte, at, slot int) int {
	fields := at - int(int32(binary.LittleEndian.Uint32(body[at:])))
	at += int(binary.LittleEndian.Uint16(body[fields+4+2*slot:]))
	at += int(binary.LittleEndian.Uint32(body[at:])) + 4
	return at + int(binary.LittleEndian.Uint32(body[at:]))
}
