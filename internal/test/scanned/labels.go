// SPDX-License-Identifier: Apache-2.0

package scanned

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"varve.dev/zarr/virtual/scan"
)

// Labels returns the labels that stand for the variables of a file, in the order of the
// file.
func Labels(t *testing.T, name string) (labels []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(), "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Files map[string]struct{ Variables json.RawMessage }
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(all.Files[name].Variables))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		label, err := d.Token()
		var skipped json.RawMessage
		if err == nil {
			err = d.Decode(&skipped)
		}
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, label.(string))
	}
	return labels
}

// Labelled returns a scanner that gives arrays the labels of a file, in their order. It
// is for files without names.
func Labelled(t *testing.T, name string, s Scanner) Scanner {
	t.Helper()
	labels := Labels(t, name)
	return func(f *scan.File) (*scan.Dataset, error) {
		d, err := s(f)
		if err != nil {
			return nil, err
		}
		if len(d.Arrays) != len(labels) {
			t.Errorf("%s has %d arrays, want %q", name, len(d.Arrays), labels)
		}
		for i, a := range d.Arrays[:min(len(labels), len(d.Arrays))] {
			a.Path = labels[i]
		}
		return d, nil
	}
}

// sameChunk compares shapes of chunks. What is expected of a file without names are the
// pixels of a tile: a chunk also has the samples of each, or those of one.
func sameChunk(got, want, shape []int64) bool {
	if len(want) == len(shape)-1 {
		return slices.Equal(got, append(slices.Clone(want), shape[len(want)])) ||
			slices.Equal(got, append([]int64{1}, want...))
	}
	return slices.Equal(got, want)
}
