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

// Stat describes the item as [Tree.Stat] does. Until the walk goes on, it is cheaper than
// that, because the directory of the item is open.
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
// cannot be a value, such as a pipe or a device, is yielded as odd. Walk skips symbolic
// links that are broken or lead out of the tree.
//
// A symbolic link to a directory that contains the link is skipped: following it would
// never end. A link below another link is skipped too, because a few of those make more
// names than can be listed. A deep walk returns an error for a link below a link, and
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
// It reports whether to go on.
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
		goOn := true
		switch w.fate(name, e.IsDir()) {
		case Take:
			goOn = w.visit(name, e, link)
		case Refuse:
			goOn = w.yield(Item{Name: name, Odd: Reserved}, nil)
		}
		if !goOn {
			return false
		}
	}
	return true
}

func (w walker) visit(name string, e fs.DirEntry, link string) bool {
	mode := e.Type()
	linked := mode&fs.ModeSymlink != 0
	var to Stat
	if linked {
		var err error
		if to, err = w.tree.Stat(name); err != nil {
			return true // broken, or out of the tree
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
	case !w.deep && linked && (w.holds(name, to) || w.belowLink(name)):
		return true
	case !w.deep:
		return w.yield(Item{Name: name, Dir: true, tree: w.tree, entry: e, to: to}, nil)
	case !linked:
		return w.walk(name, link)
	}
	return w.follow(name, to, link)
}

// follow walks the directory that is the target of the symbolic link name.
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
	t, ok := w.tree.(interface{ Readlink(string) (string, error) })
	for dir := path.Dir(name); ok && dir != "."; dir = path.Dir(dir) {
		if _, err := t.Readlink(dir); err == nil {
			return true
		}
	}
	return false
}
