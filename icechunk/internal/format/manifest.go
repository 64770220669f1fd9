// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Manifest has references to chunks. It keeps the object as it is, and finds references
// in it. It is safe for concurrent use.
type Manifest struct {
	ID ObjectID
	// Later means that the manifest has fields that this package does not know or keep.
	// References are encoded without them.
	Later  bool
	body   []byte
	arrays []References
	// locations decodes those that are compressed. It is nil if none are.
	locations *locations
}

// References are those of one array, ordered by their indices.
type References struct {
	Node     NodeID
	manifest *Manifest
	refs     vector // its buffer is not used
	rank     int    // numbers of each index, 0 without references
}

// Payload is where the bytes of a chunk are.
type Payload uint8

// The kinds of payloads.
const (
	Inline  Payload = iota + 1 // in the reference itself
	Native                     // in an object below chunks/
	Virtual                    // in an object beside the repository
)

// ChunkRef is where a chunk is. Its bytes may be those of a manifest, and must not be
// changed.
type ChunkRef struct {
	Index   []uint32
	Payload Payload
	Data    []byte // of an inline chunk
	ID      ObjectID
	// Location is that of a virtual chunk: a URL.
	Location       []byte
	Offset, Length uint64
	// The virtual chunk is that of an object with this ETag, or of one that was last
	// modified at this time, in seconds since 1970, or before. They are empty and 0 if
	// that is not known.
	ETag     []byte
	Modified uint32
	Extra    []byte
}

// Clone returns a reference that shares nothing with the manifest.
func (r ChunkRef) Clone() ChunkRef {
	r.Index = slices.Clone(r.Index)
	for _, b := range []*[]byte{&r.Data, &r.Location, &r.ETag, &r.Extra} {
		*b = bytes.Clone(*b)
	}
	return r
}

// The slots of a reference.
const (
	refIndex = iota
	refInline
	refOffset
	refLength
	refChunk
	refLocation
	refETag
	refModified
	refCompressed
	refExtra
)

// ParseManifest parses the body of a manifest, which it keeps.
func ParseManifest(body []byte) (*Manifest, error) {
	b, t, err := root(body)
	if err != nil {
		return nil, err
	}
	// Nobody knows what the extra bytes of a manifest, or of an array in it, say of its
	// references. So another manifest cannot have them.
	t.known(4)
	m := &Manifest{ID: t.objectID(0, "ID"), body: body}
	t.need(t.contains(1), "arrays")
	arrays := t.vector(1, 4)
	if dictionary := t.bytes(2); dictionary != nil && t.number(3, 1, 1) == 1 {
		m.locations = &locations{dictionary: dictionary}
	}
	for i := range arrays.len {
		a := arrays.table(i).known(2)
		id := a.structure(0, len(NodeID{}))
		a.need(id != nil, "ID of a node")
		a.need(a.contains(1), "references")
		refs := a.vector(1, 4)
		if b.err != nil {
			return nil, b.err
		}
		r := References{Node: NodeID(id), manifest: m, refs: refs}
		if i > 0 && bytes.Compare(m.arrays[i-1].Node[:], r.Node[:]) >= 0 {
			b.fail("its arrays are not sorted")
		}
		r.check(m)
		m.arrays = append(m.arrays, r)
	}
	m.Later = b.later
	return m, b.err
}

// check looks at each reference once, so that the other methods need not.
func (r *References) check(m *Manifest) {
	b := r.refs.b
	var last vector
	for i := range r.refs.len {
		t := r.refs.table(i).known(10)
		index := t.vector(refIndex, 4)
		if i == 0 {
			r.rank = index.len
		}
		if index.len != r.rank {
			b.fail("the indices of an array have different lengths: %d, %d", r.rank, index.len)
		}
		if b.err == nil && i > 0 && compareIndices(last, index) >= 0 {
			b.fail("the references of an array are not sorted")
		}
		last = index
		kinds := 0
		for _, slot := range []int{refInline, refChunk, refLocation, refCompressed} {
			if t.contains(slot) {
				kinds++
			}
		}
		if kinds != 1 {
			b.fail("a reference does not lead to one place (number: %d)", kinds)
		}
		if t.contains(refCompressed) && m.locations == nil {
			b.fail("a location is compressed, and the manifest has no dictionary")
		}
		if offset, length := t.number(refOffset, 8, 0), t.number(refLength, 8, 0); offset+length < offset || offset+length > 1<<63-1 {
			b.fail("a reference leads beyond 2^63 bytes")
		}
		if b.err != nil {
			return
		}
	}
}

