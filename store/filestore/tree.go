package filestore

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// DeleteTree implements [store.TreeDeleter]. Everything goes, whatever it is, but what a
// live writer has there: its temporary files, and the locks that somebody holds. So a
// directory in which somebody is at work stays.
func (s *Store) DeleteTree(ctx context.Context, dir store.Path, order store.TreeOrder, d store.Durability) error {
	t := &tree{s: s, order: order, d: d}
	err := s.writable(ctx)
	if err == nil {
		t.top, err = s.place(dirOf(dir))
	}
	if err == nil {
		err = t.delete(ctx)
	}
	if err != nil {
		return fail("deleting all of", dirOf(dir), err)
	}
	return nil
}

// CheckTree implements [store.TreeChecker].
func (s *Store) CheckTree(dir store.Path) error {
	err := s.writable(context.Background())
	if err == nil {
		_, err = s.place(dirOf(dir))
	}
	if err != nil {
		return fail("deleting all of", dirOf(dir), err)
	}
	return nil
}

// place returns the name without links of a directory that is to be deleted. It must not
// be a link itself, since a link is not the only name of what it leads to, nor be reached
// by a link in itself, which would go on the way.
func (s *Store) place(dir string) (string, error) {
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
	for above := path.Dir(dir); above != "."; above = path.Dir(above) {
		real, err := s.direct(above, "deletions", s.isNode)
		if err == nil && (real == top || strings.HasPrefix(real, top+"/")) {
			return "", fmt.Errorf("%w: %s leads through a link in %s; name that", vfs.ErrLinked, dir, top)
		}
	}
	return top, nil
}

// tree is one run of DeleteTree.
type tree struct {
	s     *Store
	top   string
	order store.TreeOrder
	d     store.Durability
}

// delete deletes in the order that was asked for, each step durable before the next.
func (t *tree) delete(ctx context.Context) error {
	for _, name := range t.order.First {
		if _, err := t.remove(ctx, path.Join(t.top, name)); err != nil {
			return err
		}
	}
	if err := t.synced(t.top); err != nil {
		return err
	}
	if len(t.order.First) > 0 {
		if err := t.clear(ctx, t.top, true); err != nil {
			return err
		}
	}
	if err := t.clear(ctx, t.top, false); err != nil {
		return err
	}
	if t.order.Last != "" {
		if _, err := t.remove(ctx, path.Join(t.top, t.order.Last)); err != nil {
			return err
		}
	}
	return t.synced(t.s.prune(path.Dir(path.Join(t.top, cmp.Or(t.order.Last, "-")))))
}

func (t *tree) synced(dir string) error {
	if t.d != store.Sync {
		return nil
	}
	return t.s.syncDir(dir)
}

// clear deletes what is below dir, or only the values that go first. Not every file
// system lists a directory as it was when entries go meanwhile, so it looks again until
// it finds nothing to delete.
func (t *tree) clear(ctx context.Context, dir string, first bool) error {
	touched := false
	for again := true; again; {
		again = false
		for e, err := range t.s.fs.ReadDir(dir) {
			switch {
			case vfs.Missing(err):
				return nil // somebody else deletes here, too
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
// is no directory here.
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
		return t.s.fs.RemoveDir(name) == nil, nil // not if something in it stays
	case first && !slices.Contains(t.order.First, path.Base(name)):
		return false, nil
	case name == path.Join(t.top, t.order.Last):
		return false, nil
	case isOwn(path.Base(name)):
		return t.s.discard(name)
	}
	return t.remove(ctx, name)
}

// remove removes one file or link, and reports whether it did.
func (t *tree) remove(ctx context.Context, name string) (bool, error) {
	if err := t.s.writable(ctx); err != nil {
		return false, err
	}
	return removed(t.s.fs.Remove(name))
}
