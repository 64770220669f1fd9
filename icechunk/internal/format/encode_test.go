// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

// TestEncode writes what was read from objects of the reference, and reads it again.
func TestEncode(t *testing.T) {
	for i, body := range bodies(t, KindRepository) {
		r, err := ParseRepository(body)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseRepository(r.Encode())
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("repository %d: %v, %+v, want %+v", i, err, again, r)
		}
	}
	for i, body := range bodies(t, KindSnapshot) {
		s, err := ParseSnapshot(body)
		if err != nil {
			t.Fatal(err)
		}
		s.Parent = ObjectID{} // version 2 has it elsewhere
		again, err := ParseSnapshot(s.Encode())
		if err != nil || !reflect.DeepEqual(s, again) {
			t.Errorf("snapshot %d: %v, %+v, want %+v", i, err, again, s)
		}
	}
	for i, body := range bodies(t, KindManifest) {
		m, err := ParseManifest(body)
		if err != nil {
			t.Fatal(err)
		}
		list := listed(t, m)
		again, err := ParseManifest(encoded(t, m.ID, list))
		if err != nil || again.ID != m.ID || !reflect.DeepEqual(listed(t, again), list) {
			t.Errorf("manifest %d: %v", i, err)
		}
	}
}

// arrayRefs are the references of an array in a manifest.
type arrayRefs struct {
	Node NodeID
	Refs []ChunkRef
}

