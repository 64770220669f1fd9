// SPDX-License-Identifier: Apache-2.0

package s3_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/s3"
	"varve.dev/zarr/store/s3/s3test"
)

// pattern returns n bytes that differ from place to place.
func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7>>3 + seed)
	}
	return b
}

// TestLargeValues writes, assembles, splices and clones values of many parts on
// versitygw, on conditions that hold and on some that do not.
func TestLargeValues(t *testing.T) {
	service := s3test.Gateway(t, false)
	o := service.Options()
	o.PartSize = 5 << 20
	s, err := s3.Open(t.Context(), service.Bucket(t), "p q/ü", o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	one, two := pattern(27<<20, 1), pattern(11<<20, 2)
	key, other, made := store.MustKey("one +&/k"), store.MustKey("two=ü/k"), store.MustKey("made")
	v, err := s.Write(t.Context(), store.PutIf(key, one, store.IfAbsent()), store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write(t.Context(), store.PutIf(key, two, store.IfAbsent()), store.Sync); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an upload over an object on the condition that there is none: %v", err)
	}
	if _, err := s.Write(t.Context(), store.PutIf(other, one, store.IfVersion(v.Version)), store.Sync); !errors.Is(err, store.ErrConflict) {
		t.Errorf("an upload on the condition of a version of nothing: %v", err)
	}
	if _, err := s.Write(t.Context(), store.Put(other, two), store.Sync); err != nil {
		t.Fatal(err)
	}
	same, err := s.Write(t.Context(), store.PutIf(key, one, store.IfVersion(v.Version)), store.Sync)
	if err != nil || same.Version == v.Version {
		t.Fatalf("the same bytes once more have version %v, and before %v (%v)", same.Version, v.Version, err)
	}
	checkValue(t, s, key, one)

	parts := []store.Part{
		{Data: []byte("begin")}, {Key: key, Off: 3, N: 12 << 20}, {Key: other, Off: 1 << 20, N: 6 << 20},
		{Data: two[:7<<20]}, {Key: key, Off: 100, N: 1000}, {Key: other, Version: version(t, s, other), N: 11 << 20},
	}
	want := bytes.Join([][]byte{[]byte("begin"), one[3 : 3+12<<20], two[1<<20 : 7<<20], two[:7<<20], one[100:1100], two}, nil)
	if _, err := s.Write(t.Context(), store.Assemble(made, parts), store.Sync); err != nil {
		t.Fatal(err)
	}
	checkValue(t, s, made, want)
	parts[1].Version = v.Version // which key no longer has
	if _, err := s.Write(t.Context(), store.Assemble(made, parts), store.Sync); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Assemble of an old version: %v", err)
	}
	parts[1].Version, parts[1].Key = store.Version{}, store.MustKey("none")
	if _, err := s.Write(t.Context(), store.Assemble(made, parts), store.Sync); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Assemble of nothing: %v", err)
	}
	checkValue(t, s, made, want)

	fragments := []store.Part{{Off: 20 << 20, N: 7 << 20}, {Data: []byte("middle")}, {Off: 0, N: 19 << 20}}
	if _, err := s.Write(t.Context(), store.Splice(key, v.Version, fragments), store.Sync); !errors.Is(err, store.ErrConflict) {
		t.Errorf("Splice of an old version: %v", err)
	}
	if _, err := s.Write(t.Context(), store.Splice(key, same.Version, fragments), store.Sync); err != nil {
		t.Fatal(err)
	}
	spliced := bytes.Join([][]byte{one[20<<20:], []byte("middle"), one[:19<<20]}, nil)
	checkValue(t, s, key, spliced)
	cloned, err := s.Write(t.Context(), store.Clone(made, key, version(t, s, key)), store.Sync)
	if err != nil || cloned.Size != int64(len(spliced)) {
		t.Fatalf("Clone: %+v, %v", cloned, err)
	}
	checkValue(t, s, made, spliced)
	if n, err := s.SweepUploads(t.Context(), 0, false); n != 0 || err != nil {
		t.Errorf("%d uploads are left (%v)", n, err)
	}
}

// checkValue checks the value of a key, whole and in ranges.
func checkValue(t *testing.T, s store.Store, key store.Key, want []byte) {
	t.Helper()
	got, _, err := s.Get(t.Context(), key, store.Request{}, nil)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s has other bytes than were written (%d, want %d; %v)", key, len(got), len(want), err)
	}
	for off := int64(0); off+70_000 < int64(len(want)); off += 5<<20 - 1 {
		got, _, err = s.Get(t.Context(), key, store.Request{Range: store.Span(off, 70_000)}, got[:0])
		if err != nil || !bytes.Equal(got, want[off:off+70_000]) {
			t.Fatalf("%s has other bytes from %d on (%v)", key, off, err)
		}
	}
}

// TestPages lists and deletes more objects than an answer has.
func TestPages(t *testing.T) {
	service := s3test.Gateway(t, false)
	s := service.Open(t, service.Bucket(t), "p")
	const n = 2345
	b, err := store.NewBatch(t.Context(), s, store.Sync)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool, n)
	for i := range n {
		name := fmt.Sprintf("d/%d/%d", i%7, i)
		names[name] = true
		if _, err := b.Write(t.Context(), store.Put(store.MustKey(name), []byte(name))); err != nil {
			t.Fatal(err)
		}
	}
	for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
		if err != nil || !names[e.Name] {
			t.Fatalf("List: %q (%v)", e.Name, err)
		}
		delete(names, e.Name)
	}
	if len(names) > 0 {
		t.Errorf("List leaves out %d of %d objects", len(names), n)
	}
	for i := range n - 1 {
		if _, err := b.Write(t.Context(), store.Delete(store.MustKey(fmt.Sprintf("d/%d/%d", i%7, i)))); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := 0
	for _, err := range s.List(t.Context(), store.Path{}, store.Deep) {
		if left++; err != nil {
			t.Fatal(err)
		}
	}
	if left != 1 {
		t.Errorf("%d objects are left, want 1", left)
	}
}

func version(t *testing.T, s store.Store, key store.Key) store.Version {
	t.Helper()
	info, err := store.Stat(t.Context(), s, key)
	if err != nil {
		t.Fatal(err)
	}
	return info.Version
}
