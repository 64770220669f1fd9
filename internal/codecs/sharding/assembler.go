// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/store"
)

// assemble makes the fragments of the new shard.
func (d *editor) assemble() error {
	a := assembler{editor: d, index: newIndex(d.layout)}
	// Inner chunks come after an index at the start.
	if d.atStart {
		a.size = d.layout.index
	}
	keepsAll := d.appendToOld(&a)
	err := d.each(func(k int64) error {
		switch to := d.steps[k]; {
		case to == stepEncode:
			a.addMade(k)
			return nil
		case to == stepCopy:
			a.addData(k, d.copied[k])
			return nil
		case to == stepSame:
			// The inner chunk was encoded and turned out to be unchanged.
			a.skip()
		case to == stepClear:
			return nil
		}
		// If keepsAll is set, the new shard begins with all bytes of the stored one.
		if keepsAll {
			return nil
		}
		return d.fail(k, a.keepOld(k))
	})
	if err != nil {
		return err
	}
	return d.finish(&a)
}

// finish adds the index to the fragments.
func (d *editor) finish(a *assembler) error {
	d.out.Empty, d.out.Size = a.stored == 0, a.size
	// Append the index to the memory of the inner chunks.
	if one := d.onlyPart(a); one != nil {
		raw, err := d.encodeIndex(one.B, d.layout, a.index)
		if err != nil {
			return err
		}
		d.out.Fragments, d.out.Size = []store.Part{{Data: raw}}, int64(len(raw))
		return nil
	}
	b := budget.Get(d.layout.index)
	// The revision refers to this buffer and releases it.
	d.out.Memory = append(d.out.Memory, b)
	raw, err := d.encodeIndex(b.B, d.layout, a.index)
	if err != nil {
		return err
	}
	if d.atStart {
		d.out.Fragments = append([]store.Part{{Data: raw}}, a.fragments...)
		return nil
	}
	d.out.Fragments = append(a.fragments, store.Part{Data: raw})
	d.out.Size += d.layout.index
	return nil
}

// onlyPart returns the buffer that holds all inner chunks, if it has room for the index
// after them. The shard is then one fragment, without a copy. It returns nil if there is
// no such buffer.
func (d *editor) onlyPart(a *assembler) *budget.Buffer {
	if d.atStart || len(d.segments) != 1 || len(a.fragments) != 1 || len(a.fragments[0].Data) == 0 {
		return nil
	}
	b, data := d.segments[0], a.fragments[0].Data
	if len(data) != len(b.B) || &data[0] != &b.B[0] || int64(cap(b.B)-len(b.B)) < d.layout.index {
		return nil
	}
	return b
}

// appendToOld begins the new shard with all bytes of the stored one, so that new inner
// chunks come after them. It does so for the strategy Append, unless the dead bytes
// outgrow the live ones. It also does so if inner chunks share bytes: copying them one
// by one could make the shard many times as long.
func (d *editor) appendToOld(a *assembler) bool {
	// Bytes that are neither in memory nor spliced by the store cannot be kept.
	if d.old == nil || d.Compact || d.out.Old == nil && !d.Splices {
		return false
	}
	first, last := int64(0), d.old.info.Size
	if d.atStart {
		first = d.layout.index
	} else {
		last -= d.layout.index
	}
	switch live, shared, ok := d.live(last - first); {
	// Write the shard without gaps if its index is wrong, if the strategy is not Append,
	// or if the dead bytes outgrow the live ones.
	case !ok, !shared && d.env.Strategy != codec.Append, !shared && last-first > 2*max(live, d.likely/2):
		return false
	}
	// One fragment has all old inner chunks, so their offsets stay.
	a.keep(first, last-first)
	for k := range d.n {
		if d.isKept(k) && d.isStored(k) {
			copy(a.index.entries[2*k:2*k+2], d.old.entries[2*k:2*k+2])
			a.stored++
		}
	}
	return true
}

// live returns the bytes of the inner chunks that stay. shared reports that these are
// more than the shard has, so some inner chunks overlap. ok is false if the index is
// wrong.
func (d *editor) live(bytes int64) (live int64, shared, ok bool) {
	for k := range d.n {
		_, n, stored, err := d.old.span(k)
		if err != nil {
			return 0, false, false
		}
		if !stored || !d.isKept(k) {
			continue
		}
		// With more bytes than the shard, some inner chunks share bytes.
		if live += n; live > bytes {
			return 0, true, true
		}
	}
	return live, false, true
}

// assembler adds inner chunks to a shard, one after the other.
type assembler struct {
	*editor
	index     *index
	fragments []store.Part
	size      int64 // bytes so far, including an index at the start
	stored    int64 // inner chunks so far
	position  int64 // position in encoded of the next inner chunk
	within    int64 // its offset in its segment
}

// setEntry enters n bytes at the end of the shard as inner chunk k in the index.
func (a *assembler) setEntry(k, n int64) {
	a.index.entries[2*k], a.index.entries[2*k+1] = uint64(a.size), uint64(n)
	a.stored++
}

