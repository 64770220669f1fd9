// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// underscored puts a tree with names that begin with "__" into a store, as zarr-python
// and anndata write it, with files of Varve beside them.
func underscored(t *testing.T, format int) *zarr.Location {
	t.Helper()
	s := memstore.New()
	array := `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","fill_value":0,"order":"C","filters":null,"compressor":null}`
	group, documents := `{"zarr_format":2}`, [2]string{".zgroup", ".zarray"}
	if format == 3 {
		array = `{"zarr_format":3,"node_type":"array","shape":[2],"data_type":"int32","fill_value":0,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
			"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"}}`
		group, documents = `{"zarr_format":3,"node_type":"group"}`, [2]string{"zarr.json", "zarr.json"}
	}
	for _, dir := range []string{"", "obs/", "obs/__categories/"} {
		fixture.Put(t, s, dir+documents[0], group)
	}
	for _, dir := range []string{"obs/__categories/cell/", "__x/", "plain/"} {
		fixture.Put(t, s, dir+documents[1], array)
	}
	fixture.Put(t, s, "__varve/parts/1/0", "{}") // a directory of Varve is no node
	return zarr.At(s, "")
}

// TestNodeInOwnDirectory checks that nodes of another program in the directory that Varve
// reserves are named: Varve cannot use them, and deletes none of them.
func TestNodeInOwnDirectory(t *testing.T) {
	ctx := t.Context()
	for _, format := range []int{2, 3} {
		h := underscored(t, format)
		document := map[int]string{2: ".zgroup", 3: "zarr.json"}[format]
		fixture.Put(t, h.Store(), "obs/__varve/"+document, fmt.Sprintf(`{"zarr_format":%d,"node_type":"group"}`, format))
		g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
		if err != nil {
			t.Fatal(err)
		}
		n, named := 0, 0
		for _, err := range g.Members(ctx, true) {
			if n++; errors.Is(err, store.ErrUnusable) && strings.Contains(err.Error(), document) {
				named++
			}
		}
		if n != 6 || named != 1 {
			t.Errorf("format %d: %d members, %d errors", format, n, named)
		}
		if err := h.At("").Delete(ctx, &zarr.Options{Write: true, SingleWriter: true}); !errors.Is(err, store.ErrUnusable) {
			t.Errorf("format %d: %v", format, err)
		}
		if _, err := h.At("plain").OpenArray(ctx, nil); err != nil {
			t.Errorf("format %d: after a deletion that failed: %v", format, err)
		}
	}
}

// TestUnderscores checks that nodes whose names begin with two underscores are listed,
// opened and consolidated. In format 3, which reserves such names, they have a note.
func TestUnderscores(t *testing.T) {
	ctx := t.Context()
	want := []string{"__x", "obs", "obs/__categories", "obs/__categories/cell", "plain"}
	for _, format := range []int{2, 3} {
		h := underscored(t, format)
		for _, consolidated := range []bool{false, true} {
			g, err := h.At("").OpenGroup(ctx, &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			var got, noted []string
			for m, err := range g.Members(ctx, true) {
				if err = errors.Join(err, m.Err); err != nil {
					t.Fatal(err)
				}
				got = append(got, m.Path)
				if n := m.Node.Notes(); strings.Contains(fmt.Sprint(n), "reserves") {
					noted = append(noted, m.Path)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("format %d, consolidated %t: members %q, want %q", format, consolidated, got, want)
			}
			if n := map[int]int{2: 0, 3: 2}[format]; len(noted) != n {
				t.Errorf("format %d: notes of %q, want %d", format, noted, n)
			}
			if err := g.Consolidate(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := h.At("obs/__categories/cell").OpenArray(ctx, nil); err != nil {
			t.Error(err)
		}
		if _, err := h.At("__varve").OpenGroup(ctx, nil); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("opening a directory of Varve: %v", err)
		}
	}
}

// TestUnderscoresCreated creates nodes with such names: format 2 permits them, format 3
// does not.
func TestUnderscoresCreated(t *testing.T) {
	ctx := t.Context()
	spec := zarr.Spec{Shape: []int64{2}, Type: dtype.Int32}
	for _, format := range []int{2, 3} {
		h := underscored(t, format)
		opt := &zarr.CreateOptions{Format: format}
		create := map[string]func() error{
			"array":      func() error { _, err := h.At("__new").CreateArray(ctx, spec, opt); return err },
			"group":      func() error { _, err := h.At("obs/__group").CreateGroup(ctx, nil, opt); return err },
			"parent":     func() error { _, err := h.At("__above/new").CreateArray(ctx, spec, opt); return err },
			"by default": func() error { _, err := h.At("__other").CreateArray(ctx, spec, nil); return err },
			"several": func() error {
				_, err := h.Create(ctx, map[string]zarr.NodeSpec{"one": spec, "__two": spec}, opt)
				return err
			},
		}
		for name, f := range create {
			err := f()
			if refused := errors.Is(err, zarr.ErrInvalidArgument) && strings.Contains(err.Error(), "reserved"); refused != (format == 3) || format == 2 && err != nil {
				t.Errorf("format %d, %s: %v", format, name, err)
			}
		}
		if _, err := h.At("obs/__categories/new").CreateArray(ctx, spec, opt); err != nil {
			t.Errorf("format %d: below an existing group: %v", format, err)
		}
		for _, name := range []string{"__varve", "a/__varve.lock", "__tmp-1"} {
			if _, err := h.At(name).CreateGroup(ctx, nil, opt); !errors.Is(err, zarr.ErrInvalidArgument) {
				t.Errorf("format %d, %s: %v", format, name, err)
			}
		}
	}
}
