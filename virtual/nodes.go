// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

func init() { store.RegisterFolder(Suffix, openFolder) }

// openFolder opens a stored manifest as a store. It is what a location such as
// archive.vz/t2m opens.
func openFolder(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*view, error) {
		path, err := dir.Join(name)
		if err != nil {
			return nil, err
		}
		m, err := Open(ctx, home, path)
		if err != nil {
			return nil, err
		}
		from, err := newSites(ctx, home, dir, folder, name)
		return newStore(m, from), err
	})
}

// Show opens the manifest as a store, as if it were stored at a location, such as
// "archive.vz": the locations of files are relative to that, and references lead to its
// folder and to what [WithAllowed] names. Nothing is written. The caller closes the
// store, if it is an [io.Closer].
func (m *Manifest) Show(ctx context.Context, location string) (store.Store, error) {
	at, err := placeOf(location)
	if err != nil {
		return nil, err
	}
	folder, name := at.split()
	return openIn(ctx, folder.String(), store.ReadOnly, func(home store.Store, dir store.Path, folder string) (*view, error) {
		from, err := newSites(ctx, home, dir, folder, name)
		return newStore(m, from), err
	})
}

func newStore(m *Manifest, from sources) *view { return &view{content: newNodes(m), sources: from} }

// nodes are the keys of the nodes of a manifest.
type nodes struct {
	manifest *Manifest
	groups   map[string]*metadata.Group
	arrays   map[string]keyed
}

// keyed is an array with the encoding of its keys.
type keyed struct {
	*Array
	keys  metadata.KeyEncoding
	count []int64 // chunks along each axis
}

func newNodes(m *Manifest) *nodes {
	n := &nodes{m, map[string]*metadata.Group{}, map[string]keyed{}}
	for _, g := range m.Groups {
		n.groups[g.Path] = g.Document
	}
	for _, a := range m.Arrays {
		// Other encodings are refused when the array is opened.
		keys, _ := metadata.ParseKeyEncoding(a.Document.ChunkKeyEncoding)
		n.arrays[a.Path] = keyed{a, keys, a.Grid.Chunks()}
	}
	return n
}

// find returns the value of a key, or a reference to it.
func (n *nodes) find(ctx context.Context, key store.Key) (found, error) {
	name := key.String()
	path, last := "", name
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		path, last = name[:i], name[i+1:]
	}
	if text, err := n.document(path, last); text != nil || err != nil {
		return found{bytes: text}, err
	}
	// The array may be any of the folders above: keys of chunks have slashes.
	for at := name; at != ""; {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
		if a, ok := n.arrays[at]; ok {
			return n.chunk(ctx, a, strings.TrimPrefix(name[len(at):], "/"))
		}
	}
	return found{}, fs.ErrNotExist
}

// document returns a document of the node at a path, or nil.
func (n *nodes) document(path, name string) ([]byte, error) {
	// A manifest is shown in format 3 only, so that grids may be rectilinear.
	if name != nodename.V3Node {
		return nil, nil
	}
	if g := n.groups[path]; g != nil {
		return g.Marshal(metadata.Limits{})
	}
	if a, ok := n.arrays[path]; ok {
		return a.Document.Marshal(metadata.Limits{})
	}
	return nil, nil
}

// chunk returns the chunk of an array at a key below it.
func (n *nodes) chunk(ctx context.Context, a keyed, key string) (found, error) {
	index, ok := a.keys.ParseKey(key, len(a.count), make([]int64, 0, 8))
	if !ok || !below(index, a.count) {
		return found{}, fs.ErrNotExist
	}
	return n.at(ctx, a.Array, numberOf(index, a.count, a.Axis))
}

// at returns the chunk with a number.
func (n *nodes) at(ctx context.Context, a *Array, number int64) (f found, err error) {
	f.ref, f.bytes, err = n.manifest.reference(ctx, a, number)
	switch {
	case err != nil || f.bytes != nil:
	case f.ref.source == 0:
		err = fs.ErrNotExist
	default:
		f.source, err = n.manifest.source(ctx, f.ref.source)
	}
	return f, err
}

// countStored implements content. It reads blocks of a large array until its chunks are
// few enough: a block of a few bytes may have thousands of references to nothing.
func (n *nodes) countStored(ctx context.Context, array string, chunks int64) (stored int64, err error) {
	a, ok := n.arrays[array]
	if !ok || fewAbsent(chunks, 0) {
		return 0, nil
	}
	stored = int64(len(a.inline)) + a.refs.stored()
	for _, p := range a.blocks {
		// Enough chunks are known to be stored: spare the requests for the other blocks.
		if fewAbsent(chunks, stored) {
			break
		}
		r, err := n.manifest.folder.references(ctx, p)
		if err != nil {
			return 0, err
		}
		stored += r.stored()
	}
	return stored, nil
}

// list yields the keys below a folder.
func (n *nodes) list(ctx context.Context, l *listing) {
	for _, g := range n.manifest.Groups {
		if !l.document(g.Path) {
			return
		}
	}
	for _, a := range n.manifest.Arrays {
		if !l.document(a.Path) || !n.listChunks(ctx, l, n.arrays[a.Path]) {
			return
		}
	}
}

