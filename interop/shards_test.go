// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
)

// TestShards lets each implementation write random sharded arrays that both read. Then
// both write parts of them in turns.
func TestShards(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	for n, writer := range []string{"zarr-python", "varve"} {
		t.Run(writer, func(t *testing.T) {
			t.Parallel()
			p := startPython(t)
			for i := range 160 {
				t.Run(strconv.Itoa(i), func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, uint64(i)<<8|uint64(n)))
					writeByTurns(t, p, r, []implementation{p, varve{}}[n], []implementation{varve{}, p}[n])
				})
			}
		})
	}
}

// writeByTurns lets one implementation create and write an array, and then both write
// parts.
func writeByTurns(t *testing.T, p *python, r *rand.Rand, first, second implementation) {
	p.randomPipeline(t, r)
	s := shardedSpec(r, false)
	h := &history{p: p, r: r, spec: s, path: filepath.Join(t.TempDir(), "a.zarr"), want: randomBlock(r, s, s.Shape), done: map[string]int{}}
	first.create(t, h.path, s)
	respell(t, r, h.path, &h.spec)
	first.write(t, h.path, h.want.data)
	h.compare(t)
	for turn := range 3 {
		pick(r, h.writePart, h.writePart, h.writeInner, h.compact)(t, []implementation{second, first}[turn%2])
		h.compare(t)
		h.readPart(t)
	}
}

// randomPipeline selects the default codec pipeline of zarr-python or the faster one.
func (p *python) randomPipeline(t *testing.T, r *rand.Rand) {
	p.ask(t, request{Op: "pipeline", Pipeline: pick(r, "BatchedCodecPipeline", "FusedCodecPipeline")}, nil)
}

// region is a part of an array: start, stop and step along every axis.
type region [][3]int64

func randomRegion(r *rand.Rand, shape []int64) region {
	at := region{}
	for _, n := range shape {
		start := r.Int64N(n + 1)
		at = append(at, [3]int64{start, start + r.Int64N(n-start+1), pick[int64](r, 1, 1, 1, 2, 5)})
	}
	return at
}

func (r region) shape() []int64 {
	shape := []int64{}
	for _, s := range r {
		shape = append(shape, (s[1]-s[0]+s[2]-1)/s[2])
	}
	return shape
}

func (r region) basic() selection.Basic {
	b := selection.Basic{}
	for _, s := range r {
		b = append(b, selection.Stepped(s[0], s[1], s[2]))
	}
	return b
}

// each calls do for the elements of a region, with their bytes in the block and in data.
func (b block) each(at region, size int, do func(here, there []byte), data []byte) {
	shape := at.shape()
	if slices.Contains(shape, 0) {
		return
	}
	index, place, k := make([]int64, len(shape)), make([]int64, len(shape)), 0
	for ok := true; ok; ok = advance(index, shape) {
		for i, s := range at {
			place[i] = s[0] + index[i]*s[2]
		}
		here, _ := b.offset(place)
		do(b.data[here*size:][:size], data[k*size:][:size])
		k++
	}
}

// put writes a region of the block.
func (b block) put(at region, size int, data []byte) {
	b.each(at, size, func(here, there []byte) { copy(here, there) }, data)
}

// get returns the elements of a region.
func (b block) get(at region, size int) []byte {
	data := make([]byte, product(at.shape())*int64(size))
	b.each(at, size, func(here, there []byte) { copy(there, here) }, data)
	return data
}

// randomOptions returns options of Varve for one turn: any strategy and order.
func randomOptions(r *rand.Rand) *zarr.Options {
	return &zarr.Options{
		Write: true, StoreFill: r.IntN(4) == 0, Durability: store.Flush,
		Shards: zarr.Shards{
			Gap: pick[int64](r, 0, 1, 64), Span: pick[int64](r, 0, 1, 256), IndexCache: pick[int64](r, 0, -1, 500),
			Order:    pick(r, codec.Morton, codec.C, codec.Fortran),
			Strategy: pick(r, codec.Rewrite, codec.Append, codec.InPlace),
		},
	}
}

// writePart changes a part of the array.
func (h *history) writePart(t *testing.T, who implementation) {
	t.Helper()
	at := randomRegion(h.r, h.want.shape)
	data := randomBlock(h.r, h.spec, at.shape()).data
	h.count(t, "%s writes a part: %v of %v", who.name(), at, h.want.shape)
	h.want.put(at, len(h.spec.Fill), data)
	if who == implementation(h.p) {
		h.p.writePart(t, h.path, at, data)
		return
	}
	opt := randomOptions(h.r)
	t.Logf("%+v, fill %v", opt.Shards, opt.StoreFill)
	a, err := zarr.OpenArray(t.Context(), h.path, opt)
	check(t, err)
	check(t, a.WriteBytes(t.Context(), at.basic(), data))
	check(t, a.Close())
}

