// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestCrowd checks an array that 64 readers, 16 writers and one appending writer use at
// once. Each writer fills whole chunks with one number, so every chunk that a reader
// sees holds one number only.
func TestCrowd(t *testing.T) {
	stores := map[string]store.Store{"memory": memstore.New(), "local": fixture.OpenStore(t, t.TempDir())}
	for name, s := range stores {
		t.Run(name, func(t *testing.T) { crowd(t, s) })
	}
}

func crowd(t *testing.T, s store.Store) {
	const readers, writers, turns = 64, 16, 20
	chunks := []int64{3, 50, 1, 7, 20, 64, 5, 10}
	opt := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	a := fixture.Must(zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(chunks...), opt))
	begins := []int64{0}
	for _, n := range chunks {
		begins = append(begins, begins[len(begins)-1]+n)
	}
	box := func(r *rand.Rand) selection.Box {
		k := r.IntN(len(chunks))
		return selection.Box{{begins[k], begins[k+1]}}
	}
	var all errgroup.Group
	for i := range writers {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		all.Go(func() error {
			for turn := range turns {
				b := box(r)
				n := b[0][1] - b[0][0]
				if err := zarr.Write(t.Context(), a, b, repeated(int32(1+i*turns+turn), n)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range readers {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		all.Go(func() error {
			for range turns {
				b := box(r)
				got, err := zarr.Read[int32](t.Context(), a, b)
				if err == nil {
					err = uniform(got.Data, b)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	all.Go(func() error {
		for range turns {
			if err := zarr.Append(t.Context(), a, 0, repeated(-1, 4), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err := all.Wait(); err != nil {
		t.Fatal(err)
	}
	if got, want := a.Shape()[0], begins[len(chunks)]+4*turns; got != want {
		t.Errorf("the array has %d elements, want %d", got, want)
	}
}

// repeated returns n copies of v.
func repeated(v int32, n int64) []int32 {
	return slices.Repeat([]int32{v}, int(n))
}

func uniform(data []int32, b selection.Box) error {
	for _, v := range data {
		if v != data[0] {
			return fmt.Errorf("chunk %v holds %d and %d", b, data[0], v)
		}
	}
	return nil
}
