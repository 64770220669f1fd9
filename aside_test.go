package zarr_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store/memory"
	"varve.dev/zarr/store/storetest"
)

// TestShrinkWhatIsAside shrinks an array whose last chunk a program that died has put aside in a shorter shape, and lets it grow again: no
// old value comes back.
func TestShrinkWhatIsAside(t *testing.T) {
	for name, inner := range map[string][]grid.Cut{"chunks": nil, "shards": {grid.Every(2)}} {
		ctx, m := t.Context(), memory.New()
		spec := edges(8, 8)
		spec.InnerChunks = inner
		a, err := zarr.On(m).CreateArray(ctx, "a", spec, nil)
		if err == nil {
			err = zarr.Write(ctx, a, nil, numbers(1, 16))
		}
		if err != nil {
			t.Fatal(err)
		}
		dead, died := false, errors.New("it has died")
		dying := storetest.Conditional(m, storetest.Hooks{
			Before: func(context.Context, storetest.Op) error {
				if dead {
					return died
				}
				return nil
			},
			After: func(op storetest.Op, err error) error {
				if op.Key.Base() == "zarr.json" && op.Name == "PutIf" && err == nil {
					b, openErr := zarr.On(m).OpenArray(ctx, "a", nil)
					dead = openErr == nil && b.Shape()[0] == 14
				}
				return err
			},
		})
		b := must(zarr.On(dying).OpenArray(ctx, "a", &zarr.Options{Write: true}))
		if err := b.Resize(ctx, []int64{14}, &zarr.ResizeOptions{Shrink: grid.TrimExact}); !errors.Is(err, zarr.ErrIncomplete) {
			t.Fatalf("%s: %v, want a change that is published and not finished", name, err)
		}
		for _, n := range []int64{11, 14} {
			if err := a.Resize(ctx, []int64{n}, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		want := append(numbers(1, 11), 0, 0, 0)
		if got, err := zarr.Read[int32](ctx, a, nil); err != nil || !slices.Equal(got.Data, want) {
			t.Errorf("%s: %v (%v), want %v", name, got.Data, err, want)
		}
	}
}
