// SPDX-License-Identifier: Apache-2.0

// Package place opens the locations where commands store and delete nodes, and asks
// before data there is deleted or replaced.
package place

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/zipstore"
	"varve.dev/zarr/virtual"
)

// Locate opens the store of a location. The observer of --stats sees its requests.
func Locate(ctx context.Context, location string, how store.Access) (*zarr.Location, error) {
	at, err := zarr.Locate(ctx, location, how)
	if err != nil {
		return nil, err
	}
	return at.With(&zarr.Options{Observer: session.ObserverOf(ctx)}), nil
}

// Named names the location in an error. Packages transfer and convert know only
// the path of the node in its store.
func Named(op, location string, at *zarr.Location, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) && e.Path == at.Path() {
		e.Path = location
	}
	return failure.On(op, location, err)
}

// New opens the location of a new node, and creates its store if needed. For a dry
// run it creates nothing, and an empty store stands for a missing one.
func New(cmd *cobra.Command, location string, dry bool) (*zarr.Location, error) {
	if !dry {
		return Locate(cmd.Context(), location, store.Create)
	}
	p, err := Locate(cmd.Context(), location, store.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return zarr.At(memstore.New(), ""), nil
	}
	return p, err
}

// Within reports whether a new node would be in the folder of an array, also through
// links. Opening its store would create folders there.
func Within(array, location string) bool {
	folder, err := os.Stat(node.LocalPath(array))
	if err != nil || strings.Contains(strings.TrimPrefix(location, "file://"), "://") {
		return false
	}
	at, err := filepath.EvalSymlinks(node.LocalPath(location))
	for name := node.LocalPath(location); errors.Is(err, fs.ErrNotExist) && name != filepath.Dir(name); {
		name = filepath.Dir(name)
		at, err = filepath.EvalSymlinks(name)
	}
	for ; err == nil; at = filepath.Dir(at) {
		if above, err := os.Stat(at); err == nil && os.SameFile(above, folder) {
			return true
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

// IsAtOrBelow reports whether a location in a store, such as s3://bucket/a, is another
// one or lies below it.
func IsAtOrBelow(above, location string) bool {
	scheme, name, stored := strings.Cut(WithoutOptions(location), "://")
	aboveScheme, aboveName, _ := strings.Cut(WithoutOptions(above), "://")
	return stored && scheme == aboveScheme && strings.HasPrefix(path.Clean(name)+"/", path.Clean(aboveName)+"/")
}

// ReplacedArchive begins an archive that will replace the one at a location. It returns
// false if the location is not an existing file with the name of an archive.
func ReplacedArchive(ctx context.Context, location string) (*zarr.Location, bool, error) {
	name := node.LocalPath(location)
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !own.IsArchive(name) {
		return nil, false, nil
	}
	old, err := Locate(ctx, location, store.ReadOnly)
	if err == nil {
		err = Close(old, true)
	}
	if err != nil { // not an archive, so probably not the file that was meant
		return nil, false, failure.On("copy", location, failure.BadArgument("--overwrite replaces archives only, and this file is not one; remove it first: %w", err))
	}
	a, err := zipstore.Replace(name)
	if err != nil {
		return nil, false, failure.On("copy", location, err)
	}
	return zarr.At(a, "").With(&zarr.Options{Observer: session.ObserverOf(ctx)}), true, nil
}

// RemoveEmpty removes the folder of a destination that a command has not stored anything
// in. Opening the destination may have created it.
func RemoveEmpty(location string) {
	if info, err := os.Lstat(node.LocalPath(location)); err == nil && info.IsDir() {
		_ = os.Remove(node.LocalPath(location)) // fails unless the folder is still empty
	}
}

// Close closes the store of a location. For a new archive, complete decides whether
// it is published or discarded.
func Close(p *zarr.Location, complete bool) error {
	if s := p.Store(); complete || !archive.IsNew(s) {
		return store.Close(s)
	}
	return zipstore.Discard(p.Store())
}

// WithoutOptions returns a location of a plan without its options, to be displayed or
// extended.
func WithoutOptions(location string) string {
	if !strings.Contains(location, "://") || strings.HasPrefix(location, "file://") {
		return location
	}
	location, _, _ = strings.Cut(location, "?")
	return location
}

// fileExtensions are the extensions of files of other formats. A name that ends in .zip
// really makes an archive.
var fileExtensions = []string{".npy", ".npz", ".csv", ".json", ".parq", ".parquet", ".tar", ".gz", ".tgz", ".zst"}

// NoteFolder prints a note if the name of a new node looks like a file of another format.
func NoteFolder(cmd *cobra.Command, location string) {
	name := node.Clean(location)
	switch ext := strings.ToLower(path.Ext(name)); {
	case ext == virtual.Suffix:
		session.Remark(cmd, location, "it is a folder with a Zarr node, and no manifest, in spite of its name; varve virtualize makes manifests")
	case slices.Contains(fileExtensions, ext), virtual.IsForeign(name):
		session.Remark(cmd, location, "it is a folder with a Zarr node, in spite of its name; varve export writes files, and varve copy to a name with .zip writes an archive")
	}
}
