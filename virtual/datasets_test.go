// SPDX-License-Identifier: Apache-2.0

package virtual_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
)

// dataset is what is expected of files that are put together.
type dataset struct {
	Name, Mode, Variable, Dim string
	Files                     []string
	Axis                      int
	Shape, Edges              []int64
	EncodedEdges              []int64 `json:"encoded_edges"`
	SHA256                    string
	Times                     []string
	Refused                   *struct {
		File, What, Dim string
		Array           string
	}
	Variables map[string]struct {
		Shape  []int64
		SHA256 string
	}
}

func datasets(t *testing.T) []dataset {
	t.Helper()
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Datasets []dataset }
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all.Datasets
}

// copied copies files of testdata into a folder.
func copied(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		var err error
		if from := filepath.Join("testdata", name); strings.HasSuffix(name, ".zarr") {
			err = os.CopyFS(filepath.Join(dir, name), os.DirFS(from))
		} else {
			var b []byte
			if b, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(filepath.Join(dir, name), b, 0o666)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// part opens a file in a folder, as a manifest in the same folder names it.
func part(t *testing.T, dir, name string) *virtual.Part {
	t.Helper()
	s, err := filestore.Open(dir, &filestore.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath(name)
	if err != nil {
		t.Fatal(err)
	}
	var p *virtual.Part
	if strings.HasSuffix(name, ".zarr") {
		p, err = virtual.OpenNode(t.Context(), s, path, "../"+name, "file")
	} else {
		p, err = virtual.OpenPart(t.Context(), s, store.MustKey(name), "../"+name, "file")
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// join joins the files of a data set.
func (d *dataset) join(t *testing.T, dir string, how virtual.Join) (*virtual.Manifest, error) {
	t.Helper()
	j, err := virtual.NewJoined(how)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range d.Files {
		if err := j.Add(t.Context(), part(t, dir, name)); err != nil {
			return nil, err
		}
	}
	return j.Finish()
}

func (d *dataset) how() (j virtual.Join) {
	switch d.Mode {
	case "concat":
		j.Concat = d.Dim
	case "stack":
		j.Stack = d.Dim
	}
	return j
}

// TestDatasets joins files, writes the manifest beside them, and reads the arrays through
// it.
func TestDatasets(t *testing.T) {
	for _, d := range datasets(t) {
		t.Run(d.Name, func(t *testing.T) {
			dir := copied(t, d.Files...)
			m, err := d.join(t, dir, d.how())
			if d.Refused != nil {
				if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), d.Refused.File) || !strings.Contains(err.Error(), d.Refused.Dim) {
					t.Errorf("error %v, want one that names %s and %s", err, d.Refused.File, d.Refused.Dim)
				}
				return
			}
			// Padding is cut off where chunks are not compressed. Elsewhere it is an
			// experiment.
			if d.padded() {
				if !errors.Is(err, virtual.ErrMismatch) || !strings.Contains(err.Error(), "padding") {
					t.Errorf("padded chunks: %v", err)
				}
				how := d.how()
				how.Padded = true
				m, err = d.join(t, dir, how)
			}
			if err != nil {
				t.Fatal(err)
			}
			root := stored(t, dir, m)
			if d.Mode == "merge" {
				for name, v := range d.Variables {
					d.check(t, root, name, v.Shape, v.SHA256)
				}
				return
			}
			a := d.check(t, root, d.Variable, d.Shape, d.SHA256)
			if d.Edges != nil && d.Mode == "concat" {
				var edges []int64
				for _, run := range a.Grid().Sizes()[d.Axis] {
					edges = append(edges, slices.Repeat([]int64{run.Length}, int(run.Count))...)
				}
				if !slices.Equal(edges, d.Edges) {
					t.Errorf("edges %v, want %v", edges, d.Edges)
				}
			}
		})
	}
}

// padded reports whether chunks other than the last one have padding.
func (d *dataset) padded() bool {
	for i, n := range d.EncodedEdges {
		if i < len(d.EncodedEdges)-1 && n != d.Edges[i] {
			return true
		}
	}
	return false
}

// stored writes a manifest into a folder beside the files, and returns its location.
func stored(t *testing.T, dir string, m *virtual.Manifest) string {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath("made.vz")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Create(t.Context(), s, path); err != nil {
		t.Fatal(err)
	}
	return dir + "/made.vz"
}

// check reads an array, and compares its shape and its values.
func (d *dataset) check(t *testing.T, root, name string, shape []int64, sum string) *zarr.Array {
	t.Helper()
	opt := &zarr.Options{Experimental: zarr.Experimental{EncodedShapes: d.padded()}}
	a, err := zarr.OpenArray(t.Context(), strings.TrimSuffix(root+"/"+name, "/"), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	if !slices.Equal(a.Shape(), shape) {
		t.Errorf("%s has the shape %v, want %v", name, a.Shape(), shape)
	}
	n := int64(a.Type().Size())
	for _, x := range a.Shape() {
		n *= x
	}
	values := make([]byte, n)
	if err := a.ReadBytes(t.Context(), nil, values); err != nil {
		t.Fatal(err)
	}
	if !byteorder.Little() {
		a.Type().Swap(values, values)
	}
	if got := sha256.Sum256(values); hex.EncodeToString(got[:]) != sum {
		t.Errorf("%s has other values", name)
	}
	return a
}
