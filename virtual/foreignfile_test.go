// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// foreignFiles returns the files among the test data that are locations.
func foreignFiles(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if virtual.IsForeign(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) < 100 {
		t.Fatal(names)
	}
	return names
}

// TestForeignLocations opens files of every format as locations. They have the arrays
// that a scan finds, with the same elements, and name those that it refuses.
func TestForeignLocations(t *testing.T) {
	s, dir, err := store.OpenLocation(t.Context(), "testdata", store.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range foreignFiles(t) {
		p, err := virtual.OpenPart(t.Context(), s, dir.MustKey(name), name, "file")
		at := filepath.Join("testdata", name)
		n, openErr := zarr.Open(t.Context(), at, nil)
		if (err == nil) != (openErr == nil) {
			t.Errorf("%s: %v and %v", name, err, openErr)
		}
		if err != nil || openErr != nil {
			continue
		}
		for _, a := range p.Manifest.Arrays {
			want, err := sumOf(t, zarr.At(p.Store(), a.Path))
			_, got, readErr := sum(t, strings.TrimSuffix(at+"/"+a.Path, "/"))
			if got != want || (err == nil) != (readErr == nil) {
				t.Errorf("%s/%s: %v and %v", name, a.Path, err, readErr)
			}
		}
		bad := map[string]error{}
		if g, is := n.(*zarr.Group); is {
			for m, err := range g.Members(t.Context(), true) {
				if err != nil {
					t.Error(name, err)
				}
				bad[m.Path] = m.Err
			}
		}
		for _, r := range p.Refused {
			if r.Array && (bad[r.Path] == nil || !strings.Contains(bad[r.Path].Error(), r.Err.Error())) {
				t.Errorf("%s/%s: it is listed with %v, not %v", name, r.Path, bad[r.Path], r.Err)
			}
		}
		if err := errors.Join(p.Close(), n.Close()); err != nil {
			t.Error(err)
		}
	}
}

// sumOf returns the hash of the elements of an array.
func sumOf(t *testing.T, at *zarr.Location) (string, error) {
	t.Helper()
	a, err := at.OpenArray(t.Context(), nil)
	if err != nil {
		return "", err
	}
	return hashOf(t, a)
}

// copyOf copies a file of the test data, and returns its new name.
func copyOf(t *testing.T, from, to string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", from))
	if err == nil {
		err = os.WriteFile(to, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestForeignFilesAreRead changes nothing in a file of another format, and makes no node
// in its place.
func TestForeignFilesAreRead(t *testing.T) {
	at := copyOf(t, "epochs_days_01.nc", filepath.Join(t.TempDir(), "x.nc"))
	was, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	changes := map[string]func() error{
		"write": func() error {
			_, err := zarr.OpenArray(t.Context(), at+"/t", &zarr.Options{Write: true})
			return err
		},
		"delete": func() error { return zarr.Delete(t.Context(), at, nil) },
		"create": func() error {
			_, err := zarr.CreateGroup(t.Context(), at, nil, nil)
			return err
		},
		"create below": func() error {
			_, err := zarr.CreateGroup(t.Context(), at+"/g", nil, nil)
			return err
		},
	}
	for name, change := range changes {
		if err := change(); !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, zarr.ErrReadOnly) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := os.ReadFile(at); err != nil || !slices.Equal(now, was) {
		t.Errorf("the file was changed (%v)", err)
	}
}

// TestForeignFileChanges changes files after they were opened. Errors name the file, and
// no element is a fill value.
func TestForeignFileChanges(t *testing.T) {
	for name, change := range map[string]func(at string) error{
		"gone":     os.Remove,
		"shorter":  func(at string) error { return os.Truncate(at, 600) },
		"modified": func(at string) error { return os.Chtimes(at, time.Time{}, time.Unix(1, 0)) },
	} {
		at := copyOf(t, "epochs_days_01.nc", filepath.Join(t.TempDir(), "x.nc"))
		a, err := zarr.OpenArray(t.Context(), at+"/t", nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(at); err != nil {
			t.Fatal(err)
		}
		var of *virtual.SourceError
		_, err = hashOf(t, a)
		if !errors.Is(err, zarr.ErrSourceChanged) || !errors.As(err, &of) || of.Location != at {
			t.Errorf("%s: %v", name, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestForeignFileOfServer opens a file of a web server. A page about a folder is no file.
func TestForeignFileOfServer(t *testing.T) {
	dir := t.TempDir()
	copyOf(t, "epochs_days_01.nc", filepath.Join(dir, "x.nc"))
	node(t, dir, "folder.nc/v", []int32{1, 2}, []string{"x"}, []int64{2}, nil, "")
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer web.Close()
	_, want, err := sum(t, dir+"/x.nc/t")
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := sum(t, web.URL+"/x.nc/t"); err != nil || got != want {
		t.Error(err)
	}
	if got, err := numbers(t, web.URL+"/folder.nc/v"); err != nil || !slices.Equal(got, []int32{1, 2}) {
		t.Errorf("%v (%v)", got, err)
	}
	for _, name := range []string{"/x.nc/nothere", "/nothere.nc", "/nothere.nc/t"} {
		if _, _, err := sum(t, web.URL+name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestReferencesToForeignNode makes references of one array of a file: they lead to the
// file, and to nothing below its name.
func TestReferencesToForeignNode(t *testing.T) {
	dir := t.TempDir()
	at := copyOf(t, "epochs_days_01.nc", filepath.Join(dir, "x.nc"))
	m := alone(t, filepath.Join(dir, "m.vz"), at+"/t")
	if len(m.Sources) != 1 || m.Sources[0].Location != "../x.nc" || len(m.Arrays) != 1 || m.References() == 0 {
		t.Errorf("%v", m.Sources)
	}
}
