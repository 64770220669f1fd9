// SPDX-License-Identifier: Apache-2.0

package scanned

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// Read returns the bytes of a file of the folder.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(), name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Bytes scans a file in memory, and returns the number of requests.
func Bytes(t testing.TB, data []byte, s Scanner) (d *scan.Dataset, requests int, err error) {
	t.Helper()
	m := &counter{Store: memstore.New()}
	if _, err := m.Store.(*memstore.Store).Put(t.Context(), store.MustKey("file"), data, store.Flush); err != nil {
		t.Fatal(err)
	}
	f, err := scan.Open(t.Context(), m, store.MustKey("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err = s(f)
	return d, m.requests, err
}

// counter counts reads. It has no other powers.
type counter struct {
	store.Store
	requests int
}

// Get implements [store.Store].
func (c *counter) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	c.requests++
	return c.Store.Get(ctx, key, q, dst)
}

// Fuzz is a fuzz target with the files whose format begins with a prefix. What a scanner
// returns has to be consistent and to lie within the file.
func Fuzz(f *testing.F, format string, s Scanner) {
	files, err := expected()
	if err != nil {
		f.Fatal(err)
	}
	for name, file := range files {
		if strings.HasPrefix(file.Format, format) {
			f.Add(Read(f, name))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _, err := Bytes(t, data, s)
		switch {
		case err == nil:
			Consistent(t, d, int64(len(data)))
		case !errors.Is(err, scan.ErrCorrupt) && !errors.Is(err, scan.ErrUnsupported):
			t.Errorf("%v, which is neither ErrCorrupt nor ErrUnsupported", err)
		}
	})
}

// Consistent checks that a data set keeps the contract of package scan. size is the size
// of the file.
func Consistent(t testing.TB, d *scan.Dataset, size int64) {
	t.Helper()
	if d.Format == "" || len(d.Groups) == 0 || d.Groups[0].Path != "" {
		t.Errorf("the format %q, %d groups", d.Format, len(d.Groups))
	}
	seen := map[string]bool{}
	for _, g := range d.Groups {
		if seen[g.Path] {
			t.Errorf("two groups %q", g.Path)
		}
		seen[g.Path] = true
		checkAttributes(t, g.Path, g.Attributes)
	}
	for _, a := range d.Arrays {
		if seen[a.Path] {
			t.Errorf("two nodes %q", a.Path)
		}
		seen[a.Path] = true
		checkAttributes(t, a.Path, a.Attributes)
		if a.Refused == nil {
			checkArray(t, a, size)
		} else if !errors.Is(a.Refused, scan.ErrCorrupt) && !errors.Is(a.Refused, scan.ErrUnsupported) {
			t.Errorf("%s: %v", a.Path, a.Refused)
		}
	}
}

func checkAttributes(t testing.TB, where string, list scan.Attributes) {
	t.Helper()
	seen := map[string]bool{}
	for _, a := range list {
		if seen[a.Name] {
			t.Errorf("%s: two attributes %q", where, a.Name)
		}
		seen[a.Name] = true
	}
	if _, err := list.JSON(); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}

func checkArray(t testing.TB, a *scan.Array, size int64) {
	t.Helper()
	if a.Type.IsZero() || len(a.Codecs) == 0 || len(a.Chunk) != len(a.Shape) || a.Names != nil && len(a.Names) != len(a.Shape) ||
		a.Fill != nil && len(a.Fill) != a.Type.Size() {
		t.Fatalf("%s: %+v", a.Path, a)
	}
	if _, err := store.ParsePath(a.Path); err != nil || a.Path == "" {
		t.Errorf("the path %q: %v", a.Path, err)
	}
	most := int64(1)
	for i, n := range a.Shape {
		if n < 0 || a.Chunk[i] < 1 {
			t.Fatalf("%s: the shape %d and chunks of %d", a.Path, a.Shape, a.Chunk)
		}
		// A product that overflows checks nothing, which is fine for a fuzz target.
		most *= a.Count()[i]
	}
	seen := map[int64]bool{}
	for _, c := range a.Chunks {
		if seen[c.Number] || c.Number < 0 || most >= 0 && c.Number >= most {
			t.Fatalf("%s: chunk %d of %d", a.Path, c.Number, most)
		}
		seen[c.Number] = true
		if c.Offset < 0 || c.Length < 0 || c.Offset > size || c.Length > size-c.Offset {
			t.Fatalf("%s: chunk %d is %d bytes at %d, in a file of %d", a.Path, c.Number, c.Length, c.Offset, size)
		}
	}
}
