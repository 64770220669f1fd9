// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"errors"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// readOld reads the stored shard. It reads only the index if the store can splice or
// patch the shard, or if the shard has far more bytes than its inner chunks can have.
func (d *editor) readOld(src coding.Source) error {
	_, inMemory := src.(coding.Stored)
	switch {
	case src == nil:
		return nil
	case inMemory, !d.Compact && (d.likely < manyBytes || !d.Splices && !d.patches()):
		err := d.readWhole(src)
		if !errors.Is(err, store.ErrTooLarge) {
			return err
		}
		// The shard has so many dead bytes that reading ranges costs less.
	}
	r := &decoder{coder: d.coder, layout: d.layout, ctx: d.ctx, work: d.work}
	x, tail, err := r.readIndex(src)
	if err == nil && tail.buffer == nil {
		// An index from the cache may be stale. This read fails if it is.
		_, _, err = src.Read(d.ctx, store.Request{Range: store.Span(0, 0)}, nil)
	}
	tail.buffer.Put()
	d.old = x
	return err
}

func (d *editor) readWhole(src coding.Source) error {
	shard, stored := src.(coding.Stored)
	size := int64(len(shard))
	if !stored {
		b := budget.Get(min(mostReady, d.likely, max(manyBytes, d.work.Bytes/2))) // it may be far shorter
		d.out.Memory = append(d.out.Memory, b)
		data, info, err := src.Read(d.ctx, store.Request{Limit: 2 * max(d.packed, manyBytes)}, b.B)
		if err != nil {
			return err
		}
		shard, size = data, info.Size
		// indexOf knows the size of the shard, but not its version.
		defer func() {
			if d.old != nil {
				d.old.info = info
			}
		}()
	}
	x, err := d.indexOf(d.layout, shard)
	if err != nil {
		return err
	}
	x.info.Size = size
	d.old, d.out.Old = x, shard
	return nil
}

// patches reports whether inner chunks may be overwritten in place.
func (d *editor) patches() bool { return d.env.Strategy == codec.InPlace && d.Patches && !d.Compact }

// readParts reads inner chunks of a shard of which only the index was read. It reads the
// ones that change in part and, if stay is set, the ones that stay.
func (d *editor) readParts(src coding.Source, stay bool) error {
	// If nothing is stored, or all of the shard is in memory, there is nothing to read.
	if d.old == nil || d.out.Old != nil {
		return nil
	}
	var wants []want
	for k := range d.n {
		if needed := d.stays(k) && stay || d.todo[k] == changes && !d.covers(k); !needed {
			continue
		}
		off, n, stored, err := d.old.span(k)
		if err != nil {
			return d.fail(k, err)
		}
		if stored {
			wants = append(wants, want{off, n, k})
		}
	}
	// In the order of their bytes, neighbours can be read together.
	slices.SortFunc(wants, want.compare)
	r := &decoder{coder: d.coder, layout: d.layout, ctx: d.ctx, work: d.work}
	d.reads = d.reads[:0]
	for len(wants) > 0 {
		n, stop := r.group(wants)
		off := wants[0].off
		wants = wants[n:]
		b := budget.Get(stop - off)
		d.out.Memory = append(d.out.Memory, b)
		data, _, err := src.Read(d.ctx, store.Request{Range: store.Span(off, stop-off)}, b.B)
		if err != nil {
			return err
		}
		d.work.Coalesced(d.ctx, n, stop-off)
		d.reads = append(d.reads, stretch{off: off, data: data})
	}
	return nil
}

// covers reports whether the edit replaces all of inner chunk k.
func (d *editor) covers(k int64) bool {
	if d.Index != nil && k == d.number(d.Index) {
		return true
	}
	if d.Values.Data == nil {
		return false
	}
	p := d.take()
	defer d.put(p)
	return p.Seek(d.grid, d.Part, d.layout.place(nil, k)) && p.Covers()
}
