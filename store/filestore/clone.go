// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync/atomic"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// cloning is what a store has learned from earlier clones.
type cloning struct {
	cannotShare atomic.Bool
	// synced is the latest source that was synced. Many keys often get one value, such as
	// that of an empty chunk.
	synced atomic.Pointer[vfs.Stat]
}

// clone gives the value of a source to another name.
func (s *files) clone(ctx context.Context, name string, c store.Change, d store.Durability) (o outcome, err error) {
	if err := s.writable(ctx); err != nil {
		return o, err
	}
	t, err := s.prepareClone(ctx, name, c.Source, c.SourceVersion, d)
	if err != nil {
		return o, err
	}
	real := beside(t.tmp, name)
	if err := s.moveClone(ctx, t, real); err != nil {
		s.drop(t.tmp)
		return o, err
	}
	// The rename of a hard link changes the version of the source too. So look now.
	made := store.Written{Version: s.versionOf(real, t.st), Size: t.st.Size, Moved: t.moved}
	if made.Source = made.Version; c.Key != c.Source {
		made.Source = s.versionOf(c.Source.String(), t.source)
	}
	return outcome{Written: made, dir: path.Dir(real)}, nil
}

// clone is a temporary file with the value of a source.
type clone struct {
	tmp    string
	st     vfs.Stat // of tmp
	source vfs.Stat // of the source
	link   bool     // tmp is a hard link
	moved  int64    // bytes that were copied
}

// errOtherWay means that a way to clone is not available for a file, and that nothing has
// changed.
var errOtherWay = errors.New("the file system refuses this way to clone")

// prepareClone takes steps 1 to 5. It closes the source, because Windows cannot replace
// an open file in step 6.
func (s *files) prepareClone(
	ctx context.Context, name string, source store.Key, from store.Version, d store.Durability,
) (c clone, err error) {
	old, was, err := s.openFrom(ctx, source, from)
	if err != nil {
		return c, err
	}
	defer old.Close()
	c.source = was
	c.tmp, c.st, err = s.share(name, old, was, d)
	if errors.Is(err, errOtherWay) {
		c.link = true
		c.tmp, c.st, err = s.link(name, source.String(), old, was, d)
	}
	if errors.Is(err, errOtherWay) {
		c.link, c.moved = false, was.Size
		c.tmp, c.st, err = s.prepare(name, copied(ctx, old, was), d)
	}
	return c, err
}

// openFrom opens the file at key, which must be of version from. A zero from permits any.
func (s *files) openFrom(ctx context.Context, key store.Key, from store.Version) (vfs.File, vfs.Stat, error) {
	f, st, err := s.open(ctx, key)
	switch {
	case from.IsZero():
		return f, st, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, vfs.Stat{}, conflict(key)
	case err != nil:
		return nil, vfs.Stat{}, err
	case describe(st).Version != from:
		f.Close()
		return nil, vfs.Stat{}, conflict(key)
	}
	return f, st, nil
}

// conflict is the error of a source that is not of the expected version.
func conflict(key store.Key) error { return fmt.Errorf("%w: %q", store.ErrConflict, key.String()) }

// share makes a temporary file that shares the bytes of the file old.
func (s *files) share(name string, old vfs.File, was vfs.Stat, d store.Durability) (tmp string, st vfs.Stat, err error) {
	if s.cloning.cannotShare.Load() {
		return "", vfs.Stat{}, errOtherWay
	}
	return s.prepare(name, func(f vfs.File) error {
		if err := f.Share(old); err != nil {
			if errors.Is(err, errors.ErrUnsupported) {
				s.cloning.cannotShare.Store(true)
			}
			return errOtherWay
		}
		// Another program may have changed the source since it was opened.
		return isCopy(f, old, was)
	}, d)
}

// link makes a hard link to the file old, which was found at source, under a temporary
// name.
func (s *files) link(
	name, source string, old vfs.File, was vfs.Stat, d store.Durability,
) (tmp string, st vfs.Stat, err error) {
	if was.Ino == 0 {
		// Without inodes, the check below cannot tell which file was linked.
		return "", vfs.Stat{}, errOtherWay
	}
	if err := s.syncSource(old, was, d); err != nil {
		return "", vfs.Stat{}, err
	}
	tmp, err = s.makeTemporary(path.Dir(name), func(tmp string) error {
		st, err = s.fs.Link(source, tmp)
		return s.linkError(source, err)
	})
	if err != nil {
		return "", vfs.Stat{}, tooLong(err)
	}
	switch {
	// A link was made to the symbolic link at source. Copy its target instead.
	case !st.Mode.IsRegular():
		err = errOtherWay
	// A concurrent writer has replaced the source since it was opened, or another program
	// has changed it in place. The temporary name is a name of the wrong value.
	case !st.SameData(was):
		err = store.ErrConflict
	default:
		return tmp, st, nil
	}
	s.drop(tmp)
	return "", vfs.Stat{}, err
}

// linkError converts the error of a hard link. Only errors that tell of the directory of
// the new name remain; any other one means that a copy may succeed.
func (s *files) linkError(source string, err error) error {
	switch {
	case err == nil || errors.Is(err, vfs.ErrLinked):
		return err
	case !errors.Is(err, fs.ErrNotExist):
		return errOtherWay
	}
	// Either name may be the missing one. The file of a deleted source is still open, so
	// it can be copied.
	if _, lost := s.fs.Stat(source); lost != nil {
		return errOtherWay
	}
	return err
}

// syncSource makes the bytes of a source durable before a link to it. Otherwise a power
// cut could leave the new name without the bytes, although Write has returned.
func (s *files) syncSource(old vfs.File, was vfs.Stat, d store.Durability) error {
	if last := s.cloning.synced.Load(); d == store.Flush || last != nil && last.SameData(was) {
		return nil
	}
	if err := s.sync(old); err != nil {
		return err
	}
	s.cloning.synced.Store(&was)
	return nil
}

// moveClone is step 6 for a clone.
func (s *files) moveClone(ctx context.Context, c clone, name string) error {
	if !c.link {
		return s.move(ctx, c.tmp, name)
	}
	if err := s.rename(ctx, c.tmp, name); err != nil {
		return err
	}
	// If name already was a link to the file, the rename has done nothing, as POSIX
	// requires, and the temporary name is left. If a crash leaves it, a sweep removes it.
	err := s.fs.Remove(c.tmp)
	s.end(err)
	return nil
}

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
