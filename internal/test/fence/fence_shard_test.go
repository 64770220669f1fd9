// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/store"
)

// splicing is a store without locks that splices and patches. A change that grows an
// array must not use either.
type splicing struct {
	stepping.ObjectStore
	memory memtest.Store
}

func (s splicing) Can(op store.Op) bool { return inMemory(op) || s.ObjectStore.Can(op) }

func inMemory(op store.Op) bool { return op == store.OpSplice || op == store.OpPatch }

func (s splicing) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if inMemory(c.Op) {
		return s.memory.Write(ctx, c, d)
	}
	return s.ObjectStore.Write(ctx, c, d)
}

// TestFencedShards grows an array within a shard that is long enough to be spliced.
func TestFencedShards(t *testing.T) {
	const was = 1<<17 + 10
	for _, strategy := range []codec.Strategy{codec.Rewrite, codec.Append, codec.InPlace} {
		for name, grow := range map[string]func(context.Context, *zarr.Array) error{
			"append": func(ctx context.Context, a *zarr.Array) error {
				return zarr.Append(ctx, a, 0, make([]int32, 1000), nil)
			},
			"resize": func(ctx context.Context, a *zarr.Array) error { return a.Resize(ctx, []int64{was + 1000}, nil) },
		} {
			t.Run(fmt.Sprint(name, strategy), func(t *testing.T) {
				ctx, m := t.Context(), memtest.New()
				spec := zarr.Spec{
					Shape: []int64{was}, Type: dtype.Int32, Codecs: fixture.Plain(),
					Chunks: grid.Chunks(1 << 18), InnerChunks: grid.Chunks(1 << 14),
				}
				opt := &zarr.CreateOptions{Options: zarr.Options{Shards: zarr.Shards{Strategy: strategy}}}
				a, err := zarr.At(splicing{stepping.Conditional(m, stepping.Hooks{}), m}, "a").CreateArray(ctx, spec, opt)
				if err == nil {
					err = zarr.Write(ctx, a, nil, fixture.Numbers(1, was))
				}
				if err == nil {
					err = grow(ctx, a)
				}
				if err != nil {
					t.Fatal(err)
				}
				want := append(fixture.Numbers(1, was), make([]int32, 1000)...)
				if got := fixture.Must(zarr.Read[int32](ctx, a, nil)); !slices.Equal(got.Data, want) {
					t.Error("the elements read differ from those written")
				}
			})
		}
	}
}
