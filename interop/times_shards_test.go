// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// pipelines are the two codec pipelines of zarr-python.
var pipelines = []struct{ what, name string }{{"", ""}, {", zarr-python's fused pipeline", "FusedCodecPipeline"}}

// shards measures sharded arrays.
func (b *timeTable) shards() {
	for _, n := range []int64{16, 32, 64} {
		b.shard(n)
	}
	b.innerReads()
}

// shard measures one shard of n³ inner chunks of 4³ bytes without compression, in memory.
func (b *timeTable) shard(n int64) {
	path, data := b.oneShard(4 * n)
	what := fmt.Sprintf("a shard of %d³ inner chunks of 4³ uint8, memory: ", n)
	slow := max(1, 5*16/int(n)/2) // rounds of zarr-python; the largest takes half a minute
	h := b.loaded(path)
	a := b.openIn(h)
	b.pipes(what+"write all", best(10, 1, func() { check(b.T, a.WriteBytes(b.Context(), nil, data)) }),
		timeRequest{Op: "write_shard", Path: path, Rounds: slow})
	got := make([]byte, len(data))
	b.pipes(what+"read all", best(10, 1, func() { check(b.T, a.ReadBytes(b.Context(), nil, got)) }),
		timeRequest{Op: "read_shard", Path: path, Rounds: slow})
	if !slices.Equal(got, data) {
		b.Errorf("the elements read differ from those written")
	}
	values := slices.Repeat([]byte{1}, 64)
	write := func(a *zarr.Array) {
		for i := range values {
			values[i] = values[i]%200 + 1
		}
		check(b.T, a.WriteBytes(b.Context(), selection.Box{{4, 8}, {8, 12}, {4, 8}}, values))
	}
	one := make([]byte, 1)
	read := func(a *zarr.Array) {
		check(b.T, a.ReadBytes(b.Context(), selection.Basic{selection.At(5), selection.At(9), selection.At(6)}, one))
	}
	b.coldAndWarm(what+"write one inner chunk", h, write, timeRequest{Op: "write_inner", Path: path, Rounds: slow + 1})
	b.coldAndWarm(what+"read one element", h, read, timeRequest{Op: "read_element", Path: path, Rounds: 5})
}

// coldAndWarm measures a call on a newly opened array, and on an array that has made the
// call before.
func (b *timeTable) coldAndWarm(what string, h *zarr.Location, do func(*zarr.Array), r timeRequest) {
	var a *zarr.Array
	cold := bestAfter(20, 1, func() { a = b.openIn(h) }, func() { do(a) })
	r.Cold = true
	b.pipes(what+", just opened", cold, r)
	r.Cold = false
	b.pipes(what+", again", best(20, 10, func() { do(a) }), r)
}

// pipes adds a line for each pipeline of zarr-python.
func (b *timeTable) pipes(what string, varve float64, r timeRequest) {
	r.Memory, r.Times = true, max(1, r.Times)
	for _, p := range pipelines {
		r.Pipeline = p.name
		b.seconds(what+p.what, varve, b.zarr(r))
	}
}

func (b *timeTable) openIn(h *zarr.Location) *zarr.Array {
	a, err := h.At("").OpenArray(b.Context(), &zarr.Options{Write: true})
	check(b.T, err)
	return a
}

// oneShard creates a cube of non-zero bytes in one shard.
func (b *timeTable) oneShard(n int64) (path string, data []byte) {
	path, data = b.fresh(), make([]byte, n*n*n)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range data {
		data[i] = byte(1 + r.IntN(255))
	}
	whole, inner := grid.Chunks(n, n, n), grid.Chunks(4, 4, 4)
	a, err := zarr.CreateArray(b.Context(), path, zarr.Spec{
		Shape: []int64{n, n, n}, Type: dtype.Uint8, Chunks: whole, InnerChunks: inner,
		Codecs: []metadata.Extension{codec.Bytes("")},
	}, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
	check(b.T, err)
	check(b.T, a.WriteBytes(b.Context(), nil, data))
	check(b.T, a.Close())
	return path, data
}

// innerReads reads random inner chunks from shards of 4³ inner chunks in a directory, in
// several goroutines or threads.
func (b *timeTable) innerReads() {
	const shape, shard, inner, reads = 512, 256, 64, 256
	path := b.cube(shape, shard, inner)
	numbers := make([]int64, reads)
	r := rand.New(rand.NewPCG(7, 8))
	for i := range numbers {
		numbers[i] = r.Int64N(shape * shape * shape / (inner * inner * inner))
	}
	file := b.file(numbers)
	for _, readers := range []int{1, 2, 4, 8} {
		var a *zarr.Array
		varve := bestAfter(5, 1, func() { a = b.open(path, store.Flush) }, func() {
			b.readInner(a, numbers, readers)
			check(b.T, a.Close())
		})
		what := fmt.Sprintf("256 of 512 inner chunks of 64³ uint16, zstd, in shards of 256³, local; readers: %d", readers)
		for _, p := range pipelines {
			python := b.zarr(timeRequest{Op: "read_inner", Path: path, Rounds: 3, Times: 1, Readers: readers, Indices: file, Pipeline: p.name})
			b.seconds(what+p.what, varve, python)
		}
	}
}

// readInner reads inner chunks of 64³, given by their numbers in C order.
func (b *timeTable) readInner(a *zarr.Array, numbers []int64, readers int) {
	var all sync.WaitGroup
	var next atomic.Int64
	n := a.Shape()[0] / 64
	for range readers {
		all.Go(func() {
			data := make([]uint16, 64*64*64)
			for {
				i := next.Add(1) - 1
				if i >= int64(len(numbers)) {
					return
				}
				k, box := numbers[i], selection.Box{}
				for _, at := range []int64{k / n / n, k / n % n, k % n} {
					box = append(box, [2]int64{64 * at, 64*at + 64})
				}
				if err := zarr.ReadInto(b.Context(), a, box, data); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// cube creates an array of smooth values with noise.
func (b *timeTable) cube(shape, shard, inner int64) string {
	path := b.fresh()
	cuts := func(n int64) []grid.Cut { return grid.Chunks(n, n, n) }
	a, err := zarr.CreateArray(b.Context(), path, zarr.Spec{
		Shape: []int64{shape, shape, shape}, Type: dtype.Uint16, Chunks: cuts(shard), InnerChunks: cuts(inner),
		Codecs: []metadata.Extension{codec.Bytes("little"), codec.ZstdChecksum(0, false)},
	}, &zarr.CreateOptions{Options: zarr.Options{Durability: store.Flush}})
	check(b.T, err)
	data := make([]uint16, shape*shape*shape)
	r := rand.New(rand.NewPCG(9, 10))
	for i := range data {
		x, y, z := float64(int64(i)/shape/shape), float64(int64(i)/shape%shape), float64(int64(i)%shape)
		data[i] = uint16(3000+1000*math.Sin(x/40)*math.Sin(y/50)+500*math.Sin(z/30)) + uint16(r.IntN(16))
	}
	check(b.T, zarr.Write(b.Context(), a, nil, data))
	check(b.T, a.Close())
	return path
}
