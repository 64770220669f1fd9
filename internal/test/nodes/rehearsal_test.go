// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/rehearsal"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/observed"
)

// TestRehearsal makes changes in a dry run. They are reported, later steps see them, and
// the store does not change.
func TestRehearsal(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "new.zarr")
	opt := zarr.Options{Write: true, Rehearsal: new(rehearsal.Ledger)}
	spec := zarr.Spec{Shape: []int64{4, 3}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(4), grid.Every(3)}}
	a, err := zarr.CreateArray(ctx, dir+"/deep/a", spec, &zarr.CreateOptions{Options: opt})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(zarr.Write(ctx, a, nil, make([]int32, 12)), zarr.Append(ctx, a, 0, []int32{1, 2, 3}, nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](ctx, a, nil); err != nil || len(got.Data) != 15 || got.Data[14] != 3 {
		t.Errorf("reading in the rehearsal: %v (%v)", got.Data, err)
	}
	var keys []string
	for _, c := range opt.Rehearsal.Changes() {
		if c.Before != -1 {
			t.Errorf("%v is reported as existing before", c)
		}
		keys = append(keys, c.Key.String())
	}
	want := []string{"deep/a/c/1/0", "deep/a/zarr.json", "deep/zarr.json", "zarr.json"} // the first chunk is fill value
	if len(keys) != len(want) || keys[0] != want[0] || keys[3] != want[3] {
		t.Errorf("the changes are %q, want %q", keys, want)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the dry run created the store (%v)", err)
	}
}

// TestRehearsalOfPart writes a part of a large chunk in a dry run, which does not read
// the rest of the chunk.
func TestRehearsalOfPart(t *testing.T) {
	ctx := t.Context()
	const n = 4 << 20
	for name, c := range map[string]struct {
		spec     zarr.Spec
		part     int64 // number of elements to write
		readable bool
	}{
		"encoded":     {zarr.Spec{Codecs: []metadata.Extension{codec.Bytes("little"), codec.ZstdChecksum(1, false)}}, 9, false},
		"not encoded": {zarr.Spec{Codecs: []metadata.Extension{codec.Bytes("little")}}, 9, false},
		"shard":       {zarr.Spec{InnerChunks: grid.Chunks(64 << 10)}, 9, true},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := filestore.Open(t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(files)
			counter := new(observe.Counter)
			h := zarr.At(observed.New(files, counter), "")
			c.spec.Shape, c.spec.Type, c.spec.Chunks = []int64{2 * n}, dtype.Uint8, grid.Chunks(n)
			a, err := h.At("").CreateArray(ctx, c.spec, nil)
			if err != nil {
				t.Fatal(err)
			}
			values := make([]uint8, n)
			state := uint32(1)
			for i := range values { // no codec compresses them
				state = state*1664525 + 1013904223
				values[i] = uint8(state >> 24)
			}
			if err := zarr.Write(ctx, a, selection.Basic{selection.Span(0, n)}, values); err != nil {
				t.Fatal(err)
			}
			ledger, told := new(rehearsal.Ledger), new(observe.Counter)
			dry, err := h.At("").OpenArray(ctx, &zarr.Options{Write: true, Rehearsal: ledger, Observer: told})
			if err != nil {
				t.Fatal(err)
			}
			before := counter.Stats()
			sel := selection.Basic{selection.Span(100, 100+c.part)}
			if err := zarr.Write(ctx, dry, sel, make([]uint8, c.part)); err != nil {
				t.Fatal(err)
			}
			if got := counter.Stats().Sub(before).Read.Bytes; got > 256<<10 {
				t.Errorf("%d bytes were read", got)
			}
			changes := ledger.Changes()
			if len(changes) != 1 || changes[0].Key.String() != "c/0" || changes[0].After < n || changes[0].Before < n {
				t.Errorf("the changes are %v", changes)
			}
			unread := ledger.Unread()
			if c.readable != (unread.Values == 0) || !c.readable && (unread.Values != 1 || unread.Stored != changes[0].Before) {
				t.Errorf("not read: %+v", unread)
			}
			got, err := zarr.Read[uint8](ctx, dry, selection.Basic{selection.Span(99, 102)})
			if c.readable && (err != nil || got.Data[0] != values[99] || got.Data[1] != 0) || !c.readable && err == nil {
				t.Errorf("read %v (%v)", got.Data, err)
			}
			// A missing chunk is requested once and then written as usual.
			if err := zarr.Write(ctx, dry, selection.Basic{selection.Span(n, n+1)}, []uint8{1}); err != nil {
				t.Fatal(err)
			}
			if changes := ledger.Changes(); len(changes) != 2 || changes[1].Before != -1 {
				t.Errorf("the changes are %v", changes)
			}
		})
	}
}
