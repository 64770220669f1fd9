// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// TestHistories lets both implementations change the same arrays in turns, and read them
// after every change.
func TestHistories(t *testing.T) {
	t.Parallel()
	histories(t, cases()/2, randomSpec)
}

func histories(t *testing.T, n int, draw func(r *rand.Rand) spec) {
	p, seed := startPython(t), seed(t)
	done := map[string]int{}
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, uint64(i)<<32))
			s := draw(r)
			for len(s.Shape) == 0 {
				s = draw(r)
			}
			p.randomPipeline(t, r)
			h := &history{p: p, r: r, spec: s, path: filepath.Join(t.TempDir(), "a.zarr"), want: randomBlock(r, s, s.Shape), done: done}
			first := h.turn()
			first.create(t, h.path, s)
			respell(t, r, h.path, &h.spec)
			first.write(t, h.path, h.want.data)
			h.compare(t)
			for range 6 {
				h.step(t)
				if t.Failed() {
					return
				}
			}
		})
	}
	t.Log(done)
}

// history is an array with its expected content.
type history struct {
	p         *python
	r         *rand.Rand
	spec      spec // Shape is that at the start, Chunks are the present ones
	path      string
	want      block
	shape     []int64        // shape before the last resize
	stale     bool           // elements that were cut off may reappear when zarr-python grows the array
	done      map[string]int // the number of changes of each kind, in all histories
	exclusive bool           // only Varve changes the array
}

func (h *history) turn() implementation {
	if h.exclusive {
		return varve{}
	}
	return pick[implementation](h.r, h.p, varve{})
}

// step makes a change and lets both implementations read.
func (h *history) step(t *testing.T) {
	if h.spec.units != nil && h.r.IntN(3) == 0 {
		pick(h.r, h.writePart, h.writeInner, h.compact)(t, h.turn())
	} else {
		pick(h.r, h.append, h.append, h.append, h.resize, h.resize, h.resize, h.overwrite, h.unlock, h.reserve, h.reserve)(t)
	}
	h.compare(t)
}

// compare lets both implementations read.
func (h *history) compare(t *testing.T) {
	t.Helper()
	want := h.spec.state(h.want)
	for _, reader := range []implementation{h.p, varve{}} {
		compare(t, reader, reader.read(t, h.path), want)
	}
	h.findNoFault(t)
}

func (h *history) count(t *testing.T, format string, a ...any) {
	t.Logf(format, a...)
	name, _, _ := strings.Cut(fmt.Sprintf(format, a...), ":")
	h.done[name]++
}

// more returns elements to append, n planes along an axis.
func (h *history) more(axis int, n int64) block {
	shape := slices.Clone(h.want.shape)
	shape[axis] = n
	return randomBlock(h.r, h.spec, shape)
}

func (h *history) append(t *testing.T) {
	who, axis, n := h.turn(), h.r.IntN(len(h.want.shape)), 1+h.r.Int64N(6)
	from := h.want.shape[axis]
	if who.name() != "varve" || len(h.more(axis, 1).data) == 0 {
		n = h.fitting(axis, n) // zarr-python may append no elements as well
	}
	more := h.more(axis, n)
	growth, after := grid.AppendOne(), h.spec.Chunks[axis].grown(from+n)
	switch {
	case len(more.data) == 0 && h.exclusive:
		return
	case len(more.data) == 0:
		who = h.p // Varve cannot derive the number of empty planes from no bytes
	case who.name() == "varve":
		growth, after = randomGrowth(h.r, h.spec.Chunks[axis], from, from+n, h.unit(axis))
	}
	h.count(t, "%s appends by %s: %v along axis %d to %v", who.name(), kind(growth), more.shape, axis, h.want.shape)
	if who.name() == "varve" {
		up := h.r.IntN(2) == 0
		if after = h.rounded(axis, after, up); h.refuses(t, axis, after, func(a *zarr.Array) error {
			return a.AppendBytes(t.Context(), axis, more.data, &zarr.AppendOptions{Grow: growth, RoundUp: up})
		}) {
			return
		}
		h.change(t, func(a *zarr.Array) error {
			counted := axis - h.r.IntN(2)*len(more.shape) // negative axes count from the end
			return a.AppendBytes(t.Context(), counted, more.data, &zarr.AppendOptions{Grow: growth, RoundUp: up, Expect: h.want.shape})
		})
	} else {
		who.append(t, h.path, axis, more)
	}
	h.want = h.want.appended(axis, more, h.spec.Fill)
	h.spec.Chunks[axis] = after
}

