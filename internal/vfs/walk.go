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
	// Odd is the reason for which the item is neither a value nor a directory of values,
	// such as that it is a pipe, or "".
	Odd string

	tree  Tree
	entry fs.DirEntry
	to    Stat // of the target, if entry is a symbolic link
}

// Stat describes the item as [Tree.Stat] does. During the walk's call of yield it is
// cheaper, because the directory of the item is open.
func (i Item) Stat() (Stat, error) {
	if i.to != (Stat{}) {
		return i.to, nil
	}
	if e, ok := i.entry.(interface{ stat() (Stat, error) }); ok {
		// Anything but a file has replaced the file since: a symbolic link has to be
		// followed, within the tree.
		if s, err := e.stat(); err == nil && s.Mode.IsRegular() || Missing(err) {
			return s, err
		}
	}
	return i.tree.Stat(i.Name)
}

// Reserved is why an item is odd that [Walk] was told to refuse.
const Reserved = "the name is reserved, or not possible here"

// Irregular returns why an item of a type is odd.
func Irregular(mode fs.FileMode) string { return "it is no regular file but of type " + mode.String() }

// Fate is what a walk does with an entry of a directory.
type Fate int

const (
	Take   Fate = iota // yield it, or walk it
	Hide               // skip it, with everything below it
	Refuse             // yield it as odd, without anything below it
)

// Walk yields the files and directories directly below dir or, if deep is set, every file
// at any depth. fate decides by the name, and by whether it is that of a directory. What
// cannot be a value, such as a pipe or a device, is yielded as odd. So is a symbolic link
// that Walk does not follow: one that is broken or leads out of the tree, or one to a
// directory that contains the link, because following it would never end.
//
// A flat walk yields a link to a directory below another link as odd too, because a few
// of those make more names than can be listed. A deep walk returns an error for it, and
// follows all other links to directories.
func Walk(ctx context.Context, t Tree, dir string, deep bool, fate func(name string, dir bool) Fate) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		w := walker{ctx, t, deep, fate, yield}
		w.walk(dir, "")
	}
}

type walker struct {
	ctx   context.Context
	tree  Tree
	deep  bool
	fate  func(name string, dir bool) Fate
	yield func(Item, error) bool
}

// walk yields the entries of dir, which lies below the symbolic link named link, if any.
// It reports whether the walk continues.
func (w walker) walk(dir, link string) bool {
	for e, err := range w.tree.ReadDir(dir) {
		if err == nil {
			err = w.ctx.Err()
		}
		switch {
		case Missing(err): // a concurrent deletion removed the directory
			return true
		case err != nil:
			w.yield(Item{}, err)
			return false
		}
		name := path.Join(dir, e.Name())
		more := true
		switch w.fate(name, e.IsDir()) {
		case Take:
			more = w.visit(name, e, link)
		case Refuse:
			more = w.yield(Item{Name: name, Odd: Reserved}, nil)
		}
		if !more {
			return false
		}
	}
	return true
}

func (w walker) visit(name string, e fs.DirEntry, link string) bool {
	mode := e.Type()
	isLink := mode&fs.ModeSymlink != 0
	var to Stat
	if isLink {
		var err error
		if to, err = w.tree.Stat(name); err != nil {
			return w.lost(name, err)
		}
		mode = to.Mode.Type()
	}
	switch {
	case mode.IsRegular():
		return w.yield(Item{Name: name, tree: w.tree, entry: e, to: to}, nil)
	case !mode.IsDir():
		return w.yield(Item{Name: name, Odd: Irregular(mode)}, nil)
	// A deep walk would not follow this link, so a flat one does not show it as a
	// directory.
	case isLink && w.holds(name, to):
		return w.yield(Item{Name: name, Odd: Endless}, nil)
	case !w.deep && isLink && w.belowLink(name):
		return w.yield(Item{Name: name, Odd: linkBelowLink}, nil)
	case !w.deep:
		return w.yield(Item{Name: name, Dir: true, tree: w.tree, entry: e, to: to}, nil)
	case !isLink:
		return w.walk(name, link)
	// Links below links make more names than can be listed.
	case link != "":
		err := fmt.Errorf("vfs: %s is a symbolic link below the symbolic link %s: list it on its own", name, link)
		w.yield(Item{}, err)
		return false
	}
	return w.walk(name, name)
}

// Why a walk does not follow a symbolic link.
const (
	Broken        = "it is a symbolic link to nothing"
	Absolute      = "it is a symbolic link to an absolute path, which is not followed"
	Outside       = "it is a symbolic link that leads out of the store, or to itself"
	Endless       = "it is a symbolic link to a directory that contains it"
	linkBelowLink = "it is a symbolic link to a directory, below another symbolic link"
)

// lost yields a symbolic link that cannot be followed as odd. err is the error of its
// target. A link that a rival has removed is skipped.
func (w walker) lost(name string, err error) bool {
	var target string
	if t, ok := w.tree.(linkReader); ok {
		var err error
		if target, err = t.Readlink(name); Missing(err) {
			return true
		}
	}
	why := Outside
	switch {
	case path.IsAbs(target):
		why = Absolute
	case Missing(err):
		why = Broken
	}
	return w.yield(Item{Name: name, Odd: why}, nil)
}

// linkReader is a tree that reads the texts of symbolic links.
type linkReader interface {
	Readlink(name string) (string, error)
}

// holds reports whether the target of a symbolic link is a directory above the link.
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
	t, ok := w.tree.(linkReader)
	for dir := path.Dir(name); ok && dir != "."; dir = path.Dir(dir) {
		if _, err := t.Readlink(dir); err == nil {
			return true
		}
	}
	return false
}
