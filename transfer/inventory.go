// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/store"
)

// item is a node as its documents describe it.
type item struct {
	dir    string // below the root of the inventory, with a slash at its end; "" is the root
	kind   string // "array", "group", or "" if the document does not say
	format int
	files  []file         // documents in the order in which they are written
	layout copying.Layout // of an array: the keys of its chunks
	fresh  bool           // no value of the destination is taken for a copy
	damage error          // why the documents cannot be read, or nil
}

// file is a stored document.
type file struct {
	name string
	raw  []byte
}

// file returns the document with a name, or nil.
func (i *item) file(name string) []byte {
	if i == nil {
		return nil
	}
	for _, f := range i.files {
		if f.name == name {
			return f.raw
		}
	}
	return nil
}

// sameFiles reports whether both nodes have the same documents, apart from the marks that
// writers leave at their ends.
func (i *item) sameFiles(o *item) bool {
	return slices.EqualFunc(i.files, o.files, func(a, b file) bool { return a.name == b.name && publish.Same(a.raw, b.raw) })
}

// saysSame reports whether the documents of both nodes say the same about the nodes
// themselves, whatever copies of other documents they have.
func (i *item) saysSame(o *item) bool {
	return slices.EqualFunc(i.files, o.files, func(a, b file) bool { return a.name == b.name && publish.Same(a.own(), b.own()) })
}

// own returns a document without the copies of others that it has.
func (f file) own() []byte {
	switch f.name {
	case nodename.V2Consolidated:
		return nil
	case nodename.V3Node:
		if raw, err := f.withListed(nil); err == nil {
			return raw
		}
	}
	return f.raw
}

// inventory has the nodes of a hierarchy by their directories.
type inventory map[string]*item

// same reports whether two inventories have the same documents.
func (v inventory) same(o inventory) bool { return maps.EqualFunc(v, o, (*item).sameFiles) }

// grown reports whether whatever v describes is in o with the same meaning: nodes may
// have been added, arrays may have become longer, and attributes may differ.
func (v inventory) grown(o inventory) bool {
	for dir, was := range v {
		is := o[dir]
		if is == nil || is.kind != was.kind || is.format != was.format || was.kind == "array" && !was.layout.Within(&is.layout) && !was.sameFiles(is) {
			return false
		}
	}
	return true
}

// dirs returns the directories of the nodes, deepest first.
func (v inventory) dirs() []string {
	return slices.SortedFunc(maps.Keys(v), func(a, b string) int {
		return cmp.Or(strings.Count(b, "/")-strings.Count(a, "/"), strings.Compare(a, b))
	})
}

// owner returns the node that a key lies in, and the rest of the key. It is the first
// array on the way down, or else the last group.
func (v inventory) owner(rel string) (*item, string) {
	at := v[""]
	for end := 0; at != nil && at.kind != "array"; {
		i := strings.IndexByte(rel[end:], '/')
		if i < 0 {
			break
		}
		end += i + 1
		next := v[rel[:end]]
		if next == nil {
			break
		}
		at = next
	}
	if at == nil {
		return nil, rel
	}
	return at, rel[len(at.dir):]
}

// librarian reads the documents of nodes.
type librarian struct {
	s      store.Store
	at     store.Path
	limits zarr.Limits // of the bytes of one document
	tasks  int         // most nodes that are read at once
	source bool        // directories in the places of documents are damage

	mu   sync.Mutex
	held int64 // bytes of documents
}

// mostDocuments bounds the bytes of all documents of an inventory.
const mostDocuments = 1 << 30

// walk returns the nodes at and below the place. It lists each group, and no array.
func (l *librarian) walk(ctx context.Context) (inventory, error) {
	all := inventory{}
	l.source = true
	for level := []string{""}; len(level) > 0; {
		next, err := l.read(ctx, level, all, l.children)
		if err != nil {
			return nil, err
		}
		level = next
	}
	return all, nil
}

