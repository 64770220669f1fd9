// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Splice implements [store.Splicer]. It takes the steps of [Store.PutIf] and fills the
// temporary file from the old file. On Linux the kernel copies the old bytes, and file
// systems such as Btrfs and XFS share them.
func (s *Store) Splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (store.Version, error) {
	v, dir, err := s.splice(ctx, key, from, fragments, d)
	if err == nil && d == store.Sync {
		err = s.syncDir(dir)
	}
	if err != nil {
		return store.Version{}, fail("splicing", key.String(), err)
	}
	return v, nil
}

// splice is Splice without the sync. It returns the directory to sync.
func (s *Store) splice(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (v store.Version, dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return store.Version{}, "", err
	}
	tmp, st, err := s.assemble(ctx, key, from, fragments, d)
	if err != nil {
		return store.Version{}, "", err
	}
	name := beside(tmp, key.String())
	v, err = s.moveIf(ctx, tmp, name, st, store.IfVersion(from))
	return v, path.Dir(name), err
}

// assemble takes steps 1 to 5 with the fragments. It closes the old file, because Windows
// cannot replace an open file in step 6.
func (s *Store) assemble(
	ctx context.Context, key store.Key, from store.Version, fragments []store.Fragment, d store.Durability,
) (tmp string, st vfs.Stat, err error) {
	old, was, err := s.open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		err = store.ErrConflict
	}
	if err != nil {
		return "", vfs.Stat{}, err
	}
	defer old.Close()
	if describe(was).Version != from {
		return "", vfs.Stat{}, store.ErrConflict
	}
	size, err := store.SplicedSize(was.Size, fragments)
	if err != nil {
		return "", vfs.Stat{}, err
	}
	return s.prepare(key.String(), func(f vfs.File) error {
		err := writeFragments(ctx, f, old, fragments)
		// If another program has cut or rewritten the old file, report that rather than
		// the early end.
		if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			err = cmp.Or(unchanged(old, was), err)
		}
		if err != nil {
			return err
		}
		return hasSize(f, size)
	}, d)
}

// hasSize returns an error if the new file f does not have size bytes.
func hasSize(f vfs.File, size int64) error {
	st, err := f.Stat()
	if err == nil && st.Size != size {
		err = fmt.Errorf("%d bytes were written, and the file has %d: %w", size, st.Size, io.ErrShortWrite)
	}
	return err
}

// copyStep is the number of bytes that are copied between two checks of the context.
const copyStep = 64 << 20

// writeFragments writes the fragments to f.
func writeFragments(ctx context.Context, f, old vfs.File, fragments []store.Fragment) error {
	for _, p := range fragments {
		if p.Data != nil {
			if _, err := f.Write(p.Data); err != nil {
				return err
			}
			continue
		}
		for end := p.Off + p.N; p.Off < end; p.Off += copyStep {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.CopyFrom(old, p.Off, min(copyStep, end-p.Off)); err != nil {
				return err
			}
		}
	}
	return nil
}
