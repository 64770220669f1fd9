// SPDX-License-Identifier: Apache-2.0

package transfer_test

import (
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// TestParentsListed copies an array into missing groups of a store with consolidated
// metadata. The groups are listed there, too: zarr-python cannot open a store that lists
// a member without its group.
func TestParentsListed(t *testing.T) {
	for format := 2; format <= 3; format++ {
		for name, do := range map[string]func(src, dst *zarr.Location) error{
			"copy": func(src, dst *zarr.Location) error { _, err := transfer.Copy(t.Context(), src, dst, nil); return err },
			"move": func(src, dst *zarr.Location) error { _, err := transfer.Move(t.Context(), src, dst, nil); return err },
			"convert": func(_, dst *zarr.Location) error {
				src := zarr.At(memstore.New(), "t")
				arrayAt(t, src.Root(), "t", 5-format)
				_, err := convert.ConvertTo(t.Context(), src, dst, format, nil)
				return err
			},
		} {
			s := memstore.New()
			h := zarr.At(s, "")
			arrayAt(t, h, "t", format)
			g, err := h.At("").OpenGroup(t.Context(), &zarr.Options{Write: true})
			if err == nil {
				err = g.Consolidate(t.Context())
			}
			if err == nil {
				err = do(zarr.At(s, "t"), zarr.At(s, "sub/deep/t"))
			}
			if err != nil {
				t.Fatalf("format %d, %s: %v", format, name, err)
			}
			for _, want := range []string{"sub", "sub/deep", "sub/deep/t"} {
				if got := membersOf(t, s); !slices.Contains(got, want) {
					t.Errorf("format %d, %s: consolidated metadata lists %q, without %s", format, name, got, want)
				}
			}
		}
	}
}

// arrayAt creates an array of a format, and the groups above it.
func arrayAt(t *testing.T, h *zarr.Location, path string, format int) {
	t.Helper()
	spec := zarr.Spec{Shape: []int64{4}, Type: dtype.Int32}
	if _, err := h.At(path).CreateArray(t.Context(), spec, &zarr.CreateOptions{Format: format}); err != nil {
		t.Fatal(err)
	}
}

// membersOf returns the paths that the consolidated metadata of the root lists.
func membersOf(t *testing.T, s store.Store) (paths []string) {
	t.Helper()
	g, err := zarr.At(s, "").OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := g.Metadata().Consolidated
	if c == nil {
		t.Fatal("the root has no consolidated metadata")
	}
	for path := range c.Nodes() {
		paths = append(paths, path)
	}
	return paths
}
