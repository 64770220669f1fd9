package sharding

import (
	"errors"

	"varve.dev/zarr/internal/checked"
)

// isCompact reports whether the stored shard is its inner chunks in order, without gaps,
// and the index.
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

// Inner chunks of a shard that others wrote may have bytes in common. They are told apart
// when the shard is written, which may make it longer, but not without bounds: a few
// bytes could stand for any number of long inner chunks.
const (
	manyShared  = 64 << 20 // bytes that inner chunks may have together in any case
	timesShared = 4        // and how many times as many as there are
)

var errShared = errors.New("inner chunks have bytes in common, and many times as many together as the shard has; write the shard whole")

// takeOut sees whether inner chunks of the stored shard have bytes in common that are to
// be told apart. A store does not splice a value that has some bytes twice, so that they
// are read then.
func (d *editor) takeOut() error {
	if d.old == nil || !d.Compact && (d.Splices || d.out.Old != nil) {
		return nil // all bytes stay as they are where that is so
	}
	outgrow, err := d.outgrow()
	d.Splices = d.Splices && !outgrow && !d.isScattered()
	return err
}

// shortRun is how many bytes that stay together are taken over one by one, rather than
// with all others through memory.
const shortRun = 16 << 10

// isScattered reports whether what stays together of a shard that is put in order is so
// short that it is better read in large ranges, of which the memory holds two copies.
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

// outgrow reports whether the inner chunks that are told apart have more bytes than the
// stored shard. Too many are [codec.ErrCorrupt].
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
