// SPDX-License-Identifier: Apache-2.0

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
	"syscall"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
)

// remove removes a file. It returns the directory to sync, or "" if there was no file.
// prune removes directories that are empty then.
func (s *files) remove(ctx context.Context, name string, prune func(dir string) string) (dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	real, err := s.unlink(name, s.isNode)
	switch {
	case err == nil:
		return prune(path.Dir(real)), nil
	case vfs.Missing(err):
		return "", nil
	}
	// A directory is not a value, so there is nothing to delete.
	if st, seen := s.fs.Stat(name); seen == nil && st.Mode.IsDir() {
		return "", nil
	}
	return "", tooLong(err)
}

// unlink removes the file or symbolic link at name, and returns its name without links.
// It follows a link on the way only if may permits it. Otherwise that link is an error.
func (s *files) unlink(name string, may func(link string) bool) (real string, err error) {
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

// nodeDocuments are the files that make a directory a node.
var nodeDocuments = [...]string{nodename.V3Node, nodename.V2Array, nodename.V2Group}

// mostDocument is the largest number of bytes of a document that isArray reads.
const mostDocument = 64 << 20

// isNode reports whether a link leads to a node. The caller may have opened the node by
// the name of the link, so a deletion may follow it. It is false for links below an
// array: they may lead to the chunks of another array, whose writers take another lock.
func (s *files) isNode(link string) bool {
	if path.Base(link) == own.Dir {
		return false
	}
	return !s.inArray(link) && s.hasFile(link, nodeDocuments[:]...)
}

// mayWrite reports whether a write may follow a link. It must not follow a link below an
// array: two writers could then write one chunk under the locks of two arrays. A link
// outside of arrays is another name of nodes, and their locks lie behind the link too.
func (s *files) mayWrite(link string) bool { return path.Base(link) != own.Dir && !s.inArray(link) }

// inArray reports whether name lies below an array.
func (s *files) inArray(name string) bool {
	for dir := range parents(path.Dir(name)) {
		if s.isArray(dir) {
			return true
		}
	}
	return s.isArray(".")
}

// hasFile reports whether dir has a regular file with one of the names.
func (s *files) hasFile(dir string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		st, err := s.fs.Stat(path.Join(dir, name))
		return err == nil && st.Mode.IsRegular()
	})
}

// isArray reports whether dir is an array. A document that cannot be read counts as one,
// so that no link below it is followed.
func (s *files) isArray(dir string) bool {
	if s.hasFile(dir, nodename.V2Array) {
		return true
	}
	name := path.Join(dir, nodename.V3Node)
	st, err := s.fs.Stat(name)
	if err != nil || !st.Mode.IsRegular() {
		return false
	}
	is := kind{st.Version(), false}
	// Every write through a link asks this, and the document of a group may be long. So
	// keep the answer for the latest version of it.
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
	// A document longer than mostDocument is cut off here. It fails to decode and counts
	// as an array.
	err = json.NewDecoder(io.NewSectionReader(f, 0, mostDocument)).Decode(&document)
	is.array = err != nil || document.NodeType != "group"
	s.kinds.Store(name, is)
	return is.array
}

// kind is the node type that one version of a document has.
type kind struct {
	version string // of the file
	array   bool
}

// permitAny permits every link. It is for removing temporary files and locks, which have
// unique names or are held.
func permitAny(string) bool { return true }

// mostLinks is the largest number of symbolic links that a name may lead through, as on
// Linux.
const mostLinks = 40

// unable are errors of a system that cannot tell what a name is.
var unable = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// direct returns the name of a directory without symbolic links. It follows a link if may
// permits it. what names the kind of call in errors, such as "writes".
func (s *files) direct(dir, what string, may func(link string) bool) (string, error) {
	at, rest := ".", strings.Split(dir, "/")
	for links := 0; len(rest) > 0; rest = rest[1:] {
		next := path.Join(at, rest[0])
		// The target of a link may begin with "..".
		if next == ".." {
			return "", fmt.Errorf("%w: %s leads out of the store", vfs.ErrLinked, dir)
		}
		target, err := s.fs.Readlink(next)
		if slices.ContainsFunc(unable, func(e error) bool { return errors.Is(err, e) }) {
			return "", err // it may be a link
		}
		if err != nil { // not a link; the caller finds any other error
			at = next
			continue
		}
		if links++; links > mostLinks || path.IsAbs(target) || !may(next) {
			return "", linked(what, next, target)
		}
		// Go on with the target, which may contain links, and then with the rest of the
		// name. The loop drops the empty first element.
		rest = append([]string{""}, append(strings.Split(path.Clean(target), "/"), rest[1:]...)...)
	}
	return at, nil
}

// linked returns the error of a call that would need to follow a symbolic link.
func linked(what, link, target string) error {
	return fmt.Errorf("%w, which %s do not follow: %s leads to %s; name its target, or remove the link",
		vfs.ErrLinked, what, link, target)
}

// prune removes dir and the directories above it as long as they are empty, and returns
// the first one that stays. Symbolic links stay. A concurrent write that needs a removed
// directory makes it again.
func (s *files) prune(dir string) string {
	for dir != "." && s.fs.RemoveDir(dir) == nil {
		dir = path.Dir(dir)
	}
	return dir
}
