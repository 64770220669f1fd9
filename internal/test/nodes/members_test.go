// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store/memstore"
)

// TestConcurrentMembers walks over a tree of nodes, damaged nodes and other files,
// opening members one by one and several at a time. The sequence is the same, in
// directories and in consolidated metadata.
func TestConcurrentMembers(t *testing.T) {
	ctx := t.Context()
	s := memstore.New()
	h := zarr.At(s, "")
	nodes := map[string]zarr.NodeSpec{"": zarr.GroupSpec{}}
	for i := range 150 {
		nodes[fmt.Sprintf("a%03d", i)] = fixture.Variable(3)
		nodes[fmt.Sprintf("g%03d/b", i%20)] = fixture.Variable(3)
	}
	if _, err := h.Create(ctx, nodes, nil); err != nil {
		t.Fatal(err)
	}
	g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		fixture.Put(t, s, fmt.Sprintf("x%03d/file", i), "no node")
	}
	whole := membersOf(t, h, zarr.Options{Concurrency: 1})
	if err := g.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(whole); n != 190 {
		t.Errorf("%d members, want 190", n)
	}
	for _, consolidated := range []bool{true, false} {
		if !consolidated {
			fixture.Put(t, s, "zarr.json", `{"zarr_format": 3, "node_type": "group"}`)
			fixture.Put(t, s, "a040/zarr.json", `{"zarr_format": 3, "node_type": "array"}`)
			fixture.Put(t, s, "g003/zarr.json", `{"zarr_format": 3`)
			whole = membersOf(t, h, zarr.Options{Concurrency: 1})
		}
		for _, n := range []int{0, 2, 5, 100} {
			if got := membersOf(t, h, zarr.Options{Concurrency: n}); !slices.Equal(got, whole) {
				t.Errorf("%d at a time, consolidated %t: %d members, want %d", n, consolidated, len(got), len(whole))
			}
		}
	}
}

// membersOf returns path, kind and error of every member of the root.
func membersOf(t *testing.T, h *zarr.Location, opt zarr.Options) (list []string) {
	t.Helper()
	g, err := h.At("").OpenGroup(t.Context(), &opt)
	if err != nil {
		t.Fatal(err)
	}
	for m, err := range g.Members(t.Context(), true) {
		list = append(list, fmt.Sprint(m.Path, " ", m.Kind, " ", m.Err, " ", err))
	}
	return list
}

// TestMembersCanceled cancels the context during a walk. The sequence ends with its
// error, even if further members are already open.
func TestMembersCanceled(t *testing.T) {
	h := zarr.At(memstore.New(), "")
	nodes := map[string]zarr.NodeSpec{"": zarr.GroupSpec{}}
	for i := range 100 {
		nodes[fmt.Sprintf("a%03d", i)] = fixture.Variable(3)
	}
	if _, err := h.Create(t.Context(), nodes, nil); err != nil {
		t.Fatal(err)
	}
	g, err := h.At("").OpenGroup(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, last := 0, error(nil)
	for _, last = range g.Members(ctx, true) {
		if n++; n == 20 {
			cancel()
		}
	}
	if n != 21 || !errors.Is(last, context.Canceled) {
		t.Errorf("%d members, the last with error %v", n, last)
	}
}
