// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"context"
	"fmt"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
)

// republish is the requests of a change to an array in the root group. The group might
// have consolidated metadata, and a crashed writer might have left a journal.
const republish = "2 get document, 1 get journal, 1 lock, 1 publish document"

// operationCases are calls on the array "a", and the requests that they may make.
var operationCases = []struct {
	name   string
	spec   zarr.Spec
	run    func(ctx context.Context, a *zarr.Array) error
	ops    string
	chunks string
}{
	{"open", fixture.Lattice(), func(ctx context.Context, a *zarr.Array) error { return a.Refresh(ctx) }, "1 get document", ""},
	{"read all", fixture.Lattice(), readPart(nil), "6 get chunk", "a/c/0/0 a/c/0/1 a/c/1/0 a/c/1/1 a/c/2/0 a/c/2/1"},
	{"read nothing", fixture.Lattice(), readPart(selection.Box{{2, 2}, {0, 4}}), "", ""},
	{"read an element", fixture.Lattice(), readPart(selection.Box{{5, 6}, {3, 4}}), "1 get chunk", "a/c/2/1"},
	{"read a column", fixture.Lattice(), readPart(selection.Box{{0, 6}, {1, 2}}), "3 get chunk", "a/c/0/0 a/c/1/0 a/c/2/0"},
	{"read every fifth row", fixture.Lattice(), readPart(selection.Basic{selection.Stepped(0, 6, 5), selection.At(0)}), "2 get chunk", "a/c/0/0 a/c/2/0"},
	{"write a chunk", fixture.Lattice(), fixture.WritePart(selection.Box{{1, 3}, {2, 4}}, 4), "1 put chunk, 2 stat document", "a/c/1/1"},
	{"write all", fixture.Lattice(), fixture.WritePart(nil, 24), "6 put chunk, 2 stat document", "a/c/0/0 a/c/0/1 a/c/1/0 a/c/1/1 a/c/2/0 a/c/2/1"},
	{"write a part of a chunk", fixture.Lattice(), fixture.WritePart(selection.Box{{1, 2}, {2, 4}}, 2), "1 get chunk, 1 publish chunk, 2 stat document", "a/c/1/1"},
	{"write a chunk at the border", fixture.Every(6, 4), fixture.WritePart(selection.Box{{4, 6}}, 2), "1 lock, 1 put chunk, 2 stat document", "a/c/1"},
	{"write fill value", fixture.Lattice(), func(ctx context.Context, a *zarr.Array) error {
		return zarr.Fill[int32](ctx, a, selection.Box{{0, 3}, {0, 2}}, 0)
	}, "2 delete chunk, 2 stat document", "a/c/0/0 a/c/1/0"},
	{"write fill value and read it", fixture.Every(8, 4), func(ctx context.Context, a *zarr.Array) error {
		if err := zarr.Fill[int32](ctx, a, selection.Box{{4, 8}}, 0); err != nil {
			return err
		}
		return readPart(nil)(ctx, a)
	}, "1 delete chunk, 2 get chunk, 3 stat document", "a/c/0 a/c/1"},
	{"append to edges", fixture.Lattice(), fixture.AppendRows(8), republish + ", 2 put chunk", "a/c/3/0 a/c/3/1"},
	{"append behind full chunks", fixture.Every(8, 4), fixture.AppendRows(6), republish + ", 2 put chunk", "a/c/2 a/c/3"},
	{"append behind a part of a chunk", fixture.Every(6, 4), fixture.AppendRows(4), "1 get chunk, 2 get document, 1 get journal, 1 lock, 1 publish chunk, 1 publish document, 1 put chunk", "a/c/1 a/c/2"},
	{"append nothing", fixture.Lattice(), fixture.AppendRows(0), "1 get document, 1 get journal, 1 lock", ""},
	{"grow by two chunks", fixture.Every(8, 4), fixture.ResizeTo(16), "2 delete chunk, " + republish, "a/c/2 a/c/3"},
	{"shrink by a chunk", fixture.Every(8, 4), fixture.ResizeTo(4), "1 delete chunk, " + republish, "a/c/1"},
	{"shrink within a chunk", fixture.Every(8, 4), fixture.ResizeTo(7), "1 get chunk, 2 get document, 1 get journal, 1 lock, 1 publish chunk, 1 publish document, 1 stat chunk", "a/c/1"},
	{"keep the shape", fixture.Every(8, 4), fixture.ResizeTo(8), "1 get document, 1 get journal, 1 lock", ""},
	{"read a chunk", fixture.Lattice(), func(ctx context.Context, a *zarr.Array) error {
		_, err := a.ReadChunk(ctx, []int64{1, 0})
		return err
	}, "1 get chunk", "a/c/1/0"},
	{"change attributes", fixture.Lattice(), func(ctx context.Context, a *zarr.Array) error {
		return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"a":1}`), nil })
	}, republish, ""},
}

func readPart(sel selection.Selection) func(context.Context, *zarr.Array) error {
	return func(ctx context.Context, a *zarr.Array) error {
		_, err := zarr.Read[int32](ctx, a, sel)
		return err
	}
}

// TestOperations counts the requests of calls, which make only those that they need.
func TestOperations(t *testing.T) {
	for _, tt := range operationCases {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := t.Context(), fixture.NewTally()
			a, err := zarr.At(s, "a").CreateArray(ctx, tt.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := fixture.WritePart(nil, int32(fixture.Count(tt.spec.Shape)))(ctx, a); err != nil {
				t.Fatal(err)
			}
			s.Taken()
			if err := tt.run(ctx, a); err != nil {
				t.Fatal(err)
			}
			if ops, chunks, _ := s.Taken(); ops != tt.ops || chunks != tt.chunks {
				t.Errorf("%s (%s)\nwant %s (%s)", ops, chunks, tt.ops, tt.chunks)
			}
		})
	}
}

// TestOpenOperations opens an array and reads one element: one document and one chunk.
func TestOpenOperations(t *testing.T) {
	ctx, s := t.Context(), fixture.NewTally()
	a, err := zarr.At(s, "g/a").CreateArray(ctx, fixture.Lattice(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := fixture.WritePart(nil, 24)(ctx, a); err != nil {
		t.Fatal(err)
	}
	s.Taken()
	if a, err = zarr.At(s, "g/a").OpenArray(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if ops, _, _ := s.Taken(); ops != "1 get document" {
		t.Errorf("opening: %s", ops)
	}
	if err := readPart(selection.Box{{0, 1}, {0, 1}})(ctx, a); err != nil {
		t.Fatal(err)
	}
	if ops, chunks, _ := s.Taken(); ops != "1 get chunk" || chunks != "g/a/c/0/0" {
		t.Errorf("reading an element: %s (%s)", ops, chunks)
	}
	s.Young = true
	if err := readPart(selection.Box{{0, 1}, {0, 1}})(ctx, a); err != nil {
		t.Fatal(err)
	}
	if ops, _, _ := s.Taken(); ops != "1 get chunk, 1 stat document" {
		t.Errorf("reading an element of a chunk that may be newer than the open document: %s", ops)
	}
}

// TestAppendCost appends to arrays of ten chunks and of a million. Both make the same
// requests, and their bytes differ only by digits in the document.
func TestAppendCost(t *testing.T) {
	type cost struct {
		ops     string
		written int
	}
	appendTo := func(edges int64) cost {
		ctx, s := t.Context(), fixture.NewTally()
		spec := zarr.Spec{
			Shape: []int64{3 * edges}, Type: dtype.Int32, Codecs: fixture.Plain(),
			Chunks: []grid.Cut{grid.Runs(grid.Run{Length: 3, Count: edges})},
		}
		a, err := zarr.At(s, "a").CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Taken()
		if err := fixture.AppendRows(5)(ctx, a); err != nil {
			t.Fatal(err)
		}
		ops, chunks, written := s.Taken()
		if want := fmt.Sprintf("a/c/%d", edges); chunks != want {
			t.Errorf("requests for chunks %s, want %s", chunks, want)
		}
		return cost{ops, written}
	}
	few, many := appendTo(10), appendTo(1_000_000)
	if want := republish + ", 1 put chunk"; few.ops != want || many.ops != want {
		t.Errorf("ten chunks: %s\na million: %s\nwant %s", few.ops, many.ops, want)
	}
	t.Logf("%d and %d bytes are written", few.written, many.written)
	if more := many.written - few.written; more < 0 || more > 2*len("00000") {
		t.Errorf("%d bytes are written to ten chunks, %d to a million", few.written, many.written)
	}
}
