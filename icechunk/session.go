// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// Session stages changes of a branch. It is a store for reading and writing: readers of
// the session see them at once, and others after [Session.Commit]. It is safe for
// concurrent use.
//
// Chunks are stored when they are written, under new names, and documents stay in memory.
// A session that is not committed leaves chunks that no snapshot names.
//
// A chunk that is cloned to another key takes no bytes: both keys name the same object.
// So a rechunk moves only what it merges. What Varve keeps beside an array for its own
// protocols stays in memory and ends with the session.
type Session struct {
	repository *Repository
	branch     string
	start      ID          // the base before any rebase
	inline     int         // bytes of the longest chunk that is stored in its reference
	rules      []splitRule // for manifests
	stored     *memory     // of chunks of this session and of those before it; may be nil
	reads      reads
	began      beginning

	mu      sync.RWMutex
	base    *Snapshot          // a rebase replaces it
	nodes   map[string]*staged // by path; of a node that is deleted, too
	chunks  map[format.NodeID]*stagedChunks
	early   map[store.Key]*format.ChunkRef // chunks without the document of an array
	folders map[string]map[store.Key]bool  // their keys, by folder
	aside   store.Store                    // what no snapshot has
	items   []format.Item                  // of the snapshot
	ended   bool
	failed  error // of a batch: what is not durable must not be published
}

// staged is a node that has another document than in the base, or none.
type staged struct {
	id       format.NodeID
	document []byte // nil if the node is deleted
	time     time.Time
	*shape
}

// shape is what a document says of an array. It is nil for a group.
type shape struct {
	array *metadata.Array
	keys  metadata.KeyEncoding
}

// ErrEnded means that a session was committed.
var ErrEnded = errors.New("the session has ended: begin another one")

// errV1 is the error for a change of a repository of version 1.
var errV1 = fmt.Errorf("%w: repositories of version 1 are only read: migrate the repository with icechunk", zarr.ErrUnsupported)

// Session begins a session at the tip of a branch.
func (r *Repository) Session(ctx context.Context, branch string) (*Session, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	if is.Repository == nil {
		return nil, errV1
	}
	if is.Status.Availability != format.Online {
		return nil, fmt.Errorf("%w: the repository is %v: %s", fs.ErrPermission, is.Status.Availability, is.Status.Reason)
	}
	id, err := r.branchTip(is, branch)
	if err != nil {
		return nil, err
	}
	base, err := r.open(ctx, id)
	if err != nil {
		return nil, err
	}
	store.DirectoriesOf(r.store).Sweep(ctx) // what crashed writers have left
	config := settings(is.Config)
	return &Session{
		repository: r, branch: branch, start: id, base: base, inline: number(config, "inline_chunk_threshold_bytes", inlineDefault, 1<<16), rules: splitRules(config), aside: memstore.New(), began: begun(is.Repository, id),
		nodes: map[string]*staged{}, chunks: map[format.NodeID]*stagedChunks{},
		early: map[store.Key]*format.ChunkRef{}, folders: map[string]map[store.Key]bool{},
	}, nil
}

// branchTip returns the snapshot of a branch. Nothing else is a target of writes.
func (r *Repository) branchTip(is *state, name string) (ID, error) {
	id, err := named(is.branches, name, "branch", is)
	if err == nil {
		return id, nil
	}
	_, isSnapshot := format.ParseObjectID(name)
	_, isTime := ParseTime(name)
	if _, tagErr := named(is.tags, name, "tag", is); tagErr == nil || isSnapshot || isTime {
		return id, fmt.Errorf("%w: %q is a tag, a snapshot or a time, which never changes: write to a branch", zarr.ErrInvalidArgument, name)
	}
	return id, err
}

// inlineDefault is the default length of a chunk that is stored in its reference.
const inlineDefault = 512

// settings parses the configuration of a repository. What is damaged is not there.
func settings(config []byte) map[string]any {
	v, _ := format.ParseFlex(config)
	top, _ := v.(map[string]any)
	return top
}

// number returns a number that a configuration has, from 0 to most, or the default.
func number(config map[string]any, name string, byDefault, most int) int {
	switch n := config[name].(type) {
	case uint64:
		return int(min(n, uint64(most)))
	case int64:
		return int(min(max(n, 0), int64(most)))
	}
	return byDefault
}

// Base returns the ID of the snapshot that the session began with, or was rebased onto.
func (s *Session) Base() ID {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.base.ID()
}

