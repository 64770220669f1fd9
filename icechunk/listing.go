// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/store"
)

// listing lists the keys of nodes, which are ordered by their paths.
type listing struct {
	nodes []format.Node
	time  time.Time
	// chunks yields the chunks of an array, with their names below it.
	chunks func(context.Context, *format.Node) iter.Seq2[store.Entry, error]
}

func (l *listing) find(path string) (int, bool) {
	return slices.BinarySearchFunc(l.nodes, path, func(n format.Node, path string) int { return strings.Compare(n.Path, path) })
}

// at returns the node that a path leads to or into, and what follows. The node is nil if
// there is none.
func (l *listing) at(path string) (n *format.Node, rest string) {
	return split(path, func(at string) *format.Node {
		if i, ok := l.find(at); ok {
			return &l.nodes[i]
		}
		return nil
	})
}

// split finds the longest part of a path that find knows as a node.
func split[N any](path string, find func(path string) *N) (n *N, rest string) {
	for at := path; ; {
		if n := find("/" + at); n != nil {
			return n, strings.TrimPrefix(path[len(at):], "/")
		}
		if at == "" {
			return nil, path
		}
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
	}
}

// list yields what is below a path.
func (l *listing) list(ctx context.Context, path string, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		n, rest := l.at(path)
		if rest != "" && n != nil && !n.IsArray {
			n, rest = nil, "" // below a group: nodes may be there, whose group has no document yet
		}
		switch {
		case n != nil && rest != "" && how&store.Deep != 0:
			l.listChunks(ctx, n, rest+"/", "", yield)
		case n != nil && rest != "":
			l.listNumbers(ctx, n, rest+"/", yield)
		case how&store.Deep != 0:
			l.listAll(ctx, path, n, yield)
		default:
			l.listFlat(ctx, path, n, yield)
		}
	}
}

// below returns the nodes below a path, without the one at it.
func (l *listing) below(path string) []format.Node {
	prefix := "/" + path
	if path != "" {
		prefix += "/"
	}
	i, _ := l.find(prefix)
	j := i
	for j < len(l.nodes) && strings.HasPrefix(l.nodes[j].Path, prefix) {
		j++
	}
	nodes := l.nodes[i:j]
	if path == "" && len(nodes) > 0 && nodes[0].Path == "/" {
		nodes = nodes[1:]
	}
	return nodes
}

// document returns the entry of the document of a node.
func (l *listing) document(n *format.Node, name string) store.Entry {
	info := documentInfo(n.Document, l.time)
	return store.Entry{Name: name, Size: info.Size, Version: info.Version, Modified: info.Modified}
}

// listAll yields all values at and below a path, at which n is or nothing.
func (l *listing) listAll(ctx context.Context, path string, n *format.Node, yield func(store.Entry, error) bool) {
	whole := func(n *format.Node, prefix string) bool {
		return yield(l.document(n, prefix+documentName), nil) && l.listChunks(ctx, n, "", prefix, yield)
	}
	if n != nil && !whole(n, "") {
		return
	}
	nodes := l.below(path)
	for i := range nodes {
		name := strings.TrimPrefix(strings.TrimPrefix(nodes[i].Path, "/"+path), "/")
		if !whole(&nodes[i], name+"/") {
			return
		}
	}
}

// listChunks yields the chunks of an array whose names begin with below, without that and
// with a prefix. It reports whether to continue.
func (l *listing) listChunks(ctx context.Context, n *format.Node, below, prefix string, yield func(store.Entry, error) bool) bool {
	if !n.IsArray {
		return true
	}
	for e, err := range l.chunks(ctx, n) {
		if err != nil {
			yield(store.Entry{}, err)
			return false
		}
		name, ok := strings.CutPrefix(e.Name, below)
		if !ok {
			continue
		}
		if e.Name = prefix + name; !yield(e, nil) {
			return false
		}
	}
	return true
}

// listFlat yields the values and directories one level below a path, at which n is or
// nothing.
func (l *listing) listFlat(ctx context.Context, path string, n *format.Node, yield func(store.Entry, error) bool) {
	if n != nil && !yield(l.document(n, documentName), nil) {
		return
	}
	if n != nil && n.IsArray {
		l.listNumbers(ctx, n, "", yield)
		return
	}
	// Nodes are ordered by the bytes of their paths, so nodes of another directory may
	// come between two of one.
	seen := map[string]bool{}
	for _, n := range l.below(path) {
		name := strings.TrimPrefix(strings.TrimPrefix(n.Path, "/"+path), "/")
		name, _, _ = strings.Cut(name, "/")
		if !seen[name] && !yield(store.Entry{Name: name, Dir: true}, nil) {
			return
		}
		seen[name] = true
	}
}

// listNumbers yields what follows below in the names of chunks, up to the next slash.
func (l *listing) listNumbers(ctx context.Context, n *format.Node, below string, yield func(store.Entry, error) bool) {
	found := map[string]store.Entry{}
	l.listChunks(ctx, n, below, "", func(e store.Entry, err error) bool {
		if err != nil {
			return yield(e, err)
		}
		first, _, isDir := strings.Cut(e.Name, "/")
		if isDir {
			e = store.Entry{Name: first, Dir: true}
		}
		found[first] = e
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !yield(found[name], nil) {
			return
		}
	}
}
