// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// kinds are the folders of objects, with what is in them.
var kinds = map[string]Kind{"snapshots": KindSnapshot, "manifests": KindManifest, "repo": KindRepository, "overwritten": KindRepository}

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
			if !ok || same.Payload != ref.Payload || same.ID != ref.ID || same.Location != ref.Location || same.Offset != ref.Offset {
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
