// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
)

// otherArray is an array of testdata/others.zip, written by another program.
type otherArray struct {
	Path, Writer string
	Values       []string
	Notes        []string
	Written      []string
	Gone         []string
	ReadOnly     bool `json:"read_only"`
}

// TestOtherPrograms reads arrays of other programs and expects notes about deviations.
// It changes and appends to them. The document then has the specified form, and the
// elements are the same.
func TestOtherPrograms(t *testing.T) {
	dir := t.TempDir()
	z := fixture.OpenZip(t, "others.zip")
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Arrays []otherArray }
	fixture.ReadJSON(t, z, "manifest.json", &manifest)
	if len(manifest.Arrays) != 11 {
		t.Errorf("%d arrays, want 11", len(manifest.Arrays))
	}
	for _, f := range manifest.Arrays {
		t.Run(f.Path, func(t *testing.T) {
			location := filepath.Join(dir, f.Path)
			f.check(t, location, f.Notes)
			if f.ReadOnly {
				return
			}
			f.change(t, location)
			f.check(t, location, nil)
			f.checkDocument(t, location)
		})
	}
}

// check compares the elements and the notes.
func (f *otherArray) check(t *testing.T, location string, notes []string) {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), location, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	got := a.Notes()
	if len(got) != len(notes) {
		t.Errorf("notes %q, want %q", got, notes)
	}
	for i := range min(len(got), len(notes)) {
		if !strings.Contains(got[i], notes[i]) {
			t.Errorf("note %q, want %q", got[i], notes[i])
		}
	}
	size := a.Type().Size()
	elems := make([]byte, size*len(f.Values))
	if err := a.ReadBytes(t.Context(), nil, elems); err != nil {
		t.Fatal(err)
	}
	var values []string
	for elem := range slices.Chunk(elems, size) {
		values = append(values, string(a.Type().AppendText(nil, elem)))
	}
	if !slices.Equal(values, f.Values) {
		t.Errorf("elements %q, want %q", values, f.Values)
	}
}

// change sets attributes, appends a plane and removes it. The Array value that was
// opened first makes all changes, so it compares documents with those that it published.
func (f *otherArray) change(t *testing.T, location string) {
	t.Helper()
	ctx := t.Context()
	a, err := zarr.OpenArray(ctx, location, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	shape := a.Shape()
	if err := a.UpdateAttributes(ctx, func(o []byte) ([]byte, error) { return metadata.SetAttribute(o, "seen", []byte("true")) }); err != nil {
		t.Fatal(err)
	}
	plane := bytes.Repeat(fixture.FillElement(a), len(f.Values)/int(shape[0]))
	if err := a.AppendBytes(ctx, 0, plane, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Resize(ctx, shape, nil); err != nil {
		t.Fatal(err)
	}
	if n := a.Notes(); n != nil {
		t.Errorf("notes after the changes: %q, want none", n)
	}
}

func (f *otherArray) checkDocument(t *testing.T, location string) {
	t.Helper()
	document, err := os.ReadFile(filepath.Join(location, "zarr.json"))
	if err != nil {
		document, err = os.ReadFile(filepath.Join(location, ".zarray"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range f.Written {
		if !bytes.Contains(document, []byte(part)) {
			t.Errorf("the document lacks %s: %s", part, document)
		}
	}
	for _, part := range f.Gone {
		if bytes.Contains(document, []byte(part)) {
			t.Errorf("the document still has %s: %s", part, document)
		}
	}
	_, err = fs.Stat(os.DirFS(location), "__varve")
	if err == nil {
		t.Error("the changes were not fully undone")
	}
}
