package vfs

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"path"
)

// Item is one file or directory that [Walk] found.
type Item struct {
	Name string // relative to the top of the tree
	Dir  bool
}

// Walk yields what lies below the directory dir: one level of it, or with deep every file
// at any depth. Names that skip reports are passed over with all that is below them. So
// is what no value can be: pipes, devices, and symbolic links that lead nowhere or out of
// the tree.
//
// A link to a directory that holds the link is passed over, so that nobody who goes down
// level by level goes round in circles. So is a link below a link: a handful of them
// spell more names than can ever be listed. A deep walk follows all other links to
// directories, and says that it met a link below a link by an error.
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
// reports whether to go on. A directory that is not there has no entries: others may
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

// holds reports whether the directory that a symbolic link leads to holds the link.
// Followed, it would never end.
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

// belowLink reports whether a name leads through a symbolic link, as far as the tree
// tells.
func (w walker) belowLink(name string) bool {
	t, ok := w.tree.(interface{ Readlink(string) (string, error) })
	for dir := path.Dir(name); ok && dir != "."; dir = path.Dir(dir) {
		if _, err := t.Readlink(dir); err == nil {
			return true
		}
	}
	return false
}
