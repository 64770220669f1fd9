package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Delete implements [store.Deleter]. It removes the directories that have become empty,
// and is durable when it returns; a batch makes many deletions durable at the price of
// few.
func (s *Store) Delete(ctx context.Context, key store.Key) error {
	dir, err := s.remove(ctx, key)
	if err == nil && dir != "" {
		err = s.syncDir(dir)
	}
	if err != nil {
		return fail("deleting", key.String(), err)
	}
	return nil
}

// remove removes the file at key and returns the directory that has to be synced for
// that, "" where there was no file.
func (s *Store) remove(ctx context.Context, key store.Key) (dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	name, err := nameOf(key)
	if err != nil {
		return "", err
	}
	real, err := s.unlink(name, s.isNode)
	switch {
	case err == nil:
		return s.prune(path.Dir(real)), nil
	case vfs.Missing(err):
		return "", nil
	}
	if st, seen := s.fs.Stat(name); seen == nil && st.Mode.IsDir() {
		return "", nil
	}
	return "", tooLong(err)
}

// unlink removes the file or the symbolic link at name, and returns the name that it has
// without links. Links among the directories on the way are followed only where may
// permits it; any other is an error.
func (s *Store) unlink(name string, may func(link string) bool) (real string, err error) {
	err = s.fs.Remove(name)
	if !errors.Is(err, vfs.ErrLinked) {
		return name, err
	}
	dir, err := s.direct(path.Dir(name), "deletions", may)
	if err != nil {
		return name, err
	}
	real = path.Join(dir, path.Base(name))
	return real, s.fs.Remove(real)
}

// nodeDocuments are the files that make a directory a node of a hierarchy.
var nodeDocuments = [...]string{nodename.V3Node, nodename.V2Array, nodename.V2Group}

// mostDocument is how many bytes of a document are read to learn whether it is that of an
// array.
const mostDocument = 64 << 20

// isNode reports whether a link leads to a node that the caller may have opened by the
// link's name. Then a deletion goes through it. What an array has below it are its chunks
// and no nodes, so a link there is not followed, wherever it leads, as one of a chunk
// directory to that of another array: what is behind it belongs to somebody else.
func (s *Store) isNode(link string) bool {
	if path.Base(link) == own.Dir {
		return false
	}
	return !s.inArray(link) && s.hasFile(link, nodeDocuments[:]...)
}

// mayWrite reports whether a write goes through a link. What an array has below it is
// guarded by its own lock alone, so no link there is followed: behind it, two writers
// would both believe that they are the only ones. A link outside of arrays is another
// name of a node, or of a directory that nodes are made in, and their locks are behind it
// too.
func (s *Store) mayWrite(link string) bool { return path.Base(link) != own.Dir && !s.inArray(link) }

// inArray reports whether a name is below an array.
func (s *Store) inArray(name string) bool {
	for dir := range parents(path.Dir(name)) {
		if s.isArray(dir) {
			return true
		}
	}
	return s.isArray(".")
}

// hasFile reports whether a directory has a regular file of one of the names.
func (s *Store) hasFile(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		st, err := s.fs.Stat(path.Join(dir, name))
		return err == nil && st.Mode.IsRegular()
	})
}

// isArray reports whether a directory is an array. One whose document cannot be read
// counts as one.
func (s *Store) isArray(dir string) bool {
	if s.hasFile(dir, nodename.V2Array) {
		return true
	}
	name := path.Join(dir, nodename.V3Node)
	st, err := s.fs.Stat(name)
	if err != nil || !st.Mode.IsRegular() {
		return false
	}
	is := kind{st.Version(), false}
	if known, ok := s.kinds.Load(name); ok && known.(kind).version == is.version && is.version != "" {
		return known.(kind).array
	}
	f, err := s.fs.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	var document struct {
		NodeType string `json:"node_type"`
	}
	err = json.NewDecoder(io.NewSectionReader(f, 0, mostDocument)).Decode(&document)
	is.array = err != nil || document.NodeType != "group"
	s.kinds.Store(name, is)
	return is.array
}

// kind is what a version of a node's document says: documents above links are asked for
// with every write and deletion behind the link, and that of a group may be long.
type kind struct {
	version string // of the file
	array   bool
}

// always permits to follow every link. The store's own files have names that nobody else
// has, so they are removed where they were made.
func always(string) bool { return true }

// mostLinks is how many symbolic links one name may lead through, as many as Linux
// follows.
const mostLinks = 40

// direct returns the name that a directory has without symbolic links. Each link is
// followed if may permits it; what are the calls that want it.
func (s *Store) direct(dir, what string, may func(link string) bool) (string, error) {
	at, rest := ".", strings.Split(dir, "/")
	for links := 0; len(rest) > 0; rest = rest[1:] {
		next := path.Join(at, rest[0])
		if next == ".." {
			return "", fmt.Errorf("%w: %s leads out of the store", vfs.ErrLinked, dir)
		}
		target, err := s.fs.Readlink(next)
		if err != nil { // no link; what else is wrong, the removal will find
			at = next
			continue
		}
		if links++; links > mostLinks || path.IsAbs(target) || !may(next) {
			return "", linked(what, next, target)
		}
		rest = append([]string{""}, append(strings.Split(path.Clean(target), "/"), rest[1:]...)...)
	}
	return at, nil
}

// linked is the error of calls that would have to follow a symbolic link.
func linked(what, link, target string) error {
	return fmt.Errorf("%w, which %s do not follow: %s leads to %s; name what it leads to, or remove the link",
		vfs.ErrLinked, what, link, target)
}

// prune removes dir and the directories above it as long as they are empty, and returns
// the first that stays. A symbolic link to a directory stays. A write that has made one
// of them just now makes it again.
func (s *Store) prune(dir string) string {
	for dir != "." && s.fs.RemoveDir(dir) == nil {
		dir = path.Dir(dir)
	}
	return dir
}
