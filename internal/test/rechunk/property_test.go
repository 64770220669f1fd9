// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// drawCut draws how an axis is cut. Lengths are multiples of unit.
func drawCut(t *rapid.T, extent, unit int64) grid.Cut {
	if rapid.Bool().Draw(t, "regular") {
		return grid.Every(unit * rapid.Int64Range(1, 5).Draw(t, "step"))
	}
	var lengths []int64
	for sum := int64(0); sum < extent || len(lengths) == 0; sum += lengths[len(lengths)-1] {
		n := unit * rapid.Int64Range(1, 4).Draw(t, "edge")
		if unit == 1 && rapid.Bool().Draw(t, "exact") {
			n = max(1, min(n, extent-sum))
		}
		lengths = append(lengths, n)
	}
	return grid.Edges(lengths...)
}

// drawn is a drawn array and what it holds.
type drawn struct {
	store memtest.Store
	array *zarr.Array
	shape []int64
	inner []int64 // nil without shards
	data  []int32
}

func drawArray(t *rapid.T) *drawn {
	d := &drawn{store: memtest.New()}
	rank := rapid.IntRange(0, 3).Draw(t, "rank")
	shards := rank > 0 && rapid.Bool().Draw(t, "shards")
	spec := zarr.Spec{Type: dtype.Int32, Codecs: fixture.Plain(), FillValue: zarr.FillJSON("7")}
	if rapid.Bool().Draw(t, "zstd") {
		spec.Codecs = append(spec.Codecs, codec.ZstdChecksum(0, false))
	}
	spec.KeyEncoding = rapid.SampledFrom([]metadata.KeyEncoding{metadata.DefaultSlash, metadata.V2Dot, metadata.V2Slash, metadata.DefaultDot}).Draw(t, "keys")
	n := int64(1)
	spec.Chunks = []grid.Cut{}
	for range rank {
		extent, unit := rapid.Int64Range(0, 12).Draw(t, "extent"), int64(1)
		if shards {
			unit = rapid.Int64Range(1, 3).Draw(t, "inner")
			d.inner = append(d.inner, unit)
			spec.InnerChunks = append(spec.InnerChunks, grid.Every(unit))
		}
		d.shape = append(d.shape, extent)
		spec.Chunks = append(spec.Chunks, drawCut(t, extent, unit))
		n *= extent
	}
	spec.Shape = d.shape
	a, err := zarr.At(d.store, "a").CreateArray(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.array, d.data = a, slices.Repeat([]int32{7}, int(n))
	for range rapid.IntRange(0, 3).Draw(t, "writes") {
		d.write(t, a)
	}
	return d
}

// write writes a random box of random values.
func (d *drawn) write(t *rapid.T, a *zarr.Array) {
	box, n := make(grid.Box, len(d.shape)), int64(1)
	for i, extent := range d.shape {
		if extent == 0 {
			return
		}
		from := rapid.Int64Range(0, extent-1).Draw(t, "from")
		box[i] = grid.Interval{Start: from, Stop: rapid.Int64Range(from+1, extent).Draw(t, "to")}
		n *= box[i].Len()
	}
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	values := make([]int32, n)
	for i := range values {
		values[i] = r.Int32N(9)
	}
	if err := zarr.Write(t.Context(), a, selection.BoxOf(box), values); err != nil {
		t.Fatal(err)
	}
	k := 0
	for at := range box.Indices() {
		d.data[d.offset(at)] = values[k]
		k++
	}
}

func (d *drawn) offset(at []int64) int64 {
	n := int64(0)
	for i, k := range at {
		n = n*d.shape[i] + k
	}
	return n
}

// check reads the whole array and compares it.
func (d *drawn) check(t *rapid.T, a *zarr.Array, who string) {
	got, err := zarr.Read[int32](t.Context(), a, nil)
	if err != nil || !slices.Equal(got.Data, d.data) {
		t.Fatalf("%s reads %v (%v), want %v", who, got.Data, err, d.data)
	}
}

// drawRequest draws a rechunk.
func (d *drawn) drawRequest(t *rapid.T) rechunk.Request {
	rank := len(d.shape)
	unit := func(i int) int64 {
		if d.inner != nil {
			return d.inner[i]
		}
		return 1
	}
	kind := rapid.IntRange(0, 3).Draw(t, "request")
	if rank > 0 && rapid.IntRange(0, 3).Draw(t, "spare the tail") == 0 {
		// The chunks of the tail are clones.
		return rechunk.Compaction{Axis: rapid.IntRange(0, rank-1).Draw(t, "axis"), UpTo: 9, LeaveTail: 1}
	}
	switch {
	case kind == 0 && rank > 0:
		c := rechunk.Compaction{Axis: rapid.IntRange(0, rank-1).Draw(t, "axis")}
		switch n := rapid.Int64Range(1, 9).Draw(t, "goal"); rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			c.UpTo = n
		case 1:
			c.Bytes = 16 * n
		default:
			c.Multiple = n
		}
		c.LeaveTail = rapid.Int64Range(0, 2).Draw(t, "tail")
		return c
	case kind == 1:
		var chunk []int64
		for i := range rank {
			chunk = append(chunk, unit(i)*rapid.Int64Range(1, 5).Draw(t, "edge"))
		}
		return rechunk.Regularization{Chunk: chunk}
	case kind == 2 && rank > 0:
		r := rechunk.Rechunking{}
		inner := make([]int64, rank)
		for i := range rank {
			inner[i] = rapid.Int64Range(1, 3).Draw(t, "new inner")
			if d.inner != nil && rapid.Bool().Draw(t, "same inner") {
				inner[i] = d.inner[i]
			}
			r.Inner = append(r.Inner, grid.Every(inner[i]))
			r.Chunks = append(r.Chunks, drawCut(t, d.shape[i], inner[i]))
		}
		d.inner = inner
		return r
	case d.inner != nil && rapid.Bool().Draw(t, "unpack"):
		d.inner = nil
		return rechunk.Rechunking{Unpack: true}
	}
	r := rechunk.Rechunking{Chunks: rechunk.Cuts{}}
	for i := range rank {
		r.Chunks = append(r.Chunks, drawCut(t, d.shape[i], unit(i)))
	}
	return r
}

