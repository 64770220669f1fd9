// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Get implements [store.Store].
func (s *files) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	f, st, err := s.open(ctx, key)
	if err != nil {
		return nil, store.Info{}, fail("reading", key.String(), err)
	}
	out, err := read(f, st, q, dst)
	f.Close()
	if err != nil {
		return nil, store.Info{}, fail("reading", key.String(), err)
	}
	return out, describe(st), nil
}

// Stat implements [store.Stater].
func (s *files) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	name, err := nameOf(key)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return store.Info{}, fail("looking at", key.String(), err)
	}
	st, err := s.fs.Stat(name)
	if err == nil {
		err = checkRegular(st)
	}
	if err != nil {
		return store.Info{}, fail("looking at", key.String(), s.unreadable(name, err))
	}
	return describe(st), nil
}

// Open implements [store.Opener]. The object stays readable after its key is written or
// deleted, because a write makes a new file.
func (s *files) Open(ctx context.Context, key store.Key) (store.Object, error) {
	f, st, err := s.open(ctx, key)
	if err != nil {
		return nil, fail("opening", key.String(), err)
	}
	return &object{f, st, describe(st), key}, nil
}

// OpenUnlinked is Open for a key to which no symbolic link leads: one call opens the file
// and shows that. It returns nil if it cannot, for whatever reason; then Open decides.
func (s *files) OpenUnlinked(key store.Key) store.Object {
	name, err := nameOf(key)
	r, ok := s.fs.(*vfs.Root)
	if err != nil || !ok {
		return nil
	}
	f := r.OpenUnlinked(name)
	if f == nil {
		return nil
	}
	st, err := f.Stat()
	if err != nil || checkRegular(st) != nil {
		f.Close()
		return nil
	}
	return &object{f, st, describe(st), key}
}

// open opens the file at key and returns its status.
func (s *files) open(ctx context.Context, key store.Key) (vfs.File, vfs.Stat, error) {
	if err := ctx.Err(); err != nil {
		return nil, vfs.Stat{}, err
	}
	name, err := nameOf(key)
	if err != nil {
		return nil, vfs.Stat{}, err
	}
	f, err := s.fs.Open(name)
	if err != nil {
		return nil, vfs.Stat{}, s.unreadable(name, err)
	}
	st, err := f.Stat()
	if err == nil {
		err = checkRegular(st)
	}
	if err != nil {
		f.Close()
		return nil, vfs.Stat{}, err
	}
	return f, st, nil
}

// unreadable converts the error of a name below a file to [fs.ErrNotExist], and that of a
// name that is too long to [store.ErrInvalidKey]. A symbolic link to nothing, at the name
// or above it, is another error, because a reader must not take it for a missing chunk.
func (s *files) unreadable(name string, err error) error {
	if vfs.Missing(err) {
		switch link, target := s.lost(name); link {
		case "":
			return fs.ErrNotExist
		case name:
			return fmt.Errorf("is a symbolic link to %q, where nothing is: %w", target, fs.ErrInvalid)
		default:
			return fmt.Errorf("is below %q, a symbolic link to %q, where nothing is: %w", link, target, fs.ErrInvalid)
		}
	}
	return tooLong(err)
}

// checkRegular returns an error if st is not a regular file. A directory is
// [fs.ErrNotExist]. A pipe or a device is another error, because a reader must not take
// it for a missing chunk.
func checkRegular(st vfs.Stat) error {
	switch {
	case st.Mode.IsRegular():
		return nil
	case st.Mode.IsDir():
		return fs.ErrNotExist
	}
	return fmt.Errorf("is not a regular file: %w", fs.ErrInvalid)
}

func describe(st vfs.Stat) store.Info {
	return store.Info{Size: st.Size, Version: store.MakeVersion(st.Version()), Modified: st.Modified(), FileTime: st.FileTime()}
}

// read appends the bytes of f that q selects to dst. st is the status of f.
func read(f vfs.File, st vfs.Stat, q store.Request, dst []byte) ([]byte, error) {
	off, n, err := q.Resolve(st.Size)
	if err != nil {
		return nil, err
	}
	// The sum of the lengths must fit an int, which has 32 bits on some platforms.
	if n > math.MaxInt-int64(len(dst)) {
		return nil, fmt.Errorf("%w: %s", store.ErrTooLarge, quantity.Count(n, "bytes"))
	}
	dst = slices.Grow(dst, int(n))
	out := dst[:len(dst)+int(n)]
	// An early end means that another program has cut the file. The check below reports
	// that as a conflict.
	if _, err := f.ReadAt(out[len(dst):], off); err != nil && err != io.EOF {
		return nil, err
	}
	// Other programs may change a file in place. Then the bytes may be from two versions.
	if err := unchanged(f, st); err != nil {
		return nil, err
	}
	return out, nil
}

// unchanged returns an error if f no longer has status st.
func unchanged(f vfs.File, st vfs.Stat) error {
	now, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !now.SameData(st):
		return fmt.Errorf("%w: the file was changed while it was read", store.ErrConflict)
	}
	return nil
}

// object is one version of a value, kept by its open file.
type object struct {
	f    vfs.File
	st   vfs.Stat
	info store.Info // of st
	key  store.Key
}

func (o *object) Info() store.Info { return o.info }
func (o *object) Close() error     { return o.f.Close() }

func (o *object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out, err := read(o.f, o.st, q, dst)
	if err != nil {
		return nil, fail("reading", o.key.String(), err)
	}
	return out, nil
}
