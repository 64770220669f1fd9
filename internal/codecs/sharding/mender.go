// SPDX-License-Identifier: Apache-2.0

package sharding

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"math/bits"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// A damaged index is restored only if its original content is proven. The bytes of the
// inner chunks do not change. These are the proofs:
//
//  1. A candidate for the index has the checksum that is stored. The checksum covers the
//     offset and the length of every inner chunk in their order, so it also
//     identifies the inner chunks. Exactly one of the few candidates may have the
//     checksum. All its entries must fit the shard. The entries that it changes must lead
//     to inner chunks that decode.
//  2. The entries are sound as they are stored, all inner chunks decode, and the checksum
//     differs from that of the entries within one byte. If no flipped bit of the entries
//     explains that, the byte is damaged. If more bytes of the checksum are wrong, two
//     entries may have changed places.
//
// Both need inner chunks with checksums. Damage to the index may extend to bytes beside
// it. Without checksums, these would become readable as wrong values.
//
// The mender does not search the bytes of the shard for inner chunks or for an index.
// Dead bytes may be earlier versions of these, with valid checksums and old values. So
// an index that was cut off is lost.

// mender restores the index of a shard in memory.
type mender struct {
	*coder
	*layout
	ctx     context.Context
	work    *coding.Work
	shard   []byte
	raw     []byte // the index as it is stored
	damaged *index // its entries, decoded without the checksum
}

// mostTried bounds the candidates for an index. The chance that a wrong one has the
// stored checksum is 1 in 2^32 for each, except for the one with a bit flipped back.
// That bit is chosen so that the checksum fits, among all 8·n of n bytes, so the chance
// that such a bit exists for other damage is 8·n in 2^32. Then the only proof is that
// the inner chunk of the changed entry decodes.
const mostTried = 256

// sumBytes is the length of the checksum at the end of an index.
const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mend restores the index of the shard of src, or leaves the shard as it is if its index
// decodes. If the original index is not proven, the error wraps [codec.ErrCorrupt].
func (d *editor) mend(src coding.Source) error {
	limit := cmp.Or(d.env.Chunk, coding.DefaultChunk)
	shard, info, err := src.Read(d.ctx, store.Request{Limit: limit}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		return fmt.Errorf("%w: the index of a shard of more than %s is not restored ("+remedy.LimitsChunk+")", codec.ErrLimit, quantity.Count(limit, "bytes"))
	}
	if err != nil {
		return err
	}
	d.out.From, d.out.Size = info, int64(len(shard))
	if _, err := d.indexOf(d.layout, shard); err == nil {
		d.out.Same = true
		return nil
	}
	m, err := d.newMender(shard)
	if err != nil {
		return err
	}
	if d.work.Cores != nil {
		d.work.Cores.Enter()
		defer d.work.Cores.Leave()
	}
	index, err := m.restore()
	if err != nil {
		return err
	}
	copy(m.raw, index) // a part of the shard
	d.out.Fragments = []store.Part{{Data: shard}}
	return nil
}

// unproven is the error for an index that cannot be restored.
func unproven(why string) error { return corrupt("the index cannot be restored: %s", why) }

// newMender reads the entries of a damaged index.
func (d *editor) newMender(shard []byte) (*mender, error) {
	raw, err := d.cutIndex(d.layout, shard)
	switch {
	case err != nil:
		return nil, err
	case len(d.entries) != 2 || d.entries[0].Name != "bytes" || d.entries[1].Name != "crc32c":
		return nil, unproven("its codecs are not bytes and crc32c")
	case d.chain.Divided():
		return nil, unproven("the inner chunks are shards")
	case !d.Guarded():
		return nil, unproven("the inner chunks have no checksums (codec crc32c, gzip, or zstd with checksum)")
	}
	m := &mender{coder: d.coder, layout: d.layout, ctx: d.ctx, work: d.work, shard: shard, raw: raw}
	m.damaged, err = m.decodeUnchecked(raw[:len(raw)-sumBytes])
	return m, err
}

// decodeUnchecked decodes entries without their checksum.
func (m *mender) decodeUnchecked(entries []byte) (*index, error) {
	whole := binary.LittleEndian.AppendUint32(bytes.Clone(entries), crc32.Checksum(entries, castagnoli))
	return m.decodeIndex(m.layout, whole, store.Info{Size: int64(len(m.shard))})
}

