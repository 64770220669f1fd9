// SPDX-License-Identifier: Apache-2.0

package growth

import (
	"context"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
)

// TestLateAppend stops an append in a store without locks after it has read the document.
// Meanwhile another program appends, and writes the fill value to what it has appended.
// The late append does not store its chunk there, where none has to be stored.
func TestLateAppend(t *testing.T) {
	fill := func(a *zarr.Array) error {
		return zarr.Write(context.Background(), a, selection.BoxOf(grid.Box{{Start: 6, Stop: 8}}), []int32{0, 0})
	}
	for name, write := range map[string]func(a *zarr.Array) error{
		"write": fill,
		"halves": func(a *zarr.Array) error {
			for i := int64(6); i < 8; i++ {
				if err := zarr.Write(context.Background(), a, selection.BoxOf(grid.Box{{Start: i, Stop: i + 1}}), []int32{0}); err != nil {
					return err
				}
			}
			return nil
		},
		"fill": func(a *zarr.Array) error {
			return zarr.Fill(context.Background(), a, selection.BoxOf(grid.Box{{Start: 6, Stop: 8}}), int32(0))
		},
		"chunk": func(a *zarr.Array) error { return a.WriteChunk(context.Background(), []int64{3}, make([]byte, 8)) },
	} {
		t.Run(name, func(t *testing.T) {
			inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
			other, err := zarr.At(&fixture.Program{ObjectStore: inner}, "a").CreateArray(t.Context(), fixture.Every(6, 2), nil)
			if err == nil {
				err = zarr.Write(t.Context(), other, nil, fixture.Numbers(1, 6))
			}
			if err != nil {
				t.Fatal(err)
			}
			armed := false
			s := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
				if !armed || op.String() != "Get a/zarr.json" {
					return err
				}
				armed = false
				if err = zarr.Append(context.Background(), other, 0, fixture.Numbers(7, 4), nil); err == nil {
					err = write(other)
				}
				return err
			}})
			late, err := zarr.At(&fixture.Program{ObjectStore: s}, "a").OpenArray(t.Context(), &zarr.Options{Write: true})
			if err != nil {
				t.Fatal(err)
			}
			armed = true
			if err := zarr.Append(t.Context(), late, 0, []int32{77, 78}, nil); err != nil {
				t.Fatal(err)
			}
			got, err := zarr.Read[int32](t.Context(), late, nil)
			if want := []int32{1, 2, 3, 4, 5, 6, 0, 0, 9, 10, 77, 78}; err != nil || !slices.Equal(got.Data, want) {
				t.Errorf("%v (%v), want %v", got.Data, err, want)
			}
		})
	}
}

// TestSparse writes fill values where nothing is stored, in a store without locks. No
// chunk is stored for them.
func TestSparse(t *testing.T) {
	s := stepping.Conditional(memtest.New(), stepping.Hooks{})
	a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Every(16, 2), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, append([]int32{1}, make([]int32, 15)...))
	}
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 3, Stop: 4}}), []int32{0})
	}
	if err != nil {
		t.Fatal(err)
	}
	stored := 0
	for range a.StoredChunks(t.Context()) {
		stored++
	}
	if stored != 1 {
		t.Errorf("%d chunks are stored, want 1", stored)
	}
}
