// SPDX-License-Identifier: Apache-2.0

// Package node opens the nodes that arguments name. If there is none, errors propose
// similar names.
package node

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// Open opens the node at a location for reading.
func Open(cmd *cobra.Command, location string) (zarr.Node, error) {
	return zarr.Open(cmd.Context(), location, session.Reading(cmd))
}

// OpenArray opens the array at a location for reading.
func OpenArray(cmd *cobra.Command, location string) (*zarr.Array, error) {
	return zarr.OpenArray(cmd.Context(), location, session.Reading(cmd))
}

// Close closes the store of a location that was only read.
func Close(h *zarr.Location) {
	_ = store.Close(h.Store()) // it was only read
}

// Complete proposes members of the group that has been typed so far, and files.
func Complete(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	i := strings.LastIndexByte(typed, '/')
	if i < 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	names := memberPaths(cmd.Context(), typed[:i], typed)
	if len(names) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return names, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

// memberPaths returns the locations of the members of a group that begin with prefix.
func memberPaths(ctx context.Context, location, prefix string) []string {
	if ctx == nil {
		ctx = context.Background()
	}
	g, err := zarr.OpenGroup(ctx, location, nil)
	if err != nil {
		return nil
	}
	var paths []string
	for m, err := range g.Members(ctx, false) {
		if path := location + "/" + m.Path; err == nil && strings.HasPrefix(path, prefix) {
			paths = append(paths, path)
		}
	}
	return paths
}

// OpenSeen opens an array for reading. In a dry run of several steps it sees what earlier
// steps would have written to the same store, such as a coordinate that grows.
func OpenSeen(ctx context.Context, location string, opt *zarr.Options) (*zarr.Array, error) {
	d := session.RehearsalOf(ctx)
	if d == nil || d.Place == "" {
		return zarr.OpenArray(ctx, location, opt)
	}
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if err != nil {
		return nil, err
	}
	place := store.TraitsOf(at.Store()).Place
	Close(at)
	// The ledger has the keys of one store only.
	if place == d.Place {
		seen := *opt
		seen.Rehearsal, opt = &d.Ledger, &seen
	}
	return zarr.OpenArray(ctx, location, opt)
}

// Below returns the locations of the node at a location and of all nodes below it. It
// omits nodes that cannot be listed: the command itself fails on them.
func Below(ctx context.Context, location string) (nodes []string) {
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if err != nil {
		return nil
	}
	defer Close(at)
	if n, err := at.Metadata(ctx, nil); n == nil && err != nil {
		return nil
	}
	nodes = append(nodes, Clean(location))
	g, err := at.OpenGroup(ctx, nil)
	if err != nil {
		return nodes // an array
	}
	for m := range g.Unconsolidated().Members(ctx, true) {
		if m.Path != "" {
			nodes = append(nodes, Clean(location)+"/"+m.Path)
		}
	}
	slices.Sort(nodes[1:])
	return nodes
}

// RootOf returns the location of the store's root, given array a at a location.
func RootOf(location string, a *zarr.Array) string {
	return strings.TrimSuffix(Clean(location), "/"+a.Path())
}

// LocalPath returns the path of a location in the file system.
func LocalPath(location string) string {
	if path, err := filepath.Abs(strings.TrimPrefix(location, "file://")); err == nil {
		return path
	}
	return location
}

// Exists reports whether a file or folder exists.
func Exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// IsLocation reports whether a source of values is an array rather than a file of
// elements: a URL, a folder, an archive, references or a file of another format, or a
// path in one of these.
func IsLocation(source string) bool {
	if source == "" || source == "-" {
		return false
	}
	// Files of elements are local, so a URL is that of a node.
	if strings.Contains(source, "://") {
		return true
	}
	if IsForeign(source) {
		return true
	}
	// A node is a folder or an archive. Any other file holds elements.
	if info, err := os.Stat(source); err == nil {
		return info.IsDir() || own.IsArchive(strings.ToLower(source))
	}
	_, below, _ := driver.CutPath(filepath.ToSlash(source), own.Archives...)
	return below != "" || isBelowReferences(source)
}

// Clean returns a location without trailing slashes, so that equal locations compare
// equal.
func Clean(location string) string { return strings.TrimRight(location, "/") }

// Beside returns the location of the coordinate name beside a node. A name with a slash
// is a location itself.
func Beside(location, name string) string {
	if strings.Contains(name, "/") {
		return Clean(name)
	}
	location = Clean(location)
	return location[:strings.LastIndexByte(location, '/')+1] + name
}

// Store is the part of a store below a node, for reading.
type Store struct {
	store.Store
	path store.Path
}

// OpenStore opens the part of a store below a location, which need not be a node.
func OpenStore(ctx context.Context, location string) (*Store, error) {
	s, p, err := store.OpenLocation(ctx, location, store.ReadOnly)
	if err != nil {
		return nil, err
	}
	return &Store{s, p}, nil
}

// Close closes the store.
func (s *Store) Close() error {
	if c, ok := s.Store.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	return s.Store.Get(ctx, s.path.MustKey(key.String()), q, dst)
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, s.Store, s.path.MustKey(key.String()))
}

// List implements [store.Lister].
func (s *Store) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	p, err := s.path.Join(dir.String())
	if err != nil {
		return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, err) }
	}
	return store.List(ctx, s.Store, p, how)
}

// ManifestFolder is the folder of a manifest, as a path of a store.
type ManifestFolder struct {
	store.Store
	Path store.Path
}

// openFolderOf opens the folder that a location of a manifest is in.
func openFolderOf(ctx context.Context, location string, access store.Access) (*ManifestFolder, error) {
	folder, name := filepath.Split(filepath.ToSlash(strings.TrimRight(location, "/")))
	if folder == "" {
		folder = "."
	}
	at, dir, err := store.OpenLocation(ctx, folder, access)
	if err != nil {
		return nil, err
	}
	path, err := dir.Join(name)
	f := &ManifestFolder{at, path}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Close closes the store.
func (f *ManifestFolder) Close() error { return store.Close(f.Store) }

// ManifestAt opens the folder of a manifest, finished or not. It returns nil if a
// location is none.
func ManifestAt(ctx context.Context, location string, access store.Access) (*ManifestFolder, error) {
	if !strings.HasSuffix(strings.TrimRight(location, "/"), virtual.Suffix) {
		return nil, nil // do not make requests for other nodes
	}
	f, err := openFolderOf(ctx, location, access)
	if err != nil {
		return nil, nil // the command reports it in its own words
	}
	is, err := virtual.IsManifest(ctx, f.Store, f.Path)
	if !is || err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsInManifest reports whether a location is that of a manifest, or of a node in one. The
// name of a folder decides nothing: one that ends in .vz may have any node.
func IsInManifest(ctx context.Context, location string) bool {
	location = Clean(location) + "/"
	for end := 0; ; {
		n := strings.Index(location[end:], virtual.Suffix+"/")
		if n < 0 {
			return false
		}
		end += n + len(virtual.Suffix)
		if f, _ := ManifestAt(ctx, location[:end], store.ReadOnly); f != nil {
			_ = f.Close() // it was only read
			return true
		}
	}
}
