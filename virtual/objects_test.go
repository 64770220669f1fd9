// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/cf"
)

// object is what a library reads of an array (interop/objects_testdata.py).
type object struct {
	Shape []int64
	Dims  []*string
	Raw   *string    // little-endian elements in hexadecimal digits
	Texts []string   // or elements of variable length
	Meant []*float64 // or what they mean, nil for nothing
}

// TestObjects scans files whose objects and meanings are easy to lose. Every array has
// the shape, the dimensions and the values that other libraries see, none is too much,
// and what is left out is named.
func TestObjects(t *testing.T) {
	dir := filepath.Join("testdata", "objects")
	text, err := os.ReadFile(filepath.Join(dir, "objects.json"))
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]struct {
		Arrays  map[string]object
		Omitted []string
	}
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(folder, name), data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
			p := part(t, folder, name)
			var omitted []string
			for _, r := range p.Refused {
				omitted = append(omitted, r.Path)
			}
			if slices.Sort(omitted); !slices.Equal(omitted, want.Omitted) {
				t.Errorf("omitted %q, want %q", omitted, want.Omitted)
			}
			if n := len(p.Manifest.Arrays); n != len(want.Arrays) {
				t.Errorf("%d arrays, want %d", n, len(want.Arrays))
			}
			made := stored(t, folder, p.Manifest)
			for path, o := range want.Arrays {
				a, err := zarr.OpenArray(t.Context(), filepath.Join(made, path), nil)
				if err != nil {
					t.Errorf("%s: %v", path, err)
					continue
				}
				o.compare(t, path, a)
			}
		})
	}
}

// compare compares an array with what is expected of it.
func (o *object) compare(t *testing.T, path string, a *zarr.Array) {
	t.Helper()
	if !slices.Equal(a.Shape(), o.Shape) {
		t.Errorf("%s: the shape %v, want %v", path, a.Shape(), o.Shape)
		return
	}
	names := a.Metadata().DimensionNames
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	if o.Meant == nil && !slices.EqualFunc(names, o.Dims, same) {
		t.Errorf("%s: other dimensions than %v", path, o.Dims)
	}
	switch {
	case o.Raw != nil:
		o.compareRaw(t, path, a)
	case o.Texts != nil:
		if got, err := zarr.Read[string](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, o.Texts) {
			t.Errorf("%s: %q, want %q: %v", path, got.Data, o.Texts, err)
		}
	default:
		o.compareMeant(t, path, a)
	}
}

func (o *object) compareRaw(t *testing.T, path string, a *zarr.Array) {
	t.Helper()
	n := a.Type().Size()
	for _, x := range o.Shape {
		n *= int(x)
	}
	got := make([]byte, n)
	if err := a.ReadBytes(t.Context(), nil, got); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	if !dtype.LittleEndian() {
		a.Type().Swap(got, got)
	}
	if hex.EncodeToString(got) != *o.Raw {
		t.Errorf("%s: %x, want %s", path, got, *o.Raw)
	}
}

func (o *object) compareMeant(t *testing.T, path string, a *zarr.Array) {
	t.Helper()
	got, err := cf.ReadFloats(t.Context(), a, nil)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	for i, want := range o.Meant {
		if x := got.Data[i]; want == nil != math.IsNaN(x) || want != nil && x != *want {
			t.Errorf("%s: element %d is %v", path, i, x)
		}
	}
}
