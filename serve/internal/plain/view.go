// SPDX-License-Identifier: Apache-2.0

// Package plain shows nodes as plain Zarr: arrays with regular chunks, codecs and data
// types that every reader has, whatever their sources have. A [View] is a store, whose
// documents and chunks are made when they are read.
//
// # What stays
//
// Programs that read Zarr over HTTP send no conditions, and would take chunk 3 of one
// grid for that of another. So the chunk grid of an array stays as it was when the view
// was first asked for the array, also when the source grows or gets other chunks. When
// the array is replaced, or its elements get other indices, the view ends: every request
// for it fails with [ErrGone]. The same holds for chunks beyond the end of an array that
// has shrunk. A chunk is never reported as missing, because readers take that for the
// fill value.
//
// # Levels
//
// A view may coarsen the arrays that have certain dimensions: an element of the view
// stands for a block of elements of the source, as in package pyramid. A chunk is made
// from the region of the source that its blocks fill, and its version covers that region.
//
// # What is kept
//
// A [Cache] keeps decoded chunks of the sources, so that neighbouring chunks of a view
// decode a chunk of the source once, and encoded chunks, for programs that read one in
// ranges. Before they are used, the store is asked whether the chunks that they were made
// from are the same, a far store at most once in a second. When a chunk has been made,
// the store is asked again: what was read may be newer.
package plain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/strided"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Refusal is an error whose text may be told to everybody: it names no place.
type Refusal struct{ error }

// Unwrap returns the error.
func (r *Refusal) Unwrap() error { return r.error }

// View shows a node, and the nodes below it. It is a [store.Store] for reading, a
// [store.Opener], and a [store.Lister] of nodes. It is safe for concurrent use.
type View struct {
	at       *zarr.Location
	settings Settings
	cache    *Cache
	moved    atomic.Bool

	mu     sync.Mutex
	arrays map[string]*opening // by path
	closed bool
}

// opening is an array that is open, or being opened.
type opening struct {
	done chan struct{}
	*array
	err error
}

// isOpen reports whether the array was opened.
func (o *opening) isOpen() bool {
	select {
	case <-o.done:
		return o.err == nil
	default:
		return false
	}
}

// New returns a view of the node at a location.
func New(at *zarr.Location, s Settings, c *Cache) *View {
	return &View{at: at, settings: s, cache: c, arrays: map[string]*opening{}}
}

// Moved reports whether an array of the view was replaced, or its elements have other
// indices, so that a new view has to show it.
func (v *View) Moved() bool { return v.moved.Load() }

// Close forgets the arrays of a view that nobody can ask any longer. Requests that are in
// work end as they can, and open no further arrays.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.closed = true
	n := 0
	for _, o := range v.arrays {
		if o.isOpen() && v.settings.IsPinned() {
			n++
		}
	}
	v.cache.close(n)
	v.arrays = map[string]*opening{}
}

// IsEmpty reports whether no array was asked for yet.
func (v *View) IsEmpty() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.arrays) == 0
}

// Look compares the arrays that were asked for with their sources, for [View.Moved].
func (v *View) Look(ctx context.Context) {
	v.mu.Lock()
	list := slices.Collect(maps.Values(v.arrays))
	v.mu.Unlock()
	for _, o := range list {
		if o.isOpen() {
			_, _ = o.array.current(ctx, true) // an error that ends the view is noted
		}
	}
}

// Get implements [store.Store].
func (v *View) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	o, err := v.Open(ctx, key)
	if err != nil {
		return nil, store.Info{}, err
	}
	defer o.Close() // releases memory only
	data, err := o.Read(ctx, q, dst)
	return data, o.Info(), err
}

// Open implements [store.Opener].
func (v *View) Open(ctx context.Context, key store.Key) (store.Object, error) {
	if name := key.Base(); nodename.IsDocument(name) {
		dir := strings.TrimSuffix(strings.TrimSuffix(key.String(), name), "/")
		data, err := v.document(ctx, dir, name)
		if err != nil {
			return nil, err
		}
		return &object{data: data, info: store.Info{Size: int64(len(data)), Version: digest(data)}}, nil
	}
	r, data, held, err := v.made(ctx, key)
	if err != nil {
		return nil, err
	}
	version := store.Version{}
	if r.tag.version != "" {
		version = store.MakeVersion(r.tag.version)
	}
	return &object{data: data, info: store.Info{Size: int64(len(data)), Version: version}, answers: v.cache.answers, held: held}, nil
}

