// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// kinds are the folders of objects, with what is in them.
var kinds = map[string]Kind{"snapshots": KindSnapshot, "manifests": KindManifest, "repo": KindRepository, "overwritten": KindRepository, "transactions": KindTransactionLog}

// bodies returns the decoded objects of one kind of all repositories of the reference.
func bodies(t testing.TB, kind Kind) (found [][]byte) {
	t.Helper()
	for folder, is := range kinds {
		if is != kind {
			continue
		}
		for _, pattern := range []string{"../../testdata/*/" + folder, "../../testdata/*/" + folder + "/*"} {
			files, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range files {
				if info, err := os.Stat(name); err != nil || info.IsDir() {
					continue
				}
				data, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				_, body, err := Open(data, kind, 1<<20)
				if err != nil {
					t.Fatal(name, err)
				}
				found = append(found, body)
			}
		}
	}
	if len(found) == 0 {
		t.Fatal("no objects")
	}
	return found
}

// parse parses a body, and goes through all that is in it.
func parse(kind Kind, body []byte) error {
	switch kind {
	case KindRepository:
		_, err := ParseRepository(body)
		return err
	case KindSnapshot:
		_, err := ParseSnapshot(body)
		return err
	}
	m, err := ParseManifest(body)
	if err != nil {
		return err
	}
	for _, a := range m.Arrays() {
		n := 0
		for ref, err := range a.All() {
			if err != nil {
				return err
			}
			same, ok, err := m.Of(a.Node).Find(ref.Index)
			if err != nil {
				return err
			}
			if !ok || same.Payload != ref.Payload || same.ID != ref.ID || !bytes.Equal(same.Location, ref.Location) || same.Offset != ref.Offset {
				return errors.New("a reference is not found by its index")
			}
			n++
		}
		if n != a.Len() {
			return errors.New("references are missing")
		}
	}
	return nil
}

// TestFlex parses the configurations of repositories of the reference.
func TestFlex(t *testing.T) {
	prefixes := map[string]bool{}
	for _, body := range bodies(t, KindRepository) {
		r, err := ParseRepository(body)
		if err != nil {
			t.Fatal(err)
		}
		if r.Config == nil {
			continue
		}
		v, err := ParseFlex(r.Config)
		if err != nil {
			t.Fatal(err)
		}
		containers, _ := v.(map[string]any)["virtual_chunk_containers"].(map[string]any)
		for _, c := range containers {
			prefixes[c.(map[string]any)["url_prefix"].(string)] = true
		}
		if inline := v.(map[string]any)["inline_chunk_threshold_bytes"]; inline != nil && inline != uint64(12) && inline != int64(12) {
			t.Errorf("inline_chunk_threshold_bytes is %v (%[1]T)", inline)
		}
		for i := range r.Config {
			_, _ = ParseFlex(r.Config[:i]) // whatever it is, it ends
			changed := append([]byte(nil), r.Config...)
			changed[i] ^= 0x11
			_, _ = ParseFlex(changed)
		}
	}
	for _, want := range []string{"s3://testbucket/", "s3://testbucket", "tigris"} {
		if !prefixes[want] {
			t.Errorf("no container leads to %s: %v", want, prefixes)
		}
	}
}

// FuzzFlex parses FlexBuffers.
func FuzzFlex(f *testing.F) {
	for _, body := range bodies(f, KindRepository) {
		if r, err := ParseRepository(body); err == nil && r.Config != nil {
			f.Add(r.Config)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := ParseFlex(data); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Error(err)
		}
	})
}

// TestParse parses all objects of the reference, and each of them cut short.
func TestParse(t *testing.T) {
	for _, kind := range []Kind{KindRepository, KindSnapshot, KindManifest} {
		for i, body := range bodies(t, kind) {
			if err := parse(kind, body); err != nil {
				t.Errorf("%v %d: %v", kind, i, err)
			}
			if err := parse(kind, body[:len(body)/2]); err == nil {
				t.Errorf("half of %v %d is read", kind, i)
			}
		}
	}
}

// TestDamage changes each word of objects: every error says that the object is damaged or
// of another version.
func TestDamage(t *testing.T) {
	for _, kind := range []Kind{KindRepository, KindSnapshot, KindManifest} {
		for i, body := range bodies(t, kind) {
			if i%4 != 0 || len(body) > 1<<14 {
				continue
			}
			for at := 0; at+4 <= len(body); at += 2 {
				was := binary.LittleEndian.Uint32(body[at:])
				for _, is := range []uint32{0, 1, was + 1, was - 4, 1 << 31, 1<<32 - 1, uint32(len(body)) - uint32(at)} {
					binary.LittleEndian.PutUint32(body[at:], is)
					if err := parse(kind, body); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
						t.Fatalf("%v %d, %d at %d: %v", kind, i, is, at, err)
					}
				}
				binary.LittleEndian.PutUint32(body[at:], was)
			}
		}
	}
}

// FuzzParse parses objects of all kinds.
func FuzzParse(f *testing.F) {
	for _, kind := range []Kind{KindRepository, KindSnapshot, KindManifest} {
		for i, body := range bodies(f, kind) {
			if i%16 == 0 {
				f.Add(uint8(kind), body)
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		if err := parse(Kind(kind), body); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrVersion) {
			t.Error(err)
		}
	})
}

