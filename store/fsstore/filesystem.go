// SPDX-License-Identifier: Apache-2.0

// Package fsstore makes a read-only store of any [fs.FS], such as embedded data, a zip
// archive or a directory.
//
// Versions and [store.Info.Modified] depend on the file system. Files of the operating
// system have identity and times, other files only modification time and size. Embedded
// files have no version, because they never change.
package fsstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// files is the store.
type files struct{ fsys fs.FS }

// New returns the store of the files of fsys, with the powers [store.Stater] and
// [store.Lister]. It is safe for concurrent use if fsys is. For a part of fsys, use
// [fs.Sub].
func New(fsys fs.FS) store.Store { return &files{fsys} }

// Get implements [store.Store]. If files can neither seek nor be read at an offset, Get
// reads and discards the bytes before the range.
func (s *files) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := s.get(ctx, key, q, dst)
	if err != nil {
		return nil, store.Info{}, fmt.Errorf("fs: %s: %w", key, err)
	}
	return out, info, nil
}

func (s *files) get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, store.Info{}, err
	}
	f, err := s.fsys.Open(key.String())
	if err != nil {
		return nil, store.Info{}, missing(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, store.Info{}, err
	}
	info, err := describe(fi)
	if err != nil {
		return nil, store.Info{}, err
	}
	off, n, err := q.Resolve(info.Size)
	if err != nil {
		return nil, store.Info{}, err
	}
	// The sum of the lengths must fit an int, which has 32 bits on some platforms.
	if n > math.MaxInt-int64(len(dst)) {
		return nil, store.Info{}, fmt.Errorf("%w: %s", store.ErrTooLarge, quantity.Count(n, "bytes"))
	}
	dst = slices.Grow(dst, int(n))
	out := dst[:len(dst)+int(n)]
	if err := readAt(f, out[len(dst):], off, info.Size); err != nil {
		return nil, store.Info{}, err
	}
	return out, info, nil
}

// readAt fills p with the bytes of f from off on. The file has size bytes.
func readAt(f fs.File, p []byte, off, size int64) error {
	if r, ok := f.(io.ReaderAt); ok {
		n, err := r.ReadAt(p, off)
		// A reader may return io.EOF together with the last bytes.
		if n == len(p) {
			return nil
		}
		return short(err)
	}
	if err := skip(f, off); err != nil {
		return short(err)
	}
	if _, err := io.ReadFull(f, p); err != nil {
		return short(err)
	}
	// Only after the last byte can end check that nothing follows.
	if off+int64(len(p)) < size {
		return nil
	}
	return end(f)
}

// skip moves f to offset off.
func skip(f fs.File, off int64) error {
	if off == 0 {
		return nil
	}
	if s, ok := f.(io.Seeker); ok {
		_, err := s.Seek(off, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, f, off)
	return err
}

// end returns an error if f has more bytes. Zip archives verify the checksum of a member
// only at its end.
func end(f fs.File) error {
	var b [1]byte
	n, err := f.Read(b[:])
	switch {
	case n > 0:
		return errors.New("is longer than the file system reports")
	case err == io.EOF:
		return nil
	}
	return err
}

// short converts an early end of a file to [io.ErrUnexpectedEOF].
func short(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// missing converts the error of a name below a file to [fs.ErrNotExist].
func missing(err error) error {
	if vfs.Missing(err) {
		return fs.ErrNotExist
	}
	return err
}

// describe returns the Info of a file. A directory counts as missing.
func describe(fi fs.FileInfo) (store.Info, error) {
	switch {
	case fi.IsDir():
		return store.Info{}, fs.ErrNotExist
	case !fi.Mode().IsRegular():
		return store.Info{}, fmt.Errorf("is not a regular file but %s: %w", fi.Mode(), fs.ErrInvalid)
	}
	st := vfs.StatOf(fi)
	return store.Info{Size: st.Size, Version: store.MakeVersion(st.Version()), Modified: st.Modified(), FileTime: st.FileTime()}, nil
}

// Stat implements [store.Stater].
func (s *files) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := s.stat(ctx, key)
	if err != nil {
		return store.Info{}, fmt.Errorf("fs: %s: %w", key, err)
	}
	return info, nil
}

func (s *files) stat(ctx context.Context, key store.Key) (store.Info, error) {
	if err := ctx.Err(); err != nil {
		return store.Info{}, err
	}
	fi, err := fs.Stat(s.fsys, key.String())
	if err != nil {
		return store.Info{}, missing(err)
	}
	return describe(fi)
}

// List implements [store.Lister]. Sizes are -1, because a size would cost a call for each
// file.
func (s *files) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for item, err := range vfs.Walk(ctx, tree(*s), top(dir), how&store.Deep != 0, fate) {
			if err != nil {
				yield(store.Entry{}, fmt.Errorf("fs: listing %q: %w", dir, err))
				return
			}
			if !yield(store.Entry{Name: below(dir, item.Name), Dir: item.Dir, Size: -1, Unusable: item.Odd}, nil) {
				return
			}
		}
	}
}

// below returns a name below dir relative to dir.
func below(dir store.Path, name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(name, dir.String()), "/")
}

// top returns the name of a directory in the file system.
func top(dir store.Path) string {
	if dir.IsRoot() {
		return "."
	}
	return dir.String()
}

// fate refuses the names that package fs does not open, which are not valid UTF-8.
func fate(name string, _ bool) vfs.Fate {
	if !fs.ValidPath(name) {
		return vfs.Refuse
	}
	return vfs.Take
}

// tree is the store as a [vfs.Tree].
type tree files

// Stat implements [vfs.Tree].
func (t tree) Stat(name string) (vfs.Stat, error) {
	fi, err := fs.Stat(t.fsys, name)
	if err != nil {
		return vfs.Stat{}, err
	}
	return vfs.StatOf(fi), nil
}

// ReadDir implements [vfs.Tree].
func (t tree) ReadDir(name string) iter.Seq2[fs.DirEntry, error] {
	return func(yield func(fs.DirEntry, error) bool) {
		entries, err := fs.ReadDir(t.fsys, name)
		// There may be entries as well as an error.
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, t.notDir(name, err))
		}
	}
}

// notDir converts the error of listing a file to [fs.ErrNotExist]. This error is
// different for every file system.
func (t tree) notDir(name string, err error) error {
	if fi, seen := fs.Stat(t.fsys, name); seen == nil && !fi.IsDir() {
		return fs.ErrNotExist
	}
	return err
}
