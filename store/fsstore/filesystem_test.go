// SPDX-License-Identifier: Apache-2.0

package fsstore_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/fsstore"
	"varve.dev/zarr/store/storetest"
)

// mapFS holds the fixture in memory.
func mapFS() fstest.MapFS {
	m := fstest.MapFS{}
	for name, value := range storetest.Fixture() {
		m[name] = &fstest.MapFile{Data: value, ModTime: time.Unix(1, 2)}
	}
	return m
}

// zipFS holds the fixture in an archive, compressed with the given method.
func zipFS(t *testing.T, method uint16) *zip.Reader {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, value := range storetest.Fixture() {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = f.Write(value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// streamFS has files that can only be read from the beginning.
type streamFS struct{ fs.FS }

func (s streamFS) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	if d, ok := f.(fs.ReadDirFile); ok {
		return d, err
	}
	return stream{f}, err
}

type stream struct{ fs.File }

func TestStore(t *testing.T) {
	dir := t.TempDir()
	for name, value := range storetest.Fixture() {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), value)
	}
	for name, fsys := range map[string]fs.FS{
		"Map": mapFS(), "Dir": os.DirFS(dir), "Stream": streamFS{mapFS()},
		"Zip": zipFS(t, zip.Deflate), "ZipStored": zipFS(t, zip.Store),
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(*testing.T) store.Store { return fsstore.New(fsys) })
		})
	}
}

func write(t *testing.T, name string, value []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, value, 0o666); err != nil {
		t.Fatal(err)
	}
}

// liar reports a wrong size of its file.
type liar struct {
	fstest.MapFS
	size int64
}

func (l liar) Open(name string) (fs.File, error) {
	f, err := l.MapFS.Open(name)
	return lie{f, l.size}, err
}

type lie struct {
	fs.File
	size int64
}

func (l lie) Stat() (fs.FileInfo, error) {
	fi, err := l.File.Stat()
	return lieInfo{fi, l.size}, err
}

type lieInfo struct {
	fs.FileInfo
	size int64
}

func (l lieInfo) Size() int64 { return l.size }

func TestWrongSize(t *testing.T) {
	m := fstest.MapFS{"k": {Data: []byte("0123456789")}}
	for _, size := range []int64{9, 11, 1000} {
		s := fsstore.New(liar{m, size})
		got, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{Limit: 1 << 20}, nil)
		if err == nil {
			t.Errorf("size %d: %q, want an error", size, got)
		}
		if size > 10 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("size %d: error is %v, want %v", size, err, io.ErrUnexpectedEOF)
		}
	}
	s := fsstore.New(liar{m, 1 << 60})
	if _, _, err := s.Get(t.Context(), store.MustKey("k"), store.Request{Limit: 1 << 20}, nil); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("error is %v, want %v", err, store.ErrTooLarge)
	}
}

func TestVersions(t *testing.T) {
	m := fstest.MapFS{"k": {Data: []byte("a"), ModTime: time.Unix(5, 0)}, "embedded": {Data: []byte("e")}}
	s := fsstore.New(m)
	first, err := store.Stat(t.Context(), s, store.MustKey("k"))
	if err != nil || first.Version.IsZero() || !first.Modified.Equal(time.Unix(5, 0)) {
		t.Errorf("version %v, time %v and error %v", first.Version, first.Modified, err)
	}
	m["k"].ModTime = time.Unix(6, 0)
	if second, _ := store.Stat(t.Context(), s, store.MustKey("k")); second.Version == first.Version {
		t.Error("the version does not change with the modification time")
	}
	if info, _ := store.Stat(t.Context(), s, store.MustKey("embedded")); !info.Version.IsZero() || !info.Modified.IsZero() {
		t.Errorf("version %v and time %v of a file without times", info.Version, info.Modified)
	}
}

func TestIrregular(t *testing.T) {
	s := fsstore.New(fstest.MapFS{"pipe": {Mode: fs.ModeNamedPipe}, "a\\b": {}, "k": {}})
	if _, _, err := s.Get(t.Context(), store.MustKey("pipe"), store.Request{}, nil); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("error is %v, want %v", err, fs.ErrInvalid)
	}
	var names []string
	var bad *store.UnusableError
	for e, err := range store.List(t.Context(), s, store.Path{}, store.Flat) {
		if names = append(names, e.Name); err != nil && !errors.As(err, &bad) {
			t.Error(err)
		}
	}
	if slices.Sort(names); !slices.Equal(names, []string{"", "a\\b", "k"}) || bad == nil || bad.Names[0] != "pipe" {
		t.Errorf("lists %q and error %v", names, bad)
	}
}

// TestLinks lists a directory of this machine that has symbolic links. Those that are not
// followed are named.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a", "b", "k"), []byte("v"))
	for name, target := range map[string]string{"link": "a/b", "a/up": "..", "none": "nothing", "file": "a/b/k"} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip("no symbolic links here:", err)
		}
	}
	var got []string
	var bad *store.UnusableError
	for e, err := range store.List(t.Context(), fsstore.New(os.DirFS(dir)), store.Path{}, store.Deep) {
		if err != nil && !errors.As(err, &bad) {
			t.Error(err)
		} else if err == nil {
			got = append(got, e.Name)
		}
	}
	slices.Sort(got)
	if bad == nil || bad.Count != 2 || !strings.Contains(bad.Error(), `"none" (it is a symbolic link`) {
		t.Errorf("the error is %v", bad)
	}
	if want := []string{"a/b/k", "file", "link/k"}; !slices.Equal(got, want) {
		t.Errorf("lists %q, want %q", got, want)
	}
}

// failing cannot read directories.
type failing struct{ fstest.MapFS }

func (failing) ReadDir(string) ([]fs.DirEntry, error) { return nil, fs.ErrPermission }

func TestListFails(t *testing.T) {
	seen := 0
	for _, err := range store.List(t.Context(), fsstore.New(failing{mapFS()}), store.Path{}, store.Deep) {
		if seen++; !errors.Is(err, fs.ErrPermission) {
			t.Errorf("error is %v, want %v", err, fs.ErrPermission)
		}
	}
	if seen != 1 {
		t.Errorf("%d items, want one error", seen)
	}
}

func Example() {
	ctx := context.Background()
	s := fsstore.New(fstest.MapFS{"zarr.json": {Data: []byte("{}")}, "c/0": {Data: []byte("chunk")}})
	value, _, err := s.Get(ctx, store.MustKey("c/0"), store.Request{Range: store.Suffix(2)}, nil)
	fmt.Printf("%s %v\n", value, err)
	_, err = store.Write(ctx, s, store.Put(store.MustKey("c/1"), nil), store.Sync)
	fmt.Println(errors.Is(err, store.ErrUnsupported))
	// Output:
	// nk <nil>
	// true
}
