// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// set is a store that programs work on.
type set struct {
	name   string
	spec   zarr.Spec
	values values // nil where no chunk is stored and all elements are 7
	empty  bool   // no chunk is stored whatever the values are
	group  func(ctx context.Context, dir string) error
}

var _ = codec.CRC32C // registers the codec of the indexes of shards

func raw() []metadata.Extension    { return []metadata.Extension{codec.Bytes("little")} }
func packed() []metadata.Extension { return append(raw(), codec.ZstdChecksum(0, false)) }

// every cuts axes into chunks of one length each.
func every(lengths ...int64) (cuts []grid.Cut) {
	for _, n := range lengths {
		cuts = append(cuts, grid.Every(n))
	}
	return cuts
}

// thrice cuts three axes at the same edges, rotated by one for each, so that chunks are
// not cubes.
func thrice(edges []int64) (cuts []grid.Cut) {
	for k := range 3 {
		k %= len(edges)
		cuts = append(cuts, grid.Edges(append(append([]int64(nil), edges[k:]...), edges[:k]...)...))
	}
	return cuts
}

// cubeOf is an array of uint16 like that of zarr_benchmarks.
func cubeOf(z size, name string, chunks, inner []grid.Cut, codecs []metadata.Extension) set {
	n := z.cube
	return set{name: name, values: uint16s, spec: zarr.Spec{
		Shape: []int64{n, n, n}, Type: dtype.Uint16, Chunks: chunks, InnerChunks: inner, Codecs: codecs,
	}}
}

// allSets returns the data sets by name.
func allSets(z size) map[string]set {
	c, in := z.chunk(), z.inside()
	regular, inner := every(c, c, c), every(in, in, in)
	all := []set{
		cubeOf(z, "raw", regular, nil, raw()),
		cubeOf(z, "zstd", regular, nil, packed()),
		cubeOf(z, "shard", regular, inner, packed()),
		cubeOf(z, "shard-small", regular, every(in/2, in/2, in/2), packed()),
		cubeOf(z, "raw-uneven", thrice(z.scaled(200, 312, 240, 272)), nil, raw()),
		cubeOf(z, "zstd-uneven", thrice(z.scaled(200, 312, 240, 272)), nil, packed()),
		cubeOf(z, "zstd-strong", thrice(z.scaled(640, 128, 128, 64, 32, 16, 8, 8)), nil, packed()),
		cubeOf(z, "raw-strong", thrice(z.scaled(640, 128, 128, 64, 32, 16, 8, 8)), nil, raw()),
		cubeOf(z, "shard-uneven", thrice(z.scaled(128, 384, 192, 320)), inner, packed()),
	}
	return byName(append(append(all, smallSets(z)...), otherSets(z)...))
}

// smallSets have many small chunks.
func smallSets(z size) []set {
	cells := []int64{64 * z.cells[0], 80 * z.cells[1]}
	tiny := 4 * z.tiny
	return []set{
		{name: "cells-raw", values: uint16s, spec: zarr.Spec{Shape: cells, Type: dtype.Uint16, Chunks: every(64, 80), Codecs: raw()}},
		{name: "cells-zstd", values: uint16s, spec: zarr.Spec{Shape: cells, Type: dtype.Uint16, Chunks: every(64, 80), Codecs: packed()}},
		{name: "tiny", values: uint8s, spec: zarr.Spec{
			Shape: []int64{tiny, tiny, tiny}, Type: dtype.Uint8, Chunks: every(tiny, tiny, tiny), InnerChunks: every(4, 4, 4),
			Codecs: []metadata.Extension{codec.Bytes("")},
		}},
	}
}

func otherSets(z size) []set {
	n, c := z.cube, z.chunk()
	lz4 := codec.Blosc(codec.BloscOptions{Compressor: "lz4", Level: 5, Shuffle: "shuffle", Element: 4})
	archive := zarr.Spec{Shape: []int64{3650, 90, 180}, Type: dtype.Float32, Codecs: raw()}
	regular, listed := archive, archive
	regular.Chunks = every(365, 90, 180)
	listed.Chunks = []grid.Cut{grid.Runs(grid.Run{Length: 365, Count: 10}), grid.Every(90), grid.Every(180)}
	runs := opened
	runs.Shape, runs.Chunks = []int64{10 * z.run, 10}, []grid.Cut{grid.Runs(grid.Run{Length: 10, Count: z.run}), grid.Every(10)}
	return []set{
		{name: "blosc", values: float32s, spec: zarr.Spec{
			Shape: []int64{n, n, n / 2}, Type: dtype.Float32, Chunks: every(c, c, c/2), Codecs: append(raw(), lz4),
		}},
		{name: "days-regular", values: days, spec: regular},
		{name: "days-listed", values: days, spec: listed},
		{name: "open-run", spec: runs},
		listedOf("open-edges", z.edges),
		{name: "group", group: func(ctx context.Context, dir string) error { return makeGroup(ctx, dir, z.arrays, false) }},
		{name: "group-consolidated", group: func(ctx context.Context, dir string) error { return makeGroup(ctx, dir, z.arrays, true) }},
	}
}