// kind returns the first word of a policy.
func kind(g grid.Growth) string {
	word, _, _ := strings.Cut(g.String(), ":")
	return word
}

// randomShape returns the shape before the last resize, or the present one with other
// extents along one axis or several.
func (h *history) randomShape() (shape []int64, grows, shrinks bool) {
	shape = slices.Clone(h.want.shape)
	if h.shape != nil && h.r.IntN(2) == 0 {
		shape = h.shape
	} else {
		h.otherShape(shape)
	}
	h.shape = h.want.shape
	for i, n := range shape {
		grows = grows || n > h.want.shape[i]
		shrinks = shrinks || n < h.want.shape[i]
	}
	return shape, grows, shrinks
}

// otherShape changes the extents of one axis or several.
func (h *history) otherShape(shape []int64) {
	for {
		i := h.r.IntN(len(shape))
		shape[i] = max(0, h.want.shape[i]+h.r.Int64N(11)-5)
		if h.r.IntN(3) > 0 {
			break
		}
	}
}

func (h *history) resize(t *testing.T) {
	who := h.turn()
	shape, grows, shrinks := h.randomShape()
	if grows && (h.stale || !h.allFit(shape)) {
		who = varve{}
	}
	var opt zarr.ResizeOptions
	if who.name() == "varve" {
		opt = zarr.ResizeOptions{Grow: make([]grid.Growth, len(shape)), KeepStale: !grows && h.r.IntN(4) == 0, Expect: h.want.shape}
		if opt.Shrink = pick(h.r, grid.KeepEdges, grid.TrimEdges, grid.TrimExact); !h.spec.listed() {
			opt.Shrink = grid.KeepEdges // the chunks of a regular grid cannot be cut
		}
		opt.RoundUp = h.r.IntN(2) == 0
	}
	chunks := slices.Clone(h.spec.Chunks)
	for i, c := range chunks {
		switch was := h.want.shape[i]; {
		case shape[i] <= was:
			chunks[i] = c.shrunk(shape[i], opt.Shrink)
		case who.name() == "varve":
			opt.Grow[i], chunks[i] = randomGrowth(h.r, c, was, shape[i], h.unit(i))
			chunks[i] = h.rounded(i, chunks[i], opt.RoundUp)
		default:
			chunks[i] = c.grown(shape[i])
		}
	}
	h.count(t, "%s resizes by %v: %v to %v", who.name(), opt.Shrink, h.want.shape, shape)
	if who.name() == "varve" {
		do := func(a *zarr.Array) error { return a.Resize(t.Context(), shape, &opt) }
		if h.refusesAny(t, chunks, do) {
			h.shape = nil
			return
		}
		h.change(t, do)
	} else {
		who.resize(t, h.path, shape)
	}
	h.stale = h.stale || shrinks && (who.name() != "varve" || opt.KeepStale)
	h.want, h.spec.Chunks = h.want.resized(shape, h.spec.Fill), chunks
}

func (h *history) overwrite(t *testing.T) {
	who := h.turn()
	h.count(t, "%s writes: %v", who.name(), h.want.shape)
	h.want = randomBlock(h.r, h.spec, h.want.shape)
	who.write(t, h.path, h.want.data)
}

// unlock lets Varve make some axes, or all, rectilinear.
func (h *history) unlock(t *testing.T) {
	opt := zarr.RectilinearOptions{Trim: h.r.IntN(2) == 0}
	for i := range h.want.shape {
		if h.r.IntN(2) == 0 {
			opt.Axes = append(opt.Axes, i)
		}
	}
	h.count(t, "varve unlocks: axes %v, trim %v", opt.Axes, opt.Trim)
	chunks := slices.Clone(h.spec.Chunks)
	for i, extent := range h.want.shape {
		if opt.Axes == nil || slices.Contains(opt.Axes, i) {
			chunks[i] = chunks[i].unlocked(extent)
		}
		if opt.Trim {
			chunks[i] = chunks[i].shrunk(extent, grid.TrimExact)
		}
	}
	do := func(a *zarr.Array) error { return a.MakeRectilinear(t.Context(), &opt) }
	if h.refusesAny(t, chunks, do) {
		return
	}
	h.change(t, do)
	h.spec.Chunks, h.spec.rectilinear = chunks, true
}
