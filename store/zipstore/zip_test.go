// SPDX-License-Identifier: Apache-2.0

package zipstore_test

import (
	stdzip "archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
	"varve.dev/zarr/store/zipstore"
)

// pack returns an archive of values, written by another library.
func pack(t testing.TB, method uint16, descriptors bool, values map[string][]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdzip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := add(w, method, descriptors, name, values[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.SetComment("a comment"), w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func add(w *stdzip.Writer, method uint16, descriptors bool, name string, value []byte) error {
	h := &stdzip.FileHeader{Name: name, Method: method}
	if descriptors {
		f, err := w.CreateHeader(h)
		if err == nil {
			_, err = f.Write(value)
		}
		return err
	}
	h.CRC32, h.UncompressedSize64, h.CompressedSize64 = crc32.ChecksumIEEE(value), uint64(len(value)), uint64(len(value))
	h.Extra = []byte{0xfe, 0xca, 3, 0, 1, 2, 3} // of some program
	f, err := w.CreateRaw(h)
	if err == nil {
		_, err = f.Write(value)
	}
	return err
}

// in returns a store in memory that has an archive.
func in(t testing.TB, archive []byte) store.Store {
	t.Helper()
	s := memstore.New()
	if _, err := store.Write(t.Context(), s, store.Put(archiveKey, archive), store.Flush); err != nil {
		t.Fatal(err)
	}
	return s
}

var archiveKey = store.MustKey("dir/x.zip")

// open opens a valid archive.
func open(t testing.TB, archive []byte) *zipstore.Store {
	t.Helper()
	s, err := zipstore.OpenArchive(t.Context(), in(t, archive), archiveKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore runs the suite against archives of other programs, and those of this package.
func TestStore(t *testing.T) {
	values := storetest.Fixture()
	withDirectories := maps.Clone(values)
	withDirectories["a/"], withDirectories["deep/1/"] = nil, nil
	own := filepath.Join(t.TempDir(), "own.zip")
	writeArchive(t, own, values)
	raw, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	for name, archive := range map[string][]byte{
		"Stored": pack(t, stdzip.Store, false, values), "Descriptors": pack(t, stdzip.Store, true, values),
		"Deflated": pack(t, stdzip.Deflate, true, values), "Directories": pack(t, stdzip.Store, true, withDirectories), "Own": raw,
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store { return open(t, archive) })
		})
	}
}

// writeArchive writes an archive of values.
func writeArchive(t testing.TB, name string, values map[string][]byte) {
	t.Helper()
	a, err := zipstore.CreateArchive(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, err := a.Write(t.Context(), store.Put(store.MustKey(key), values[key]), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestArchive runs the suite against archives while they are written.
func TestArchive(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		a, err := zipstore.CreateArchive(filepath.Join(t.TempDir(), "new", "x.zip"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { zipstore.Discard(a) })
		return a
	})
}

// contents returns what the standard library finds in an archive.
func contents(archive []byte) (map[string][]byte, error) {
	r, err := stdzip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	for _, f := range r.File {
		if f.FileInfo().IsDir() {
			continue
		}
		m, err := f.Open()
		if err != nil {
			return nil, err
		}
		value, err := io.ReadAll(m)
		if err = errors.Join(err, m.Close()); err != nil {
			return nil, err
		}
		values[f.Name] = value
	}
	return values, nil
}

// TestWritten writes, replaces and deletes at random. The archive has the expected values
// and no others.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		name := filepath.Join(dir, fmt.Sprintf("%d.zip", n))
		a, err := zipstore.CreateArchive(name)
		if err != nil {
			r.Fatal(err)
		}
		want := map[string][]byte{}
		key := rapid.SampledFrom([]string{"zarr.json", "a/zarr.json", "a/c/0/0", "a/c/0/1", "ü/☃", "x y", "a/__varve/unfinished.json"})
		for range rapid.IntRange(0, 12).Draw(r, "steps") {
			k := key.Draw(r, "key")
			if rapid.IntRange(0, 3).Draw(r, "delete") == 0 {
				delete(want, k)
				if _, err := a.Write(t.Context(), store.Delete(store.MustKey(k)), store.Sync); err != nil {
					r.Fatal(err)
				}
				continue
			}
			want[k] = rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(r, "value")
			if rapid.IntRange(0, 9).Draw(r, "large") == 0 { // not held in memory, or not in the buffer of the log
				want[k] = bytes.Repeat([]byte{1, 2, byte(len(want[k]))}, rapid.SampledFrom([]int{30_000, 400_000}).Draw(r, "length"))
			}
			if _, err := a.Write(t.Context(), store.Put(store.MustKey(k), want[k]), store.Sync); err != nil {
				r.Fatal(err)
			}
			for k, value := range want {
				if got, _, err := a.Get(t.Context(), store.MustKey(k), store.Request{}, nil); err != nil || !bytes.Equal(got, value) {
					r.Fatalf("%s before the end: %d bytes, want %d, error %v", k, len(got), len(value), err)
				}
			}
		}
		if err := errors.Join(a.Close(), a.Close(), zipstore.Discard(a)); err != nil {
			r.Fatal(err)
		}
		raw, err := os.ReadFile(name)
		if len(want) == 0 {
			if !errors.Is(err, fs.ErrNotExist) {
				r.Fatalf("an empty archive: %v", err)
			}
			return
		}
		got, err := contents(raw)
		if err != nil || !maps.EqualFunc(got, want, bytes.Equal) {
			r.Fatalf("%d values, want %d, error %v", len(got), len(want), err)
		}
		s := open(t, raw)
		for e, err := range s.List(t.Context(), store.Path{}, store.Deep) {
			if err != nil {
				r.Fatal(err)
			}
			value, _, err := s.Get(t.Context(), store.MustKey(e.Name), store.Request{}, nil)
			if err != nil || !bytes.Equal(value, want[e.Name]) {
				r.Fatalf("%s: %v", e.Name, err)
			}
			delete(want, e.Name)
		}
		if len(want) > 0 {
			r.Fatalf("%d values are missing", len(want))
		}
	})
	left, err := filepath.Glob(filepath.Join(dir, "__tmp-*"))
	if len(left) > 0 || err != nil {
		t.Errorf("temporary files are left: %q, %v", left, err)
	}
}

// TestReproducible checks that archives of the same values are the same.
func TestReproducible(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.zip"), filepath.Join(t.TempDir(), "b.zip")
	writeArchive(t, a, storetest.Fixture())
	writeArchive(t, b, storetest.Fixture())
	x, err := os.ReadFile(a)
	y, failed := os.ReadFile(b)
	if err != nil || failed != nil || !bytes.Equal(x, y) {
		t.Error("two archives differ", err, failed)
	}
}

// TestOrder checks that the directory has documents first, those of upper nodes before
// others, and that notes which are deleted leave no gap: the values are written once.
func TestOrder(t *testing.T) {
	disk, creations := vfs.NewDisk(), 0
	a, err := zipstore.On(vfs.Hook(disk, func(op vfs.Op) error {
		if op.Kind == "create" {
			creations++
		}
		return nil
	}), "x.zip")
	if err != nil {
		t.Fatal(err)
	}
	note := store.MustKey("a/__varve/unfinished.json")
	for _, key := range []string{"a/c/1", "b/a/zarr.json", "a/zarr.json", note.String(), "a/c/0", ".zgroup", "zarr.json", "b/zarr.json", "b/c/0"} {
		if _, err := a.Write(t.Context(), store.Put(store.MustKey(key), []byte(key)), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Write(t.Context(), store.Delete(note), store.Flush); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if creations != 1 {
		t.Errorf("%d files were made, want one", creations)
	}
	raw, _, err := fixture.FileReader(disk).Get(t.Context(), store.MustKey("x.zip"), store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	z, err := stdzip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	want := []string{"zarr.json", "a/zarr.json", "b/zarr.json", "b/a/zarr.json", ".zgroup", "a/c/1", "a/c/0", "b/c/0"}
	if !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q", names, want)
	}
}

// TestOME writes archives of OME-Zarr (RFC-9), and refuses what they cannot hold before
// the chunks are written.
func TestOME(t *testing.T) {
	const good = `{"node_type": "group", "attributes": {"ome": {"version": "0.5"}}}`
	name := filepath.Join(t.TempDir(), "x.ozx")
	put := func(a *zipstore.Archive, key, value string) error {
		_, err := a.Write(t.Context(), store.Put(store.MustKey(key), []byte(value)), store.Flush)
		return err
	}
	a, err := zipstore.CreateArchive(name)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"zarr.json": `{"node_type": "group", "attributes": {"ome": {}}}`, ".zgroup": "{}", ".zattrs": good, ".zarray": "{}",
	} {
		if err := put(a, key, value); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s = %s: %v, want %v", key, value, err, store.ErrUnsupported)
		}
	}
	for _, value := range []string{"", "[]", strings.Replace(good, "group", "array", 1)} {
		if err := put(a, "zarr.json", value); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%q: %v, want %v", value, err, store.ErrUnsupported)
		}
	}
	if err := errors.Join(put(a, "0/c/0", "x"), put(a, "0/zarr.json", "{}"), put(a, "zarr.json", good), a.Close()); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	z, err := stdzip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"ome":{"version":"0.5","zipFile":{"centralDirectory":{"jsonFirst":true}}}}`; z.Comment != want {
		t.Errorf("the comment is %s, want %s", z.Comment, want)
	}
	if !bytes.Contains(raw, []byte("PK\x06\x06")) {
		t.Error("the archive is not of the form ZIP64")
	}
	if values, err := contents(raw); len(values) != 3 || err != nil {
		t.Errorf("%d values, %v", len(values), err)
	}
	// Without a document of the root there is no archive.
	if a, err = zipstore.CreateArchive(filepath.Join(t.TempDir(), "y.OZX")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(a, "0/zarr.json", "{}"), a.Close()); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("without a root: %v, want %v", err, store.ErrUnsupported)
	}
	if a, err = zipstore.CreateArchive(filepath.Join(t.TempDir(), "z.ozx")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(a, "zarr.json", good), put(a, "0/c/0", "x")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write(t.Context(), store.Delete(store.MustKey("zarr.json")), store.Flush); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("with a root that was deleted: %v, want %v", err, store.ErrUnsupported)
	}
}

// TestOnce checks that an archive is written once.
func TestOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.zip")
	first, err := zipstore.CreateArchive(name)
	if err != nil {
		t.Fatal(err)
	}
	second, err := zipstore.CreateArchive(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []*zipstore.Archive{first, second} {
		if _, err := a.Write(t.Context(), store.Put(store.MustKey("k"), []byte("v")), store.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("closing a second archive of the name: %v", err)
	}
	if _, err := zipstore.CreateArchive(name); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating a third: %v", err)
	}
	if _, _, err := first.Get(t.Context(), store.MustKey("k"), store.Request{}, nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("reading a closed archive: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(name)); len(entries) != 1 || err != nil {
		t.Errorf("%v, %v", entries, err)
	}
}

// counted counts the requests to a store.
type counted struct {
	store.Store
	mu    sync.Mutex
	asked []string
}

func (c *counted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.mu.Lock()
	c.asked = append(c.asked, q.Range.String())
	c.mu.Unlock()
	return c.Store.Get(ctx, key, q, dst)
}

// TestRequests counts the requests for an archive on a far store.
func TestRequests(t *testing.T) {
	value := bytes.Repeat([]byte("0123456789"), 300_000)
	c := &counted{Store: in(t, pack(t, stdzip.Store, true, map[string][]byte{"large": value, "small": value[:1000], "middle": value[:60_000]}))}
	s, err := zipstore.OpenArchive(t.Context(), c, archiveKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what string
		key  string
		r    store.Range
		want int
	}{
		{"open", "", store.Whole(), 1}, {"small", "small", store.Whole(), 1}, {"small again", "small", store.Whole(), 1},
		{"large", "large", store.Span(5, 5), 2}, {"large again", "large", store.Suffix(5), 1}, {"all of it", "large", store.Whole(), 1},
		{"nothing", "large", store.Span(0, 0), 0},
	} {
		if step.key != "" {
			if _, _, err := s.Get(t.Context(), store.MustKey(step.key), store.Request{Range: step.r}, nil); err != nil {
				t.Errorf("%s: %v", step.what, err)
			}
		}
		if len(c.asked) != step.want {
			t.Errorf("%s: asked for %q, want %d requests", step.what, c.asked, step.want)
		}
		c.asked = nil
	}
}

// TestReplaced checks that all reads of an archive come from one version.
func TestReplaced(t *testing.T) {
	below := in(t, pack(t, stdzip.Store, true, map[string][]byte{"k": []byte("old")}))
	s, err := zipstore.OpenArchive(t.Context(), below, archiveKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	other := pack(t, stdzip.Store, true, map[string][]byte{"k": []byte("new")})
	if _, err := below.(store.Writer).Write(t.Context(), store.Put(archiveKey, other), store.Flush); err != nil {
		t.Fatal(err)
	}
	// A store in memory keeps the old version for open objects. Other stores return a
	// conflict.
	got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil)
	if string(got) != "old" && !errors.Is(err, store.ErrConflict) {
		t.Errorf("%q, %v", got, err)
	}
	plain := &counted{Store: below} // no Opener
	if s, err = zipstore.OpenArchive(t.Context(), plain, archiveKey, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := below.(store.Writer).Write(t.Context(), store.Put(archiveKey, other), store.Flush); err != nil {
		t.Fatal(err)
	}
	if got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{}, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("%q, %v, want %v", got, err, store.ErrConflict)
	}
}

// TestMany writes and reads more members than an archive without ZIP64 can have.
func TestMany(t *testing.T) {
	const n = 70_000
	name := filepath.Join(t.TempDir(), "x.zip")
	a, err := zipstore.CreateArchive(name)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := a.Write(t.Context(), store.Put(store.MustKey(fmt.Sprintf("c/%d", i)), []byte{byte(i)}), store.Flush); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, raw)
	for _, i := range []int{0, 65_535, 65_536, n - 1} {
		if got, _, err := s.Get(t.Context(), store.MustKey(fmt.Sprintf("c/%d", i)), store.Request{}, nil); len(got) != 1 || got[0] != byte(i) || err != nil {
			t.Errorf("%d: %v, %v", i, got, err)
		}
	}
	if values, err := contents(raw); len(values) != n || err != nil {
		t.Errorf("the standard library finds %d members, %v", len(values), err)
	}
	if _, err := zipstore.OpenArchive(t.Context(), in(t, raw), archiveKey, &zipstore.Options{Directory: 1 << 20}); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("a directory that is too large: %v", err)
	}
}

func BenchmarkGet(b *testing.B) {
	value := bytes.Repeat([]byte("0123456789"), 1600)
	for name, method := range map[string]uint16{"Stored": stdzip.Store, "Deflated": stdzip.Deflate} {
		b.Run(name, func(b *testing.B) {
			s := open(b, pack(b, method, true, map[string][]byte{"k": value}))
			dst := make([]byte, 0, len(value))
			b.SetBytes(int64(len(value)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Get(b.Context(), store.MustKey("k"), store.Request{}, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestReplace checks that an archive does not change until the one that replaces it is
// closed.
func TestReplace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zip")
	key := store.MustKey("k")
	for _, step := range []struct {
		put, want string
		end       func(store.Store) error
	}{{"1", "1", store.Close}, {"2", "1", zipstore.Discard}, {"3", "3", store.Close}} {
		a, err := zipstore.Replace(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Write(t.Context(), a, store.Put(key, []byte(step.put)), store.Flush); err != nil {
			t.Fatal(err)
		}
		if err := step.end(a); err != nil {
			t.Fatal(err)
		}
		s, err := filestore.Open(filepath.Dir(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zipstore.OpenArchive(t.Context(), s, store.MustKey("a.zip"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := z.Get(t.Context(), key, store.Request{}, nil); string(got) != step.want || err != nil {
			t.Errorf("after %s the archive has %q (%v)", step.put, got, err)
		}
		if err := z.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := zipstore.Replace(t.TempDir()); err == nil {
		t.Error("a folder is replaced")
	}
}