// listChunks yields the chunks of an array. A flat listing above the array needs none of
// them.
func (n *nodes) listChunks(ctx context.Context, l *listing, a keyed) bool {
	if !l.wantsChunks(a.Path) {
		return true
	}
	if rank := a.Grid.Rank(); !l.deep && rank > 0 && a.keys == metadata.DefaultSlash {
		// A flat listing of one folder needs a few look-ups, not all blocks of the array.
		if index, ok := folderOf(strings.TrimPrefix(strings.TrimPrefix(l.dir, a.Path), "/"), rank); ok {
			return n.listFolder(ctx, l, a, index)
		}
	}
	count := a.Grid.Chunks()
	index, key := make([]int64, len(count)), []byte(nil)
	prefix := a.Path + "/"
	if a.Path == "" {
		prefix = ""
	}
	for k, f := range n.stored(ctx, l, a.Array) {
		if f.err != nil {
			return l.yield(store.Entry{}, f.err)
		}
		indexOf(k, count, a.Axis, index)
		key = a.keys.AppendKey(append(key[:0], prefix...), index)
		if !l.add(string(key), f.info) {
			return false
		}
	}
	return true
}

// entry describes a stored chunk in a listing.
type entry struct {
	info store.Info
	err  error
}

// stored yields the stored chunks of an array by their numbers. It decodes each block
// once.
func (n *nodes) stored(ctx context.Context, l *listing, a *Array) iter.Seq2[int64, entry] {
	return func(yield func(int64, entry) bool) {
		some := func(first int64, r references) bool {
			for i, source := range r.source {
				k := first + int64(i)
				if _, inline := a.inline[k]; source == 0 && !inline {
					continue
				}
				var e entry
				if e.info, e.err = n.describe(ctx, l, a, k, r.at(i)); !yield(k, e) || e.err != nil {
					return false
				}
			}
			return true
		}
		for _, p := range a.blocks {
			r, err := n.manifest.folder.references(ctx, p)
			if err != nil {
				yield(p.First, entry{err: err})
				return
			}
			if !some(p.First, r) {
				return
			}
		}
		some(a.stored(), a.refs)
	}
}

// describe returns what a listing tells about a chunk.
func (n *nodes) describe(ctx context.Context, l *listing, a *Array, k int64, ref reference) (store.Info, error) {
	if data, ok := a.inline[k]; ok {
		return (&found{bytes: data}).info(), ctx.Err()
	}
	// Sizes are in the references. The blocks of sources are read only for versions.
	if !l.versions {
		return store.Info{Size: int64(ref.length)}, nil
	}
	s, err := n.manifest.source(ctx, ref.source)
	return (&found{ref: ref, source: s}).info(), err
}

// folderOf returns the first numbers of the index of the chunks in a folder of an array,
// as the default encoding of keys has it: none for the array itself, whose folder c is in
// it, and those after c below that.
func folderOf(name string, rank int) (index []int64, ok bool) {
	if name == "" {
		return nil, true
	}
	words := strings.Split(name, "/")
	if words[0] != "c" || len(words) > rank {
		return nil, false
	}
	index = make([]int64, 0, rank)
	for _, word := range words[1:] {
		i, err := strconv.ParseInt(word, 10, 64)
		// Keys have one spelling: 01 is no index.
		if err != nil || i < 0 || strconv.FormatInt(i, 10) != word {
			return nil, false
		}
		index = append(index, i)
	}
	return index, true
}

// listFolder yields the folders in a folder of an array, or the chunks. It asks only
// until the first stored chunk in each of them.
func (n *nodes) listFolder(ctx context.Context, l *listing, a keyed, index []int64) bool {
	count := a.Grid.Chunks()
	if len(index) > 0 && !below(index, count[:len(index)]) {
		return true
	}
	prefix := strings.TrimPrefix(a.Path+"/c", "/")
	// The folder c exists if any chunk does. A level below it suffices to show that.
	if l.dir == a.Path {
		_, err := n.first(ctx, a.Array, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return true
		}
		if err != nil {
			return l.yield(store.Entry{}, err)
		}
		// A key inside makes the listing yield the folder.
		return l.add(prefix+"/0", store.Info{})
	}
	at, depth := slices.Clone(index), len(index)
	key := []byte(nil)
	for i := range count[depth] {
		k, err := n.first(ctx, a.Array, append(at[:depth], i))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		f := found{}
		if err == nil && depth == len(count)-1 {
			f, err = n.at(ctx, a.Array, k)
		}
		if err != nil {
			return l.yield(store.Entry{}, err)
		}
		if depth < len(count)-1 {
			key = strconv.AppendInt(append(append(key[:0], l.dir...), '/'), i, 10)
			if !l.add(string(key)+"/0", store.Info{}) {
				return false
			}
			continue
		}
		key = strconv.AppendInt(append(append(key[:0], l.dir...), '/'), i, 10)
		if !l.add(string(key), f.info()) {
			return false
		}
	}
	return true
}

// first returns the number of a stored chunk whose index begins with some numbers, or
// [fs.ErrNotExist].
func (n *nodes) first(ctx context.Context, a *Array, begin []int64) (int64, error) {
	count := a.Grid.Chunks()
	rest := count[len(begin):]
	all, index := int64(1), make([]int64, len(count))
	for _, c := range rest {
		all *= c
	}
	copy(index, begin)
	for i := range all {
		indexOf(i, rest, 0, index[len(begin):])
		k := a.number(index)
		ref, data, err := n.manifest.reference(ctx, a, k)
		if err != nil || data != nil || ref.source != 0 {
			return k, err
		}
		// The loop makes no request while the block is in memory, so it looks for the
		// end of the context itself.
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return 0, fs.ErrNotExist
}
