// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr"
)

// TestShardedHistories is [TestHistories] for sharded arrays. Their edges must stay
// multiples of inner chunks.
func TestShardedHistories(t *testing.T) {
	t.Parallel()
	histories(t, max(30, cases()/4), func(r *rand.Rand) spec {
		s := shardedSpec(r, false)
		for len(s.Filters) > 0 && !slices.Equal(s.units, s.Serializer.Configuration["chunk_shape"].([]int64)) {
			s = shardedSpec(r, false) // both implementations permit other edges
		}
		return s
	})
}

// unit returns a length of which all edges along an axis must be multiples.
func (h *history) unit(axis int) int64 {
	if h.spec.units == nil {
		return 1
	}
	return h.spec.units[axis]
}

// fitting returns the next number of elements, at least n, that zarr-python can append
// to an axis.
func (h *history) fitting(axis int, n int64) int64 {
	c, unit := h.spec.Chunks[axis], h.unit(axis)
	over := h.want.shape[axis] + n - c.covered()
	if c.edges == nil || over <= 0 || over%unit == 0 {
		return n
	}
	return n + unit - over%unit
}

// allFit reports whether zarr-python can grow the array to this shape.
func (h *history) allFit(shape []int64) bool {
	for i, n := range shape {
		if more := n - h.want.shape[i]; more > 0 && h.fitting(i, more) != more {
			return false
		}
	}
	return true
}

// rounded returns an axis that has grown, with its last new edge rounded up to whole
// inner chunks.
func (h *history) rounded(axis int, c cut, up bool) cut {
	unit, last := h.unit(axis), len(c.edges)-1
	if up && len(c.edges) > len(h.spec.Chunks[axis].edges) {
		c.edges[last] += (unit - c.edges[last]%unit) % unit
	}
	return c
}

func (h *history) options() *zarr.Options {
	if h.spec.units == nil {
		return &zarr.Options{Write: true}
	}
	return randomOptions(h.r)
}

func (h *history) change(t *testing.T, do func(*zarr.Array) error) {
	t.Helper()
	changeBy(t, h.path, h.options(), do)
}

// refuses expects Varve to refuse a change if inner chunks would not divide the edges of
// an axis after it.
func (h *history) refuses(t *testing.T, axis int, c cut, do func(*zarr.Array) error) bool {
	t.Helper()
	chunks := slices.Clone(h.spec.Chunks)
	chunks[axis] = c
	return h.refusesAny(t, chunks, do)
}

// refusesAny is refuses for a change of several axes. Trimming shards without an index
// checksum may be refused as well.
func (h *history) refusesAny(t *testing.T, chunks []cut, do func(*zarr.Array) error) bool {
	t.Helper()
	fit := true
	for i, c := range chunks {
		fit = fit && !slices.ContainsFunc(c.edges, func(edge int64) bool { return edge%h.unit(i) != 0 })
	}
	if fit && (!h.cuts(chunks) || h.spec.checked()) {
		return false
	}
	want := zarr.ErrUnsupported
	if !fit {
		want = zarr.ErrInvalidArgument
	}
	h.count(t, "varve refuses: %v after %v", chunks, h.spec.Chunks)
	h.change(t, func(a *zarr.Array) error {
		if err := do(a); !errors.Is(err, want) {
			t.Errorf("error is %v, want %v", err, want)
		}
		return nil
	})
	return true
}

// cuts reports whether a stored shard would become shorter.
func (h *history) cuts(chunks []cut) bool {
	if slices.Contains(h.want.shape, 0) {
		return false // no shard is stored
	}
	for i, c := range chunks {
		was := h.spec.Chunks[i].unlocked(h.want.shape[i]).edges
		for k, edge := range c.edges[:min(len(c.edges), len(was))] {
			if edge < was[k] {
				return true
			}
		}
	}
	return false
}

// checked reports whether the index of shards has a checksum.
func (s spec) checked() bool {
	if s.units == nil {
		return true
	}
	chain := s.Serializer.Configuration["index_codecs"].([]codecJSON)
	return slices.ContainsFunc(chain, func(c codecJSON) bool { return c.Name == "crc32c" })
}
