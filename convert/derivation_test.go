// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/trees"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/transfer"
)

// TestDeriveNothing derives no array: the result has the values and documents of a copy.
func TestDeriveNothing(t *testing.T) {
	for name, make := range map[string]func(testing.TB, store.Store, string){"format 3": trees.Tree, "format 2": treeV2} {
		s := memstore.New()
		make(t, s, "x")
		if _, err := transfer.Copy(t.Context(), zarr.At(s, "x"), zarr.At(s, "copied"), nil); err != nil {
			t.Fatal(err)
		}
		plan, err := convert.Derive(t.Context(), zarr.At(s, "x"), zarr.At(s, "derived"), convert.Derivation{}, &transfer.Options{DryRun: true})
		if err != nil {
			t.Fatal(err)
		}
		report, err := convert.Derive(t.Context(), zarr.At(s, "x"), zarr.At(s, "derived"), convert.Derivation{}, nil)
		if err != nil || report != plan || report.Arrays == 0 || report.Values == 0 {
			t.Errorf("%s: %+v planned, %+v done: %v", name, plan, report, err)
		}
		n := 0
		for e, err := range store.List(t.Context(), s, path(t, "copied"), store.Deep) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			want, _, err := s.Get(t.Context(), path(t, "copied").MustKey(e.Name), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := s.Get(t.Context(), path(t, "derived").MustKey(e.Name), store.Request{}, nil)
			// Consolidated metadata of format 2 may list attributes that are empty.
			if err != nil || string(got) != string(want) && e.Name != metadata.V2Consolidated {
				t.Errorf("%s: %s is %s, want %s: %v", name, e.Name, got, want, err)
			}
		}
		if n < 10 {
			t.Errorf("%s: %d values", name, n)
		}
	}
}

// treeV2 makes a group of format 2 with consolidated metadata.
func treeV2(t testing.TB, s store.Store, path string) {
	t.Helper()
	o := &zarr.CreateOptions{Format: 2}
	g, err := zarr.At(s, path).CreateGroup(t.Context(), map[string]any{"title": "old"}, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "deep/b"} {
		a, err := g.At(name).CreateArray(t.Context(), zarr.Spec{Shape: []int64{9}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Every(2)}, Attributes: map[string]int{"n": 1}}, o)
		if err == nil {
			err = zarr.Fill(t.Context(), a, nil, int32(5))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func path(t *testing.T, text string) store.Path {
	t.Helper()
	p, err := store.ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDerive makes one array anew, and is told that its source has changed.
func TestDerive(t *testing.T) {
	s := memstore.New()
	trees.Tree(t, s, "x")
	a, err := zarr.At(s, "x/a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	confirmed := errors.New("it has changed")
	derived := map[string]convert.Derived{"a": {
		Document: a.Metadata().Resized([]int64{2, 7}, a.Metadata().ChunkGrid),
		Write: func(ctx context.Context, to *zarr.Array) error {
			if _, err := zarr.At(s, "y").Open(ctx, nil); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the node is visible: %v", err)
			}
			return zarr.Fill(ctx, to, nil, int32(9))
		},
		Confirm: func(context.Context) error { return confirmed },
	}}
	if _, err := convert.Derive(t.Context(), zarr.At(s, "x"), zarr.At(s, "y"), convert.Derivation{Arrays: derived}, nil); !errors.Is(err, confirmed) {
		t.Error(err)
	}
	if begun, err := transfer.Unfinished(t.Context(), zarr.At(s, "y")); !begun || err != nil {
		t.Errorf("the copy is begun: %v (%v)", begun, err)
	}
	confirmed = nil
	if _, err := convert.Derive(t.Context(), zarr.At(s, "x"), zarr.At(s, "y"), convert.Derivation{Arrays: derived}, nil); err != nil {
		t.Fatal(err)
	}
	g, err := zarr.At(s, "y").OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range g.Members(t.Context(), false) {
		b, isArray := m.Node.(*zarr.Array)
		if err != nil || !isArray || m.Path != "a" {
			continue
		}
		got, err := zarr.Read[int32](t.Context(), b, nil)
		if err != nil || len(got.Data) != 14 || got.Data[13] != 9 {
			t.Errorf("%v, %v", got, err)
		}
	}
	// A document of the other format is none of this array.
	if a, err = zarr.At(s, "x/scalar").OpenArray(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	old, err := a.Metadata().WithKeyEncoding(metadata.V2Dot).ToV2(metadata.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	derived["a"] = convert.Derived{Document: old}
	if _, err := convert.Derive(t.Context(), zarr.At(s, "x"), zarr.At(s, "z"), convert.Derivation{Arrays: derived}, nil); !errors.Is(err, zarr.ErrSourceChanged) {
		t.Error(err)
	}
}