// Branch returns the branch that a commit changes.
func (s *Session) Branch() string { return s.branch }

// SetMetadata says something of the commit beside its message, such as who makes it and
// from what. [Commit.Metadata] and the reference return it. Values are those that
// encoding/json can marshal. It replaces what was set before.
func (s *Session) SetMetadata(metadata map[string]any) error {
	var items []format.Item
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		value, err := format.EncodeFlex(metadata[name])
		if err == nil && !utf8.ValidString(name) {
			err = errors.New("the name is not UTF-8")
		}
		if err != nil {
			return fmt.Errorf("%w: the metadata %q of a commit: %w", zarr.ErrInvalidArgument, name, err)
		}
		items = append(items, format.Item{Name: name, Value: value})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = items
	return nil
}

// Close closes the repository, which other sessions and snapshots may share. Changes that
// are not committed are lost.
func (s *Session) Close() error { return s.repository.Close() }

// node returns the node at a path as the session has it, or nil. The caller holds the
// lock.
func (s *Session) node(path string) *staged {
	if n := s.nodes[path]; n != nil {
		if n.document == nil {
			return nil
		}
		return n
	}
	i, ok := s.base.content.FindNode(path)
	if !ok {
		return nil
	}
	n := &s.base.content.Nodes[i]
	is := &staged{id: n.ID, document: n.Document, time: s.base.content.Time}
	if n.IsArray {
		is.shape = s.base.shapeOf(n)
	}
	return is
}

// isArray reports whether a node is an array, also one whose document cannot be parsed.
// The caller holds the lock.
func (s *Session) isArray(path string, n *staged) bool {
	i, ok := s.base.content.FindNode(path)
	return n.shape != nil || ok && s.base.content.Nodes[i].ID == n.id && s.base.content.Nodes[i].IsArray
}

// rank returns the number of axes of an array, -1 for a group.
func (n *staged) rank() int {
	if n.shape == nil {
		return -1
	}
	return len(n.array.Shape)
}

// shapeOf parses a document. It returns nil for a group.
func shapeOf(document []byte) (*shape, error) {
	n, err := metadata.Parse(document, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	a, ok := n.(*metadata.Array)
	if !ok {
		return nil, nil
	}
	keys, err := metadata.ParseKeyEncoding(a.ChunkKeyEncoding)
	return &shape{a, keys}, err
}

// encodings are all that give chunks keys.
var encodings = []metadata.KeyEncoding{metadata.DefaultSlash, metadata.DefaultDot, metadata.V2Slash, metadata.V2Dot}

// isChunk reports whether a name below an array is that of a chunk, by any encoding.
// While an array is rechunked, chunks have keys by another one than before.
func (n *staged) isChunk(name string) bool {
	if n.shape == nil {
		return false
	}
	return slices.ContainsFunc(encodings, func(e metadata.KeyEncoding) bool {
		_, ok := indexOf(e, name, len(n.array.Shape))
		return ok
	})
}

// indexOf returns the index of the chunk that a name means by an encoding.
func indexOf(e metadata.KeyEncoding, name string, rank int) (index []uint32, ok bool) {
	return appendIndex(make([]uint32, 0, rank), e, name, rank)
}

// appendIndex appends the index of the chunk that a name means by an encoding. If it
// means none, ok is false and what is appended is of no use.
func appendIndex(to []uint32, e metadata.KeyEncoding, name string, rank int) (all []uint32, ok bool) {
	var few [8]int64
	long, ok := e.ParseKey(name, rank, few[:0])
	for _, n := range long {
		to, ok = append(to, uint32(n)), ok && n <= math.MaxUint32
	}
	return to, ok
}

// place is what a key means in a session.
type place struct {
	path  string // of the node
	node  *staged
	rest  string // below the node
	chunk bool
}

// place finds what a key means. The caller holds the lock.
func (s *Session) place(key store.Key) place {
	var at place
	text := key.String()
	n, rest := split(text, func(path string) *staged {
		at.path = path
		return s.node(path)
	})
	at.node, at.rest = n, rest
	at.chunk = n != nil && n.isChunk(rest)
	return at
}

// finder returns how to find the reference of a chunk. The caller holds the lock, and may
// call the result without it.
func (s *Session) finder(key store.Key, at place) func(context.Context) (format.ChunkRef, error) {
	var ref format.ChunkRef
	early, known := s.early[key]
	if at.chunk {
		ref, known = s.chunks[at.node.id].find(at.rest)
	} else if known {
		ref = *early
	}
	if ref.Payload != 0 {
		return func(context.Context) (format.ChunkRef, error) { return ref, nil }
	}
	if !known {
		base := s.base
		if n, keys := base.array(at.path, at.node.id); n != nil {
			if index, ok := indexOf(keys, at.rest, len(n.Shape)); ok {
				return func(ctx context.Context) (format.ChunkRef, error) { return base.reference(ctx, n, index) }
			}
		}
	}
	return func(context.Context) (format.ChunkRef, error) { return format.ChunkRef{}, fs.ErrNotExist }
}

// array returns the array at a path, and how keys of its chunks are made. It is nil if
// there is none or if it is another one.
func (s *Snapshot) array(path string, id format.NodeID) (*format.Node, metadata.KeyEncoding) {
	i, ok := s.content.FindNode(path)
	if !ok || s.content.Nodes[i].ID != id || !s.content.Nodes[i].IsArray {
		return nil, 0
	}
	n := &s.content.Nodes[i]
	is := s.shapeOf(n)
	if is == nil {
		return nil, 0
	}
	return n, is.keys
}

// Get implements [store.Store].
func (s *Session) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.mu.RLock()
	at, base := s.place(key), s.base
	s.reads.note(at)
	switch {
	case at.node != nil && at.rest == documentName:
		s.mu.RUnlock()
		return take(at.node.document, documentInfo(at.node.document, at.node.time), q, dst)
	case !at.chunk && s.early[key] == nil:
		s.mu.RUnlock()
		return s.aside.Get(ctx, key, q, dst)
	}
	find := s.finder(key, at)
	s.mu.RUnlock()
	// Manifests are read without the lock.
	ref, err := find(ctx)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("%s: %w", key, err)
	}
	data, info, err := base.chunk(ctx, ref, q, dst)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("%s: %w", key, err)
	}
	return data, info, nil
}