// Read reads a box of an array at a path as it is stored, and keeps the decoded chunks.
// ok is false if the view cannot: it shows another state than that of the array of, has
// no such array, or the box has parts of many chunks.
func (v *View) Read(ctx context.Context, path string, of *zarr.Array, box grid.Box, data []byte) (ok bool, err error) {
	a, err := v.array(ctx, path)
	if err != nil {
		return false, ctx.Err()
	}
	is := of.Core().State()
	for range mostTries {
		f, err := a.current(ctx, true)
		if err != nil || is.Version.IsZero() || f.state.Version != is.Version || f.kind.of.Variable() {
			break
		}
		r := &request{array: a, f: f, region: box}
		keys, err := r.keys(mostBoxChunks)
		if err == nil {
			r.stamps, err = r.versions(ctx, keys, false)
		}
		if err != nil {
			break
		}
		err = r.read(ctx, strided.Contiguous(data, box.Shape(), f.kind.of.Size()))
		changed := r.verify(ctx)
		if changed == nil {
			return true, err
		}
		if !errors.Is(changed, errChanged) {
			break
		}
	}
	return false, ctx.Err()
}

// mostBoxChunks bounds the chunks that one [View.Read] keeps. Boxes of more of them share
// little with those beside them.
const mostBoxChunks = 256

// made returns a chunk, which is made again if its source changes meanwhile.
func (v *View) made(ctx context.Context, key store.Key) (r *request, data []byte, held int64, err error) {
	for range mostTries {
		if r, err = v.chunk(ctx, key); err != nil {
			return nil, nil, 0, err
		}
		if data, held, err = r.encoded(ctx); err == nil {
			return r, data, held, nil
		}
		if err = r.failed(ctx, err); !errors.Is(err, errChanged) {
			break
		}
	}
	return nil, nil, 0, err
}

// mostTries is how often a chunk is made whose source changes each time.
const mostTries = 8

// Version returns the version that a chunk has, without making it. It is zero for
// documents.
func (v *View) Version(ctx context.Context, key store.Key) (store.Version, error) {
	if nodename.IsDocument(key.Base()) {
		return store.Version{}, nil
	}
	r, err := v.chunk(ctx, key)
	if err != nil || r.tag.version == "" {
		return store.Version{}, err
	}
	return store.MakeVersion(r.tag.version), nil
}

// chunk finds the array and the chunk that a key means.
func (v *View) chunk(ctx context.Context, key store.Key) (*request, error) {
	path, name, ok := v.split(key.String())
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	a, err := v.array(ctx, path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errGroup) {
		// A reader that has the document of an array asks for its chunks.
		return nil, fmt.Errorf("%w: %s: there is no array", ErrGone, key)
	}
	if err != nil {
		return nil, err
	}
	index, ok := v.settings.keys().ParseKey(name, len(a.edges), make([]int64, 0, len(a.edges)))
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, fs.ErrNotExist)
	}
	r, err := a.request(ctx, index)
	if err != nil {
		return nil, a.failed(ctx, err)
	}
	return r, nil
}

