// SPDX-License-Identifier: Apache-2.0

package growth_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// endless returns a context that ends before a call could request every chunk.
func endless(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// empty returns an array in memory without stored chunks.
func empty(t interface {
	Helper()
	Fatal(...any)
}, fill string, shape []int64, cuts ...grid.Cut) *zarr.Array {
	t.Helper()
	spec := zarr.Spec{Shape: shape, Type: dtype.Int32, Chunks: cuts, FillValue: zarr.FillJSON(fill)}
	a, err := zarr.At(memtest.New(), "").CreateArray(context.Background(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// set writes one element.
func set(t interface {
	Helper()
	Fatal(...any)
}, a *zarr.Array, value int32, index ...int64) {
	t.Helper()
	at := make(selection.Basic, len(index))
	for i, n := range index {
		at[i] = selection.At(n)
	}
	if err := zarr.Fill(context.Background(), a, at, value); err != nil {
		t.Fatal(err)
	}
}

const quintillion = 1_000_000_000_000_000_000

// TestCompareHuge compares arrays with too many chunks to read each of them.
func TestCompareHuge(t *testing.T) {
	ctx := endless(t)
	line := func(fill string, edge int64) *zarr.Array {
		return empty(t, fill, []int64{quintillion}, grid.Every(edge))
	}
	plane := func() *zarr.Array { return empty(t, "0", []int64{1e9, 1e9}, grid.Every(1), grid.Every(1)) }
	for name, c := range map[string]struct {
		a, b *zarr.Array
		sets func(a, b *zarr.Array)
		want []int64
	}{
		"nothing":           {line("0", 1), line("0", 1), nil, nil},
		"two axes":          {plane(), plane(), nil, nil},
		"other fill values": {line("0", 1), line("1", 1), nil, []int64{0}},
		"chunk of all":      {line("0", quintillion), line("0", 1), nil, nil},
		"equal, other grids": {line("0", 1), line("0", 7), func(a, b *zarr.Array) {
			set(t, a, 3, quintillion-1)
			set(t, b, 3, quintillion-1)
		}, nil},
		"the first in order": {line("0", 1), line("0", 7), func(a, b *zarr.Array) {
			set(t, a, 4, quintillion-1)
			set(t, b, 5, 1e17)
			set(t, a, 5, 12)
		}, []int64{12}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.sets != nil {
				c.sets(c.a, c.b)
			}
			d, err := zarr.Compare(ctx, c.a, c.b)
			if err != nil || (d == nil) != (c.want == nil) || d != nil && !slices.Equal(d.Index, c.want) {
				t.Errorf("%v (%v), want %v", d, err, c.want)
			}
		})
	}
}

// TestCompareSparse checks that comparing sparse arrays gives the same result as
// comparing all elements.
func TestCompareSparse(t *testing.T) {
	racing.Skip(t)
	rapid.Check(t, func(t *rapid.T) {
		shape := []int64{40, 39}
		draw := func() *zarr.Array {
			return empty(t, "0", shape, grid.Every(rapid.Int64Range(1, 2).Draw(t, "edge")), grid.Edges(slices.Repeat([]int64{1, 2}, 13)...))
		}
		arrays := []*zarr.Array{draw(), draw()}
		for range rapid.IntRange(0, 8).Draw(t, "writes") {
			i, j := rapid.Int64Range(0, 39).Draw(t, "i"), rapid.Int64Range(0, 38).Draw(t, "j")
			which := rapid.IntRange(0, 6).Draw(t, "which") // usually both
			for k, a := range arrays {
				if which > 1 || which == k {
					set(t, a, int32(rapid.IntRange(0, 1).Draw(t, "value")*k+1), i, j)
				}
			}
		}
		x := fixture.Must(zarr.Read[int32](t.Context(), arrays[0], nil))
		y := fixture.Must(zarr.Read[int32](t.Context(), arrays[1], nil))
		want := "equal"
		for k := range x.Data {
			if x.Data[k] != y.Data[k] {
				want = fmt.Sprint([]int{k / 39, k % 39})
				break
			}
		}
		d, err := zarr.Compare(t.Context(), arrays[0], arrays[1])
		got := "equal"
		if d != nil {
			got = fmt.Sprint(d.Index)
		}
		if err != nil || got != want {
			t.Fatalf("%s (%v), want %s", got, err, want)
		}
	})
}

// unlisted is a store that cannot list.
type unlisted struct{ s memtest.Store }

func (u unlisted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return u.s.Get(ctx, key, q, dst)
}

// TestHugeUnlisted checks that arrays with too many chunks are refused if the store
// cannot list them.
func TestHugeUnlisted(t *testing.T) {
	ctx, s := endless(t), memtest.New()
	spec := zarr.Spec{Shape: []int64{quintillion}, Type: dtype.Int32, Chunks: grid.Chunks(1)}
	if _, err := zarr.At(s, "").CreateArray(ctx, spec, nil); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.At(unlisted{s}, "").OpenArray(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = zarr.Compare(ctx, a, a)
	fixture.Expect(t, err, zarr.ErrLimit, "limit", "cannot list")
	for _, err = range a.StoredChunks(ctx) {
	}
	fixture.Expect(t, err, zarr.ErrLimit, "limit", "requests for each")
	err = nil
	for _, e := range a.CheckShards(ctx, nil) {
		err = errors.Join(err, e)
	}
	fixture.Expect(t, err, zarr.ErrLimit, "limit")
}
