// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual"
)

// TestLocate says where references lead, as URLs, and which values have no place of their
// own.
func TestLocate(t *testing.T) {
	dir := t.TempDir()
	refs, want := `{"version":1,"refs":{".zgroup":"{}","a/inline":"bytes"`, map[string]string{}
	for i, c := range [][2]string{
		{"x.nc", "file://" + filepath.ToSlash(dir) + "/x.nc"},
		{"file:///data/a%20b.nc", "file:///data/a%20b.nc"},
		{"s3://bucket/a b/100%.nc?endpoint=http://127.0.0.1:1", "s3://bucket/a b/100%25.nc"},
		{"s3://bucket/a#b", "s3://bucket/a%23b"},
		{"https://Example.org:443/a%20b.nc", "https://example.org/a%20b.nc"},
		{"https://example.org/a.nc?signature=1", ""},
	} {
		key := fmt.Sprintf("a/%d", i)
		refs += fmt.Sprintf(`,%q:[%q,7,5]`, key, c[0])
		want[key] = c[1]
	}
	name := filepath.Join(dir, "refs.json")
	if err := os.WriteFile(name, []byte(refs+"}}"), 0o666); err != nil {
		t.Fatal(err)
	}
	s, _, err := store.OpenLocation(t.Context(), name, store.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(s) }()
	for key, location := range want {
		e, err := virtual.Locate(t.Context(), s, store.MustKey(key))
		if e.Location != location || location == "" && (!errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, store.ErrUnsupported)) || location != "" && (err != nil || e.Offset != 7 || e.Length != 5) {
			t.Errorf("%s: %+v, %v, want %s", key, e, err, location)
		}
	}
	if e, err := virtual.Locate(t.Context(), s, store.MustKey("a/inline")); !errors.Is(err, store.ErrUnsupported) {
		t.Error(e, err)
	}
	if e, err := virtual.Locate(t.Context(), memstore.New(), store.MustKey("a/0")); !errors.Is(err, store.ErrUnsupported) {
		t.Error(e, err)
	}
}

// nodes is the store of locations of the scheme nodes.
var nodes = memstore.New()

func init() {
	store.Register("nodes", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		location, _, _ = strings.Cut(strings.TrimPrefix(location, "nodes://host/"), "?")
		at, err := store.ParsePath(strings.TrimPrefix(location, "nodes://host"))
		return nodes, at, err
	})
}

// TestLocateNode scans a Zarr node in a store with options. Its chunks are found without
// them, and the node is not added twice.
func TestLocateNode(t *testing.T) {
	a, err := zarr.At(nodes, "g/x").CreateArray(t.Context(), zarr.Spec{Type: dtype.Uint8, Shape: []int64{4}, Chunks: grid.Chunks(4)}, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, []uint8{1, 2, 3, 4})
	}
	if err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(t.TempDir(), "m"+virtual.Suffix)
	j, err := virtual.NewJoined(virtual.Join{Stack: "n"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := virtual.NewCollector(at)
		if err == nil {
			err = errors.Join(c.Collect(t.Context(), j, []string{"nodes://host/g/x?endpoint=http://127.0.0.1:1/a/b"}), c.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if n := m.References(); n != 1 {
		t.Errorf("%d chunks, want 1", n)
	}
	s, err := m.Show(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(s) }()
	if e, err := virtual.Locate(t.Context(), s, store.MustKey("c/0/0")); err != nil || e.Location != "nodes://host/g/x/c/0" {
		t.Errorf("%+v, %v", e, err)
	}
}
