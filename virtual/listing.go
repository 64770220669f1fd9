// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"strings"

	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// listing yields the keys in a folder. A flat one yields each folder once.
type listing struct {
	dir  string
	deep bool
	// versions says that chunks have their versions. A plain listing is quicker.
	versions bool
	seen     map[string]bool
	yield    func(store.Entry, error) bool
}

// add yields a key if it is in the folder.
func (l *listing) add(key string, info store.Info) bool {
	rel := key
	if l.dir != "" {
		var ok bool
		if rel, ok = strings.CutPrefix(key, l.dir+"/"); !ok {
			return true
		}
	}
	folder, _, nested := strings.Cut(rel, "/")
	switch {
	case l.deep || !nested:
		return l.yield(store.Entry{Name: rel, Size: info.Size, Version: info.Version}, nil)
	case l.seen[folder]:
		return true
	}
	l.seen[folder] = true
	return l.yield(store.Entry{Name: folder, Dir: true}, nil)
}

// wantsChunks reports whether the listing may have chunks of the array at a path. A flat
// listing above the array has none.
func (l *listing) wantsChunks(path string) bool {
	inside := l.dir == path || strings.HasPrefix(l.dir, path+"/") || path == ""
	above := l.dir == "" || strings.HasPrefix(path, l.dir+"/")
	return inside || above && l.deep
}

// document yields the document of a node.
func (l *listing) document(path string) bool {
	return l.add(strings.TrimPrefix(path+"/"+metadata.V3Node, "/"), store.Info{Size: -1})
}
