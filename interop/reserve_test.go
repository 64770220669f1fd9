// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
)

// reserve appends in parts that two concurrent openers of the array write. Unpublished
// parts are invisible to all readers, including zarr-python.
func (h *history) reserve(t *testing.T) {
	axis := h.r.IntN(len(h.want.shape))
	from, c := h.want.shape[axis], h.spec.Chunks[axis]
	lengths := randomLengths(h.r, 1+h.r.IntN(4), h.unit(axis))
	switch {
	case len(h.more(axis, 1).data) == 0:
		h.append(t)
		return
	case c.edges != nil && c.covered() != from || c.edges == nil && from%c.step != 0:
		h.refuse(t, axis, lengths)
		h.append(t)
		return
	case c.edges == nil:
		for i := range lengths[1:] {
			lengths[i] = c.step * min(lengths[i]/h.unit(axis), 2)
		}
	default:
		c = cut{edges: slices.Concat(c.edges, lengths)}
	}
	h.count(t, "varve reserves: parts of %v behind %v along axis %d", lengths, h.want.shape, axis)
	first, second := h.open(t), h.open(t)
	mine, err := first.Reserve(t.Context(), axis, lengths...)
	check(t, err)
	theirs, err := second.Reservation(t.Context())
	check(t, err)
	before := h.spec.Chunks[axis]
	h.spec.Chunks[axis] = c
	h.compare(t)
	if h.r.IntN(3) == 0 {
		h.overwrite(t)
	}

	parts := h.parts(axis, lengths)
	if h.r.IntN(3) == 0 && h.cancelled(t, mine, axis, parts) {
		h.spec.Chunks[axis] = before
	} else {
		fill(t, []*zarr.Reservation{mine, theirs}, parts)
		h.compare(t)
		check(t, pick(h.r, mine, theirs).Publish(t.Context()))
		for _, part := range parts {
			h.want = h.want.appended(axis, part, h.spec.Fill)
		}
	}
	check(t, errors.Join(first.Close(), second.Close()))
}

// refuse expects that room which would begin within a chunk cannot be reserved.
func (h *history) refuse(t *testing.T, axis int, lengths []int64) {
	t.Helper()
	h.count(t, "varve refuses to reserve: behind %v along axis %d", h.want.shape, axis)
	h.change(t, func(a *zarr.Array) error {
		if _, err := a.Reserve(t.Context(), axis, lengths...); !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Errorf("reserving within a chunk: %v", err)
		}
		return nil
	})
}

func (h *history) open(t *testing.T) *zarr.Array {
	t.Helper()
	a, err := zarr.OpenArray(t.Context(), h.path, h.options())
	check(t, err)
	return a
}

// parts returns elements for every part.
func (h *history) parts(axis int, lengths []int64) []block {
	parts := make([]block, len(lengths))
	for i, n := range lengths {
		parts[i] = h.more(axis, n)
	}
	return parts
}

// fill writes all parts concurrently.
func fill(t *testing.T, by []*zarr.Reservation, parts []block) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, len(parts))
	for i, part := range parts {
		r := by[i%len(by)]
		if shape := r.Region(i).Shape(); !slices.Equal(shape, part.shape) {
			t.Errorf("part %d is reserved as %v, want %v", i, shape, part.shape)
		}
		all.Go(func() { errs[i] = r.WritePartBytes(t.Context(), i, part.data) })
	}
	all.Wait()
	check(t, errors.Join(errs...))
}

// cancelled fills all parts but the last one, so that publishing fails, and cancels. It
// returns false, and does nothing, if edges reach beyond the extent along any axis:
// cancelling would remove them.
func (h *history) cancelled(t *testing.T, r *zarr.Reservation, axis int, parts []block) bool {
	t.Helper()
	for i, c := range h.spec.Chunks {
		if i != axis && !slices.Equal(c.shrunk(h.want.shape[i], grid.TrimEdges).edges, c.edges) {
			return false
		}
	}
	last := len(parts) - 1
	fill(t, []*zarr.Reservation{r}, parts[:last])
	if err := r.Publish(t.Context()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("publishing without part %d: %v", last, err)
	}
	h.compare(t)
	h.count(t, "varve cancels:")
	check(t, r.Cancel(t.Context()))
	return true
}