// those returns the nodes in the directories of another inventory.
func (l *librarian) those(ctx context.Context, of inventory) (inventory, error) {
	all := inventory{}
	none := func(context.Context, *item) ([]string, error) { return nil, nil }
	_, err := l.read(ctx, slices.Sorted(maps.Keys(of)), all, none)
	return all, err
}

// read adds the nodes in directories to all, and returns what more returns for them.
func (l *librarian) read(
	ctx context.Context, dirs []string, all inventory, more func(context.Context, *item) ([]string, error),
) (next []string, err error) {
	g, ctx := parallel.New(ctx)
	g.SetLimit(l.tasks)
	var mu sync.Mutex
	for _, dir := range dirs {
		g.Go(func() error {
			i, err := l.item(ctx, dir)
			if i == nil && err == nil && dir != "" && l.source {
				if why := l.folder(ctx, dir); errors.Is(why, zarr.ErrInvalidMetadata) {
					i = &item{dir: dir, damage: why}
				} else {
					err = why
				}
			}
			if i == nil || err != nil {
				return err
			}
			below, err := more(ctx, i)
			mu.Lock()
			defer mu.Unlock()
			all[dir] = i
			next = append(next, below...)
			return err
		})
	}
	err = g.Wait(nil)
	return next, err
}

// children returns the directories directly below a group.
func (l *librarian) children(ctx context.Context, i *item) (dirs []string, err error) {
	if i.kind == "array" || i.damage != nil {
		return nil, nil
	}
	p, err := l.at.Join(strings.TrimSuffix(i.dir, "/"))
	if err != nil {
		return nil, err
	}
	names, err := tree.Directories(ctx, l.s, p)
	for _, name := range names {
		if _, bad := p.Join(name); bad == nil && name != own.Dir {
			dirs = append(dirs, i.dir+name+"/")
		}
	}
	return dirs, err
}

// item reads the documents in a directory, or returns nil if they make no node. Documents
// of format 2 beside one of format 3 do not count.
func (l *librarian) item(ctx context.Context, dir string) (*item, error) {
	for _, name := range tree.Documents {
		raw, err := l.get(ctx, dir+name)
		if err != nil || raw == nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		i := &item{dir: dir, kind: copying.KindOf(name, raw), format: 2}
		if name == nodename.V3Node {
			i.format = 3
		}
		if err := l.beside(ctx, i, name); err != nil {
			return nil, err
		}
		i.files = append(i.files, file{name, raw})
		if i.damage == nil {
			i.damage = damageOf(i, name, raw)
		}
		if i.kind == "array" {
			i.layout = copying.LayoutOf(name, raw, i.file(nodename.V2Attributes))
		}
		return i, nil
	}
	return nil, nil
}

// beside reads the documents that a node of format 2 has beside its own.
func (l *librarian) beside(ctx context.Context, i *item, name string) error {
	names := map[string][]string{nodename.V2Array: {nodename.V2Attributes}, nodename.V2Group: {nodename.V2Attributes, nodename.V2Consolidated}}
	for _, more := range names[name] {
		raw, err := l.get(ctx, i.dir+more)
		if err != nil {
			return err
		}
		if raw != nil {
			i.files = append(i.files, file{more, raw})
		} else if l.source && more == nodename.V2Attributes && i.damage == nil {
			if i.damage, err = l.hidden(i.dir + more); err != nil {
				return err
			}
		}
	}
	return nil
}

// get reads a document, or returns nil if there is none.
func (l *librarian) get(ctx context.Context, rel string) ([]byte, error) {
	key, err := l.at.Key(rel)
	if err != nil {
		return nil, err
	}
	raw, err := copying.ReadDocument(ctx, l.s, key, l.limits)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held += int64(len(raw)); l.held > mostDocuments {
		return nil, fmt.Errorf("%w: the documents of all nodes have more than %s; work on the nodes below one by one", zarr.ErrLimit, quantity.Count(int64(mostDocuments), "bytes"))
	}
	return raw, nil
}