// restore returns the index as it was.
func (m *mender) restore() ([]byte, error) {
	bad, err := m.unsound()
	if err != nil {
		return nil, err
	}
	if len(bad) == 0 && m.isSumDamaged() {
		return m.encodeIndex(nil, m.layout, m.damaged)
	}
	var found []byte
	tried := 0
	for candidate := range m.candidates(bad) {
		if tried++; tried > mostTried {
			break
		}
		if bytes.Equal(candidate, found) || !m.hasSum(candidate) {
			continue
		}
		holds, err := m.fitsShard(candidate)
		switch {
		case err != nil:
			return nil, err
		case holds && found != nil:
			return nil, unproven("two candidates have its checksum")
		case holds:
			found = candidate
		}
	}
	if found == nil {
		return nil, unproven("neither its checksum nor the inner chunks tell what it was")
	}
	return found, nil
}

// hasSum reports whether an index ends in the stored checksum.
func (m *mender) hasSum(index []byte) bool {
	return bytes.Equal(index[len(index)-sumBytes:], m.raw[len(m.raw)-sumBytes:])
}

// unsound returns the numbers of the stored inner chunks whose entries do not fit the
// shard or share bytes, or that do not decode, in ascending order.
func (m *mender) unsound() ([]uint32, error) {
	stored := m.damaged.stored()
	// A few bytes could stand for millions of inner chunks, each of which would be
	// decoded.
	sum, ok := int64(0), true
	for _, k := range stored {
		if sum, ok = checked.Add(sum, m.damaged.want(k).n); !ok || sum/timesShared > int64(len(m.shard)) {
			return nil, unproven("its inner chunks share too many bytes")
		}
	}
	sound := make([]uint32, 0, len(stored))
	for _, k := range stored {
		ok, err := m.decodes(m.damaged, k)
		if err != nil {
			return nil, err
		}
		if ok {
			sound = append(sound, k)
		}
	}
	good := make([]bool, m.n)
	stop, last := int64(0), uint32(0)
	for i, k := range sound { // in the order of their bytes
		w := m.damaged.want(k)
		good[k] = i == 0 || w.off >= stop
		if !good[k] {
			good[last] = false // either of the two may be wrong
		}
		if w.off+w.n > stop {
			stop, last = w.off+w.n, k
		}
	}
	var bad []uint32
	for k := range m.n {
		if !good[k] && !m.damaged.isAbsent(k) {
			bad = append(bad, uint32(k))
		}
	}
	return bad, nil
}

// decodes reports whether the bytes that an index has for inner chunk k decode.
func (m *mender) decodes(x *index, k uint32) (bool, error) {
	if err := m.ctx.Err(); err != nil {
		return false, err
	}
	w := x.want(k)
	err := m.CheckInner(m.ctx, m.work, m.shape, m.place(nil, int64(k)), m.shard[w.off:w.off+w.n])
	if errors.Is(err, codec.ErrCorrupt) || errors.Is(err, codec.ErrLimit) {
		return false, nil
	}
	return err == nil, err
}

// syndrome returns how the stored checksum differs from that of the stored entries.
func (m *mender) syndrome() uint32 {
	n := len(m.raw) - sumBytes
	return binary.LittleEndian.Uint32(m.raw[n:]) ^ crc32.Checksum(m.raw[:n], castagnoli)
}

// isSumDamaged reports whether the checksum is wrong within one byte, of an index whose
// entries are all sound. It returns false if there are no entries, because then nothing
// proves them. It also returns false if one flipped bit of the entries would have the
// same effect: an entry may lead to an earlier version of its inner chunk.
func (m *mender) isSumDamaged() bool {
	first := bits.TrailingZeros32(m.syndrome()) / 8 * 8
	return m.syndrome()>>first <= 0xff && len(m.damaged.stored()) > 0 && m.flipped() == nil
}

// fitsShard reports whether the entries of an index fit the shard, and whether all inner
// chunks decode whose entries differ from the stored ones.
func (m *mender) fitsShard(candidate []byte) (bool, error) {
	x, err := m.decodeIndex(m.layout, candidate, m.damaged.info)
	if err != nil || (&editor{coder: m.coder, layout: m.layout, old: x}).checkSound() != nil {
		return false, nil
	}
	for k := range m.n {
		if x.isAbsent(k) || slices.Equal(x.entries[2*k:][:2], m.damaged.entries[2*k:][:2]) {
			continue
		}
		if ok, err := m.decodes(x, uint32(k)); !ok {
			return false, err
		}
	}
	return true, nil
}

// gap is a range of bytes of a shard.
type gap struct{ off, n int64 }

// absentRange is the range of an inner chunk that is not stored.
var absentRange = gap{-1, -1}

// mostFree bounds the free ranges that are given to inner chunks in any order. More are
// given in the orders of usual writers only.
const mostFree = 4

