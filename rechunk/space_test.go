// SPDX-License-Identifier: Apache-2.0

package rechunk_test

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// small is a store with little room.
type small struct {
	*memstore.Store
	room store.Room
}

func (s *small) Room(store.Path) (store.Room, error) { return s.room, nil }

// TestSpace rechunks arrays in stores with as much room as is needed in any case. One
// byte less is refused, before anything is stored.
func TestSpace(t *testing.T) {
	across := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(64), grid.Every(1)}}
	plain := []metadata.Extension{codec.Bytes("little")}
	packed := rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(64), grid.Every(64)}, Inner: rechunk.Cuts{grid.Every(1), grid.Every(64)}}
	for name, c := range map[string]struct {
		request rechunk.Request
		into    bool
		least   int64 // bytes
		hint    string
	}{
		"through scratch": {request: across, least: 4 * 64 * 64, hint: "rechunk.Vacuum"},
		"packed":          {request: packed, least: 4 * 64 * 64, hint: "rechunk.Vacuum"},
		"a copy":          {request: rechunk.Rechunking{}, into: true, least: 4 * 64 * 64, hint: "another place"},
		"encoded":         {request: rechunk.Compaction{UpTo: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &small{Store: memstore.New()}
			spec := zarr.Spec{Type: dtype.Int32, Shape: []int64{64, 64}, Chunks: []grid.Cut{grid.Every(1), grid.Every(64)}, Codecs: plain}
			a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
			if err == nil {
				err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64*64))
			}
			if err != nil {
				t.Fatal(err)
			}
			opt := rechunk.Options{Memory: 16 * 4 * 70}.PlanStages(1)
			if c.into {
				opt.Into = zarr.At(s, "b")
			}
			try := func(room store.Room) error {
				s.room = room
				before := slices.Sorted(keysOf(t, s))
				plan, err := rechunk.NewPlan(t.Context(), a, c.request, opt)
				if err != nil {
					t.Fatal(err)
				}
				if room.Plain && plan.Space.Least != c.least || plan.Space.Free != room.Free || plan.Space.Likely < plan.Space.Least {
					t.Errorf("%+v, want at least %d", plan.Space, c.least)
				}
				_, err = rechunk.Do(t.Context(), a, c.request, opt)
				if err != nil && !slices.Equal(slices.Sorted(keysOf(t, s)), before) {
					t.Errorf("left over: %q", slices.Sorted(keysOf(t, s)))
				}
				return err
			}
			if c.least > 0 {
				err := try(store.Room{Free: c.least - 1, Plain: true})
				if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), c.hint) || zarr.KindOf(err) != zarr.KindNoSpace {
					t.Errorf("too little room: %v", err)
				}
				if _, err := rechunk.Stage(t.Context(), a, c.request, rechunk.Share{}, opt); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("a share with too little room: %v", err)
				}
			}
			if err := try(store.Room{Free: c.least, Plain: true}); err != nil {
				t.Error(err)
			}
		})
	}
	// A store that may compress or share is never said to be too small.
	s := &small{Store: memstore.New()}
	spec := zarr.Spec{Type: dtype.Int32, Shape: []int64{64, 64}, Chunks: []grid.Cut{grid.Every(1), grid.Every(64)}}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 64*64))
	}
	if err == nil {
		_, err = rechunk.Do(t.Context(), a, across, rechunk.Options{Memory: 16 * 4 * 70}.PlanStages(1))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestUnpackedBytes predicts the bytes that chunks take from shards.
func TestUnpackedBytes(t *testing.T) {
	s := memstore.New()
	spec := zarr.Spec{Type: dtype.Int32, Shape: []int64{60}, Chunks: []grid.Cut{grid.Every(30)}, InnerChunks: []grid.Cut{grid.Every(5)}}
	a, err := zarr.At(s, "a").CreateArray(t.Context(), spec, nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, nil, fixture.Numbers(1, 60))
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, err := rechunk.NewPlan(t.Context(), a, rechunk.Rechunking{Unpack: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if plan.Arranged != 12 || plan.BytesCopied != plan.BytesStored || plan.BytesArranged != plan.BytesStored {
		t.Errorf("%+v, but %d bytes are stored", plan.Counts, plan.BytesStored)
	}
}
