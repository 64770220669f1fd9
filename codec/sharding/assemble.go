package sharding

import (
	"cmp"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/store"
)

// assemble puts the pieces of the new shard together.
func (d *editor) assemble() error {
	a := assembler{editor: d, index: newIndex(d.layout)}
	if d.atStart {
		a.size = d.layout.index
	}
	behind := d.behind(&a)
	err := d.each(func(k int64) error {
		switch to := d.todo[k]; {
		case to == changes:
			a.addMade(k)
			return nil
		case to == comes:
			a.addData(k, d.given[k])
			return nil
		case to == remains:
			a.skip()
		case to == goes:
			return nil
		}
		if behind {
			return nil
		}
		return d.fail(k, a.keepOld(k))
	})
	if err != nil {
		return err
	}
	return d.finish(&a)
}

// finish adds the index.
func (d *editor) finish(a *assembler) error {
	d.out.Empty, d.out.Size = a.stored == 0, a.size
	if one := d.onlyPart(a); one != nil {
		raw, err := d.encodeIndex(one.B, d.layout, a.index)
		if err != nil {
			return err
		}
		d.out.Pieces, d.out.Size = []store.Piece{{Data: raw}}, int64(len(raw))
		return nil
	}
	b := budget.Get(d.layout.index)
	d.out.Memory = append(d.out.Memory, b)
	raw, err := d.encodeIndex(b.B, d.layout, a.index)
	if err != nil {
		return err
	}
	if d.atStart {
		d.out.Pieces = append([]store.Piece{{Data: raw}}, a.pieces...)
		return nil
	}
	d.out.Pieces = append(a.pieces, store.Piece{Data: raw})
	d.out.Size += d.layout.index
	return nil
}

// onlyPart returns the memory that all of the shard but its index is in, where the index
// has room behind it: the shard then is one piece, which is stored from where it is. It
// is nil where there is none.
func (d *editor) onlyPart(a *assembler) *budget.Buffer {
	if d.atStart || len(d.parts) != 1 || len(a.pieces) != 1 || len(a.pieces[0].Data) == 0 {
		return nil
	}
	b, data := d.parts[0], a.pieces[0].Data
	if len(data) != len(b.B) || &data[0] != &b.B[0] || int64(cap(b.B)-len(b.B)) < d.layout.index {
		return nil
	}
	return b
}

// behind begins the new shard with all inner chunks of the stored one where they are, if
// new ones are to be put behind them and the dead bytes do not outgrow the others, or if
// inner chunks share bytes, which then are not to become many times as many.
func (d *editor) behind(a *assembler) bool {
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
	case !ok, !shared && d.env.Strategy != codec.Append, !shared && last-first > 2*max(live, d.likely/2):
		return false
	}
	a.keep(first, last-first)
	for k := range d.n {
		if d.stays(k) && d.isStored(k) {
			copy(a.index.entries[2*k:2*k+2], d.old.entries[2*k:2*k+2])
			a.stored++
		}
	}
	return true
}

// live returns the bytes of the inner chunks that stay, or that they share some, because
// there are fewer. It is false where the index is wrong.
func (d *editor) live(bytes int64) (live int64, shared, ok bool) {
	for k := range d.n {
		_, n, stored, err := d.old.span(k)
		if err != nil {
			return 0, false, false
		}
		if !stored || !d.stays(k) {
			continue
		}
		if live += n; live > bytes {
			return 0, true, true
		}
	}
	return live, false, true
}

// assembler puts inner chunks one behind the other.
type assembler struct {
	*editor
	index  *index
	pieces []store.Piece
	size   int64 // bytes so far, with an index that stands at the start
	stored int64 // inner chunks so far
	next   int64 // of those that were encoded anew, the next
	within int64 // where that is in its segment
}

// note enters n bytes at the end as inner chunk k.
func (a *assembler) note(k, n int64) {
	a.index.entries[2*k], a.index.entries[2*k+1] = uint64(a.size), uint64(n)
	a.stored++
}

// stays reports whether inner chunk k is taken over.
func (d *editor) stays(k int64) bool { return d.todo[k] == stays || d.todo[k] == remains }

