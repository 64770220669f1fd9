// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/bits"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/metadata"
)

// series is the same work at growing values of one number. It shows how the cost grows.
type series struct {
	id, title string
	across    axis // the number that grows
	up        axis // the cost
	points    []point
}

// point is the work at one value of a series.
type point struct {
	x    float64
	per  float64 // divides the seconds
	data set
	row  row
}

// reach is the range of the numbers of all series.
type reach struct {
	counts  []int64 // chunks of an array
	cell    int64   // bytes of each of them
	appends int
	listed  []int64 // edges of an axis
	cuts    []int64 // bytes of a chunk
	cut     int64   // bytes of the array that is cut into them
	arrays  []int64 // bytes of an array
	chunk   int64   // bytes of its chunks
	shard   int64   // bytes of its shards
	inner   int64   // bytes of the inner chunks
	flying  []int   // concurrent regions
	flown   int64   // bytes of the array from which they are read
}

const (
	kib = int64(1) << 10
	mib = int64(1) << 20
	gib = int64(1) << 30
)

// reaches has the reach of each size, by its name. Numbers of bytes are powers of two.
var reaches = map[string]reach{
	"small": {
		counts: []int64{100, 1000, 10_000, 100_000}, cell: 16 * kib, appends: 20, listed: []int64{100, 1000, 10_000, 100_000},
		cuts: []int64{16 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib}, cut: 256 * mib,
		arrays: []int64{4 * mib, 16 * mib, 64 * mib, 256 * mib, gib}, chunk: mib, shard: 4 * mib, inner: 64 * kib,
		flying: []int{1, 2, 4, 8, 32, 128}, flown: 128 * mib,
	},
	"full": {
		counts: []int64{100, 1000, 10_000, 100_000}, cell: 16 * kib, appends: 100, listed: []int64{100, 1000, 10_000, 100_000, 1_000_000},
		cuts: []int64{16 * kib, 64 * kib, 256 * kib, mib, 4 * mib, 16 * mib, 64 * mib}, cut: gib,
		arrays: []int64{4 * mib, 16 * mib, 64 * mib, 256 * mib, gib, 2 * gib}, chunk: mib, shard: 4 * mib, inner: 64 * kib,
		flying: []int{1, 2, 4, 8, 16, 32, 64, 128}, flown: 256 * mib,
	},
}

// growers are the default candidates of the series, few enough to tell their curves
// apart.
var growers = []string{"varve", "zarrs", "tensorstore", "zarr-python-fused", "limit"}

// The axes.
var (
	chunksStored = axis{"chunks of the array", counted}
	edgesListed  = axis{"edges of the first axis", counted}
	chunkBytes   = axis{"bytes of a chunk", sized}
	arrayBytes   = axis{"bytes of the array", sized}
	regionsFlown = axis{"chunks that are read at a time", doubled}
	perChunk     = axis{"time a chunk", timed}
	perOpening   = axis{"time", timed}
	perAppend    = axis{"time an append", timed}
	throughput   = axis{"GB/s", rated}
)

// allSeries returns all series. Those about the same number are adjacent and may share
// data sets.
func allSeries(z reach) []series {
	return slices.Concat(z.counting(), []series{z.listing()}, z.cutting(), z.lengthening(), z.flights())
}

// counting varies the number of chunks of one size.
func (z reach) counting() []series {
	read := series{id: "chunk-count/read", across: chunksStored, up: perChunk,
		title: fmt.Sprintf("Read all of an array in raw chunks of %s", bytesOf(z.cell))}
	open := series{id: "chunk-count/open", across: chunksStored, up: perOpening,
		title: fmt.Sprintf("Open an array in raw chunks of %s and read its last element", bytesOf(z.cell))}
	more := series{id: "chunk-count/append", across: chunksStored, up: perAppend,
		title: fmt.Sprintf("Open an array in raw chunks of %s and append %d of them, one by one", bytesOf(z.cell), z.appends)}
	for _, n := range z.counts {
		x, cells, empty := float64(n), cellsOf(n, z.cell), emptyOf(n, z.cell)
		read.points = append(read.points, point{x, x, cells, row{request: protocol.Request{Work: protocol.ReadAll}}})
		open.points = append(open.points, point{x, 1, cells, row{request: protocol.Request{Work: protocol.Open}}})
		more.points = append(more.points, point{x, float64(z.appends), empty, row{
			seeded: true, request: protocol.Request{Work: protocol.Append, Count: z.appends},
		}})
	}
	return []series{read, open, more}
}

