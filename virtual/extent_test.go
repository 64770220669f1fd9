// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
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
