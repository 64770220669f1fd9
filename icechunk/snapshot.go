// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"sync"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Snapshot is the state of a repository at one commit. It is a store for reading, with
// the keys that Zarr describes: zarr.json, and c/0/1 for a chunk. It is safe for
// concurrent use.
type Snapshot struct {
	repository *Repository
	content    *format.Snapshot
	shapes     sync.Map // *shape of the documents that were parsed, by *format.Node
}

// documentName is the name of the document of a node.
const documentName = "zarr.json"

// parsed reads a snapshot.
func (r *Repository) parsed(ctx context.Context, id ID) (*format.Snapshot, error) {
	body, err := r.read(ctx, snapshotName(id), format.KindSnapshot)
	if err != nil {
		return nil, err
	}
	s, err := format.ParseSnapshot(body)
	if err == nil && s.ID != id {
		err = fmt.Errorf("%w: it is the snapshot %v", format.ErrDamaged, s.ID)
	}
	if err != nil {
		return nil, r.fail(snapshotName(id), err)
	}
	return s, nil
}

// open opens a snapshot.
func (r *Repository) open(ctx context.Context, id ID) (*Snapshot, error) {
	is, err := r.parsed(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Snapshot{repository: r, content: is}, nil
}

// ID returns the ID of the snapshot.
func (s *Snapshot) ID() ID { return s.content.ID }

// Close closes the repository, which other snapshots and sessions may share.
func (s *Snapshot) Close() error { return s.repository.Close() }

// part is what a key is a part of.
type part struct {
	node *format.Node
	rest string // below the node, such as zarr.json or c/0/1
}

// split finds the node that a key is of.
func (s *Snapshot) split(key string) part {
	n, rest := (&listing{nodes: s.content.Nodes}).at(key)
	return part{n, rest}
}

// Get implements [store.Store].
func (s *Snapshot) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	at := s.split(key.String())
	if at.node != nil && at.rest == documentName {
		return take(at.node.Document, s.document(at.node), q, dst)
	}
	index, ok := s.chunkIndex(at)
	if !ok {
		return nil, store.Info{}, missing(key)
	}
	ref, err := s.reference(ctx, at.node, index)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("%s: %w", key, err)
	}
	data, info, err := s.chunk(ctx, ref, q, dst)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("%s: %w", key, err)
	}
	return data, info, nil
}

// Stat implements [store.Stater].
func (s *Snapshot) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	at := s.split(key.String())
	if at.node != nil && at.rest == documentName {
		return s.document(at.node), nil
	}
	index, ok := s.chunkIndex(at)
	if !ok {
		return store.Info{}, missing(key)
	}
	ref, err := s.reference(ctx, at.node, index)
	if err != nil {
		return store.Info{}, fmt.Errorf("%s: %w", key, err)
	}
	return infoOf(ref), nil
}

func missing(key store.Key) error { return fmt.Errorf("%s: %w", key, fs.ErrNotExist) }

// document describes the document of a node.
func (s *Snapshot) document(n *format.Node) store.Info {
	return documentInfo(n.Document, s.content.Time)
}

// documentInfo describes a document.
func documentInfo(document []byte, written time.Time) store.Info {
	sum := sha256.Sum256(document)
	return store.Info{Size: int64(len(document)), Version: store.MakeVersion(fmt.Sprintf("%x", sum[:12])), Modified: written}
}

// take returns the bytes of a value that a request asks for.
func take(value []byte, info store.Info, q store.Request, dst []byte) ([]byte, store.Info, error) {
	off, n, err := q.Resolve(int64(len(value)))
	if err != nil {
		return nil, store.Info{}, err
	}
	return append(dst, value[off:off+n]...), info, nil
}

// chunkIndex returns the index of the chunk that a key means.
func (s *Snapshot) chunkIndex(at part) (index []uint32, ok bool) {
	if at.node == nil || !at.node.IsArray {
		return nil, false
	}
	return indexOf(s.keysOf(at.node), at.rest, len(at.node.Shape))
}

// shapeOf returns what the document of an array says, nil if it cannot be parsed: then it
// is refused when the array is opened. Each document is parsed once.
func (s *Snapshot) shapeOf(n *format.Node) *shape {
	if found, ok := s.shapes.Load(n); ok {
		return found.(*shape)
	}
	is, err := shapeOf(n.Document)
	if err != nil {
		is = nil
	}
	s.shapes.Store(n, is)
	return is
}