// Stat implements [store.Stater].
func (s *Session) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	s.mu.RLock()
	at := s.place(key)
	s.reads.note(at)
	stat := s.stat(key, at)
	s.mu.RUnlock()
	return stat(ctx)
}

// stat returns what describes a value. The caller holds the lock, and may call the result
// without it.
func (s *Session) stat(key store.Key, at place) func(context.Context) (store.Info, error) {
	switch {
	case at.node != nil && at.rest == documentName:
		info := documentInfo(at.node.document, at.node.time)
		return func(context.Context) (store.Info, error) { return info, nil }
	case !at.chunk && s.early[key] == nil:
		return func(ctx context.Context) (store.Info, error) { return store.Stat(ctx, s.aside, key) }
	}
	find := s.finder(key, at)
	return func(ctx context.Context) (store.Info, error) {
		ref, err := find(ctx)
		if err != nil {
			return store.Info{}, fmt.Errorf("%s: %w", key, err)
		}
		return infoOf(ref), nil
	}
}

// Can implements [store.Writer].
func (s *Session) Can(op store.Op) bool {
	switch op {
	case store.OpPut, store.OpPutIf, store.OpDelete, store.OpDeleteIf, store.OpClone, store.OpCopy:
		return true
	}
	return false
}

// Write implements [store.Writer].
func (s *Session) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	return s.write(ctx, c, d, s.repository.write)
}

