// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// TestArchive writes into a zip archive, appends before it is closed, and reads it from
// this machine and from a web server.
func TestArchive(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "x.zip")
	g, err := zarr.CreateGroup(t.Context(), name, map[string]string{"title": "archived"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := zarr.Spec{Shape: []int64{2, 4}, Type: dtype.Int16, Chunks: []grid.Cut{grid.Edges(2), grid.Every(4)}}
	a, err := g.At("below/a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		v := []int16{int16(i), 1, 2, 3, 4, 5, 6, 7}
		if err := zarr.Append(t.Context(), a, 0, v, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.Open(t.Context(), name, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading before Close: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	for _, location := range []string{name, "file://" + name, server.URL + "/x.zip?sig=1"} {
		path := location + "/below/a"
		if location == server.URL+"/x.zip?sig=1" {
			path = server.URL + "/x.zip/below/a?sig=1"
		}
		a, err := zarr.OpenArray(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := zarr.Read[int16](t.Context(), a, nil)
		if err != nil || !slices.Equal(got.Data[16:21], []int16{1, 1, 2, 3, 4}) || len(got.Data) != 32 {
			t.Errorf("%s: %v, %v", path, got.Data, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		g, err := zarr.OpenGroup(t.Context(), location, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for m, err := range g.Members(t.Context(), true) {
			if n++; err != nil || m.Err != nil {
				t.Error(m, err)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d members, want 2", location, n)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestArchiveErrors checks the errors for archives that cannot be opened or written.
func TestArchiveErrors(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	name := filepath.Join(dir, "x.zip")
	g, err := zarr.CreateGroup(ctx, name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.zip"), []byte("PK"), 0o666); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		do   func() error
		want error
		kind zarr.Kind
	}{
		"to write":       {func() error { _, err := zarr.Open(ctx, name, &zarr.Options{Write: true}); return err }, zarr.ErrUnsupported, "unsupported"},
		"create again":   {func() error { _, err := zarr.CreateGroup(ctx, name+"/g", nil, nil); return err }, fs.ErrExist, "exists"},
		"no archive":     {func() error { _, err := zarr.Open(ctx, dir+"/none.zip/a", nil); return err }, fs.ErrNotExist, "not-found"},
		"no node":        {func() error { _, err := zarr.Open(ctx, name+"/a", nil); return err }, fs.ErrNotExist, "not-found"},
		"damaged":        {func() error { _, err := zarr.Open(ctx, dir+"/bad.zip", nil); return err }, zarr.ErrCorrupt, "corrupt"},
		"delete":         {func() error { return zarr.Delete(ctx, name, &zarr.Options{Write: true}) }, zarr.ErrUnsupported, "unsupported"},
		"delete unasked": {func() error { return zarr.Delete(ctx, name, nil) }, zarr.ErrReadOnly, "permission"},
		"bad path":       {func() error { _, err := zarr.Open(ctx, name+"/__varve", nil); return err }, zarr.ErrInvalidArgument, "invalid-argument"},
		"spec": {func() error {
			_, err := zarr.CreateArray(ctx, dir+"/new.zip", zarr.Spec{}, nil)
			return err
		}, zarr.ErrInvalidArgument, "invalid-argument"},
		"array above": {func() error {
			_, err := zarr.CreateArray(ctx, dir+"/new.zip/__varve/a", zarr.Spec{Shape: []int64{1}, Type: dtype.Int8}, nil)
			return err
		}, zarr.ErrInvalidArgument, "invalid-argument"},
	} {
		if err := c.do(); !errors.Is(err, c.want) || zarr.KindOf(err) != c.kind {
			t.Errorf("%s: error is %v (%s), want %v (%s)", what, err, zarr.KindOf(err), c.want, c.kind)
		}
	}
	entries, err := os.ReadDir(dir)
	if len(entries) != 2 || err != nil {
		t.Errorf("files after the errors: %v, %v; want none", entries, err)
	}
	// A directory may be named like an archive.
	if err := os.Mkdir(dir+"/folder.zip", 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := zarr.CreateGroup(ctx, dir+"/folder.zip/g", nil, nil); err != nil {
		t.Error(err)
	}
	if _, err := zarr.OpenGroup(ctx, dir+"/folder.zip/g", nil); err != nil {
		t.Error(err)
	}
}