// skip returns where the next encoded inner chunk is, and moves on.
func (a *assembler) skip() (segment []byte, off, n int64) {
	// Offsets count from the start of each segment.
	if a.position%a.editor.size == 0 {
		a.within = 0
	}
	segment, off, n = a.segments[a.position/a.editor.size].B, a.within, max(0, a.sizes[a.position])
	a.position++
	a.within += n
	return segment, off, n
}

// addMade adds inner chunk k, the next encoded one.
func (a *assembler) addMade(k int64) {
	if segment, off, n := a.skip(); n > 0 {
		a.setEntry(k, n)
		a.add(segment, off, n)
	}
}

// add adds n bytes of a segment from off on. It joins them to the last fragment if they
// follow it in memory.
func (a *assembler) add(segment []byte, off, n int64) {
	a.size += n
	if i := len(a.fragments) - 1; i >= 0 && int64(len(a.fragments[i].Data)) <= off && len(a.fragments[i].Data) > 0 {
		last := int64(len(a.fragments[i].Data))
		if &a.fragments[i].Data[0] == &segment[off-last] {
			a.fragments[i].Data = segment[off-last : off+n]
			return
		}
	}
	a.fragments = append(a.fragments, store.Part{Data: segment[off : off+n]})
}

// keepOld adds inner chunk k of the stored shard.
func (a *assembler) keepOld(k int64) error {
	if a.old == nil {
		return nil
	}
	off, n, stored, err := a.old.span(k)
	if err != nil {
		return fmt.Errorf("copying it: %w", err)
	}
	if !stored {
		return nil
	}
	a.setEntry(k, n)
	if a.out.Old != nil || a.Splices {
		a.keep(off, n)
		return nil
	}
	// The store does not splice, so the inner chunk was read.
	data, err := a.oldBytes(k)
	a.size += n
	a.fragments = append(a.fragments, store.Part{Data: data})
	return err
}

// addData adds inner chunk k, whose encoded bytes are data. It joins them to the last
// fragment if they follow it in memory.
func (a *assembler) addData(k int64, data []byte) {
	a.setEntry(k, int64(len(data)))
	a.size += int64(len(data))
	if i := len(a.fragments) - 1; i >= 0 && len(data) > 0 {
		// Join if data begins where last ends in memory.
		if last := a.fragments[i].Data; len(last) < cap(last) && &last[:len(last)+1][len(last)] == &data[0] {
			a.fragments[i].Data = last[:len(last)+len(data)]
			return
		}
	}
	a.fragments = append(a.fragments, store.Part{Data: data})
}

// keep adds n bytes of the stored shard from off on.
func (a *assembler) keep(off, n int64) {
	a.size += n
	if i := len(a.fragments) - 1; i >= 0 && a.fragments[i].Data == nil && a.fragments[i].Off+a.fragments[i].N == off {
		a.fragments[i].N += n
		return
	}
	a.fragments = append(a.fragments, store.Part{Off: off, N: n})
}

// patch makes patches of the encoded inner chunks, if each is as long as the stored one.
// It returns false if the shard cannot be patched.
func (d *editor) patch() bool {
	if d.old == nil || d.replaces() {
		return false
	}
	a := assembler{editor: d}
	var patches []store.Patch
	for _, k := range d.encoded {
		segment, from, n := a.skip()
		// Skip inner chunks that were encoded and turned out to be unchanged.
		if d.steps[k] == stepSame {
			continue
		}
		off, size, stored, err := d.old.span(int64(k))
		// Patching keeps the index, so every length must stay.
		if err != nil || !stored || size != n || n == 0 {
			return false
		}
		patches = append(patches, store.Patch{Off: off, Data: segment[from : from+n]})
	}
	// To overwrite shared bytes would change another inner chunk too.
	if len(patches) == 0 || d.shares(patches) {
		return false
	}
	d.out.Patches, d.out.Size = patches, d.old.info.Size
	return true
}

// shares reports whether patches overlap each other or inner chunks that stay, as in a
// shard that stores equal inner chunks once.
func (d *editor) shares(patches []store.Patch) bool {
	sorted := slices.Clone(patches)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Off < sorted[j].Off })
	for i, p := range sorted[1:] {
		if before := sorted[i]; before.Off+int64(len(before.Data)) > p.Off {
			return true
		}
	}
	for k := range d.n {
		off, n, stored, err := d.old.span(k)
		if !stored || err != nil || !d.isKept(k) {
			continue // a damaged entry says nothing about which bytes are in use
		}
		// Only the patches just before and after off can overlap the inner chunk.
		i, found := slices.BinarySearchFunc(sorted, off, func(p store.Patch, off int64) int { return cmp.Compare(p.Off, off) })
		if found || i < len(sorted) && sorted[i].Off < off+n || i > 0 && sorted[i-1].Off+int64(len(sorted[i-1].Data)) > off {
			return true
		}
	}
	return false
}

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
		return nil // appendToOld keeps shared bytes in place
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
		if err != nil || !stored || !d.isKept(k) {
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
		if _, n, stored, err := d.old.span(k); stored && err == nil && d.steps[k] != stepClear && ok {
			sum, ok = checked.Add(sum, n)
		}
	}
	if !ok || sum/timesShared > d.old.info.Size && sum > manyShared {
		return true, corrupt("%v", errShared)
	}
	return sum > d.old.info.Size, nil
}
