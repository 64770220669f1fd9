// SPDX-License-Identifier: Apache-2.0

package format

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/klauspost/compress/zstd"
	"varve.dev/zarr"
)

// version is that of the objects that are written.
const version = 2

// encoder encodes objects at level 3 of Zstandard, as the reference does.
var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
})

// Seal returns an object with an envelope around a body, which it has decoded again.
// program names the writer, in at most 24 bytes.
func Seal(program string, kind Kind, body []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, envelopeLength+len(body)/8), magic...)
	out = append(out, program[:min(len(program), programLength)]...)
	out = append(out, strings.Repeat(" ", max(0, programLength-len(program)))...)
	out = e.EncodeAll(body, append(out, version, byte(kind), 1))
	return out, compare(out[envelopeLength:], body)
}

// compare returns an error unless a frame of Zstandard decodes to a body. It keeps
// nothing of it.
func compare(frame, body []byte) error {
	d, err := zstd.NewReader(bytes.NewReader(frame), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer d.Close()
	part := make([]byte, 1<<15)
	for err == nil {
		n := 0
		if n, err = d.Read(part); !bytes.HasPrefix(body, part[:n]) {
			return errEncoding
		}
		body = body[n:]
	}
	if err != io.EOF || len(body) > 0 {
		return fmt.Errorf("%w: %w", errEncoding, err)
	}
	return nil
}

// errEncoding means that an object was not encoded as it should be.
var errEncoding = errors.New("an object does not decode to what was encoded; report this")

// builder builds a FlatBuffer.
type builder struct{ *flatbuffers.Builder }

func newBuilder(size int) builder { return builder{flatbuffers.NewBuilder(max(size, 1024))} }

// finish returns the buffer whose root is a table.
func (b builder) finish(root flatbuffers.UOffsetT) []byte {
	b.FinishWithFileIdentifier(root, []byte(identifier))
	return b.FinishedBytes()
}

// structure writes the bytes of a structure, as a field of the table that is begun.
func (b builder) structure(slot int, raw []byte) {
	b.Prep(1, len(raw))
	for _, c := range slices.Backward(raw) {
		b.PlaceByte(c)
	}
	b.PrependStructSlot(slot, b.Offset(), 0)
}

// bytes writes a list of bytes. It returns 0 for nil.
func (b builder) bytes(raw []byte) flatbuffers.UOffsetT {
	if raw == nil {
		return 0
	}
	return b.CreateByteVector(raw)
}

// text writes a text. It returns 0 for none.
func (b builder) text(s string) flatbuffers.UOffsetT {
	if s == "" {
		return 0
	}
	return b.CreateString(s)
}

// list writes a list of n elements of some bytes, each of which place writes.
func (b builder) list(size, n, align int, place func(i int)) flatbuffers.UOffsetT {
	b.StartVector(size, n, align)
	for i := n - 1; i >= 0; i-- {
		place(i)
	}
	return b.EndVector(n)
}

// tables writes a list of tables.
func (b builder) tables(list []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	return b.list(4, len(list), 4, func(i int) { b.PrependUOffsetT(list[i]) })
}

// raw writes a list of structures of bytes.
func (b builder) raw(size, n int, of func(i int) []byte) flatbuffers.UOffsetT {
	return b.list(size, n, 1, func(i int) {
		for _, c := range slices.Backward(of(i)) {
			b.PrependByte(c)
		}
	})
}

// offset sets a field that leads elsewhere, unless it leads nowhere.
func (b builder) offset(slot int, to flatbuffers.UOffsetT) {
	if to != 0 {
		b.PrependUOffsetTSlot(slot, to, 0)
	}
}

// each writes the table of each element of a list.
func each[T any](b builder, list []T, write func(T) flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	tables := make([]flatbuffers.UOffsetT, len(list))
	for i, x := range list {
		tables[i] = write(x)
	}
	return b.tables(tables)
}

func micros(t time.Time) uint64 { return uint64(t.UnixMicro()) }

func (b builder) items(list []Item) flatbuffers.UOffsetT {
	return each(b, list, func(i Item) flatbuffers.UOffsetT {
		name, value := b.CreateString(i.Name), b.CreateByteVector(i.Value)
		b.StartObject(2)
		b.offset(0, name)
		b.offset(1, value)
		return b.EndObject()
	})
}

func (b builder) ids(list []ObjectID) flatbuffers.UOffsetT {
	return b.raw(len(ObjectID{}), len(list), func(i int) []byte { return list[i][:] })
}

// Encode returns the body of the object.
func (r *Repository) Encode() []byte {
	b := newBuilder(256 * (len(r.Snapshots) + len(r.Updates)))
	references := func(list []Reference) flatbuffers.UOffsetT {
		return each(b, list, func(ref Reference) flatbuffers.UOffsetT {
			name := b.CreateString(ref.Name)
			b.StartObject(2)
			b.offset(0, name)
			b.PrependUint32Slot(1, uint32(ref.Snapshot), 0)
			return b.EndObject()
		})
	}
	tags, branches := references(r.Tags), references(r.Branches)
	deleted := each(b, r.DeletedTags, func(name string) flatbuffers.UOffsetT { return b.CreateString(name) })
	snapshots := each(b, r.Snapshots, b.info)
	status := b.status(r.Status)
	metadata := flatbuffers.UOffsetT(0)
	if r.Metadata != nil {
		metadata = b.items(r.Metadata)
	}
	updates := each(b, r.Updates, b.update)
	before, config, extra := b.text(r.Before), b.bytes(r.Config), b.bytes(r.Extra)
	numbers := func(list []uint16) flatbuffers.UOffsetT {
		if list == nil {
			return 0
		}
		return b.list(2, len(list), 2, func(i int) { b.PrependUint16(list[i]) })
	}
	enabled, disabled := numbers(r.Enabled), numbers(r.Disabled)
	b.StartObject(13)
	b.PrependByteSlot(0, version, 0)
	for slot, to := range []flatbuffers.UOffsetT{1: tags, 2: branches, 3: deleted, 4: snapshots, 5: status, 6: metadata, 7: updates, 8: before, 9: config, 10: enabled, 11: disabled, 12: extra} {
		b.offset(slot, to)
	}
	return b.finish(b.EndObject())
}

func (b builder) info(s SnapshotInfo) flatbuffers.UOffsetT {
	message := b.CreateString(s.Message)
	metadata, pruned := flatbuffers.UOffsetT(0), flatbuffers.UOffsetT(0)
	if s.Metadata != nil {
		metadata = b.items(s.Metadata)
	}
	if s.Pruned != nil {
		pruned = b.ids(s.Pruned)
	}
	b.StartObject(6)
	b.structure(0, s.ID[:])
	b.PrependInt32Slot(1, int32(s.Parent), 0)
	b.PrependUint64Slot(2, micros(s.Time), 0)
	b.offset(3, message)
	b.offset(4, metadata)
	b.offset(5, pruned)
	return b.EndObject()
}

func (b builder) status(s Status) flatbuffers.UOffsetT {
	reason := b.text(s.Reason)
	b.StartObject(3)
	b.PrependByteSlot(0, byte(s.Availability), 0)
	b.PrependUint64Slot(1, micros(s.Since), 0)
	b.offset(2, reason)
	return b.EndObject()
}

func (b builder) update(u Update) flatbuffers.UOffsetT {
	backup, is := b.text(u.Backup), b.updated(u)
	b.StartObject(4)
	b.PrependByteSlot(0, byte(u.Kind), 0)
	b.offset(1, is)
	b.PrependUint64Slot(2, micros(u.Time), 0)
	b.offset(3, backup)
	return b.EndObject()
}

// updated writes what is special in a kind of update.
func (b builder) updated(u Update) flatbuffers.UOffsetT {
	name, status := flatbuffers.UOffsetT(0), flatbuffers.UOffsetT(0)
	if named[u.Kind] {
		name = b.CreateString(u.Name)
	}
	if u.Kind == StatusChanged {
		status = b.status(u.Status)
	}
	b.StartObject(3)
	b.offset(0, name)
	switch u.Kind {
	case TagDeleted, BranchDeleted, BranchReset:
		b.structure(1, u.Previous[:])
	case Committed:
		b.structure(1, u.New[:])
	case Amended:
		b.structure(1, u.Previous[:])
		b.structure(2, u.New[:])
	case DetachedSnapshot:
		b.structure(0, u.New[:])
	case RepositoryMigrated:
		b.PrependByteSlot(0, u.From, 0)
		b.PrependByteSlot(1, u.To, 0)
	case FeatureChanged:
		b.PrependUint16Slot(0, u.Feature.Number, 0)
		b.PrependBoolSlot(1, u.Feature.On, false)
		b.PrependBoolSlot(2, u.Feature.IsSet, false)
	case StatusChanged:
		b.offset(0, status)
	}
	return b.EndObject()
}

// Encode returns the body of the object.
func (s *Snapshot) Encode() []byte {
	b := newBuilder(512 * len(s.Nodes))
	nodes := each(b, s.Nodes, b.node)
	message, metadata, extra := b.CreateString(s.Message), b.items(s.Metadata), b.bytes(s.Extra)
	old := b.list(fileLength, 0, 8, nil)
	files := each(b, s.Files, func(f ManifestFile) flatbuffers.UOffsetT {
		extra := b.bytes(f.Extra)
		b.StartObject(4)
		b.structure(0, f.ID[:])
		b.PrependUint64Slot(1, f.Size, 0)
		b.PrependUint32Slot(2, f.References, 0)
		b.offset(3, extra)
		return b.EndObject()
	})
	b.StartObject(9)
	b.structure(0, s.ID[:])
	b.offset(2, nodes)
	b.PrependUint64Slot(3, micros(s.Time), 0)
	for slot, to := range []flatbuffers.UOffsetT{4: message, 5: metadata, 6: old, 7: files, 8: extra} {
		b.offset(slot, to)
	}
	return b.finish(b.EndObject())
}

func (b builder) node(n Node) flatbuffers.UOffsetT {
	path, document, extra := b.CreateString(n.Path), b.CreateByteVector(n.Document), b.bytes(n.Extra)
	kind, is := byte(groupNode), flatbuffers.UOffsetT(0)
	if n.IsArray {
		kind, is = arrayNode, b.array(n)
	} else {
		b.StartObject(0)
		is = b.EndObject()
	}
	b.StartObject(6)
	b.structure(0, n.ID[:])
	b.offset(1, path)
	b.offset(2, document)
	b.PrependByteSlot(3, kind, 0)
	b.offset(4, is)
	b.offset(5, extra)
	return b.EndObject()
}

func (b builder) array(n Node) flatbuffers.UOffsetT {
	names := flatbuffers.UOffsetT(0)
	if n.Names != nil {
		names = each(b, n.Names, func(name *string) flatbuffers.UOffsetT {
			text := flatbuffers.UOffsetT(0)
			if name != nil {
				text = b.CreateString(*name)
			}
			b.StartObject(1)
			b.offset(0, text)
			return b.EndObject()
		})
	}
	manifests := each(b, n.Manifests, func(m ManifestRef) flatbuffers.UOffsetT {
		extents := b.list(8, len(m.Extents), 4, func(i int) {
			b.PrependUint32(m.Extents[i].To)
			b.PrependUint32(m.Extents[i].From)
		})
		b.StartObject(2)
		b.structure(0, m.ID[:])
		b.offset(1, extents)
		return b.EndObject()
	})
	shape := each(b, n.Shape, func(d Dimension) flatbuffers.UOffsetT {
		b.StartObject(2)
		b.PrependUint64Slot(0, d.Length, 0)
		b.PrependUint32Slot(1, uint32(d.Chunks), 0)
		return b.EndObject()
	})
	old := b.list(16, 0, 8, nil)
	b.StartObject(4)
	b.offset(0, old)
	b.offset(1, names)
	b.offset(2, manifests)
	b.offset(3, shape)
	return b.EndObject()
}

// ManifestWriter encodes a manifest. Locations are not compressed.
type ManifestWriter struct {
	b            builder
	refs, arrays []flatbuffers.UOffsetT
	isFull       bool
}

// mostManifest bounds a manifest, in bytes: a builder panics beyond 1 GiB. Tests change
// it.
var mostManifest = 1 << 30

// TypicalReference is about how many bytes a reference takes in a manifest.
const TypicalReference = 96

// NewManifestWriter returns a writer for a manifest of about so many bytes. One that is
// longer is moved in memory again and again.
func NewManifestWriter(size int64) *ManifestWriter {
	n := int(min(size, int64(mostManifest)))
	return &ManifestWriter{b: newBuilder(n), refs: make([]flatbuffers.UOffsetT, 0, n/TypicalReference)}
}

// Add adds a reference to those of an array, which are ordered by their indices. It does
// not keep the index.
func (w *ManifestWriter) Add(ref ChunkRef) {
	// Tables, padding and the end of the manifest have less than 1 KiB.
	need := 1<<10 + 4*(len(ref.Index)+len(w.refs)) + len(ref.Data) + len(ref.Location) + len(ref.ETag) + len(ref.Extra)
	if w.isFull = w.isFull || int(w.b.Offset())+need > mostManifest; !w.isFull {
		w.refs = append(w.refs, w.b.reference(ref))
	}
}

// Len returns the number of references that were added since the last array.
func (w *ManifestWriter) Len() int { return len(w.refs) }

// EndArray ends the references of an array. Arrays are ordered by their nodes.
func (w *ManifestWriter) EndArray(node NodeID) {
	refs := w.b.tables(w.refs)
	w.refs = w.refs[:0]
	w.b.StartObject(3)
	w.b.structure(0, node[:])
	w.b.offset(1, refs)
	w.arrays = append(w.arrays, w.b.EndObject())
}

// Finish returns the body of the manifest, or an error if it would be too long.
func (w *ManifestWriter) Finish(id ObjectID) ([]byte, error) {
	if w.isFull {
		return nil, fmt.Errorf("%w: a manifest of more than 1 GiB; let the repository split manifests (manifest.splitting in its configuration)", zarr.ErrUnsupported)
	}
	list := w.b.tables(w.arrays)
	w.b.StartObject(5)
	w.b.structure(0, id[:])
	w.b.offset(1, list)
	// The default of the schema is 1, which would need a dictionary. It has to be written
	// although it is 0.
	w.b.PrependByte(0)
	w.b.Slot(3)
	return w.b.finish(w.b.EndObject()), nil
}

func (b builder) reference(ref ChunkRef) flatbuffers.UOffsetT {
	index := b.list(4, len(ref.Index), 4, func(i int) { b.PrependUint32(ref.Index[i]) })
	data, location, etag, extra := flatbuffers.UOffsetT(0), flatbuffers.UOffsetT(0), flatbuffers.UOffsetT(0), b.bytes(ref.Extra)
	if len(ref.ETag) > 0 {
		etag = b.CreateByteString(ref.ETag)
	}
	switch ref.Payload {
	case Inline:
		data = b.CreateByteVector(ref.Data)
	case Virtual:
		location = b.CreateByteString(ref.Location)
	}
	b.StartObject(10)
	b.offset(refIndex, index)
	b.offset(refInline, data)
	b.PrependUint64Slot(refOffset, ref.Offset, 0)
	b.PrependUint64Slot(refLength, ref.Length, 0)
	if ref.Payload == Native {
		b.structure(refChunk, ref.ID[:])
	}
	b.offset(refLocation, location)
	b.offset(refETag, etag)
	b.PrependUint32Slot(refModified, ref.Modified, 0)
	b.offset(refExtra, extra)
	return b.EndObject()
}

// TransactionLog is what a commit has changed, against the snapshot before it.
type TransactionLog struct {
	ID                           ObjectID // of the snapshot
	NewGroups, NewArrays         []NodeID
	DeletedGroups, DeletedArrays []NodeID
	UpdatedArrays, UpdatedGroups []NodeID // that have another document
	Chunks                       []ChunkChanges
	Moves                        []Move
	Extra                        []byte // of later versions of the specification
	// Later means that the log has fields that this package does not know, which may tell
	// of changes that nothing else does.
	Later bool
}

// ChunkChanges are the chunks of an array that were added, replaced or deleted, in order.
type ChunkChanges struct {
	Node    NodeID
	Indices [][]uint32
}

// Move is a node that has another path.
type Move struct {
	From, To string
	Node     NodeID
	IsArray  bool
}

// nodes are the lists of a transaction log, from slot 1 on.
func (l *TransactionLog) nodes() []*[]NodeID {
	return []*[]NodeID{&l.NewGroups, &l.NewArrays, &l.DeletedGroups, &l.DeletedArrays, &l.UpdatedArrays, &l.UpdatedGroups}
}

// Sort orders the lists of the log.
func (l *TransactionLog) Sort() {
	for _, list := range l.nodes() {
		slices.SortFunc(*list, func(a, b NodeID) int { return bytes.Compare(a[:], b[:]) })
	}
	slices.SortFunc(l.Chunks, func(a, b ChunkChanges) int { return bytes.Compare(a.Node[:], b.Node[:]) })
	for _, c := range l.Chunks {
		slices.SortFunc(c.Indices, slices.Compare)
	}
	slices.SortFunc(l.Moves, func(a, b Move) int {
		return cmp.Or(slices.Compare(strings.Split(a.To, "/"), strings.Split(b.To, "/")), cmp.Compare(a.To, b.To))
	})
}

// Merge adds the changes of another log, and keeps what that has besides.
func (l *TransactionLog) Merge(o *TransactionLog) {
	other := o.nodes()
	for i, list := range l.nodes() {
		*list = append(*list, *other[i]...)
	}
	for _, c := range o.Chunks {
		i := slices.IndexFunc(l.Chunks, func(own ChunkChanges) bool { return own.Node == c.Node })
		if i < 0 {
			l.Chunks = append(l.Chunks, c)
			continue
		}
		l.Chunks[i].Indices = append(l.Chunks[i].Indices, c.Indices...)
	}
	l.Moves = append(l.Moves, o.Moves...)
	l.Extra, l.Later = o.Extra, o.Later
	l.Sort()
	for _, list := range l.nodes() {
		*list = slices.Compact(*list)
	}
	for i := range l.Chunks {
		l.Chunks[i].Indices = slices.CompactFunc(l.Chunks[i].Indices, slices.Equal[[]uint32])
	}
}

// Encode returns the body of the object. Its lists are sorted.
func (l *TransactionLog) Encode() []byte {
	size := 1 << 12
	for _, c := range l.Chunks {
		if len(c.Indices) > 0 {
			// A table, where it is, and the list to which it leads.
			size += len(c.Indices) * (16 + 4*len(c.Indices[0]))
		}
	}
	b := newBuilder(size)
	var lists []flatbuffers.UOffsetT
	for _, list := range l.nodes() {
		lists = append(lists, b.raw(len(NodeID{}), len(*list), func(i int) []byte { return (*list)[i][:] }))
	}
	lists = append(lists, each(b, l.Chunks, func(c ChunkChanges) flatbuffers.UOffsetT {
		chunks := each(b, c.Indices, func(index []uint32) flatbuffers.UOffsetT {
			coordinates := b.list(4, len(index), 4, func(i int) { b.PrependUint32(index[i]) })
			b.StartObject(1)
			b.offset(0, coordinates)
			return b.EndObject()
		})
		b.StartObject(2)
		b.structure(0, c.Node[:])
		b.offset(1, chunks)
		return b.EndObject()
	}))
	if l.Moves != nil {
		lists = append(lists, each(b, l.Moves, func(m Move) flatbuffers.UOffsetT {
			from, to := b.CreateString(m.From), b.CreateString(m.To)
			b.StartObject(4)
			b.offset(0, from)
			b.offset(1, to)
			b.structure(2, m.Node[:])
			b.PrependBoolSlot(3, m.IsArray, false)
			return b.EndObject()
		}))
	}
	extra := b.bytes(l.Extra)
	b.StartObject(10)
	b.structure(0, l.ID[:])
	for i, to := range lists {
		b.offset(i+1, to)
	}
	b.offset(9, extra)
	return b.finish(b.EndObject())
}

// ParseTransactionLog parses the body of a transaction log.
func ParseTransactionLog(body []byte) (*TransactionLog, error) {
	b, t, err := root(body)
	if err != nil {
		return nil, err
	}
	t.known(10)
	l := &TransactionLog{ID: t.objectID(0, "ID"), Extra: t.bytes(9)}
	for i, list := range l.nodes() {
		for v, k := t.vector(i+1, len(NodeID{})), 0; k < v.len; k++ {
			*list = append(*list, NodeID(v.element(k)))
		}
	}
	for _, is := range t.vector(7, 4).tables() {
		c := ChunkChanges{}
		is.known(2)
		copy(c.Node[:], is.structure(0, len(c.Node)))
		var numbers []uint32 // of many indices, which are not allocated one by one
		for _, chunk := range is.vector(1, 4).tables() {
			coordinates := chunk.known(1).vector(0, 4)
			if cap(numbers)-len(numbers) < coordinates.len {
				numbers = make([]uint32, 0, max(coordinates.len, 16, min(2*cap(numbers), 1<<14)))
			}
			first := len(numbers)
			for n := range coordinates.len {
				numbers = append(numbers, b.uint32(coordinates.at+4*n))
			}
			if len(c.Indices) == cap(c.Indices) {
				c.Indices = slices.Grow(c.Indices, len(c.Indices)+16)
			}
			c.Indices = append(c.Indices, slices.Clip(numbers[first:]))
		}
		l.Chunks = append(l.Chunks, c)
	}
	for _, is := range t.vector(8, 4).tables() {
		m := Move{From: is.text(0), To: is.text(1), IsArray: is.number(3, 1, 0) != 0}
		copy(m.Node[:], is.known(4).structure(2, len(m.Node)))
		l.Moves = append(l.Moves, m)
	}
	l.Later = b.later
	if b.err != nil {
		return nil, fmt.Errorf("transaction log: %w", b.err)
	}
	return l, nil
}
