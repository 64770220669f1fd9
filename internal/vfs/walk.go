// SPDX-License-Identifier: Apache-2.0

package vfs

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
)

// Item is a file or a directory found by [Walk].
type Item struct {
	Name string // relative to the top of the tree
	Dir  bool
}

// Walk yields what lies below the directory dir: one level of it or, if deep is set,
// every file at any depth. It skips names for which skip is true, with everything below
// them. It also skips what cannot be a value: pipes, devices, and symbolic links that
// lead nowhere or out of the tree.
//
// Walk does not follow a link to a directory that contains the link, because a walk level
// by level would never end. It does not follow a link below another link either, because
// a few of those make more names than can be listed. A deep walk follows all other links
// to directories, and reports a link below a link as an error.
func Walk(ctx context.Context, t Tree, dir string, deep bool, skip func(name string) bool) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		w := walker{ctx, t, deep, skip, yield}
		w.walk(dir, "")
	}
}

type walker struct {
	ctx   context.Context
	tree  Tree
	deep  bool
	skip  func(string) bool
	yield func(Item, error) bool
}

// walk goes through dir, which lies below the symbolic link named link, if any. It
// reports whether to go on. A missing directory has no entries: a concurrent deletion may
// remove it at any time.
func (w walker) walk(dir, link string) bool {
	for e, err := range w.tree.ReadDir(dir) {
		if err == nil {
			err = w.ctx.Err()
		}
		switch {
		case Missing(err):
			return true
		case err != nil:
			w.yield(Item{}, err)
			return false
		}
		name := path.Join(dir, e.Name())
		if w.skip(name) {
			continue
		}
		if !w.visit(name, e.Type(), link) {
			return false
		}
	}
	return true
}

func (w walker) visit(name string, mode fs.FileMode, link string) bool {
	linked := mode&fs.ModeSymlink != 0
	var to Stat
	if linked {
		var err error
		if to, err = w.tree.Stat(name); err != nil {
			return true
		}
		mode = to.Mode.Type()
	}
	switch {
	case mode.IsRegular():
		return w.yield(Item{Name: name}, nil)
	case !mode.IsDir():
		return true
	case !w.deep && linked && (w.holds(name, to) || w.belowLink(name)):
		return true
	case !w.deep:
		return w.yield(Item{Name: name, Dir: true}, nil)
	case !linked:
		return w.walk(name, link)
	}
	return w.follow(name, to, link)
}

// follow goes through the directory that the symbolic link name leads to.
func (w walker) follow(name string, to Stat, link string) bool {
	if w.holds(name, to) {
		return true
	}
	if link != "" {
		err := fmt.Errorf("vfs: %s is a symbolic link below the symbolic link %s: list it on its own", name, link)
		w.yield(Item{}, err)
		return false
	}
	return w.walk(name, name)
}

// holds reports whether the target of a symbolic link contains the link. Following such a
// link would never end.
func (w walker) holds(link string, to Stat) bool {
	for dir := path.Dir(link); ; dir = path.Dir(dir) {
		if s, err := w.tree.Stat(dir); err == nil && s.SameFile(to) {
			return true
		}
		if dir == "." {
			return false
		}
	}
}

// belowLink reports whether a name leads through a symbolic link, if the tree can tell.
func (w walker) belowLink(name string) bool {
	t, ok := w.tree.(interface{ Readlink(string) (string, error) })
	for dir := path.Dir(name); ok && dir != "."; dir = path.Dir(dir) {
		if _, err := t.Readlink(dir); err == nil {
			return true
		}
	}
	return false
}