// write makes a change. put stores or copies the object of a chunk.
func (s *Session) write(ctx context.Context, c store.Change, d store.Durability, put putFunc) (store.Written, error) {
	var stored *format.ChunkRef
	var err error
	isPut, own := c.Op == store.OpPut || c.Op == store.OpPutIf || c.Op == store.OpCopy, s.owns(c.Key)
	switch isChunk := c.Key.Base() != documentName && !own; {
	// The bytes are stored before the lock is taken.
	case c.Op == store.OpCopy && isChunk:
		stored, err = s.copied(ctx, c, put)
	case c.Op == store.OpCopy:
		err = fmt.Errorf("%s: %w: only chunks are copied", c.Key, store.ErrUnsupported)
	case isPut && isChunk:
		stored, err = s.storeChunk(ctx, c.Value, put)
	case c.Op == store.OpClone:
		// This reads the manifest of the source, which clone finds in memory.
		_, _ = s.Stat(ctx, c.Source) // clone has the error
	}
	if err != nil {
		return store.Written{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return store.Written{}, ErrEnded
	}
	if c.Op == store.OpPutIf || c.Op == store.OpDeleteIf {
		if err := s.meets(ctx, c.Key, c.If); err != nil {
			return store.Written{}, err
		}
	}
	at := s.place(c.Key)
	switch {
	case c.Op == store.OpClone:
		return s.clone(ctx, c, at, d)
	case c.Key.Base() == documentName:
		return s.writeDocument(c)
	case own:
		return store.Write(ctx, s.aside, c, d)
	case isPut && !at.chunk && !isChunkName(c.Key.Base()):
		return store.Written{}, fmt.Errorf("%s: %w: a repository has documents of format 3 and chunks of their arrays, and nothing else", c.Key, store.ErrUnsupported)
	case at.chunk:
		s.set(at, stored)
	case isPut:
		// Copies store chunks before the document of their array.
		s.await(c.Key, stored)
	default:
		s.forget(c.Key)
	}
	if stored == nil {
		return store.Written{}, nil
	}
	info := infoOf(*stored)
	return store.Written{Version: info.Version, Size: info.Size}, nil
}

// isChunkName reports whether the last part of a key may be one of a chunk.
func isChunkName(name string) bool {
	return name == "c" || strings.Trim(strings.TrimPrefix(name, "c."), "0123456789.") == ""
}

// folderOf returns the folder of a key, without the parts at its end that may be the name
// of a chunk. It is the path of the array, or one above it if the array has such a name.
func folderOf(key store.Key) string {
	text := key.String()
	for text != "" {
		i := strings.LastIndexByte(text, '/')
		if !isChunkName(text[i+1:]) {
			break
		}
		text = text[:max(0, i)]
	}
	return text
}

// await keeps a chunk until there is the document of its array. The caller holds the
// lock.
func (s *Session) await(key store.Key, ref *format.ChunkRef) {
	folder := folderOf(key)
	if s.folders[folder] == nil {
		s.folders[folder] = map[store.Key]bool{}
	}
	s.early[key], s.folders[folder][key] = ref, true
}

// forget deletes a chunk that waits. The caller holds the lock.
func (s *Session) forget(key store.Key) {
	delete(s.early, key)
	delete(s.folders[folderOf(key)], key)
}

// adopt gives a new array the chunks that were stored before its document. The caller
// holds the lock.
func (s *Session) adopt(path string, n *staged) {
	if n.shape == nil {
		return
	}
	prefix := strings.TrimPrefix(path+"/", "/")
	if path == "/" {
		prefix = ""
	}
	for folder := strings.Trim(path, "/"); ; folder = folder[:max(0, strings.LastIndexByte(folder, '/'))] {
		for key := range s.folders[folder] {
			if rest, below := strings.CutPrefix(key.String(), prefix); below && n.isChunk(rest) {
				s.set(place{path: path, node: n, rest: rest}, s.early[key])
				s.forget(key)
			}
		}
		if folder == "" {
			return
		}
	}
}

// owns reports whether a key is of what Varve keeps beside nodes, and no chunk of an
// array to which another program has given such a name.
func (s *Session) owns(key store.Key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return isOwn(key) && !s.place(key).chunk
}

// isOwn reports whether a part of a key begins as the names of what Varve keeps beside
// nodes.
func isOwn(key store.Key) bool { return isOwnName(key.String()) }

func isOwnName(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(name, "__") {
			return true
		}
	}
	return false
}

// storeChunk stores the bytes of a chunk. They are durable before the commit: it must not
// name what a power cut may take.
func (s *Session) storeChunk(ctx context.Context, value []byte, put putFunc) (*format.ChunkRef, error) {
	if len(value) <= s.inline || len(value) == 0 {
		return &format.ChunkRef{Payload: format.Inline, Data: append([]byte{}, value...)}, nil
	}
	ref := &format.ChunkRef{Payload: format.Native, ID: newID(), Length: uint64(len(value))}
	var sum [sha256.Size]byte
	if s.stored != nil {
		sum = sha256.Sum256(value)
		if id, ok := s.stored.get(sum); ok {
			ref.ID = id
			return ref, nil
		}
	}
	if _, err := put(ctx, store.Put(s.repository.root.MustKey(chunkObject(ref.ID)), value)); err != nil {
		return nil, err
	}
	if s.stored != nil {
		s.stored.put(sum, ref.ID)
	}
	return ref, nil
}

