// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// nodes are the keys of the nodes of a manifest.
type nodes struct {
	manifest *Manifest
	groups   map[string]*metadata.Group
	arrays   map[string]keyed
}

// keyed is an array with the encoding of its keys.
type keyed struct {
	*Array
	keys metadata.KeyEncoding
}

func newNodes(m *Manifest) *nodes {
	n := &nodes{m, map[string]*metadata.Group{}, map[string]keyed{}}
	for _, g := range m.Groups {
		n.groups[g.Path] = g.Document
	}
	for _, a := range m.Arrays {
		// Other encodings are refused when the array is opened.
		keys, _ := metadata.ParseKeyEncoding(a.Document.ChunkKeyEncoding)
		n.arrays[a.Path] = keyed{a, keys}
	}
	return n
}

// find returns what a key has.
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
	if name != metadata.V3Node {
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
	count := a.Grid.Chunks()
	index, ok := a.keys.ParseKey(key, len(count), nil)
	if !ok || !below(index, count) {
		return found{}, fs.ErrNotExist
	}
	return n.at(ctx, a.Array, a.number(index))
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

// most implements content. The references of an array are stored for all chunks.
func (n *nodes) most(_ context.Context, _ string, chunks int64) (int64, error) { return chunks, nil }

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

// listChunks yields the chunks of an array.
func (n *nodes) listChunks(ctx context.Context, l *listing, a keyed) bool {
	if !l.wantsChunks(a.Path) {
		return true
	}
	count := a.Grid.Chunks()
	index, key := make([]int64, len(count)), []byte(nil)
	prefix := a.Path + "/"
	if a.Path == "" {
		prefix = ""
	}
	all, _ := a.Grid.NumChunks()
	for k := range all {
		f, err := n.at(ctx, a.Array, k)
		if errors.Is(err, fs.ErrNotExist) {
			if err = ctx.Err(); err == nil {
				continue
			}
		}
		if err != nil {
			return l.yield(store.Entry{}, err)
		}
		indexOf(k, count, a.Axis, index)
		key = a.keys.AppendKey(append(key[:0], prefix...), index)
		if !l.add(string(key), f.info()) {
			return false
		}
	}
	return true
}