// TestAnyRequest rechunks drawn arrays in drawn ways. The values stay, for the array, for
// one that is opened afterwards, and for one that was opened before.
func TestAnyRequest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawArray(rt)
		before, err := zarr.At(d.store, "a").OpenArray(rt.Context(), nil)
		if err != nil {
			rt.Fatal(err)
		}
		r := d.drawRequest(rt)
		report, err := rechunk.Do(rt.Context(), d.array, r, &rechunk.Options{Memory: 1 << 12})
		if errors.Is(err, zarr.ErrLimit) {
			report, err = rechunk.Do(rt.Context(), d.array, r, nil) // a chunk exceeded the memory
		}
		if err != nil {
			rt.Fatalf("%+v: %v", r, err)
		}
		d.check(rt, d.array, "the array")
		d.check(rt, before, "a reader that opened before")
		after, err := zarr.At(d.store, "a").OpenArray(rt.Context(), &zarr.Options{Write: true})
		if err != nil {
			rt.Fatal(err)
		}
		d.check(rt, after, "a reader that opened after")
		for f, err := range after.CheckShards(rt.Context(), nil) {
			rt.Fatalf("%v (%v)", f, err)
		}
		d.write(rt, after)
		d.check(rt, after, "a writer")
		tally.Encoded += report.Staged.Encoded
		tally.Cloned += report.Staged.Cloned
		tally.Arranged += report.Staged.Arranged
		again, err := rechunk.Do(rt.Context(), d.array, r, nil)
		if err != nil || again.Changed {
			rt.Fatalf("a second time: %+v (%v)", again, err)
		}
	})
}

var tally rechunk.Counts

// TestTally runs after TestAnyRequest, which has to have staged chunks in every way if it
// has staged many.
func TestTally(t *testing.T) {
	if tally.Encoded+tally.Cloned+tally.Arranged > 200 && min(tally.Encoded, tally.Cloned, tally.Arranged) == 0 {
		t.Errorf("a way of staging was never taken: %+v", tally)
	}
}
