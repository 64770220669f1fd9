// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io"

	"varve.dev/zarr/store"
)

func init() { store.RegisterFolder(Suffix, openFolder) }

// openFolder opens a stored manifest as a store. It is what a location such as
// archive.vz/t2m opens.
func openFolder(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*Store, error) {
		path, err := dir.Join(name)
		if err != nil {
			return nil, err
		}
		m, err := Open(ctx, home, path)
		if err != nil {
			return nil, err
		}
		from, err := newSites(ctx, home, dir, folder, name)
		return newStore(m, from), err
	})
}

// openIn opens references in a folder, which is the location of a path in a store.
func openIn(
	ctx context.Context, folder string, access store.Access, open func(home store.Store, dir store.Path, folder string) (*Store, error),
) (store.Store, error) {
	if folder == "" {
		folder = "."
	}
	home, dir, err := store.OpenPlain(ctx, folder, store.Read)
	if err != nil {
		return nil, err
	}
	s, err := open(home, dir, folder)
	if err == nil && access != store.Read {
		err = s.readOnly()
	}
	if err != nil {
		if c, ok := home.(io.Closer); ok {
			err = errors.Join(err, c.Close())
		}
		return nil, err
	}
	if from, ok := s.sources.(*sites); ok && from.near() {
		return nearStore{s}, nil
	}
	return s, nil
}

// readOnly returns the error of a change.
func (s *Store) readOnly() error {
	if s.isFile {
		return fmt.Errorf("%w: a file of another format is only read; copy it to a node (varve copy), and change that", store.ErrUnsupported)
	}
	return fmt.Errorf("%w: references are read-only; scan files into them (varve virtualize), or copy them to an array (varve materialize); varve rm deletes only manifests (.vz)", store.ErrUnsupported)
}