// candidates yields possible originals of a damaged index. bad are the inner chunks that
// are not sound. Callers need only the first few.
func (m *mender) candidates(bad []uint32) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if flipped := m.flipped(); flipped != nil && !yield(flipped) {
			return
		}
		free := m.freeRanges(bad)
		if len(free) == 0 && len(bad) == 0 {
			return
		}
		if !m.assign(bad, free, yield) {
			return
		}
		// The damage may have turned an entry into that of an inner chunk that is not
		// stored.
		if open := m.unplaced(bad); len(open) > len(bad) {
			m.assign(open, free, yield)
		}
	}
}

// flipped returns the index with the one bit flipped back that changed it, or nil if more
// was changed.
func (m *mender) flipped() []byte {
	at, mask := flippedBit(len(m.raw)-sumBytes, m.syndrome())
	if mask == 0 {
		return nil
	}
	candidate := bytes.Clone(m.raw)
	candidate[at] ^= mask
	return candidate
}

// flippedBit returns the bit of n bytes whose flip changes their checksum by the
// syndrome. The mask is 0 if there is none. The effect of a flip depends only on how many
// bytes follow.
func flippedBit(n int, syndrome uint32) (at int, mask byte) {
	var effect [8]uint32
	for b := range effect {
		effect[b] = castagnoli[1<<b]
	}
	for at := n - 1; at >= 0; at-- {
		for b, e := range effect {
			if e == syndrome {
				return at, 1 << b
			}
			effect[b] = castagnoli[byte(e)] ^ e>>8
		}
	}
	return 0, 0
}

// unplaced returns the bad inner chunks and those that are not stored, in ascending
// order.
func (m *mender) unplaced(bad []uint32) []uint32 {
	open := slices.Clone(bad)
	for k := range m.n {
		if m.damaged.isAbsent(k) {
			open = append(open, uint32(k))
		}
	}
	slices.Sort(open)
	return open
}

// freeRanges returns the ranges that belong to no sound inner chunk. If inner chunks
// have a fixed length, longer ranges are divided.
func (m *mender) freeRanges(bad []uint32) (free []gap) {
	first, last := m.damaged.room()
	next := int64(first)
	add := func(stop int64) {
		n := stop - next
		if m.fixed > 0 && n%m.fixed == 0 {
			n = m.fixed
		}
		for ; next < stop && int64(len(free)) <= m.n; next += n {
			free = append(free, gap{next, n})
		}
	}
	for _, k := range m.damaged.stored() {
		if _, found := slices.BinarySearch(bad, k); found {
			continue
		}
		w := m.damaged.want(k)
		add(w.off)
		next = w.off + w.n
	}
	add(int64(last))
	return free
}

// assign yields indexes that give free ranges to inner chunks. The others of them are not
// stored. It returns false if yield did.
func (m *mender) assign(open []uint32, free []gap, yield func([]byte) bool) bool {
	x := &index{entries: slices.Clone(m.damaged.entries), info: m.damaged.info, bytes: m.damaged.bytes, most: m.damaged.most, varies: m.damaged.varies, atStart: m.damaged.atStart}
	for _, k := range open {
		x.set(k, absentRange)
	}
	// Usual writers store inner chunks in one of these orders. The checksum decides.
	if len(free) == len(open) {
		for _, order := range m.orders(open) {
			for i, k := range order {
				x.set(k, free[i])
			}
			if !m.try(x, yield) {
				return false
			}
		}
		for _, k := range open {
			x.set(k, absentRange)
		}
	}
	return len(free) > mostFree || m.distribute(x, open, free, yield)
}

// distribute yields every way to give the free ranges to inner chunks.
func (m *mender) distribute(x *index, open []uint32, free []gap, yield func([]byte) bool) bool {
	if len(free) == 0 {
		return m.try(x, yield)
	}
	for _, k := range open {
		if !x.isAbsent(int64(k)) {
			continue // it has an earlier range
		}
		x.set(k, free[0])
		if !m.distribute(x, open, free[1:], yield) {
			return false
		}
		x.set(k, absentRange)
	}
	return m.distribute(x, open, free[1:], yield) // dead bytes
}

// try yields an index.
func (m *mender) try(x *index, yield func([]byte) bool) bool {
	candidate, err := m.encodeIndex(nil, m.layout, x)
	return err == nil && yield(candidate)
}

// orders returns the inner chunks in C order, Fortran order and Morton order.
func (m *mender) orders(open []uint32) [][]uint32 {
	orders := [][]uint32{open}
	if len(m.chunks) < 2 {
		return orders
	}
	for _, fill := range []func(*orderer){func(o *orderer) { o.fortran(len(m.chunks)-1, 0) }, (*orderer).morton} {
		o := orderer{l: m.layout, order: make([]uint32, 0, m.n)}
		fill(&o)
		orders = append(orders, slices.DeleteFunc(o.order, func(k uint32) bool {
			_, found := slices.BinarySearch(open, k)
			return !found
		}))
	}
	return orders
}
