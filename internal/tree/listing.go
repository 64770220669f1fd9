// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Inherited returns the entries below the group at p of the consolidated metadata of the
// nearest group above that has some. It returns nil if there is none, or if it does not
// list the group. The information is that of the document which has them.
func (r Reader) Inherited(ctx context.Context, group store.Path, format int) (*metadata.Consolidated, store.Info, error) {
	for p := group; !p.IsRoot(); {
		p = p.Parent()
		s, err := r.Load(ctx, p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the store may have been opened below its root
		}
		if err != nil {
			return nil, s.Info, err
		}
		up, ok := s.Doc.(*metadata.Group)
		// Consolidated metadata describes only nodes of its own format.
		if !ok || up.Consolidated == nil || up.Format() != format {
			continue
		}
		path := Inside(p, group)
		if e, err := up.Consolidated.Entry(path, r.Limits); e == nil {
			return nil, s.Info, err
		}
		return up.Consolidated.Below(path), s.Copies, nil
	}
	return nil, store.Info{}, nil
}

// Directories returns the names of the directories below dir in alphabetical order. An
// error that is [store.ErrUnusable] comes together with the names.
func Directories(ctx context.Context, s store.Store, dir store.Path) (names []string, err error) {
	for e, listErr := range store.List(ctx, s, dir, false) {
		if err = listErr; err != nil && !errors.Is(err, store.ErrUnusable) {
			return nil, err
		}
		if e.Dir {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	if _, ours := slices.BinarySearch(names, own.Dir); ours && err == nil {
		err = foreign(ctx, s, dir)
	}
	return names, err
}

// foreign returns a [store.UnusableError] if the directory that Varve reserves is a node
// of another program, or has something of it.
func foreign(ctx context.Context, s store.Store, dir store.Path) error {
	for _, err := range store.List(ctx, s, dir.MustKey(own.Dir+"/-").Dir(), false) {
		if err != nil {
			return err
		}
	}
	return nil
}
