// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// TestConsolidateMeanwhile appends after every request of a consolidation. In the end the
// copies agree with the documents: either the append finds copies to update, or the
// consolidation finds what was appended.
func TestConsolidateMeanwhile(t *testing.T) {
	for at := int64(1); at == 1 || !consolidateMeanwhile(t, at); at++ {
	}
}

// TestConsolidateQuiet consolidates a group that nobody changes: its document is stored
// once.
func TestConsolidateQuiet(t *testing.T) {
	writes := 0
	s := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.String() == "PutIf g/zarr.json" {
			writes++
		}
		return nil
	}})
	g, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
	for _, path := range []string{"a", "h/b"} {
		if err == nil {
			_, err = g.At(path).CreateArray(t.Context(), fixture.Edges(1), nil)
		}
	}
	if err == nil {
		writes = 0
		err = g.Consolidate(t.Context())
	}
	if err != nil || writes != 1 {
		t.Errorf("%d writes (%v), want 1", writes, err)
	}
}

// consolidateMeanwhile appends after one request of a consolidation. It reports whether
// there were fewer requests.
func consolidateMeanwhile(t *testing.T, at int64) (fewer bool) {
	t.Helper()
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	g, err := zarr.At(inner, "g").CreateGroup(t.Context(), nil, nil)
	if err == nil {
		_, err = g.At("a").CreateArray(t.Context(), fixture.Edges(1), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	s := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if requests.Add(1) == at {
			a, openErr := zarr.At(inner, "g/a").OpenArray(context.Background(), &zarr.Options{Write: true})
			if openErr == nil {
				openErr = zarr.Append(context.Background(), a, 0, []int32{1}, nil)
			}
			if openErr != nil {
				t.Errorf("%s, request %d: %v", op, at, openErr)
			}
		}
		return err
	}})
	g, err = zarr.At(s, "g").OpenGroup(t.Context(), &zarr.Options{Write: true})
	if err == nil {
		err = g.Consolidate(t.Context())
	}
	if err != nil {
		t.Fatalf("request %d: %v", at, err)
	}
	if requests.Load() < at {
		return true
	}
	if g, err = zarr.At(inner, "g").OpenGroup(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for m, err := range g.Members(t.Context(), false) {
		if err != nil {
			t.Fatal(err)
		}
		if n := m.Node.(*zarr.Array).Shape()[0]; n != 2 {
			t.Errorf("request %d: the copy has %d elements, want 2", at, n)
		}
	}
	return false
}

// TestConsolidatedMixed appends to arrays of both formats together. The copies of those
// that have the format of the group follow.
func TestConsolidatedMixed(t *testing.T) {
	for name, s := range map[string]store.Store{"locks": memtest.New(), "conditions": stepping.Conditional(memtest.New(), stepping.Hooks{})} {
		g, err := zarr.At(s, "g").CreateGroup(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		old := fixture.Every(1, 1)
		old.Format = 2
		if _, err := g.At("b").CreateArray(t.Context(), fixture.Edges(1), nil); err != nil {
			t.Fatal(err)
		}
		// Only other programs store nodes of format 2 below such a group.
		other := memtest.New()
		_, err = zarr.At(other, "a").CreateArray(t.Context(), old, nil)
		document, _, getErr := other.Get(t.Context(), store.MustKey("a/.zarray"), store.Request{}, nil)
		if err = errors.Join(err, getErr); err == nil {
			_, err = store.Write(t.Context(), s, store.Put(store.MustKey("g/a/.zarray"), document), store.Flush)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := g.Append(t.Context(), zarr.Add("a", 0, []int32{1}, nil), zarr.Add("b", 0, []int32{1}, nil)); err != nil {
			t.Fatal(err)
		}
		if g, err = zarr.At(s, "g").OpenGroup(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for m, err := range g.Members(t.Context(), false) {
			if err != nil {
				t.Fatal(err)
			}
			if n := m.Node.(*zarr.Array).Shape()[0]; n != 2 {
				t.Errorf("%s: the copy of %s has %d elements, want 2", name, m.Path, n)
			}
		}
	}
}
