// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// copyFrom copies the source of a change.
func (s *files) copyFrom(ctx context.Context, name string, c store.Change, d store.Durability) (o outcome, err error) {
	other, ok := store.Driver(c.From).(*files)
	if !ok {
		return o, store.ErrUnsupported
	}
	old, was, err := other.open(ctx, c.Source)
	if err != nil {
		return o, err
	}
	defer old.Close()
	o, err = s.publish(ctx, name, copied(ctx, old, was), d)
	o.Size = o.st.Size
	return o, err
}

// copied is the content of the file old, which has status was.
func copied(ctx context.Context, old vfs.File, was vfs.Stat) content {
	return func(f vfs.File) error {
		if err := copyRange(ctx, f, old, was, 0, was.Size); err != nil {
			return err
		}
		return isCopy(f, old, was)
	}
}

// isCopy returns an error if the new file f is not a copy of the file old, because
// another program has rewritten or cut old since it had status was.
func isCopy(f, old vfs.File, was vfs.Stat) error {
	return errors.Join(unchanged(old, was), hasSize(f, was.Size))
}

// Traits implements [store.Describer]. The place has no symbolic links.
func (s *files) Traits() store.Traits {
	s.placing.Do(func() { s.url = placeOf(s.dir) })
	return store.Traits{Place: s.url}
}

// placeOf returns the URL of a directory, or "" if it is not known.
func placeOf(dir string) string {
	if dir == "" {
		return ""
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
	return u.String()
}
