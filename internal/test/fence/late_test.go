// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/selection"
)

// TestLateAppend stops an append of several chunks after it has stored the first of them.
// Meanwhile another program appends, and writes the fill value to what it has appended.
// The late append does not store its other chunks there.
func TestLateAppend(t *testing.T) {
	inner := stepping.Conditional(memtest.New(), stepping.Hooks{})
	spec := fixture.Every(4, 2)
	spec.Shape, spec.Chunks = []int64{4, 4}, grid.Chunks(2, 2)
	other, err := zarr.At(inner, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), other, nil, fixture.Numbers(1, 16))
	}
	if err != nil {
		t.Fatal(err)
	}
	armed := false
	s := stepping.Conditional(inner, stepping.Hooks{After: func(op stepping.Op, err error) error {
		if !armed || op.String() != "PutIf a/c/2/0" {
			return err
		}
		armed = false
		return errors.Join(err, zarr.Append(context.Background(), other, 0, fixture.Numbers(101, 8), nil),
			zarr.Write(context.Background(), other, selection.BoxOf(grid.Box{{Start: 4, Stop: 6}, {Start: 0, Stop: 4}}), make([]int32, 8)))
	}})
	// The other name keeps the locks of the two programs apart.
	name := programPrefix + "late"
	view := &process{direct: s, stepped: s, name: name}
	late, err := zarr.At(view, name+"/a").OpenArray(t.Context(), &zarr.Options{Write: true, Concurrency: 1})
	if err != nil {
		t.Fatal(err)
	}
	armed = true
	if err := zarr.Append(t.Context(), late, 0, fixture.Numbers(901, 8), nil); err != nil || armed {
		t.Fatal(err, armed)
	}
	got, err := zarr.Read[int32](t.Context(), late, nil)
	want := slices.Concat(fixture.Numbers(1, 16), make([]int32, 8), fixture.Numbers(901, 8))
	if err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v (%v), want %v", got.Data, err, want)
	}
}