// skip moves on to the next of those that were encoded anew, and returns where the bytes
// of this one are.
func (a *assembler) skip() (segment []byte, off, n int64) {
	if a.next%a.editor.size == 0 {
		a.within = 0
	}
	segment, off, n = a.parts[a.next/a.editor.size].B, a.within, max(0, a.made[a.next])
	a.next++
	a.within += n
	return segment, off, n
}

// addMade adds inner chunk k, the next of those that were encoded anew.
func (a *assembler) addMade(k int64) {
	if segment, off, n := a.skip(); n > 0 {
		a.note(k, n)
		a.add(segment, off, n)
	}
}

// add adds n bytes from offset off of a segment on.
func (a *assembler) add(segment []byte, off, n int64) {
	a.size += n
	if i := len(a.pieces) - 1; i >= 0 && int64(len(a.pieces[i].Data)) <= off && len(a.pieces[i].Data) > 0 {
		last := int64(len(a.pieces[i].Data))
		if &a.pieces[i].Data[0] == &segment[off-last] {
			a.pieces[i].Data = segment[off-last : off+n]
			return
		}
	}
	a.pieces = append(a.pieces, store.Piece{Data: segment[off : off+n]})
}

// keepOld adds inner chunk k as it is stored.
func (a *assembler) keepOld(k int64) error {
	if a.old == nil {
		return nil
	}
	off, n, stored, err := a.old.span(k)
	if err != nil {
		return fmt.Errorf("it cannot be taken over: %w", err)
	}
	if !stored {
		return nil
	}
	a.note(k, n)
	if a.out.Old != nil || a.Splices {
		a.keep(off, n)
		return nil
	}
	data, err := a.oldBytes(k)
	a.size += n
	a.pieces = append(a.pieces, store.Piece{Data: data})
	return err
}

// addData adds inner chunk k, of which the bytes are at hand.
func (a *assembler) addData(k int64, data []byte) {
	a.note(k, int64(len(data)))
	a.size += int64(len(data))
	if i := len(a.pieces) - 1; i >= 0 && len(data) > 0 {
		if last := a.pieces[i].Data; len(last) < cap(last) && &last[:len(last)+1][len(last)] == &data[0] {
			a.pieces[i].Data = last[:len(last)+len(data)]
			return
		}
	}
	a.pieces = append(a.pieces, store.Piece{Data: data})
}

// keep adds bytes of the stored shard.
func (a *assembler) keep(off, n int64) {
	a.size += n
	if i := len(a.pieces) - 1; i >= 0 && a.pieces[i].Data == nil && a.pieces[i].Off+a.pieces[i].N == off {
		a.pieces[i].N += n
		return
	}
	a.pieces = append(a.pieces, store.Piece{Off: off, N: n})
}

// patch makes patches of the inner chunks that were encoded anew, if each takes just the
// place that it has.
func (d *editor) patch() bool {
	if d.old == nil || d.replaces() {
		return false
	}
	a := assembler{editor: d}
	var patches []store.Patch
	for _, k := range d.list {
		segment, from, n := a.skip()
		if d.todo[k] == remains {
			continue
		}
		off, size, stored, err := d.old.span(int64(k))
		if err != nil || !stored || size != n || n == 0 {
			return false
		}
		patches = append(patches, store.Patch{Off: off, Data: segment[from : from+n]})
	}
	if len(patches) == 0 || d.shares(patches) {
		return false
	}
	d.out.Patches, d.out.Size = patches, d.old.info.Size
	return true
}

// shares reports whether patches overwrite bytes of each other, or of inner chunks that
// stay.
func (d *editor) shares(patches []store.Patch) bool {
	sorted := slices.SortedFunc(slices.Values(patches), func(a, b store.Patch) int { return cmp.Compare(a.Off, b.Off) })
	for i, p := range sorted[1:] {
		if before := sorted[i]; before.Off+int64(len(before.Data)) > p.Off {
			return true
		}
	}
	for k := range d.n {
		off, n, stored, err := d.old.span(k)
		if !stored || err != nil || !d.stays(k) {
			continue // one that is lost already cannot be told from bytes of no use
		}
		i, found := slices.BinarySearchFunc(sorted, off, func(p store.Patch, off int64) int { return cmp.Compare(p.Off, off) })
		if found || i < len(sorted) && sorted[i].Off < off+n || i > 0 && sorted[i-1].Off+int64(len(sorted[i-1].Data)) > off {
			return true
		}
	}
	return false
}
