package zarr_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/rehearsal"
)

// TestRehearsal checks changes that are only tried: they are told, later steps see them, and nothing is there in the end.
func TestRehearsal(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "new.zarr")
	opt := zarr.Options{Write: true, Rehearsal: new(rehearsal.Ledger)}
	spec := zarr.Spec{Shape: []int64{4, 3}, Type: dtype.Of[int32](), Chunks: []grid.Cut{grid.Edges(4), grid.Every(3)}}
	a, err := zarr.CreateArray(ctx, dir+"/deep/a", spec, &zarr.CreateOptions{Options: opt})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(zarr.Write(ctx, a, nil, make([]int32, 12)), zarr.Append(ctx, a, 0, []int32{1, 2, 3}, nil)); err != nil {
		t.Fatal(err)
	}
	if got, err := zarr.Read[int32](ctx, a, nil); err != nil || len(got.Data) != 15 || got.Data[14] != 3 {
		t.Errorf("the rehearsal has %v (%v)", got.Data, err)
	}
	var keys []string
	for _, c := range opt.Rehearsal.Changes() {
		if c.Was != -1 {
			t.Errorf("%v is said to have been there", c)
		}
		keys = append(keys, c.Key.String())
	}
	want := []string{"deep/a/c/1/0", "deep/a/zarr.json", "deep/zarr.json", "zarr.json"} // the first chunk is fill value
	if len(keys) != len(want) || keys[0] != want[0] || keys[3] != want[3] {
		t.Errorf("the changes are %q, want %q", keys, want)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the store is there (%v)", err)
	}
}
