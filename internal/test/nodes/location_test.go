// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

var tiny = zarr.Spec{Shape: []int64{2}, Type: dtype.Int8}

// makeArrays creates arrays at locations below dir.
func makeArrays(t *testing.T, dir string, locations ...string) {
	t.Helper()
	for _, l := range locations {
		if _, err := zarr.CreateArray(context.Background(), filepath.Join(dir, l), tiny, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestStoreOfLocation creates nodes in an empty directory, and checks by their paths
// which directory became the store.
func TestStoreOfLocation(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	makeArrays(t, dir, "plain/a", "x.zarr/g/a", "x.zarr/g/b", "sp ace.zarr")
	for location, want := range map[string]string{
		"plain/a": "", "x.zarr": "", "x.zarr/g": "g", "x.zarr/g/b": "g/b", "sp ace.zarr": "",
	} {
		n, err := zarr.Open(ctx, filepath.Join(dir, location), nil)
		if err != nil {
			t.Error(err)
			continue
		}
		if n.Path() != want {
			t.Errorf("%s is the node %q, want %q", location, n.Path(), want)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	u := "file://" + filepath.ToSlash(filepath.Join(dir, "sp ace.zarr"))
	for _, location := range []string{strings.ReplaceAll(u, " ", "%20"), strings.Replace(u, "file://", "file://localhost", 1)} {
		if runtime.GOOS == "windows" {
			break
		}
		if _, err := zarr.OpenArray(ctx, location, nil); err != nil {
			t.Errorf("%s: %v", location, err)
		}
	}
}

func TestSchemes(t *testing.T) {
	ctx := context.Background()
	s := memstore.New()
	store.Register("test", func(_ context.Context, location string, _ store.Access) (store.Store, store.Path, error) {
		p, err := store.ParsePath(strings.TrimPrefix(location, "test://"))
		return s, p, err
	})
	if _, err := zarr.CreateArray(ctx, "test://g/a", tiny, nil); err != nil {
		t.Fatal(err)
	}
	if a, err := zarr.OpenArray(ctx, "test://g/a", nil); err != nil || a.Path() != "g/a" {
		t.Error(a, err)
	}
	_, err := zarr.Open(ctx, "gopher://x", nil)
	fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", `"gopher"`, "file")
	_, err = zarr.Open(ctx, "file://elsewhere/x", nil)
	fixture.Expect(t, err, zarr.ErrUnsupported, "unsupported", `"elsewhere"`)
	_, err = zarr.Open(ctx, "", nil)
	fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "empty")
}

// TestDeleteRefusesLinks refuses to delete nodes by locations with links.
func TestDeleteRefusesLinks(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	makeArrays(t, dir, "x.zarr/in", "x.zarr/sub/a")
	for link, target := range map[string]string{"x.zarr/link": "in", "alias.zarr": "x.zarr", "x.zarr/way": "sub"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("this system has no symbolic links")
		}
	}
	for _, location := range []string{"x.zarr/link", "alias.zarr", "x.zarr/way/a"} {
		at := filepath.Join(dir, location)
		fixture.Expect(t, zarr.Delete(ctx, at, &zarr.Options{Write: true}), zarr.ErrInvalidArgument, "invalid-argument", "symbolic link")
		_, err := zarr.CreateArray(ctx, at, tiny, &zarr.CreateOptions{Overwrite: true})
		fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "symbolic link")
	}
	for _, location := range []string{"x.zarr/in", "x.zarr/sub/a", "x.zarr"} {
		if err := zarr.Delete(ctx, filepath.Join(dir, location), &zarr.Options{Write: true}); err != nil {
			t.Errorf("%s: %v", location, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "x.zarr")); !errors.Is(err, fs.ErrNotExist) {
		t.Logf("a directory with links remains: %v", err)
	}
}

func TestBadSpecLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.zarr")
	spec := tiny
	spec.FillValue = zarr.FillJSON("1000")
	_, err := zarr.CreateArray(context.Background(), dir, spec, nil)
	fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "x.zarr", "1000")
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a directory was left: %v", err)
	}
}
