// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"errors"

	"varve.dev/zarr/internal/checked"
)

// isCompact reports whether the stored shard has its inner chunks in order and without
// gaps.
func (d *editor) isCompact() (bool, error) {
	next, last := int64(0), d.old.info.Size
	if d.atStart {
		next = d.layout.index
	} else {
		last -= d.layout.index
	}
	inOrder := true
	err := d.each(func(k int64) error {
		off, n, stored, err := d.old.span(k)
		if err != nil {
			return d.fail(k, err)
		}
		if stored {
			inOrder = inOrder && off == next
			next = off + n
		}
		return nil
	})
	return inOrder && next == last, err
}

// Other programs may write inner chunks that share bytes. Rewriting the shard separates
// them and makes it longer. The growth needs a bound: in a hostile shard, a few bytes
// could stand for millions of long inner chunks.
const (
	manyShared  = 64 << 20 // inner chunks of at most this many bytes in total are always separated
	timesShared = 4        // others may have at most this many times the bytes of the shard
)

var errShared = errors.New("inner chunks share bytes; stored separately they would be many times as long as the shard; write the whole shard")

// takeOut decides whether to read the inner chunks that stay instead of splicing them: if
// they share bytes, which a store does not splice twice, or if they are scattered.
func (d *editor) takeOut() error {
	if d.old == nil || !d.Compact && (d.Splices || d.out.Old != nil) {
		return nil // behind keeps shared bytes in place
	}
	outgrow, err := d.outgrow()
	d.Splices = d.Splices && !outgrow && !d.isScattered()
	return err
}

// shortRun is the size in bytes from which a run of inner chunks is worth a splice of its
// own.
const shortRun = 16 << 10

// isScattered reports whether compacting would splice so many short runs of inner chunks
// that it is faster to read large ranges and to write them again. That takes memory for
// two copies.
func (d *editor) isScattered() bool {
	if !d.Compact {
		return false
	}
	runs, live, next := int64(0), int64(0), int64(-1)
	_ = d.each(func(k int64) error {
		off, n, stored, err := d.old.span(k)
		if err != nil || !stored || !d.stays(k) {
			return nil
		}
		if off != next {
			runs++
		}
		live, next = live+n, off+n
		return nil
	})
	return live < runs*shortRun && live <= d.work.Bytes/2
}

// outgrow reports whether the inner chunks have more bytes together than the stored
// shard, because some share bytes. It returns [codec.ErrCorrupt] if they have too many.
func (d *editor) outgrow() (bool, error) {
	sum, ok := int64(0), true
	for k := range d.n {
		if _, n, stored, err := d.old.span(k); stored && err == nil && d.todo[k] != goes && ok {
			sum, ok = checked.Add(sum, n)
		}
	}
	if !ok || sum/timesShared > d.old.info.Size && sum > manyShared {
		return true, corrupt("%v", errShared)
	}
	return sum > d.old.info.Size, nil
}
