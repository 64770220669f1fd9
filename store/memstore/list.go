// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"iter"
	"strings"

	"varve.dev/zarr/store"
)

// index counts the keys at and below every child of every directory, so that a listing
// costs only its entries. The name of a child that is a directory ends in a slash.
type index map[string]map[string]int

func (x index) add(key store.Key)    { x.count(key.String(), 1) }
func (x index) remove(key store.Key) { x.count(key.String(), -1) }

// count adds by to each child on the way to name.
func (x index) count(name string, by int) {
	for dir, rest := "", name; rest != ""; {
		child, below, isDir := strings.Cut(rest, "/")
		if isDir {
			// Keep the slash, which marks a directory.
			child = rest[:len(child)+1]
		}
		x.bump(dir, child, by)
		dir, rest = name[:len(name)-len(below)], below
	}
}

// bump adds by to one child of dir, and deletes a child without keys.
func (x index) bump(dir, child string, by int) {
	children := x[dir]
	if children == nil {
		children = map[string]int{}
		x[dir] = children
	}
	if children[child] += by; children[child] == 0 {
		delete(children, child)
	}
	if len(children) == 0 {
		delete(x, dir)
	}
}

// List implements [store.Lister]. Each directory is listed as of the moment when the
// sequence reaches it.
func (s *Store) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	top := dir.String()
	if top != "" {
		top += "/"
	}
	return func(yield func(store.Entry, error) bool) { s.list(ctx, top, "", deep, yield) }
}

// ListVersions implements [store.VersionLister]. It is List, which knows the versions.
func (s *Store) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return s.List(ctx, dir, deep)
}

// list yields the entries below top+rel, and reports whether to go on.
func (s *Store) list(ctx context.Context, top, rel string, deep bool, yield func(store.Entry, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(store.Entry{}, err)
		return false
	}
	for _, e := range s.children(top, rel) {
		switch {
		case !e.Dir || !deep:
			if !yield(e, nil) {
				return false
			}
		case !s.list(ctx, top, e.Name+"/", deep, yield):
			return false
		}
	}
	return true
}

// children returns the entries one level below top+rel, with names relative to top.
func (s *Store) children(top, rel string) []store.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	children := s.dirs[top+rel]
	entries := make([]store.Entry, 0, len(children))
	for child := range children {
		if name, isDir := strings.CutSuffix(child, "/"); isDir {
			entries = append(entries, store.Entry{Name: rel + name, Dir: true, Size: -1})
			continue
		}
		info := s.values[store.Path{}.MustKey(top+rel+child)].info()
		entries = append(entries, store.Entry{Name: rel + child, Size: info.Size, Version: info.Version, Modified: info.Modified})
	}
	return entries
}