// keysOf returns how an array gives its chunks keys.
func (s *Snapshot) keysOf(n *format.Node) metadata.KeyEncoding {
	if is := s.shapeOf(n); is != nil {
		return is.keys
	}
	return metadata.DefaultSlash
}

// reference returns the reference of a chunk. If there is none, the error wraps
// [fs.ErrNotExist].
func (s *Snapshot) reference(ctx context.Context, n *format.Node, index []uint32) (ref format.ChunkRef, err error) {
	if beyond(n, index) {
		return ref, fs.ErrNotExist
	}
	for _, m := range n.Manifests {
		if !m.Contains(index) {
			continue
		}
		manifest, err := s.repository.manifest(ctx, s.content, m.ID)
		if err != nil {
			return ref, err
		}
		ref, ok, err := manifest.Of(n.ID).Find(index)
		if ok || err != nil {
			return ref, err
		}
	}
	return ref, fs.ErrNotExist
}

// VersionsNameContent reports that equal versions of chunks, also in other repositories,
// mean equal bytes: IDs of objects are random, and short chunks are hashed.
func (s *Snapshot) VersionsNameContent() bool { return true }

// VersionsNameContent is as [Snapshot.VersionsNameContent].
func (s *Session) VersionsNameContent() bool { return true }

// infoOf describes a chunk. References never change, so what they say is a version.
func infoOf(ref format.ChunkRef) store.Info {
	b := make([]byte, 0, 128) // listings have one for each chunk
	if ref.Payload == format.Inline {
		return store.Info{Size: int64(len(ref.Data)), Version: hashed("i-", ref.Data)}
	}
	if ref.Payload == format.Native {
		b = append(b, ref.ID.String()...)
	} else {
		b = strconv.AppendQuote(b, string(ref.Location))
		b = strconv.AppendQuote(b, string(ref.ETag))
		b = strconv.AppendUint(b, uint64(ref.Modified), 10)
	}
	b = strconv.AppendUint(append(b, '-'), ref.Offset, 10)
	b = strconv.AppendUint(append(b, '-'), ref.Length, 10)
	if ref.Payload == format.Native {
		return store.Info{Size: int64(ref.Length), Version: store.MakeVersion(string(b))}
	}
	return store.Info{Size: int64(ref.Length), Version: hashed("v-", b)}
}

// hashed returns a version that depends on some bytes.
func hashed(prefix string, data []byte) store.Version {
	sum := sha256.Sum256(data)
	return store.MakeVersion(prefix + hex.EncodeToString(sum[:12]))
}

// chunk reads the bytes of a chunk.
func (s *Snapshot) chunk(ctx context.Context, ref format.ChunkRef, q store.Request, dst []byte) ([]byte, store.Info, error) {
	info := infoOf(ref)
	if ref.Payload == format.Inline {
		return take(ref.Data, info, q, dst)
	}
	off, n, err := q.Resolve(info.Size)
	if err != nil {
		return nil, info, err
	}
	if ref.Payload == format.Virtual {
		out, err := s.repository.virtualChunk(ctx, ref, off, n, dst)
		return out, info, err
	}
	key := s.repository.root.MustKey(chunkObject(ref.ID))
	out, _, err := s.repository.store.Get(ctx, key, store.Request{Range: store.Span(int64(ref.Offset)+off, n), Limit: n}, dst)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		// A missing chunk would be read as the fill value.
		return nil, info, fmt.Errorf("%w: the chunk object %s does not exist", format.ErrDamaged, key)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, info, fmt.Errorf("%w: the chunk object ends before the manifest says: %w", format.ErrDamaged, err)
	case err != nil:
		return nil, info, err
	}
	return out, info, nil
}

// List implements [store.Lister].
func (s *Snapshot) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return s.listing().list(ctx, dir.String(), how)
}