// encoded returns a manifest of the references of arrays.
func encoded(t testing.TB, id ObjectID, arrays []arrayRefs) []byte {
	t.Helper()
	w := NewManifestWriter(1)
	for _, a := range arrays {
		for _, ref := range a.Refs {
			w.Add(ref)
		}
		w.EndArray(a.Node)
	}
	body, err := w.Finish(id)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// listed returns the references of a manifest.
func listed(t *testing.T, m *Manifest) (list []arrayRefs) {
	t.Helper()
	for _, a := range m.Arrays() {
		refs := arrayRefs{Node: a.Node}
		for ref, err := range a.All() {
			if err != nil {
				t.Fatal(err)
			}
			ref.Index, ref.Data = slices.Clone(ref.Index), slices.Clone(ref.Data)
			refs.Refs = append(refs.Refs, ref)
		}
		list = append(list, refs)
	}
	return list
}

// TestTransactionLogs writes the transaction logs of the reference again.
func TestTransactionLogs(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*/transactions/*")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, body, err := Open(data, KindTransactionLog, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		l, err := ParseTransactionLog(body)
		if err != nil || l.ID.String() != filepath.Base(name) {
			t.Fatal(name, err)
		}
		l.Sort()
		body = l.Encode()
		for _, c := range l.Chunks {
			for _, index := range c.Indices {
				_ = append(index, math.MaxUint32)
			}
		}
		if !bytes.Equal(l.Encode(), body) {
			t.Errorf("%s: an index that grows changes another one", name)
		}
		again, err := ParseTransactionLog(body)
		if err != nil || !reflect.DeepEqual(l, again) {
			t.Errorf("%s: %v, %+v, want %+v", name, err, again, l)
		}
	}
}

// TestLongManifest adds references until a manifest is full. One that is not is as long
// as it may be at most.
func TestLongManifest(t *testing.T) {
	was := mostManifest
	defer func() { mostManifest = was }()
	mostManifest = 1 << 15
	for _, ref := range []ChunkRef{{Payload: Native}, {Payload: Inline, Data: make([]byte, 5000)}, {Payload: Virtual, Location: make([]byte, 1), ETag: make([]byte, 700), Extra: make([]byte, 9)}} {
		ref.Index = []uint32{0, 1, 2, 3, 4, 5, 6, 7}
		for n := 1; ; n++ {
			w := NewManifestWriter(1 << 20)
			for i := range n {
				ref.Index[0] = uint32(i)
				w.Add(ref)
			}
			is := w.Len()
			w.EndArray(NodeID{1})
			body, err := w.Finish(ObjectID{})
			if err != nil {
				if is == n || n < 5 || len(w.b.Bytes) > mostManifest {
					t.Errorf("%d references: %v", n, err)
				}
				break
			}
			if is != n || len(body) > mostManifest {
				t.Fatalf("%d references of %d take %d bytes", is, n, len(body))
			}
		}
	}
}

// TestSeal compares bodies of many lengths with what objects decode to.
func TestSeal(t *testing.T) {
	random := rand.NewChaCha8([32]byte{2})
	for _, n := range []int{0, 1, 1 << 15, 1<<15 + 1, 300_000, 12 << 20} {
		body := make([]byte, n)
		_, _ = random.Read(body[n/2:])
		data, err := Seal("test", KindManifest, body)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := Open(data, KindManifest, 1<<30); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d bytes: %v", n, err)
		}
		frame, other := data[envelopeLength:], append(bytes.Clone(body), 1)
		for what, err := range map[string]error{
			"a longer body": compare(frame, other), "an empty frame": compare(nil, other), "a part": compare(frame[:len(frame)-1], body),
		} {
			if err == nil {
				t.Errorf("%d bytes: %s is what was encoded", n, what)
			}
		}
		if other = other[:n]; n > 0 {
			other[n-1]++
			if compare(frame, other) == nil || compare(frame, body[:n-1]) == nil {
				t.Errorf("%d bytes: another body is what was encoded", n)
			}
		}
	}
}

// TestInsert adds snapshots in any order of IDs. Branches, tags and parents stay those
// that they were.
func TestInsert(t *testing.T) {
	r := &Repository{Snapshots: []SnapshotInfo{{ID: InitialSnapshot, Parent: -1}}}
	parents := map[ObjectID]ObjectID{}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 50 {
		parent := r.Snapshots[random.IntN(len(r.Snapshots))].ID
		id := ObjectID{byte(random.Uint32()), byte(random.Uint32()), byte(i)}
		at := r.Insert(SnapshotInfo{ID: id}, parent)
		parents[id] = parent
		r.Branches = append(r.Branches, Reference{id.String(), at})
		r.Tags = append(r.Tags, Reference{id.String(), at})
		for _, ref := range slices.Concat(r.Branches, r.Tags) {
			if s := r.Snapshots[ref.Snapshot]; s.ID.String() != ref.Name || r.Snapshots[s.Parent].ID != parents[s.ID] {
				t.Fatalf("after %d snapshots, %s is %v with the parent %v", i, ref.Name, s.ID, s.Parent)
			}
		}
	}
}

// TestEncodeFlex parses what was encoded, of each kind of value.
func TestEncodeFlex(t *testing.T) {
	deep := any("deep")
	for range mostFlex + 1 {
		deep = []any{deep}
	}
	for _, c := range []struct{ value, want any }{
		{nil, nil}, {true, true}, {false, false}, {"", ""}, {"über\x00", "über\x00"}, {-1, int64(-1)}, {uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{1.5, 1.5}, {1e300, 1e300}, {[]int{}, []any{}}, {[]string{"a", "bc"}, []any{"a", "bc"}}, {map[string]int{}, map[string]any{}},
		{map[string]any{"b": []any{nil, 1, map[string]any{"x": "y"}}, "a": 2.5, "": true}, map[string]any{"b": []any{nil, int64(1), map[string]any{"x": "y"}}, "a": 2.5, "": true}},
		{struct{ Name string }{"n"}, map[string]any{"Name": "n"}},
	} {
		data, err := EncodeFlex(c.value)
		if err != nil {
			t.Error(c.value, err)
			continue
		}
		if got, err := ParseFlex(data); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v is %v (%v), want %v", c.value, got, err, c.want)
		}
	}
	// Readers look names up by a binary search.
	first, err := EncodeFlex(map[string]any{"a": 1, "b": 2, "c": 3, "d": 4})
	for range 20 {
		again, _ := EncodeFlex(map[string]any{"d": 4, "c": 3, "b": 2, "a": 1})
		if err != nil || !bytes.Equal(first, again) || !bytes.HasPrefix(first, []byte("a\x00b\x00c\x00d\x00")) {
			t.Fatalf("a map is %q and %q (%v)", first, again, err)
		}
	}
	for _, v := range []any{math.NaN(), func() {}, deep} {
		if data, err := EncodeFlex(v); err == nil {
			t.Errorf("%v is encoded as %x", v, data)
		}
	}
}
