// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"io/fs"
	"iter"
	"path"
	"strings"
	"sync"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Identify implements [store.Directories].
func (s *files) Identify(dir store.Path) (store.Identity, error) {
	name := dirOf(dir)
	st, err := s.fs.Stat(name)
	switch {
	// A name below a file is missing too, but the system reports ENOTDIR.
	case vfs.Missing(err):
		return store.Identity{}, nil
	case err != nil:
		return store.Identity{}, fail("looking at", name, err)
	case st.Ino != 0:
		return store.MakeIdentity([2]uint64{st.Dev, st.Ino}, nil), nil
	}
	// Without inodes, only os.SameFile can compare two files.
	plain, ok := s.fs.(interface {
		Info(name string) (fs.FileInfo, error)
	})
	if !ok {
		return store.Identity{}, nil
	}
	info, err := plain.Info(name)
	if vfs.Missing(err) {
		return store.Identity{}, nil
	}
	if err != nil {
		return store.Identity{}, fail("looking at", name, err)
	}
	return store.MakeIdentity(nil, info), nil
}

// lost returns the symbolic link at or above a missing name that leads to nothing, and
// its target, or "". The system reports all these names as missing.
//
// Most chunks of a sparse array are missing, so this asks once for each of them, and once
// more for each directory: below the last directory that is known, the first missing
// segment ends the search. A link that another program puts in the place of a directory
// afterwards is not seen as long as the store is open.
func (s *files) lost(name string) (link, target string) {
	for end := len(s.whole.above(name)); end < len(name); {
		at, more := name, false
		if next := strings.IndexByte(name[end+1:], '/'); next >= 0 {
			at, more = name[:end+1+next], true
		}
		end = len(at)
		target, err := s.fs.Readlink(at)
		if vfs.Missing(err) {
			return "", ""
		}
		if err == nil && (!more || s.leadsNowhere(at)) {
			return at, target
		}
		if more {
			s.whole.add(at)
		}
	}
	return "", ""
}

// leadsNowhere reports whether nothing is where a link leads.
func (s *files) leadsNowhere(link string) bool {
	_, err := s.fs.Stat(link)
	return vfs.Missing(err)
}

// wholeDirs are directories that are no links to nothing, and are not below one. The zero
// value has none.
type wholeDirs struct {
	mu    sync.RWMutex
	names map[string]struct{}
}

// mostWhole bounds the directories that are remembered, with about 100 bytes each.
const mostWhole = 1 << 14

// above returns the last directory above name that is known, or "".
func (d *wholeDirs) above(name string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if _, known := d.names[name[:i]]; known {
			return name[:i]
		}
	}
	return ""
}

func (d *wholeDirs) add(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.names == nil || len(d.names) == mostWhole {
		d.names = map[string]struct{}{}
	}
	d.names[name] = struct{}{}
}

// Resolve implements [store.Directories].
func (s *files) Resolve(dir store.Path) (store.Path, error) {
	if dir.IsRoot() {
		return dir, nil
	}
	if r, ok := s.fs.(*vfs.Root); ok && r.Unlinked(dirOf(dir)) {
		return dir, nil
	}
	name, err := s.direct(dirOf(dir), "names", permitAny)
	if err != nil {
		return dir, fail("looking at", dirOf(dir), err)
	}
	if name == "." {
		return store.Path{}, nil
	}
	// The directory may be one of Varve, which has no path that could be parsed.
	below, err := store.ParseKey(name + "/x")
	if err != nil {
		return dir, fail("looking at", dirOf(dir), err)
	}
	return below.Dir(), nil
}

// pathOf returns the path of a directory in the store.
func pathOf(name string) (store.Path, error) {
	if name == "." {
		return store.Path{}, nil
	}
	return store.ParsePath(name)
}

// Links implements [store.Directories].
func (s *files) Links(ctx context.Context, dir store.Path) iter.Seq2[store.Link, error] {
	return func(yield func(store.Link, error) bool) {
		l := links{ctx, s, dirOf(dir), yield}
		l.below(l.top, false)
	}
}

// links is one search for symbolic links.
type links struct {
	ctx   context.Context
	s     *files
	top   string
	yield func(store.Link, error) bool
}

// below yields the links below dir, and reports whether to continue. linked means that a
// link leads to dir.
func (l links) below(dir string, linked bool) bool {
	for e, err := range l.s.fs.ReadDir(dir) {
		if err == nil {
			err = l.ctx.Err()
		}
		switch {
		case vfs.Missing(err):
			return true
		case err != nil:
			l.yield(store.Link{}, fail("listing", dir, err))
			return false
		}
		name := path.Join(dir, e.Name())
		goOn := true
		switch {
		case fate(name, e.IsDir()) != vfs.Take:
		case e.Type()&fs.ModeSymlink != 0:
			goOn = l.visit(name, linked)
		case e.IsDir():
			goOn = l.below(name, linked)
		}
		if !goOn {
			return false
		}
	}
	return true
}

// visit yields a link and the links below it. Like a listing, it does not follow a link
// below another link.
func (l links) visit(name string, linked bool) bool {
	link := store.Link{Name: strings.TrimPrefix(name, l.top+"/")}
	at, atErr := l.s.direct(path.Dir(name), "names", permitAny)
	target, err := l.s.direct(name, "names", permitAny)
	st, missing := l.s.fs.Stat(name)
	if atErr == nil && err == nil && missing == nil {
		// The link leads to a directory that contains it. Following it would never end.
		if target == "." || at == target || strings.HasPrefix(at, target+"/") {
			return true
		}
		link.To, err = pathOf(target)
	}
	link.Lost = err != nil || missing != nil
	if !l.yield(link, nil) {
		return false
	}
	return link.Lost || !st.Mode.IsDir() || linked || l.below(name, true)
}