// lengthened replaces a list of the root table by one of n elements that lead nowhere.
func lengthened(t *testing.T, body []byte, slot, n int) []byte {
	t.Helper()
	_, top, err := root(body)
	if err != nil || !top.contains(slot) {
		t.Fatal(slot, err)
	}
	at := top.field(slot, 4)
	out := append(slices.Clone(body), make([]byte, 3-(len(body)+3)%4)...)
	binary.LittleEndian.PutUint32(out[at:], uint32(len(out)-at))
	return append(binary.LittleEndian.AppendUint32(out, uint32(n)), make([]byte, 4*n)...)
}

// TestLongLists parses objects with lists of nothing. Such an object is short when it is
// compressed, and must not take much more memory than it has bytes.
func TestLongLists(t *testing.T) {
	repo := &Repository{Branches: []Reference{{Name: "main"}}, Snapshots: []SnapshotInfo{{ID: InitialSnapshot, Parent: -1}}, Updates: []Update{{Kind: RepositoryInitialized}}, Metadata: []Item{{Name: "a"}}}
	snapshot := &Snapshot{ID: InitialSnapshot, Nodes: []Node{{Path: "/", Document: []byte("{}")}}}
	log := &TransactionLog{ID: InitialSnapshot, Chunks: []ChunkChanges{{Indices: [][]uint32{{1}}}}, Moves: []Move{{From: "/a", To: "/b"}}}
	for _, c := range []struct {
		kind  Kind
		body  []byte
		slots []int
	}{
		{KindRepository, repo.Encode(), []int{1, 2, 3, 4, 6, 7}},
		{KindSnapshot, snapshot.Encode(), []int{2, 7}},
		{KindTransactionLog, log.Encode(), []int{7, 8}},
	} {
		for _, slot := range c.slots {
			body := lengthened(t, c.body, slot, 1<<18)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := error(nil)
			switch c.kind {
			case KindRepository:
				_, err = ParseRepository(body)
			case KindSnapshot:
				_, err = ParseSnapshot(body)
			default:
				_, err = ParseTransactionLog(body)
			}
			runtime.ReadMemStats(&after)
			if n := int(after.TotalAlloc - before.TotalAlloc); err == nil || n > 6*len(body) {
				t.Errorf("%v, slot %d: %v, %d bytes for %d", c.kind, slot, err, n, len(body))
			}
		}
	}
}

// grown returns a body in which the table at a place has a field more than a kind of
// table may have, nil if there is no table.
func grown(body []byte, at int) []byte {
	b := newBuffer(body)
	t := b.table(at)
	if b.err != nil || t.count == 0 || t.count > 16 || t.slots+2*t.count > len(body) {
		return nil
	}
	const slots = 20
	out := append(slices.Clone(body), make([]byte, 4-len(body)%4)...)
	fields := make([]byte, 4+2*slots)
	copy(fields, body[t.slots-4:t.slots+2*t.count])
	binary.LittleEndian.PutUint16(fields, uint16(len(fields)))
	binary.LittleEndian.PutUint16(fields[4+2*(slots-1):], 4)
	binary.LittleEndian.PutUint32(out[at:], uint32(at-len(out)))
	return append(out, fields...)
}

// TestLater adds a field to each table of each object of the reference. None is ignored.
func TestLater(t *testing.T) {
	count := func(body []byte, later func([]byte) (bool, error)) (n int) {
		if is, err := later(body); is || err != nil {
			t.Errorf("%v, %v", is, err)
		}
		for at := 4; at < len(body); at += 2 {
			if other := grown(body, at); other != nil {
				if is, err := later(other); is && err == nil {
					n++
				}
			}
		}
		return n
	}
	for i, body := range bodies(t, KindRepository) {
		r, err := ParseRepository(body)
		if err != nil {
			t.Fatal(err)
		}
		want := 2 + len(r.Tags) + len(r.Branches) + len(r.Snapshots) + len(r.Metadata) + len(r.Updates)
		for _, s := range r.Snapshots {
			want += len(s.Metadata)
		}
		for _, u := range r.Updates {
			if fields[u.Kind] > 0 { // others may share one table
				want++
			}
		}
		if n := count(body, func(b []byte) (bool, error) { r, err := ParseRepository(b); return err == nil && r.Later, err }); n < want {
			t.Errorf("repository %d: fields of %d tables are noticed, there are %d", i, n, want)
		}
	}
	for i, body := range bodies(t, KindSnapshot) {
		s, err := ParseSnapshot(body)
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + len(s.Nodes) + len(s.Metadata)
		for _, n := range s.Nodes {
			want += len(n.Manifests)
		}
		if n := count(body, func(b []byte) (bool, error) { s, err := ParseSnapshot(b); return err == nil && s.Later, err }); n < want {
			t.Errorf("snapshot %d: fields of %d tables are noticed, there are %d", i, n, want)
		}
	}
	for i, body := range bodies(t, KindManifest) {
		m, err := ParseManifest(body)
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + len(m.arrays)
		for _, a := range m.arrays {
			want += a.Len()
		}
		if want > 1000 {
			continue
		}
		if n := count(body, func(b []byte) (bool, error) { m, err := ParseManifest(b); return err == nil && m.Later, err }); n < want {
			t.Errorf("manifest %d: fields of %d tables are noticed, there are %d", i, n, want)
		}
	}
	for i, body := range bodies(t, KindTransactionLog) {
		l, err := ParseTransactionLog(body)
		if err != nil {
			t.Fatal(err)
		}
		want := 1 + len(l.Chunks) + len(l.Moves)
		for _, c := range l.Chunks {
			want += len(c.Indices)
		}
		if n := count(body, func(b []byte) (bool, error) { l, err := ParseTransactionLog(b); return err == nil && l.Later, err }); n < want {
			t.Errorf("transaction log %d: fields of %d tables are noticed, there are %d", i, n, want)
		}
	}
}