// opened is the common part of arrays that are only opened and store no chunks.
var opened = zarr.Spec{Type: dtype.Uint8, FillValue: zarr.FillJSON("7"), Codecs: packed()}

// listedOf has n edges of 1 to 9 along its first axis, in an order that neither runs nor
// periods shorten.
func listedOf(name string, n int64) set {
	edges, extent := make([]int64, n), int64(0)
	for i := range edges {
		edges[i] = 5 + int64(8*noise(uint64(i)))
		extent += edges[i]
	}
	spec := opened
	spec.Shape, spec.Chunks = []int64{extent, 10}, []grid.Cut{grid.Edges(edges...), grid.Every(10)}
	return set{name: name, spec: spec}
}

func byName(all []set) map[string]set {
	m := map[string]set{}
	for _, s := range all {
		m[s.name] = s
	}
	return m
}

// makeGroup creates a group of many arrays without chunks.
func makeGroup(ctx context.Context, dir string, n int, consolidated bool) error {
	opt := &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}}
	g, err := zarr.CreateGroup(ctx, dir, nil, opt)
	if err != nil {
		return err
	}
	nodes := map[string]zarr.NodeSpec{}
	for i := range n {
		nodes[fmt.Sprintf("a%05d", i)] = zarr.Spec{
			Shape: []int64{int64(i), 10}, Type: dtype.Float32, Chunks: every(100, 10), DimensionNames: []string{"time", "x"},
			Attributes: map[string]string{"units": "K", "long_name": fmt.Sprint("variable number ", i)}, Codecs: packed(),
		}
	}
	if _, err := g.At("").Create(ctx, nodes, opt); err != nil {
		return err
	}
	if consolidated {
		return g.Consolidate(ctx)
	}
	return nil
}

// make creates the store of a set unless it exists, and returns its folder.
func (s set) make(ctx context.Context, folder string) (string, error) {
	dir := filepath.Join(folder, s.name+".zarr")
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	fmt.Fprintln(os.Stderr, "bench: making", dir)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", err
	}
	// The set gets its name when it is complete, so an interrupted run leaves no half
	// set.
	part := filepath.Join(folder, "unfinished.zarr")
	if err := os.RemoveAll(part); err != nil {
		return "", err
	}
	if err := s.write(ctx, part); err != nil {
		return "", fmt.Errorf("data set %s: %w", s.name, err)
	}
	return dir, os.Rename(part, dir)
}

func (s set) write(ctx context.Context, dir string) error {
	if s.group != nil {
		return s.group(ctx, dir)
	}
	a, err := zarr.CreateArray(ctx, dir, s.spec, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush, StoreFill: true}})
	if err != nil || s.values == nil || s.empty {
		return err
	}
	slabs, err := a.Slabs(nil, 512<<20)
	if err != nil {
		return err
	}
	for slab := range slabs {
		begin, end, err := corners(a, slab)
		if err != nil {
			return err
		}
		if err := a.WriteBytes(ctx, slab, s.elements(begin, end)); err != nil {
			return err
		}
	}
	return nil
}

// corners returns the first element of a box, and the end after its last.
func corners(a *zarr.Array, sel selection.Selection) (begin, end []int64, err error) {
	r, err := a.Select(sel)
	if err != nil {
		return nil, nil, err
	}
	for _, side := range r.Bounds() {
		begin, end = append(begin, side.Start), append(end, side.Stop)
	}
	return begin, end, nil
}

// elements returns the values of a box.
func (s set) elements(begin, end []int64) []byte {
	n := int64(s.spec.Type.Size())
	for k := range begin {
		n *= end[k] - begin[k]
	}
	f, data := s.values, make([]byte, n)
	if f == nil {
		f = sevens
	}
	f(begin, end, data)
	return data
}

// boxes returns the chunks of a set, or its inner chunks.
func (s set) boxes(inner bool) ([][]int64, error) {
	g, err := grid.New(s.spec.Shape, s.spec.Chunks...)
	if err != nil {
		return nil, err
	}
	if inner {
		if g, err = grid.New(s.spec.Shape, s.spec.InnerChunks...); err != nil {
			return nil, err
		}
	}
	var all [][]int64
	for c := range g.All() {
		box := append([]int64(nil), c.Start...)
		for k := range c.Start {
			box = append(box, c.Start[k]+c.Logical[k])
		}
		all = append(all, box)
	}
	return all, nil
}

// expected returns the checksum of the boxes, with limit bytes of each.
func (s set) expected(boxes [][]int64, limit int64) string {
	sum := protocol.Sum{Limit: limit}
	rank := len(s.spec.Shape)
	for i, box := range boxes {
		sum.Add(i, s.elements(box[:rank], box[rank:]))
	}
	return sum.String()
}

// whole is the box of all elements.
func (s set) whole() []int64 {
	return append(make([]int64, len(s.spec.Shape)), s.spec.Shape...)
}

func (s set) String() string { return strings.TrimSuffix(s.name, ".zarr") }
