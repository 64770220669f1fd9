// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/parallel"
)

// Merge implements [coding.Divider].
func (c *coder) Merge(ctx context.Context, w *coding.Work, shape []int64, parts []coding.Fragment) (*coding.Revision, error) {
	l, err := c.layout(shape)
	if err != nil {
		return nil, err
	}
	m := &merger{editor: &editor{coder: c, layout: l, ctx: ctx, work: w, out: new(coding.Revision)}, from: make([]uint32, l.n)}
	for i, p := range parts {
		if err := m.fit(p); err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
	}
	err = m.read(parts)
	for _, p := range m.parts { // the revision refers to what was read
		m.out.Memory = append(m.out.Memory, p.out.Memory...)
	}
	if err == nil {
		err = m.assemble()
	}
	if err != nil {
		m.out.Release()
		return nil, err
	}
	return m.out, nil
}

// merger makes one shard of several fragments.
type merger struct {
	*editor // of the new shard
	parts   []*editor
	firsts  [][]int64 // for every fragment, the index of its first inner chunk in the new shard
	from    []uint32  // for every inner chunk, the number of its fragment from 1, 0 for none
}

// fit adds a fragment if it fits.
func (m *merger) fit(p coding.Fragment) error {
	if len(p.Start) != len(m.chunks) || len(p.Shape) != len(m.chunks) {
		return fmt.Errorf("%w: start %v and shape %v, the shard has %d axes", codec.ErrConfiguration, p.Start, p.Shape, len(m.chunks))
	}
	l, err := m.coder.layout(p.Shape)
	if err != nil {
		return err
	}
	box := make(grid.Box, len(m.chunks))
	first := make([]int64, len(m.chunks))
	for i := range box {
		if box[i], err = cellsOf(m.layout.grid.Axis(i), l.grid.Axis(i), p.Start[i]); err != nil {
			return &grid.AxisError{Axis: i, Err: err}
		}
		first[i] = box[i].Start
	}
	m.parts = append(m.parts, &editor{coder: m.coder, layout: l, ctx: m.ctx, work: m.work, out: new(coding.Revision)})
	m.firsts = append(m.firsts, first)
	for at := range box.IndicesInto(make([]int64, len(box))) {
		k := m.number(at)
		if other := m.from[k]; other > 0 {
			return fmt.Errorf("%w: inner chunk %v is in part %d too", codec.ErrConfiguration, at, other-1)
		}
		m.from[k] = uint32(len(m.parts))
	}
	return nil
}

// cellsOf returns which inner chunks of the new shard a fragment that begins at start has
// along an axis.
func cellsOf(whole, part grid.Axis, start int64) (grid.Interval, error) {
	first, within, ok := whole.Locate(start)
	if !ok || within != 0 {
		return grid.Interval{}, fmt.Errorf("%w: no inner chunk begins at element %d of the new shard, which has %d", codec.ErrConfiguration, start, whole.Extent())
	}
	if part.Extent() > whole.Extent()-start {
		return grid.Interval{}, fmt.Errorf("%w: a part of %d elements from element %d on, the new shard has %d", codec.ErrConfiguration, part.Extent(), start, whole.Extent())
	}
	for k := range part.Chunks() {
		is, _ := part.Cell(k)
		if to, ok := whole.Cell(first + k); !ok || is.Encoded != to.Encoded {
			return grid.Interval{}, fmt.Errorf("%w: inner chunk %d has %d elements and would have %d in the new shard; decode it", codec.ErrConfiguration, k, is.Encoded, to.Encoded)
		}
	}
	return grid.Interval{Start: first, Stop: first + part.Chunks()}, nil
}

// read reads the fragments, several at a time.
func (m *merger) read(parts []coding.Fragment) error {
	workers, ctx := parallel.New(m.ctx)
	workers.SetLimit(max(1, m.work.Requests))
	for i, d := range m.parts {
		d.ctx = ctx
		workers.Go(func() error {
			if err := d.readAll(parts[i].Source); err != nil {
				return fmt.Errorf("part %d: %w", i, err)
			}
			return nil
		})
	}
	return workers.Wait(nil)
}

// readAll reads all inner chunks of the stored shard, if there is one.
func (d *editor) readAll(src coding.Source) error {
	if src == nil {
		return nil
	}
	err := d.readOld(src)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d.todo = make([]uint8, d.n) // every inner chunk stays
	if _, err = d.outgrow(); err != nil {
		return err
	}
	return d.readParts(src, true)
}

// assemble adds the inner chunks of all fragments in order.
func (m *merger) assemble() error {
	a := assembler{editor: m.editor, index: newIndex(m.layout)}
	if m.atStart {
		a.size = m.layout.index
	}
	err := m.each(func(k int64) error {
		part := m.from[k]
		if part == 0 {
			return nil
		}
		from := m.parts[part-1]
		var room [8]int64
		at := m.layout.place(room[:0], k)
		for i, first := range m.firsts[part-1] {
			at[i] -= first
		}
		old := from.number(at)
		in, off, n, err := from.oldPlace(old)
		if err != nil {
			return fmt.Errorf("part %d: %w", part-1, from.fail(old, err))
		}
		if in != nil {
			a.note(k, n)
			a.add(in, off, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.finish(&a)
}