// listing varies the number of listed edges that neither runs nor periods shorten.
func (z reach) listing() series {
	s := series{id: "chunk-count/listed", across: edgesListed, up: perOpening,
		title: "Open an array whose edges are listed and read its last element"}
	for _, n := range z.listed {
		s.points = append(s.points, point{float64(n), 1, listedOf(fmt.Sprint("listed-", n), n), row{request: protocol.Request{Work: protocol.Open}}})
	}
	return s
}

// cutting varies the chunk size of one array.
func (z reach) cutting() (all []series) {
	for _, c := range []struct {
		name   string
		codecs []metadata.Extension
	}{{"raw", raw()}, {"zstd", packed()}} {
		s := series{id: "chunk-size/" + c.name, across: chunkBytes, up: throughput,
			title: fmt.Sprintf("Read all of %s, %s", bytesOf(z.cut), c.name)}
		for _, n := range z.cuts {
			name := fmt.Sprintf("cut-%s-%d", c.name, n)
			s.points = append(s.points, whole(float64(n), blockOf(name, z.cut, n, 0, c.codecs)))
		}
		all = append(all, s)
	}
	return all
}

// lengthening varies the size of an array with chunks of one size.
func (z reach) lengthening() []series {
	plain := series{id: "array-size/raw", across: arrayBytes, up: throughput,
		title: fmt.Sprintf("Read all of an array in raw chunks of %s", bytesOf(z.chunk))}
	shard := series{id: "array-size/shard", across: arrayBytes, up: throughput,
		title: fmt.Sprintf("Read all of an array in shards of %s with inner chunks of %s, zstd", bytesOf(z.shard), bytesOf(z.inner))}
	for _, n := range z.arrays {
		plain.points = append(plain.points, whole(float64(n), blockOf(fmt.Sprint("array-raw-", n), n, z.chunk, 0, raw())))
		shard.points = append(shard.points, whole(float64(n), blockOf(fmt.Sprint("array-shard-", n), n, z.shard, z.inner, packed())))
	}
	return []series{plain, shard}
}

// whole is a point at which the whole array is read.
func whole(x float64, data set) point {
	return point{x, 1, data, row{request: protocol.Request{Work: protocol.ReadAll}}}
}

// flights vary the number of chunks in flight, from local and far stores.
func (z reach) flights() []series {
	data := blockOf("flown", z.flown, z.chunk, 0, packed())
	what := fmt.Sprintf("Read the %d chunks of %s, zstd", z.flown/z.chunk, bytesOf(z.flown))
	local := series{id: "concurrency/local", across: regionsFlown, up: perOpening, title: what}
	remote := series{id: "concurrency/far", across: regionsFlown, up: perOpening, title: what + fmt.Sprintf(", from a store %s away", duration(latency.Seconds()))}
	for _, n := range z.flying {
		request := protocol.Request{Work: protocol.ReadRegions, Concurrency: n}
		local.points = append(local.points, point{float64(n), 1, data, row{regions: "chunks", request: request}})
		remote.points = append(remote.points, point{float64(n), 1, data, row{regions: "chunks", remote: true, request: request}})
	}
	return []series{local, remote}
}

// cellsOf is a matrix of n chunks; n is a power of ten.
func cellsOf(n, bytes int64) set {
	down := int64(1)
	for 100*down*down <= n {
		down *= 10
	}
	side := near(bytes/2, 2)
	return set{name: fmt.Sprint("cells-", n), values: uint16s, spec: zarr.Spec{
		Shape: []int64{side[0] * down, side[1] * (n / down)}, Type: dtype.Uint16, Chunks: every(side...), Codecs: raw(),
	}}
}

// emptyOf has n chunks along one axis, none of them stored, so that planes can be
// appended to many copies of it.
func emptyOf(n, bytes int64) set {
	side := near(bytes/4, 2)
	return set{name: fmt.Sprint("empty-", n), values: since(n), empty: true, spec: zarr.Spec{
		Shape: []int64{n, side[0], side[1]}, Type: dtype.Float32, Chunks: every(1, side[0], side[1]), Codecs: raw(),
	}}
}

// blockOf is an array of uint16 in chunks that are nearly cubes. inner is 0 without
// shards. All sizes are in bytes.
func blockOf(name string, bytes, chunk, inner int64, codecs []metadata.Extension) set {
	spec := zarr.Spec{Shape: near(bytes/2, 3), Type: dtype.Uint16, Chunks: every(near(chunk/2, 3)...), Codecs: codecs}
	if inner > 0 {
		spec.InnerChunks = every(near(inner/2, 3)...)
	}
	return set{name: name, values: uint16s, spec: spec}
}

// near returns the sides of a box of n elements, a power of two, that differ at most by a
// factor of two.
func near(n int64, rank int) []int64 {
	e, sides := bits.Len64(uint64(n))-1, make([]int64, rank)
	for k := range sides {
		sides[k] = 1 << ((e + k) / rank)
	}
	return sides
}
