// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestMeanwhile changes an array between the first task of a rechunk and its
// publishing, in ways that are not chunks and elements alone.
func TestMeanwhile(t *testing.T) {
	ctx := t.Context()
	for name, c := range map[string]struct {
		change func(a *zarr.Array) error
		refuse string  // the error of the rechunk has these words; "" if it succeeds
		want   []int32 // elements afterwards
		chunks int64   // afterwards
	}{
		"shrink": {func(a *zarr.Array) error { return a.Resize(ctx, []int64{3}, nil) }, "", []int32{1, 2, 3}, 2},
		"attributes": {
			func(a *zarr.Array) error {
				return a.UpdateAttributes(ctx, func([]byte) ([]byte, error) { return []byte(`{"units": "K"}`), nil })
			}, "", fixture.Numbers(1, 6), 3,
		},
		"a reservation": {func(a *zarr.Array) error {
			_, err := a.Reserve(ctx, 0, 2)
			return err
		}, "reserv", fixture.Numbers(1, 6), 6},
		"another array": {func(a *zarr.Array) error {
			if err := zarr.At(a.Location().Store(), "a").Delete(ctx, &zarr.Options{Write: true}); err != nil {
				return err
			}
			b, err := zarr.At(a.Location().Store(), "a").CreateArray(ctx, fixture.Edges(1, 1), &zarr.CreateOptions{Overwrite: true}) // chunks are still staged
			if err == nil {
				err = zarr.Write(ctx, b, nil, []int32{8, 9})
			}
			return err
		}, "", []int32{8, 9}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := memstore.New()
			a, err := zarr.At(s, "a").CreateArray(ctx, fixture.Edges(1, 1, 1, 1, 1, 1), nil)
			if err == nil {
				err = zarr.Write(ctx, a, nil, fixture.Numbers(1, 6))
			}
			if err != nil {
				t.Fatal(err)
			}
			var once sync.Once
			opt := &rechunk.Options{Progress: func(rechunk.Progress) {
				once.Do(func() {
					other, err := zarr.At(s, "a").OpenArray(context.WithoutCancel(ctx), &zarr.Options{Write: true})
					if err == nil {
						err = c.change(other)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}}
			_, err = rechunk.Do(ctx, a, rechunk.Compaction{UpTo: 2}, opt)
			if c.refuse == "" && err != nil && !errors.Is(err, zarr.ErrConflict) || c.refuse != "" && (err == nil || !strings.Contains(err.Error(), c.refuse)) {
				t.Errorf("%v, want %q", err, c.refuse)
			}
			after, err := zarr.At(s, "a").OpenArray(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := zarr.Read[int32](ctx, after, selection.BoxOf(grid.Box{{Stop: int64(len(c.want))}}))
			if err != nil || !slices.Equal(got.Data, c.want) {
				t.Errorf("%v (%v), want %v", got.Data, err, c.want)
			}
			if n, _ := after.Grid().NumChunks(); n != c.chunks {
				t.Errorf("%d chunks, want %d", n, c.chunks)
			}
		})
	}
}