// readPart lets both implementations read a part of the array.
func (h *history) readPart(t *testing.T) {
	t.Helper()
	at := randomRegion(h.r, h.want.shape)
	want := h.want.get(at, len(h.spec.Fill))
	if got := h.p.readPart(t, h.path, at); !bytes.Equal(got, want) {
		t.Errorf("zarr-python reads wrong elements in %v", at)
	}
	a, err := zarr.OpenArray(t.Context(), h.path, randomOptions(h.r))
	check(t, err)
	for range 2 { // the second read uses cached indexes
		got := make([]byte, len(want))
		check(t, a.ReadBytes(t.Context(), at.basic(), got))
		if !bytes.Equal(got, want) {
			t.Errorf("varve reads wrong elements in %v", at)
		}
	}
	check(t, a.Close())
}

// writeInner lets Varve write single inner chunks, decoded and encoded. Without inner
// chunks it writes a part.
func (h *history) writeInner(t *testing.T, who implementation) {
	t.Helper()
	inner := h.spec.inner(h.want.shape)
	if inner == nil || slices.Contains(h.want.shape, 0) {
		h.writePart(t, who)
		return
	}
	a, err := zarr.OpenArray(t.Context(), h.path, randomOptions(h.r))
	check(t, err)
	defer a.Close()
	for range 3 {
		from, to := h.randomInner(inner), h.randomInner(inner)
		whole := randomBlock(h.r, h.spec, h.spec.units)
		h.count(t, "varve writes an inner chunk: %v of %v", from, inner)
		check(t, a.Inner().WriteChunk(t.Context(), from, whole.data))
		h.putInner(from, whole)
		data, err := a.Inner().ReadChunk(t.Context(), from)
		check(t, err)
		if at := h.cell(from); !bytes.Equal(block{h.spec.units, data}.get(at.moved(), len(h.spec.Fill)), h.want.get(at, len(h.spec.Fill))) {
			t.Errorf("inner chunk %v differs from the one written", from)
		}
		encoded, err := a.Inner().ReadEncodedChunk(t.Context(), from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it has only the fill value
		}
		check(t, err)
		h.count(t, "varve copies an inner chunk: %v to %v", from, to)
		check(t, a.Inner().WriteEncodedChunk(t.Context(), to, encoded))
		h.putInner(to, whole)
	}
}

// compact lets Varve compact shards, after a change that may leave unused bytes.
func (h *history) compact(t *testing.T, who implementation) {
	t.Helper()
	h.writePart(t, who)
	if h.spec.inner(h.want.shape) == nil {
		return
	}
	h.count(t, "varve compacts: %v", h.want.shape)
	opt := randomOptions(h.r)
	for _, changes := range []bool{true, false} {
		changeBy(t, h.path, opt, func(a *zarr.Array) error {
			report, err := a.CompactShards(t.Context(), nil)
			if left := stored(t, h.path); !changes && (report.Changed > 0 || report.Shards != int64(len(left))) {
				t.Errorf("compacting shards that are in order: %+v of %d", report, len(left))
			}
			return err
		})
	}
}

// findNoFault lets Varve check the chunks that both have stored.
func (h *history) findNoFault(t *testing.T) {
	t.Helper()
	if h.spec.inner(h.want.shape) == nil {
		return
	}
	a, err := zarr.OpenArray(t.Context(), h.path, nil)
	check(t, err)
	for fault, err := range a.CheckShards(t.Context(), nil) {
		check(t, err)
		t.Errorf("CheckShards reports a fault: %v", fault)
	}
	check(t, a.Close())
}

// randomInner returns the index of an inner chunk.
func (h *history) randomInner(inner [][]int64) []int64 {
	index := make([]int64, len(inner))
	for i, lengths := range inner {
		index[i] = h.r.Int64N(int64(len(lengths)))
	}
	return index
}

// cell returns the region of an inner chunk in the array.
func (h *history) cell(index []int64) region {
	at := region{}
	for i, n := range h.spec.units {
		at = append(at, [3]int64{index[i] * n, min((index[i]+1)*n, h.want.shape[i]), 1})
	}
	return at
}

// moved returns the same region at the start of another block.
func (r region) moved() region {
	to := region{}
	for _, n := range r.shape() {
		to = append(to, [3]int64{0, n, 1})
	}
	return to
}

// putInner stores an inner chunk, which may reach beyond the extent.
func (h *history) putInner(index []int64, whole block) {
	at, size := h.cell(index), len(h.spec.Fill)
	h.want.put(at, size, whole.get(at.moved(), size))
	h.stale = true
}
