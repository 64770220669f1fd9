// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"path/filepath"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/store"
)

// small creates an array of 6×4×2 float32 with uneven edges, whose elements count up.
func small(t *testing.T, dir string) []byte {
	t.Helper()
	a, err := zarr.CreateArray(t.Context(), dir, zarr.Spec{
		Shape: []int64{6, 4, 2}, Type: dtype.Float32, Chunks: []grid.Cut{grid.Edges(1, 3, 2), grid.Every(3), grid.Every(2)},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]float32, 48)
	for i := range values {
		values[i] = float32(i)
	}
	if err := zarr.Write(t.Context(), a, nil, values); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 4*48)
	if err := a.ReadBytes(t.Context(), nil, data); err != nil {
		t.Fatal(err)
	}
	return data
}

// sumOf is the checksum of items.
func sumOf(items ...[]byte) string {
	var s protocol.Sum
	for i, data := range items {
		s.Add(i, data)
	}
	return s.String()
}

func TestWorks(t *testing.T) {
	dir := t.TempDir()
	store, target := filepath.Join(dir, "a.zarr"), filepath.Join(dir, "b.zarr")
	data := small(t, store)
	small(t, target)
	regions, points := filepath.Join(dir, "regions"), filepath.Join(dir, "points")
	if err := protocol.WriteNumbers(regions, [][]int64{{0, 0, 0, 1, 4, 2}, {1, 0, 0, 6, 4, 2}}); err != nil {
		t.Fatal(err)
	}
	if err := protocol.WriteNumbers(points, [][]int64{{5, 3, 1}, {0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		request protocol.Request
		want    string
		bytes   int64
	}{
		{protocol.Request{Work: protocol.ReadAll, Store: store}, sumOf(data), 192},
		{protocol.Request{Work: protocol.ReadRegions, Store: store, Regions: regions, Rank: 3, Concurrency: 2}, sumOf(data[:32], data[32:]), 192},
		{protocol.Request{Work: protocol.ReadPoints, Store: store, Points: points, Rank: 3}, sumOf(append(append([]byte(nil), data[188:]...), data[4:8]...)), 8},
		{protocol.Request{Work: protocol.Open, Store: store}, sumOf(data[188:]), 4},
		{protocol.Request{Work: protocol.Copy, Store: store, Target: target, Regions: regions, Rank: 3}, "", 192},
		{protocol.Request{Work: protocol.Append, Target: target, Count: 2}, "", 64},
	} {
		a, err := works[c.request.Work](t.Context(), c.request)
		if err != nil || a.Checksum != c.want || a.Bytes != c.bytes || a.Seconds <= 0 {
			t.Errorf("%s: %+v, %v, want checksum %s of %d bytes", c.request.Work, a, err, c.want, c.bytes)
		}
	}
	b, err := zarr.OpenArray(t.Context(), target, nil)
	if err != nil || b.Shape()[0] != 8 {
		t.Errorf("the target after two appends: %v, %v", b.Shape(), err)
	}
}

// TestOptions checks that nothing of a request that options are made of gets lost.
func TestOptions(t *testing.T) {
	o := options(protocol.Request{Concurrency: 3, Budget: 4, IndexCache: -1, Gap: 5, Sync: true})
	if o.Concurrency != 3 || o.Budget != 4 || o.Shards.IndexCache != -1 || o.Shards.Gap != 5 || o.Durability == store.Flush {
		t.Errorf("%+v", o)
	}
	if o := options(protocol.Request{Concurrency: 3, Regions: "file"}); o.Concurrency != 0 || o.Durability != store.Flush {
		t.Errorf("of regions: %+v", o)
	}
}

func TestMembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "g.zarr")
	if _, err := zarr.CreateGroup(t.Context(), dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	small(t, filepath.Join(dir, "a"))
	small(t, filepath.Join(dir, "b"))
	a, err := members(t.Context(), protocol.Request{Store: dir})
	if want := sumOf(binary.LittleEndian.AppendUint64(nil, 24)); err != nil || a.Checksum != want {
		t.Errorf("%+v, %v, want %s", a, err, want)
	}
}