// compareIndices compares two indices of the same length.
func compareIndices(x, y vector) int {
	for i := range x.len {
		if c := cmp.Compare(x.b.uint32(x.at+4*i), y.b.uint32(y.at+4*i)); c != 0 {
			return c
		}
	}
	return 0
}

// Arrays returns the references of all arrays, by the IDs of their nodes.
func (m *Manifest) Arrays() []References { return m.arrays }

// Of returns the references of an array. It has none if the manifest does not name it.
func (m *Manifest) Of(id NodeID) References {
	i, ok := sort.Find(len(m.arrays), func(i int) int { return bytes.Compare(id[:], m.arrays[i].Node[:]) })
	if !ok {
		return References{Node: id, manifest: m}
	}
	return m.arrays[i]
}

// Size returns about how many bytes the manifest takes in memory.
func (m *Manifest) Size() int64 { return int64(len(m.body)) + int64(len(m.arrays))*64 }

// Len returns the number of references.
func (r References) Len() int { return r.refs.len }

// fresh returns the references with a buffer of their own: a buffer is changed when it is
// read.
func (r References) fresh() vector {
	v := r.refs
	v.b = newBuffer(r.manifest.body)
	return v
}

// Find returns the reference of a chunk.
func (r References) Find(index []uint32) (ref ChunkRef, ok bool, err error) {
	if r.refs.len == 0 || len(index) != r.rank {
		return ref, false, nil
	}
	refs := r.fresh()
	i, ok := sort.Find(refs.len, func(i int) int {
		is := refs.table(i).vector(refIndex, 4)
		for k, n := range index {
			if c := cmp.Compare(n, is.b.uint32(is.at+4*k)); c != 0 {
				return c
			}
		}
		return 0
	})
	if !ok {
		return ref, false, nil
	}
	ref, err = r.manifest.reference(refs.table(i), nil)
	return ref, err == nil, err
}

// All yields the references in order. The next one reuses the index.
func (r References) All() iter.Seq2[ChunkRef, error] {
	return func(yield func(ChunkRef, error) bool) {
		refs := r.fresh()
		index := make([]uint32, 0, r.rank)
		for i := range refs.len {
			ref, err := r.manifest.reference(refs.table(i), index)
			if !yield(ref, err) || err != nil {
				return
			}
		}
	}
}

// reference returns a reference that was checked. Its index is appended to an empty
// slice.
func (m *Manifest) reference(t table, index []uint32) (ref ChunkRef, err error) {
	numbers := t.vector(refIndex, 4)
	for i := range numbers.len {
		index = append(index, numbers.b.uint32(numbers.at+4*i))
	}
	ref.Index = index
	ref.Offset, ref.Length = t.number(refOffset, 8, 0), t.number(refLength, 8, 0)
	ref.Extra = t.bytes(refExtra)
	switch {
	case t.contains(refInline):
		ref.Payload, ref.Data = Inline, t.bytes(refInline)
	case t.contains(refChunk):
		ref.Payload, ref.ID = Native, t.objectID(refChunk, "ID of a chunk")
	default:
		ref.Payload, ref.Location = Virtual, t.utf8(refLocation)
		ref.ETag, ref.Modified = t.utf8(refETag), uint32(t.number(refModified, 4, 0))
		if t.contains(refCompressed) {
			if ref.Location, err = m.locations.decode(t.bytes(refCompressed)); err != nil {
				return ref, err
			}
		}
	}
	return ref, t.b.err
}

// locations decodes locations that are compressed with a dictionary.
type locations struct {
	dictionary []byte
	making     sync.Once
	decoder    *zstd.Decoder
	err        error
}

// mostLocation bounds a location, in bytes.
const mostLocation = 1 << 16

func (l *locations) decode(frame []byte) ([]byte, error) {
	l.making.Do(func() {
		l.decoder, l.err = zstd.NewReader(nil, zstd.WithDecoderDicts(l.dictionary), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(window))
	})
	if l.err != nil {
		return nil, fmt.Errorf("%w: the dictionary of locations: %w", ErrDamaged, l.err)
	}
	text, err := l.decoder.DecodeAll(frame, nil)
	if err == nil && len(text) > mostLocation {
		err = fmt.Errorf("its length is %d", len(text))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: a location: %w", ErrDamaged, err)
	}
	return text, nil
}
