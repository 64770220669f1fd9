// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestFillValueAndKeys gives an array another fill value and other keys, in place and in
// a new array. The elements stay, also those of chunks that were not stored.
func TestFillValueAndKeys(t *testing.T) {
	keys := metadata.V2Slash
	for name, request := range map[string]rechunk.Rechunking{
		"fill":          {FillValue: zarr.FillJSON("3")},
		"keys":          {Keys: &keys},
		"fill and keys": {FillValue: zarr.FillJSON("-1"), Keys: &keys},
		"all":           {FillValue: zarr.FillJSON("1"), Keys: &keys, Chunks: rechunk.Cuts{grid.Every(2)}},
	} {
		for _, into := range []string{"", "b"} {
			s := memstore.New()
			a, err := zarr.At(s, "a").CreateArray(t.Context(), fixture.Edges(1, 2, 3, 4), nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, selection.BoxOf(grid.Box{{Start: 1, Stop: 5}}), []int32{1, 3, 3, -1})
			}
			if err != nil {
				t.Fatal(err)
			}
			opt, path := &rechunk.Options{}, "a"
			if into != "" {
				opt.Into, path = zarr.At(s, into), into
			}
			report, err := rechunk.Do(t.Context(), a, request, opt)
			if err != nil || !report.Changed {
				t.Errorf("%s into %q: %+v (%v)", name, into, report, err)
				continue
			}
			b, err := zarr.At(s, path).OpenArray(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := []int32{0, 1, 3, 3, -1, 0, 0, 0, 0, 0}
			if got, err := zarr.Read[int32](t.Context(), b, nil); err != nil || !slices.Equal(got.Data, want) {
				t.Errorf("%s into %q: %v (%v), want %v", name, into, got.Data, err, want)
			}
			if got := b.FillValue().JSON(); request.FillValue.JSON() != "" && got != request.FillValue.JSON() {
				t.Errorf("%s into %q: fill value %s", name, into, got)
			}
			if got := b.Spec().KeyEncoding; request.Keys != nil && got != keys {
				t.Errorf("%s into %q: keys %v", name, into, got)
			}
			if again, err := rechunk.Do(t.Context(), b, request, nil); err == nil && again.Changed {
				t.Errorf("%s into %q: changed again", name, into)
			}
		}
	}
	a, err := zarr.At(memstore.New(), "a").CreateArray(t.Context(), fixture.Edges(1, 2), nil)
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, rechunk.Rechunking{FillValue: zarr.FillJSON(`"x"`)}, nil)
	}
	if !errors.Is(err, zarr.ErrInvalidArgument) {
		t.Errorf("a text as the fill value: %v", err)
	}
}

// TestCompactions merges chunks along two axes at once. A second time changes nothing.
func TestCompactions(t *testing.T) {
	s := memstore.New()
	spec := fixture.Plane()
	spec.Shape, spec.Chunks = []int64{6, 6}, []grid.Cut{grid.Edges(1, 2, 3), grid.Every(1)}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	want := fixture.Numbers(1, 36)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, want)
	}
	if err != nil {
		t.Fatal(err)
	}
	request := rechunk.Compactions{{Axis: 0, UpTo: 3}, {Axis: 1, Bytes: 3 * 2 * 4}}
	if report, err := rechunk.Do(t.Context(), a, request, nil); err != nil || !report.Changed {
		t.Fatalf("%+v (%v)", report, err)
	}
	if got := a.Grid().Chunks(); !slices.Equal(got, []int64{2, 3}) {
		t.Errorf("%v chunks", got)
	}
	if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, want) {
		t.Errorf("%v (%v)", got.Data, err)
	}
	if report, err := rechunk.Do(t.Context(), a, request, nil); err != nil || report.Changed {
		t.Errorf("again: %+v (%v)", report, err)
	}
}

// TestKeysRefused asks for chunk keys that the format does not have, and for keys that
// are in use.
func TestKeysRefused(t *testing.T) {
	s := memstore.New()
	two, err := zarr.At(s, "two").CreateArray(t.Context(), fixture.AsV2(fixture.Every(6, 2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	keys := metadata.DefaultSlash
	if _, err := rechunk.Do(t.Context(), two, rechunk.Rechunking{Keys: &keys}, nil); !errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, rechunk.ErrNoKeys) {
		t.Errorf("keys of format 3 in format 2: %v", err)
	}
	s = memstore.New()
	three, err := zarr.At(s, "three").CreateArray(t.Context(), fixture.Edges(1, 2), nil)
	if err == nil {
		_, err = store.Write(t.Context(), s, store.Put(store.MustKey("three/0"), []byte("of another program")), store.Sync)
	}
	if err != nil {
		t.Fatal(err)
	}
	keys = metadata.V2Slash
	if _, err := rechunk.Do(t.Context(), three, rechunk.Rechunking{Keys: &keys}, nil); !errors.Is(err, rechunk.ErrNoKeys) || !strings.Contains(err.Error(), "leave out the keys") {
		t.Errorf("keys in use: %v", err)
	}
}