// split splits the key of a chunk into the path of the array and what follows.
func (v *View) split(key string) (path, chunk string, ok bool) {
	segments := strings.Split(key, "/")
	first := len(segments) - 1
	if v.settings.format() == 3 {
		for first >= 0 && isNumber(segments[first]) {
			first--
		}
		ok = first >= 0 && segments[first] == "c"
	} else {
		ok = isNumber(strings.ReplaceAll(segments[first], ".", ""))
	}
	if !ok {
		return "", "", false
	}
	return strings.Join(segments[:first], "/"), strings.Join(segments[first:], "/"), true
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// errGroup is the error for a group in place of an array.
var errGroup = errors.New("a group")

// array returns the array at a path.
func (v *View) array(ctx context.Context, path string) (*array, error) {
	for {
		v.mu.Lock()
		o := v.arrays[path]
		if o == nil && v.closed {
			v.mu.Unlock()
			return nil, errClosed
		}
		if o == nil {
			o = &opening{done: make(chan struct{})}
			v.arrays[path] = o
			v.mu.Unlock()
			v.open(ctx, path, o)
			return o.array, o.err
		}
		v.mu.Unlock()
		select {
		case <-o.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if o.err == nil {
			return o.array, nil
		}
		if !errors.Is(o.err, context.Canceled) || ctx.Err() != nil {
			return nil, o.err
		}
	}
}

// open opens an array. A failure is not remembered: the array may appear, and a store may
// answer again.
func (v *View) open(ctx context.Context, path string, o *opening) {
	a, err := v.opened(ctx, path)
	v.mu.Lock()
	defer v.mu.Unlock()
	// Views whose names pin the chunks are the ones of which there may be any number.
	switch {
	case err == nil && v.closed:
		err = errClosed
	case err == nil && v.settings.IsPinned() && !v.cache.open():
		err = &Refusal{fmt.Errorf("%w: views have %s open; name fewer nodes, or start the server again", zarr.ErrLimit, quantity.Count(v.cache.Limits.Arrays, "arrays"))}
	}
	if o.array, o.err = a, err; err != nil {
		delete(v.arrays, path)
	}
	close(o.done) // while Close cannot come in between
}

// errClosed is the error for a view that many others have followed.
var errClosed = fmt.Errorf("%w: many changes have followed", ErrGone)

func (v *View) opened(ctx context.Context, path string) (a *array, err error) {
	defer parallel.Recover(&err) // others wait for the array
	node, err := v.node(ctx, path)
	if errors.Is(err, zarr.ErrUnsupported) {
		err = refusal(withoutPlace(err)) // such as of an unknown codec
	}
	if err != nil {
		return nil, err
	}
	source, ok := node.(*zarr.Array)
	if !ok {
		return nil, errGroup
	}
	return v.newArray(ctx, path, source)
}

// node opens the source of a node.
func (v *View) node(ctx context.Context, path string) (zarr.Node, error) {
	at := v.at
	if path != "" {
		at = at.At(path)
	}
	// The limit of a block bounds elements of variable length.
	return at.Open(ctx, &zarr.Options{Budget: v.cache.reading, Limits: zarr.Limits{Block: v.cache.Limits.Chunk}})
}

// document returns a document of a node.
func (v *View) document(ctx context.Context, path, name string) ([]byte, error) {
	if (name == nodename.V3Node) != (v.settings.format() == 3) {
		return nil, fmt.Errorf("%s: the view has the other format: %w", name, fs.ErrNotExist)
	}
	if name != nodename.V2Group && name != nodename.V2Consolidated {
		a, err := v.array(ctx, path)
		if err == nil {
			return a.document(ctx, name)
		}
		if !errors.Is(err, errGroup) || name == nodename.V2Array {
			if errors.Is(err, errGroup) {
				err = fmt.Errorf("%s: %w", path, fs.ErrNotExist)
			}
			return nil, err
		}
	}
	node, err := v.node(ctx, path)
	if err != nil {
		return nil, err
	}
	g, ok := node.(*zarr.Group)
	if !ok {
		return nil, fmt.Errorf("%s: an array: %w", path, fs.ErrNotExist)
	}
	return v.group(ctx, path, g, name)
}

// group returns a document of a group.
func (v *View) group(ctx context.Context, path string, g *zarr.Group, name string) ([]byte, error) {
	doc, err := v.translated(g)
	if err != nil {
		return nil, err
	}
	switch name {
	case nodename.V2Group:
		return doc.Marshal(metadata.Limits{})
	case nodename.V2Attributes:
		return doc.MarshalAttributes(metadata.Limits{})
	}
	nodes, refused, err := v.records(ctx, path, g)
	if err == nil && len(refused) > 0 {
		var attributes []byte
		if attributes, err = addServed(doc.Attributes, "refused", refused); err == nil {
			doc, err = doc.WithAttributes(attributes)
		}
	}
	if err != nil {
		return nil, err
	}
	each := func(yield func(string, []byte) bool) {
		for _, p := range slices.Sorted(maps.Keys(nodes)) {
			if !yield(p, nodes[p]) {
				return
			}
		}
	}
	if v.settings.format() == 3 {
		if nodes == nil {
			return doc.Marshal(metadata.Limits{})
		}
		c, err := metadata.NewConsolidated(each, metadata.Limits{})
		if err != nil {
			return nil, err
		}
		return doc.WithConsolidated(c).Marshal(metadata.Limits{})
	}
	if nodes == nil {
		return nil, fmt.Errorf("%s: too many nodes for consolidated metadata: %w", path, fs.ErrNotExist)
	}
	own, err := metadata.Record(doc, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	c, err := metadata.NewConsolidatedV2(own, each, metadata.Limits{})
	if err != nil {
		return nil, err
	}
	return c.Marshal(metadata.Limits{})
}

// translated returns the document of a group in the format of the view.
func (v *View) translated(g *zarr.Group) (*metadata.Group, error) {
	doc := g.Metadata().WithConsolidated(nil)
	if v.settings.format() == 2 {
		doc = doc.ToV2()
	} else {
		doc = doc.ToV3()
	}
	if v.settings.Coarsen == nil {
		return doc, nil
	}
	attributes, gone, err := unplaced(doc.Attributes)
	if err != nil || gone == nil {
		return doc, err
	}
	if attributes, err = addServed(attributes, "changes", []string{unplacedNote(gone)}); err != nil {
		return nil, err
	}
	return doc.WithAttributes(attributes)
}

// records returns the documents of all nodes below a group, for consolidated metadata. It
// returns nil if there are too many. Nodes that cannot be shown have none, but a reason.
func (v *View) records(ctx context.Context, path string, g *zarr.Group) (nodes map[string][]byte, refused map[string]string, err error) {
	nodes, refused = map[string][]byte{}, map[string]string{}
	names, ranks := map[string]bool{}, map[int]bool{}
	for m, err := range Members(ctx, g, true) {
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case errors.Is(err, store.ErrUnsupported):
			return nil, nil, nil // members are not known
		case errors.Is(err, zarr.ErrInvalidMetadata):
			continue // names that are no nodes here
		case err != nil:
			return nil, nil, err
		case len(nodes)+len(refused) >= v.cache.Limits.Members:
			return nil, nil, nil
		}
		if a, ok := m.Node.(*zarr.Array); ok {
			maps.Copy(names, setOf(axes(a.Core().State())))
			ranks[a.Rank()] = true
		}
		var doc []byte
		if err = m.Err; err == nil {
			doc, err = v.record(ctx, strings.TrimPrefix(path+"/"+m.Path, "/"), m)
		}
		switch told := (*Refusal)(nil); {
		case err == nil:
			nodes[m.Path] = doc
		case ctx.Err() != nil || errors.Is(err, ErrGone):
			return nil, nil, err
		case errors.As(refusal(withoutPlace(err)), &told):
			refused[m.Path] = told.Error()
		case errors.Is(err, zarr.ErrInvalidMetadata), errors.Is(err, zarr.ErrInvalidArgument), errors.Is(err, fs.ErrPermission):
			refused[m.Path] = "cannot be opened: " + string(zarr.KindOf(err))
		default:
			return nil, nil, err // it may be there again, so the list would be wrong
		}
	}
	if path == "" {
		err = v.settings.unmatched(names, ranks)
	}
	return nodes, refused, err
}

// record returns the record of a member.
func (v *View) record(ctx context.Context, path string, m zarr.Member) ([]byte, error) {
	if g, ok := m.Node.(*zarr.Group); ok {
		doc, err := v.translated(g)
		if err != nil {
			return nil, err
		}
		return metadata.Record(doc, metadata.Limits{})
	}
	a, err := v.array(ctx, path)
	if err != nil {
		return nil, err
	}
	f, err := a.current(ctx, true)
	if err != nil {
		return nil, err
	}
	return metadata.Record(f.target.Metadata(), metadata.Limits{})
}

// List implements [store.Lister]. It lists nodes and their documents, but no chunks: each
// that a document describes is there.
func (v *View) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if how&^store.WithVersions != store.Flat {
			yield(store.Entry{}, store.ErrUnsupported)
			return
		}
		node, err := v.node(ctx, dir.String())
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				yield(store.Entry{}, err)
			}
			return
		}
		g, isGroup := node.(*zarr.Group)
		for _, name := range v.documents(isGroup) {
			if !yield(store.Entry{Name: name, Size: -1}, nil) {
				return
			}
		}
		if !isGroup {
			return
		}
		for m, err := range Members(ctx, g, false) {
			if err == nil && m.Err != nil {
				continue
			}
			if !yield(store.Entry{Name: m.Path, Dir: true}, err) {
				return
			}
		}
	}
}

// documents returns the names of the documents of a node.
func (v *View) documents(isGroup bool) []string {
	switch {
	case v.settings.format() == 3:
		return []string{nodename.V3Node}
	case isGroup:
		return []string{nodename.V2Group, nodename.V2Attributes, nodename.V2Consolidated}
	}
	return []string{nodename.V2Array, nodename.V2Attributes}
}

// object is a document or a chunk that was made.
type object struct {
	data    []byte
	info    store.Info
	answers *budget.Budget // nil for a document
	held    int64
}

// Info implements [store.Object].
func (o *object) Info() store.Info { return o.info }

// Read implements [store.Object].
func (o *object) Read(_ context.Context, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(int64(len(o.data)))
	if err != nil {
		return nil, err
	}
	return append(dst, o.data[off:off+n]...), nil
}

// Bytes returns all bytes. The caller does not change them.
func (o *object) Bytes() []byte { return o.data }

// Close implements [store.Object].
func (o *object) Close() error {
	if o.answers != nil {
		o.answers.Release(o.held)
		o.answers = nil
	}
	return nil
}
