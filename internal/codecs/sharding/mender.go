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
	"math/bits"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/coding"
	"varve.dev/zarr/store"
)

// A damaged index is restored only if it is proven what it was. The bytes of the inner
// chunks stay as they are. These are the proofs:
//
//  1. A candidate for the index has the checksum that is stored. The checksum covers the
//     offset and the length of every inner chunk in their order, so it also says which
//     inner chunk is which. Only one of the few candidates that are tried may have it. All
//     its entries must fit the shard, and those that it changes must lead to inner chunks
//     that decode.
//  2. The entries are sound as they are stored, all inner chunks decode, and the checksum
//     differs from that of the entries within one byte. If no flipped bit of the entries
//     explains that, the byte is damaged. If more bytes of the checksum are wrong, two
//     entries may have changed places.
//
// Both need inner chunks that have checksums themselves. Where the index was hit, bytes
// beside it may be, too, and without checksums they would become readable as wrong
// values.
//
// Nothing is searched for in the bytes of the shard: those that belong to no inner chunk
// may be earlier versions of inner chunks, or of the index, with valid checksums and old
// values. So an index that was cut off is lost.

// mender restores the index of a shard in memory.
type mender struct {
	*coder
	*layout
	ctx   context.Context
	work  *coding.Work
	shard []byte
	raw   []byte // the index as it is stored
	now   *index // its entries, whatever the checksum says
}

// mostTried bounds the candidates for an index. The chance that a wrong one has the
// stored checksum is 1 in 2^32 for each, except for the one with a bit flipped back. That
// bit is chosen so that the checksum fits, among all 8·n of n bytes, so the chance that
// there is one for other damage is 8·n in 2^32. Only that the inner chunk decodes which
// the changed entry leads to proves it then.
const mostTried = 256

// sumBytes is the length of the checksum at the end of an index.
const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// mend restores the index of the shard of src, or leaves the shard as it is if its index
// decodes. If it is not proven what the index was, the error wraps [codec.ErrCorrupt].
func (d *editor) mend(src coding.Source) error {
	limit := cmp.Or(d.env.Chunk, codec.DefaultChunk)
	shard, info, err := src.Read(d.ctx, store.Request{Limit: limit}, nil)
	if errors.Is(err, store.ErrTooLarge) {
		return fmt.Errorf("%w: the index of a shard of more than %d bytes is not restored (Limits.Chunk)", codec.ErrLimit, limit)
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
	index, err := m.restored()
	if err != nil {
		return err
	}
	copy(m.raw, index) // a part of the shard
	d.out.Fragments = []store.Fragment{{Data: shard}}
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
	m.now, err = m.withSum(raw[:len(raw)-sumBytes])
	return m, err
}

// withSum decodes entries without their checksum.
func (m *mender) withSum(entries []byte) (*index, error) {
	whole := binary.LittleEndian.AppendUint32(bytes.Clone(entries), crc32.Checksum(entries, castagnoli))
	return m.decodeIndex(m.layout, whole, store.Info{Size: int64(len(m.shard))})
}

// restored returns the index as it was.
func (m *mender) restored() ([]byte, error) {
	bad, err := m.unsound()
	if err != nil {
		return nil, err
	}
	if len(bad) == 0 && m.onlySum() {
		return m.encodeIndex(nil, m.layout, m.now)
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
		holds, err := m.holds(candidate)
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
	stored := m.now.stored()
	// A few bytes could stand for millions of inner chunks, each of which would be
	// decoded.
	sum, ok := int64(0), true
	for _, k := range stored {
		if sum, ok = checked.Add(sum, m.now.want(k).n); !ok || sum/timesShared > int64(len(m.shard)) {
			return nil, unproven("its inner chunks share too many bytes")
		}
	}
	sound := make([]uint32, 0, len(stored))
	for _, k := range stored {
		ok, err := m.decodes(m.now, k)
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
		w := m.now.want(k)
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
		if !good[k] && !m.now.isAbsent(k) {
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

// onlySum reports whether the checksum is wrong within one byte, of an index whose
// entries are all sound. If there are none, nothing shows that they are right. Nor does
// it if a flipped bit would have the same effect: an entry may lead to an earlier version
// of its inner chunk.
func (m *mender) onlySum() bool {
	first := bits.TrailingZeros32(m.syndrome()) / 8 * 8
	return m.syndrome()>>first <= 0xff && len(m.now.stored()) > 0 && m.flipped() == nil
}

// holds reports whether the entries of an index fit the shard, and whether the inner
// chunks decode whose entries are not those that are stored.
func (m *mender) holds(candidate []byte) (bool, error) {
	x, err := m.decodeIndex(m.layout, candidate, m.now.info)
	if err != nil || (&editor{coder: m.coder, layout: m.layout, old: x}).sound() != nil {
		return false, nil
	}
	for k := range m.n {
		if x.isAbsent(k) || slices.Equal(x.entries[2*k:][:2], m.now.entries[2*k:][:2]) {
			continue
		}
		if ok, err := m.decodes(x, uint32(k)); !ok {
			return false, err
		}
	}
	return true, nil
}
