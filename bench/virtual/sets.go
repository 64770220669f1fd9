// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/scan"
)

// set is an array that is stored as Zarr, and as one file with a manifest.
type set struct {
	name   string
	shape  []int64
	chunk  []int64
	packed bool // with zstd
	part   selection.Box
	from   string // what is read, for the table
}

// sets are what is read from this machine.
func sets() []set {
	large, small := []int64{256, 256, 1024}, []int64{1024, 64, 1024}
	return []set{
		{"raw-large", large, []int64{16, 128, 128}, false, nil, "256 chunks of 1 MiB, not compressed"},
		{"zstd-large", large, []int64{16, 128, 128}, true, nil, "256 chunks of 1 MiB, zstd"},
		{"raw-small", small, []int64{16, 16, 16}, false, nil, "16,384 chunks of 16 KiB, not compressed"},
		{"zstd-small", small, []int64{16, 16, 16}, true, nil, "16,384 chunks of 16 KiB, zstd"},
		{"raw-plane", large, []int64{16, 128, 128}, false, selection.Box{{0, 256}, {0, 256}, {500, 501}}, "a plane across 32 chunks of 1 MiB, not compressed"},
	}
}

// spec returns the array.
func (s *set) spec() zarr.Spec {
	spec := zarr.Spec{Shape: s.shape, Type: dtype.Float32, Codecs: []metadata.Extension{codec.Bytes("little")}}
	for _, n := range s.chunk {
		spec.Chunks = append(spec.Chunks, grid.Every(n))
	}
	if s.packed {
		spec.Codecs = append(spec.Codecs, codec.ZstdChecksum(0, false))
	}
	return spec
}

// elements returns how many elements are read, and the selection.
func (s *set) elements() (n int64, sel selection.Selection) {
	n = 1
	if s.part == nil {
		for _, x := range s.shape {
			n *= x
		}
		return n, nil
	}
	for _, x := range s.part {
		n *= x[1] - x[0]
	}
	return n, s.part
}

// places of a set, in its folder.
const (
	stored = "stored.zarr" // the chunks as Zarr
	whole  = "whole.vz"    // they are in one file, one after the other
	each   = "each.vz"     // the manifest refers to the chunks of the first
)

// make stores the array in all forms.
func (s *set) make(ctx context.Context, dir string) error {
	a, err := zarr.CreateArray(ctx, filepath.Join(dir, stored), s.spec(), nil)
	if err != nil {
		return err
	}
	defer a.Close()
	n := int64(1)
	for _, x := range s.shape {
		n *= x
	}
	values, random := make([]byte, 0, 4*n), rand.New(rand.NewPCG(1, 2))
	for range n { // numbers of a few digits, which zstd makes smaller by half
		values = binary.NativeEndian.AppendUint32(values, uint32(random.IntN(1<<14))<<8|0x3f<<24)
	}
	if err := a.WriteBytes(ctx, nil, values); err != nil {
		return err
	}
	if err := s.gather(ctx, dir, a.Grid()); err != nil {
		return err
	}
	return refer(ctx, dir)
}

// gather writes the chunks into one file, as other formats have them, and a manifest of
// it.
func (s *set) gather(ctx context.Context, dir string, g *grid.Grid) error {
	spec := s.spec()
	found := &scan.Array{Path: "a", Shape: s.shape, Chunk: s.chunk, Type: spec.Type, Codecs: spec.Codecs}
	var file bytes.Buffer
	file.WriteString("a header") // so that chunks do not begin with a page
	count := g.Chunks()
	total, _ := g.NumChunks()
	for k := range total {
		i, j, l := k/(count[1]*count[2]), k/count[2]%count[1], k%count[2]
		data, err := os.ReadFile(filepath.Join(dir, stored, "c", fmt.Sprint(i), fmt.Sprint(j), fmt.Sprint(l)))
		if err != nil {
			return err
		}
		found.Chunks = append(found.Chunks, scan.Chunk{Number: k, Offset: int64(file.Len()), Length: int64(len(data))})
		file.Write(data)
	}
	if err := os.WriteFile(filepath.Join(dir, "whole.bin"), file.Bytes(), 0o666); err != nil {
		return err
	}
	at, path, err := store.OpenLocation(ctx, dir, store.Create)
	if err != nil {
		return err
	}
	info, err := store.Stat(ctx, at, store.MustKey("whole.bin"))
	if err != nil {
		return err
	}
	source := virtual.Describe("../whole.bin", info, "file")
	m, _, err := virtual.New(source, &scan.Dataset{Groups: []scan.Group{{}}, Arrays: []*scan.Array{found}})
	if err == nil {
		path, err = path.Join(whole)
	}
	if err != nil {
		return err
	}
	return m.Create(ctx, at, path)
}

// refer makes a manifest of the Zarr array.
func refer(ctx context.Context, dir string) error {
	j, err := virtual.NewJoined(virtual.Join{})
	if err != nil {
		return err
	}
	c, err := virtual.NewCollector(filepath.Join(dir, each))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Collect(ctx, j, []string{filepath.Join(dir, stored)}); err != nil {
		return err
	}
	m, err := j.Finish()
	if err != nil {
		return err
	}
	at, path, err := store.OpenLocation(ctx, dir, store.Create)
	if err == nil {
		path, err = path.Join(each)
	}
	if err != nil {
		return err
	}
	return m.Create(ctx, at, path)
}
