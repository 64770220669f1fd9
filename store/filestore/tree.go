// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// DeleteTree implements [store.TreeDeleter]. It deletes everything except the temporary
// files of running writers and locks that are held. Directories with such files stay.
func (s *files) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, d store.Durability) error {
	t := &tree{s: s, order: order, d: d}
	err := s.writable(ctx)
	if err == nil {
		t.top, err = s.place(dirOf(dir))
	}
	if err == nil {
		err = t.check(ctx, dir)
	}
	if err == nil {
		err = t.delete(ctx)
	}
	if err != nil {
		return fail("deleting all of", dirOf(dir), err)
	}
	return nil
}

// CheckTree implements [store.Directories].
func (s *files) CheckTree(dir store.Path) error {
	if _, err := s.place(dirOf(dir)); err != nil {
		return fail("deleting all of", dirOf(dir), err)
	}
	return nil
}

// place returns the name without links of a directory that is to be deleted. It refuses a
// link, because its target has a name of its own. It also refuses a name that leads
// through a link inside the directory itself, because the deletion would remove that link
// first.
func (s *files) place(dir string) (string, error) {
	if dir == "." {
		return dir, nil
	}
	if target, err := s.fs.Readlink(dir); err == nil {
		return "", linked("deletions", dir, target)
	}
	parent, err := s.direct(path.Dir(dir), "deletions", s.isNode)
	top := path.Join(parent, path.Base(dir))
	if err != nil || top == dir {
		return top, err
	}
	// The name may lead through a link that lies in the directory to delete.
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		real, err := s.direct(above, "deletions", s.isNode)
		if err == nil && (real == top || strings.HasPrefix(real, top+"/")) {
			return "", fmt.Errorf("%w: %s leads through a link in %s; name that", vfs.ErrLinked, dir, top)
		}
	}
	return top, nil
}

// CheckNames implements [store.Directories].
func (s *files) CheckNames(ctx context.Context, dir store.Path) error {
	t := &tree{s: s, top: dirOf(dir)}
	return t.check(ctx, dir)
}

// tree is one run of DeleteTree.
type tree struct {
	s     *files
	top   string
	order store.TreeOrder
	d     store.Durability
}

// check returns a [store.UnusableError] if something below the directory is neither a
// value nor a link nor the driver's own: nobody has decided to delete that.
func (t *tree) check(ctx context.Context, dir store.Path) error {
	odd := func(yield func(store.Entry, error) bool) { t.odd(ctx, ".", yield) }
	for _, err := range store.Sift(dir, odd) {
		return err
	}
	return nil
}

// odd yields what is odd below a directory, and reports whether to continue.
func (t *tree) odd(ctx context.Context, dir string, yield func(store.Entry, error) bool) bool {
	for e, err := range t.s.fs.ReadDir(path.Join(t.top, dir)) {
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case vfs.Missing(err):
			return true
		case err != nil:
			return yield(store.Entry{}, err)
		}
		name, why, goOn := path.Join(dir, e.Name()), "", true
		switch does := fate(path.Join(t.top, name), e.IsDir()); {
		case does == vfs.Take && !e.IsDir() && own.IsForeign(path.Join(t.top, name)):
			why = own.Foreign
		case does == vfs.Refuse:
			why = vfs.Reserved
		case does == vfs.Take && e.IsDir():
			goOn = t.odd(ctx, name, yield)
		case e.Type()&^fs.ModeSymlink != 0 && !e.IsDir():
			why = vfs.Irregular(e.Type())
		}
		if why != "" {
			goOn = yield(store.Entry{Name: name, Unusable: why}, nil)
		}
		if !goOn {
			return false
		}
	}
	return true
}

// delete deletes in the order of t. With [store.Sync], each step is durable before the
// next one begins.
func (t *tree) delete(ctx context.Context) error {
	// Delete the node's documents first. From then on readers find no node.
	for _, name := range t.order.First {
		if _, err := t.remove(ctx, path.Join(t.top, name)); err != nil {
			return err
		}
	}
	// A crash from here on leaves orphaned chunks but no node. If the deletions above
	// were not durable, a power cut could bring back a document without its chunks.
	if err := t.synced(t.top); err != nil {
		return err
	}
	if len(t.order.First) > 0 { // the documents of nodes below, before their chunks
		if err := t.clear(ctx, t.top, true); err != nil {
			return err
		}
	}
	if err := t.clear(ctx, t.top, false); err != nil {
		return err
	}
	if t.order.Last != "" { // while it exists, a later call can continue this deletion
		if _, err := t.remove(ctx, path.Join(t.top, t.order.Last)); err != nil {
			return err
		}
	}
	// Remove the directories that only Last kept, and make their removal durable.
	return t.synced(t.s.prune(path.Dir(path.Join(t.top, cmp.Or(t.order.Last, "-")))))
}

func (t *tree) synced(dir string) error {
	if t.d == store.Flush {
		return nil
	}
	return t.s.syncDir(dir)
}

// clear deletes everything below dir or, if first is set, only the values named in
// order.First.
func (t *tree) clear(ctx context.Context, dir string, first bool) error {
	touched := false
	// Some file systems skip entries when others are deleted during a listing. So list
	// again until there is nothing to delete.
	for again := true; again; {
		again = false
		for e, err := range t.s.fs.ReadDir(dir) {
			switch {
			case vfs.Missing(err):
				return nil // a concurrent deletion removed dir
			case err != nil:
				return err
			}
			gone, err := t.entry(ctx, path.Join(dir, e.Name()), e.IsDir(), first)
			if err != nil {
				return err
			}
			again = again || gone
		}
		touched = touched || again
	}
	if !touched {
		return nil
	}
	return t.synced(dir)
}

// entry deletes one entry of a directory, and reports whether it is gone. A symbolic link
// is not a directory here, so it is deleted and not followed.
func (t *tree) entry(ctx context.Context, name string, isDir, first bool) (gone bool, err error) {
	switch {
	case isDir && path.Base(name) == own.Writers:
		if !first {
			t.s.discardWriters(name)
		}
		return false, nil
	case isDir:
		if err := t.clear(ctx, name, first); err != nil || first {
			return false, err
		}
		return t.s.fs.RemoveDir(name) == nil, nil // false if it is not empty
	case first && !slices.Contains(t.order.First, path.Base(name)):
		return false, nil
	// delete removes it at the end.
	case name == path.Join(t.top, t.order.Last):
		return false, nil
	// It was made after the check.
	case fate(name, false) == vfs.Refuse:
		return false, nil
	// A running writer would fail if its temporary file or its lock were deleted.
	case isOwn(path.Base(name)):
		return t.s.discard(name)
	}
	return t.remove(ctx, name)
}

// remove removes one file or link, and reports whether it did. A directory stays, such as
// that of a member with the name of a document.
func (t *tree) remove(ctx context.Context, name string) (bool, error) {
	if err := t.s.writable(ctx); err != nil {
		return false, err
	}
	gone, err := removed(t.s.fs.Remove(name))
	if err != nil {
		if st, seen := t.s.fs.Stat(name); seen == nil && st.Mode.IsDir() {
			return false, nil
		}
	}
	return gone, err
}