// listing returns what the snapshot has to list.
func (s *Snapshot) listing() *listing {
	return &listing{nodes: s.content.Nodes, time: s.content.Time, chunks: func(ctx context.Context, n *format.Node) iter.Seq2[store.Entry, error] {
		return func(yield func(store.Entry, error) bool) {
			for ref, err := range s.references(ctx, n) {
				e := store.Entry{}
				if err == nil {
					e = entryOf(nameOf(s.keysOf(n), ref.Index), ref)
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}}
}

// entryOf is the entry of a chunk.
func entryOf(name string, ref format.ChunkRef) store.Entry {
	info := infoOf(ref)
	return store.Entry{Name: name, Size: info.Size, Version: info.Version}
}

// references yields the references of an array that lie in its grid.
func (s *Snapshot) references(ctx context.Context, n *format.Node) iter.Seq2[format.ChunkRef, error] {
	return func(yield func(format.ChunkRef, error) bool) {
		for _, m := range n.Manifests {
			for ref, err := range s.manifestRefs(ctx, n, m) {
				if !yield(ref, err) || err != nil {
					return
				}
			}
		}
	}
}

// manifestRefs yields those of one manifest. The next one reuses the index.
func (s *Snapshot) manifestRefs(ctx context.Context, n *format.Node, m format.ManifestRef) iter.Seq2[format.ChunkRef, error] {
	return func(yield func(format.ChunkRef, error) bool) {
		manifest, err := s.repository.manifest(ctx, s.content, m.ID)
		if err != nil {
			yield(format.ChunkRef{}, err)
			return
		}
		for ref, err := range manifest.Of(n.ID).All() {
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && (!m.Contains(ref.Index) || beyond(n, ref.Index)) {
				continue
			}
			if !yield(ref, err) || err != nil {
				return
			}
		}
	}
}

// beyond reports whether a chunk is not one of the array.
func beyond(n *format.Node, index []uint32) bool {
	for i, d := range n.Shape {
		if uint64(index[i]) >= d.Chunks {
			return true
		}
	}
	return false
}

// chunkName returns the key of a chunk below its array.
func chunkName(index []uint32) string {
	name := []byte("c")
	for _, n := range index {
		name = strconv.AppendUint(append(name, '/'), uint64(n), 10)
	}
	return string(name)
}

// manifests keeps manifests, which never change. Those that were used longest ago make
// room for others. Concurrent calls for one manifest read it once.
type manifests struct {
	most int64 // bytes

	mu     sync.Mutex
	size   int64
	kept   map[ID]*list.Element // of *kept
	order  list.List            // the last used first
	coming map[ID]*coming
}

type kept struct {
	id       ID
	manifest *format.Manifest
}

// coming is a manifest that is being read.
type coming struct {
	done     chan struct{}
	manifest *format.Manifest
	err      error
}

// get returns a manifest. If it is not kept, it calls read.
func (c *manifests) get(ctx context.Context, id ID, read func(context.Context) (*format.Manifest, error)) (*format.Manifest, error) {
	for {
		c.mu.Lock()
		if at := c.kept[id]; at != nil {
			c.order.MoveToFront(at)
			c.mu.Unlock()
			return at.Value.(*kept).manifest, nil
		}
		one := c.coming[id]
		if one == nil {
			one = &coming{done: make(chan struct{})}
			if c.coming == nil {
				c.coming, c.kept = map[ID]*coming{}, map[ID]*list.Element{}
			}
			c.coming[id] = one
			c.mu.Unlock()
			one.manifest, one.err = read(ctx)
			c.keep(id, one)
			return one.manifest, one.err
		}
		c.mu.Unlock()
		select {
		case <-one.done:
			// The call that has read it may have been cancelled.
			if one.err == nil {
				return one.manifest, nil
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// keep ends a read.
func (c *manifests) keep(id ID, one *coming) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.coming, id)
	close(one.done)
	if one.err != nil {
		return
	}
	c.kept[id] = c.order.PushFront(&kept{id, one.manifest})
	c.size += one.manifest.Size()
	for c.size > c.most && c.order.Len() > 1 {
		old := c.order.Remove(c.order.Back()).(*kept)
		c.size -= old.manifest.Size()
		delete(c.kept, old.id)
	}
}

// manifest returns a manifest of a snapshot.
func (r *Repository) manifest(ctx context.Context, s *format.Snapshot, id ID) (*format.Manifest, error) {
	if _, ok := s.FindFile(id); !ok {
		return nil, r.fail(snapshotName(s.ID), fmt.Errorf("%w: it does not list the manifest %v", format.ErrDamaged, id))
	}
	return r.manifests.get(ctx, id, func(ctx context.Context) (*format.Manifest, error) { return r.readManifest(ctx, id) })
}

// readManifest reads a manifest, which is not kept.
func (r *Repository) readManifest(ctx context.Context, id ID) (*format.Manifest, error) {
	body, err := r.read(ctx, manifestName(id), format.KindManifest)
	if err != nil {
		return nil, err
	}
	m, err := format.ParseManifest(body)
	if err == nil && m.ID != id {
		err = fmt.Errorf("%w: it is the manifest %v", format.ErrDamaged, m.ID)
	}
	if err != nil {
		return nil, r.fail(manifestName(id), err)
	}
	return m, nil
}
