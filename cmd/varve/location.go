// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/zipstore"
)

// locate opens the store of a location. The observer of --stats sees its requests.
func locate(ctx context.Context, location string, how store.Access) (*zarr.Location, error) {
	at, err := zarr.Locate(ctx, location, how)
	if err != nil {
		return nil, err
	}
	return at.With(&zarr.Options{Observer: session.ObserverOf(ctx)}), nil
}

// atLocation names the location in an error. Packages transfer and convert know only
// the path of the node in its store.
func atLocation(op, location string, at *zarr.Location, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) && e.Path == at.Path() {
		e.Path = location
	}
	return failure.On(op, location, err)
}

// destination opens the location of the copy, as newPlace does.
func (f *copyFlags) destination(cmd *cobra.Command, location string) (*zarr.Location, error) {
	ctx := cmd.Context()
	if f.overwrite && !f.dry {
		// An old archive stays until the new one is complete.
		if p, ok, err := replacedArchive(ctx, location); ok || err != nil {
			return p, err
		}
	}
	return newPlace(cmd, location, f.dry)
}

// newPlace opens the location of a new node, and creates its store if needed. For a dry
// run it creates nothing, and an empty store stands for a missing one.
func newPlace(cmd *cobra.Command, location string, dry bool) (*zarr.Location, error) {
	if !dry {
		return locate(cmd.Context(), location, store.Create)
	}
	p, err := locate(cmd.Context(), location, store.ReadOnly)
	if errors.Is(err, fs.ErrNotExist) {
		return zarr.At(memstore.New(), ""), nil
	}
	return p, err
}

// within reports whether a new node would be in the folder of an array, also through
// links. Opening its store would create folders there.
func within(array, location string) bool {
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

// isAtOrBelow reports whether a location in a store, such as s3://bucket/a, is another
// one or lies below it.
func isAtOrBelow(above, location string) bool {
	scheme, name, stored := strings.Cut(withoutOptions(location), "://")
	aboveScheme, aboveName, _ := strings.Cut(withoutOptions(above), "://")
	return stored && scheme == aboveScheme && strings.HasPrefix(path.Clean(name)+"/", path.Clean(aboveName)+"/")
}

// replacedArchive begins an archive that will replace the one at a location. It returns
// false if the location is not an existing file with a name that ends in .zip.
func replacedArchive(ctx context.Context, location string) (*zarr.Location, bool, error) {
	name := node.LocalPath(location)
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(name, ".zip") {
		return nil, false, nil
	}
	old, err := locate(ctx, location, store.ReadOnly)
	if err == nil {
		err = closeStore(old, true)
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

// removeEmpty removes the folder of a destination that a command has not stored anything
// in. Opening the destination may have created it.
func removeEmpty(location string) {
	if info, err := os.Lstat(node.LocalPath(location)); err == nil && info.IsDir() {
		_ = os.Remove(node.LocalPath(location)) // fails unless the folder is still empty
	}
}

// closeStore closes the store of a location. For a new archive, complete decides whether
// it is published or discarded.
func closeStore(p *zarr.Location, complete bool) error {
	if s := p.Store(); complete || !zipstore.IsNew(s) {
		return store.Close(s)
	}
	return zipstore.Discard(p.Store())
}