// newID returns an ID that nothing has.
func newID() (id ID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

func newNodeID() (id format.NodeID) {
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// set sets the reference of a chunk; nil deletes it. The caller holds the lock.
func (s *Session) set(at place, ref *format.ChunkRef) {
	if s.chunks[at.node.id] == nil {
		s.chunks[at.node.id] = newStagedChunks()
	}
	if ref == nil {
		ref = &format.ChunkRef{}
	}
	s.chunks[at.node.id].set(at.rest, *ref)
}

// meets returns an error unless the value at a key is as a condition says.
func (s *Session) meets(ctx context.Context, key store.Key, cond store.Condition) error {
	info, err := s.stat(key, s.place(key))(ctx)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return err
	case missing != cond.Absent(), !missing && info.Version != cond.Version():
		return fmt.Errorf("%s: %w", key, store.ErrConflict)
	}
	return nil
}

// clone gives a chunk another key.
func (s *Session) clone(ctx context.Context, c store.Change, to place, d store.Durability) (store.Written, error) {
	from := s.place(c.Source)
	if !from.chunk || !to.chunk {
		if isOwn(c.Key) && isOwn(c.Source) {
			return store.Write(ctx, s.aside, c, d)
		}
		return store.Written{}, fmt.Errorf("%s: %w: only chunks are cloned", c.Key, store.ErrUnsupported)
	}
	s.reads.note(from)
	ref, err := s.finder(c.Source, from)(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.SourceVersion.IsZero():
		return store.Written{}, fmt.Errorf("%s: %w", c.Source, store.ErrConflict)
	case err != nil:
		return store.Written{}, fmt.Errorf("%s: %w", c.Source, err)
	}
	version := infoOf(ref).Version
	if !c.SourceVersion.IsZero() && c.SourceVersion != version {
		return store.Written{}, fmt.Errorf("%s: %w", c.Source, store.ErrConflict)
	}
	s.set(to, &ref)
	return store.Written{Version: version, Source: version}, nil
}

// writeDocument stages a document, or deletes a node. The caller holds the lock.
func (s *Session) writeDocument(c store.Change) (store.Written, error) {
	path := "/" + strings.TrimSuffix(strings.TrimSuffix(c.Key.String(), documentName), "/")
	old := s.node(path)
	if c.Op == store.OpDelete || c.Op == store.OpDeleteIf {
		if old != nil {
			s.nodes[path] = &staged{id: old.id}
			delete(s.chunks, old.id)
		}
		return store.Written{}, nil
	}
	is, err := shapeOf(c.Value)
	if err != nil {
		return store.Written{}, fmt.Errorf("%s: %w", c.Key, err)
	}
	n := &staged{id: newNodeID(), document: bytes.Clone(c.Value), time: time.Now(), shape: is}
	// Chunks of another rank are not those of this array.
	if old != nil && old.rank() == n.rank() && s.isArray(path, old) == (n.shape != nil) {
		n.id = old.id
	}
	s.nodes[path] = n
	s.adopt(path, n)
	return store.Written{Version: documentInfo(n.document, n.time).Version}, nil
}

// List implements [store.Lister].
func (s *Session) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		seen := map[string]bool{}
		s.noteList(dir, how)
		for e, err := range s.listing().list(ctx, dir.String(), how) {
			seen[e.Name] = true
			if !yield(e, err) || err != nil {
				return
			}
		}
		for e, err := range store.List(ctx, s.aside, dir, how) {
			seen[e.Name] = true
			if !yield(e, err) {
				return
			}
		}
		for _, e := range s.earlyIn(dir, how) {
			if !seen[e.Name] && !yield(e, nil) {
				return
			}
		}
	}
}

// noteList notes that a list is read.
func (s *Session) noteList(dir store.Path, how store.Listing) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	path := ""
	n, rest := split(dir.String(), func(at string) *staged {
		path = at
		return s.node(at)
	})
	if !isOwnName(rest) { // that is not of the repository
		s.reads.noteList(path, n, how)
	}
}

// earlyIn returns entries for chunks whose arrays have no documents yet.
func (s *Session) earlyIn(dir store.Path, how store.Listing) (list []store.Entry) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	dirs := map[string]bool{}
	for key, ref := range s.early {
		if !dir.Contains(key) {
			continue
		}
		name := dir.Rel(key)
		first, _, isBelow := strings.Cut(name, "/")
		switch {
		case how&store.Deep != 0 || !isBelow:
			list = append(list, entryOf(name, *ref))
		case !dirs[first]:
			dirs[first] = true
			list = append(list, store.Entry{Name: first, Dir: true})
		}
	}
	return list
}

// listing returns what the session has to list now, without what is kept aside.
func (s *Session) listing() *listing {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := &listing{time: s.base.content.Time}
	for _, n := range s.base.content.Nodes {
		if s.nodes[n.Path] == nil {
			l.nodes = append(l.nodes, n)
		}
	}
	for path, n := range s.nodes {
		if n.document != nil {
			l.nodes = append(l.nodes, format.Node{ID: n.id, Path: path, Document: n.document, IsArray: n.shape != nil})
		}
	}
	sort.Slice(l.nodes, func(i, j int) bool { return l.nodes[i].Path < l.nodes[j].Path })
	l.chunks = s.chunksOf(s.base)
	return l
}

// chunksOf returns what yields the chunks of an array, those of all encodings.
func (s *Session) chunksOf(base *Snapshot) func(context.Context, *format.Node) iter.Seq2[store.Entry, error] {
	return func(ctx context.Context, n *format.Node) iter.Seq2[store.Entry, error] {
		return func(yield func(store.Entry, error) bool) { s.yieldChunks(ctx, base, n, yield) }
	}
}

func (s *Session) yieldChunks(ctx context.Context, base *Snapshot, n *format.Node, yield func(store.Entry, error) bool) {
	s.mu.RLock()
	own := map[string]format.ChunkRef{}
	for name, at := range s.chunks[n.ID].all() {
		own[string(name)] = s.chunks[n.ID].reference(at)
	}
	s.mu.RUnlock()
	if was, keys := base.array(n.Path, n.ID); was != nil {
		for ref, err := range base.references(ctx, was) {
			name := nameOf(keys, ref.Index)
			if _, changed := own[name]; changed && err == nil {
				continue
			}
			if !yield(entryOf(name, ref), err) || err != nil {
				return
			}
		}
	}
	for name, ref := range own {
		if ref.Payload != 0 && !yield(entryOf(name, ref), nil) {
			return
		}
	}
}

// nameOf returns the name of a chunk below its array.
func nameOf(keys metadata.KeyEncoding, index []uint32) string {
	long := make([]int64, len(index))
	for i, n := range index {
		long[i] = int64(n)
	}
	return string(keys.AppendKey(nil, long))
}

// Virtual is a chunk in an object beside the repository.
type Virtual struct {
	// Location is an absolute URL, or vcc://NAME/PATH below the container of the
	// repository with that name.
	Location       string
	Offset, Length int64 // bytes
	// ETag or Modified says which version of the object it is: readers refuse others.
	// They are "" and zero if that is not known.
	ETag     string
	Modified time.Time // rounded up to whole seconds
}

// SetVirtual makes a chunk of an array one in an object beside the repository. Readers
// need permission for its location ([virtual.WithAllowed]); a reader with the reference
// needs a container of the repository for it, too.
func (s *Session) SetVirtual(key store.Key, v Virtual) error {
	if !strings.Contains(v.Location, "://") || !utf8.ValidString(v.Location) || !utf8.ValidString(v.ETag) || v.Offset < 0 || v.Length <= 0 || v.Offset > math.MaxInt64-v.Length {
		return fmt.Errorf("%s: %w: a virtual chunk needs a URL and a range of bytes", key, zarr.ErrInvalidArgument)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.place(key)
	switch {
	case s.ended:
		return ErrEnded
	case !at.chunk:
		return fmt.Errorf("%s: %w: it is no key of a chunk of an array", key, zarr.ErrInvalidArgument)
	}
	ref := &format.ChunkRef{Payload: format.Virtual, Location: []byte(v.Location), Offset: uint64(v.Offset), Length: uint64(v.Length), ETag: []byte(v.ETag)}
	if v.ETag == "" && !v.Modified.IsZero() {
		ref.Modified = wholeSeconds(v.Modified)
	}
	s.set(at, ref)
	return nil
}

// Lock implements [store.Locker]. The writers of a session are in this process.
func (s *Session) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	return store.Lock(ctx, s.aside, dir)
}

// LockHolder implements [store.Locker]. Only this process can hold the lock.
func (s *Session) LockHolder(store.Path) store.Holder { return store.Holder{} }
