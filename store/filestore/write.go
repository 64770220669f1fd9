// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
)

// Can implements [store.Writer]. No value is changed in place.
func (s *files) Can(op store.Op) bool {
	return op >= store.OpPut && op <= store.OpClone && op != store.OpPatch
}

// Write implements [store.Writer]. A crash at any moment leaves the old value or the new
// one. To put a value takes these steps:
//
//  1. Make the missing directories, and record that their names are not durable yet.
//     Follow a symbolic link to a node, and refuse one below an array. The next steps
//     use names without links.
//  2. Create "__tmp-<writer>-<number>" beside the target. A rename cannot cross file
//     systems.
//  3. Write the value.
//  4. Set a modification time that no earlier write of this store has. So versions
//     differ even if the file system's clock is coarse and inodes are used again.
//  5. With Sync, sync the file. Without it, a power cut after step 6 could leave the
//     new name with only some of the bytes.
//  6. Rename the file to the target. From now on readers see the new value.
//  7. With Sync, sync the directory, and the directory above each one made in step 1,
//     so that the name is durable.
//
// If steps 1 to 6 fail, the old value stays, and the temporary file is removed. After a
// failed sync, the store refuses all further writes with [store.ErrDurability]. With
// [store.Flush] a power cut may leave the name without its bytes.
//
// The other changes take the same steps, and differ in these:
//
//   - PutIf, between steps 5 and 6, takes the publish lock of the key's directory and
//     compares the version. A version consists of device, inode, change and modification
//     time, and size. If the file system lacks such times, a rewrite of equal length by
//     another program may go unnoticed. DeleteIf takes the same lock.
//   - Delete also removes directories that become empty.
//   - Assemble and Splice fill the temporary file from the sources, of which one is open
//     at a time. On Linux the kernel copies their bytes, and file systems such as Btrfs
//     and XFS share them. Gather from another file store does so too. From other stores,
//     it reads and writes piece by piece.
//   - Copy is for sources that are file stores too. It makes no hard links, because other
//     programs may change a file in place, and would then change both; Clone does.
//   - Clone, in step 2, makes a file that shares the bytes of the source on disk (Linux:
//     FICLONE, on Btrfs and XFS), or a hard link, or a copy by the kernel: the first that
//     the file system permits. A hard link gives the source a new change time, and so a
//     new version. So does every later change of one of the names. As each of these
//     replaces or removes only one name, it does not change the bytes of the others. A
//     system limits the links of one file (ext4: 65,000), and later clones are copies.
//     With [store.Sync], Clone syncs the file of the source before it makes a hard link,
//     because the source may have been written with [store.Flush].
func (s *files) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	o, err := s.change(ctx, c, d)
	// Step 7. A power cut before this sync may undo the rename. A lock is released by
	// now, so other writers do not wait for this sync.
	if err == nil && d != store.Flush && o.dir != "" {
		err = s.syncDir(o.dir)
	}
	if err != nil {
		return store.Written{}, fail(doing(c.Op), c.Key.String(), err)
	}
	if o.moved != "" {
		o.Version = s.versionOf(o.moved, o.st)
	}
	return o.Written, nil
}

// outcome is what a change has done, apart from step 7.
type outcome struct {
	store.Written
	dir string // to sync, or ""
	// moved is the file whose version is not looked up yet, or "". st is its status
	// before the rename.
	moved string
	st    vfs.Stat
}

// change takes the steps 1 to 6 of a change.
func (s *files) change(ctx context.Context, c store.Change, d store.Durability) (o outcome, err error) {
	name, err := nameOf(c.Key)
	if err != nil {
		return o, err
	}
	switch c.Op {
	case store.OpPut:
		return s.publish(ctx, name, whole(c.Value), d)
	case store.OpPutIf:
		return s.publishIf(ctx, name, whole(c.Value), c.If, d)
	case store.OpDelete:
		o.dir, err = s.remove(ctx, name, s.prune)
	case store.OpDeleteIf:
		o.dir, err = s.removeIf(ctx, name, c.If)
	case store.OpSplice:
		return s.splice(ctx, c, d)
	case store.OpAssemble:
		return s.assemble(ctx, name, s, c, d)
	case store.OpGather:
		return s.gather(ctx, name, c, d)
	case store.OpCopy:
		return s.copyFrom(ctx, name, c, d)
	case store.OpClone:
		return s.clone(ctx, name, c, d)
	default:
		err = store.ErrUnsupported
	}
	return o, err
}

// doing says what a change does, for errors.
func doing(op store.Op) string {
	switch op {
	case store.OpDelete, store.OpDeleteIf:
		return "deleting"
	case store.OpSplice:
		return "splicing"
	case store.OpAssemble:
		return "assembling"
	case store.OpGather:
		return "gathering"
	case store.OpCopy:
		return "copying to"
	case store.OpClone:
		return "cloning to"
	}
	return "writing"
}

// versionOf returns the version of the file st, which was moved to name. If a concurrent
// writer has replaced it since, or if its time could not be set, versionOf returns the
// zero Version.
func (s *files) versionOf(name string, st vfs.Stat) store.Version {
	now, err := s.fs.Stat(name) // the rename changed the change time
	if err != nil || !now.SameData(st) {
		// A concurrent writer has replaced or deleted the file since.
		return store.Version{}
	}
	return store.MakeVersion(now.Version())
}

// content fills a new, empty file.
type content func(f vfs.File) error

// whole is the content that writes value.
func whole(value []byte) content {
	return func(f vfs.File) error {
		_, err := f.Write(value)
		return err
	}
}

// publish takes steps 1 to 6.
func (s *files) publish(ctx context.Context, name string, c content, d store.Durability) (o outcome, err error) {
	if err := s.writable(ctx); err != nil {
		return o, err
	}
	tmp, st, err := s.prepare(name, c, d)
	if err != nil {
		return o, err
	}
	real := beside(tmp, name)
	if err := s.move(ctx, tmp, real); err != nil {
		// Remove the temporary file now. After a crash, the next sweep removes it.
		s.drop(tmp)
		return o, err
	}
	return outcome{dir: path.Dir(real), moved: real, st: st}, nil
}

// beside returns the target of the rename: the last segment of name, in the directory of
// tmp. The name of tmp contains no links.
func beside(tmp, name string) string { return path.Join(path.Dir(tmp), path.Base(name)) }

// prepare takes steps 1 to 5 for name. It returns the name of the temporary file, without
// links, and its status.
func (s *files) prepare(name string, c content, d store.Durability) (tmp string, st vfs.Stat, err error) {
	var f vfs.File
	tmp, err = s.makeTemporary(path.Dir(name), func(tmp string) error {
		f, err = s.fs.Create(tmp)
		return err
	})
	if err != nil {
		return "", vfs.Stat{}, tooLong(err)
	}
	if st, err = s.fill(f, tmp, c, d); err != nil {
		s.drop(tmp)
		return "", vfs.Stat{}, err
	}
	return tmp, st, nil
}

// move is step 6, unless ctx has ended.
func (s *files) move(ctx context.Context, tmp, name string) error {
	// This is the last check of the context. After the rename, the value is stored.
	if err := s.rename(ctx, tmp, name); err != nil {
		return err
	}
	s.end(nil)
	return nil
}

// rename renames a temporary file, unless ctx has ended.
func (s *files) rename(ctx context.Context, tmp, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A crash before the rename leaves the old value and the temporary file, which the
	// next writer sweeps. A crash after it leaves the new value.
	return tooLong(s.fs.Rename(tmp, name))
}

// drop removes a temporary file, and the directories that are empty without it. If that
// fails, readers do not see the file, and a later [files.Sweep] removes it.
func (s *files) drop(tmp string) {
	real, err := s.unlink(tmp, permitAny)
	if err == nil {
		s.prune(path.Dir(real))
	}
	s.end(err)
}

// makeTemporary calls create with the name of a new temporary file in dir, and returns
// that name, which contains no symbolic links. Unless it fails, [files.end] must follow.
func (s *files) makeTemporary(dir string, create func(name string) error) (name string, err error) {
	name, err = s.temporary(dir, create)
	if !errors.Is(err, vfs.ErrLinked) { // rare, so links are resolved only now
		return name, err
	}
	if dir, err = s.direct(dir, "writes", s.mayWrite); err != nil {
		return "", err
	}
	return s.temporary(dir, create)
}

// temporary is makeTemporary for a directory whose name contains no symbolic links.
func (s *files) temporary(dir string, create func(name string) error) (name string, err error) {
	name = s.temporaryIn(dir)
	defer func() {
		if err != nil {
			s.end(nil)
		}
	}()
	for range createTries {
		if err = create(name); !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
		// A concurrent deletion may prune the directory before the next attempt.
		if err := s.makeDir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", err
}

// fill writes the temporary file, closes it, and returns its final status.
func (s *files) fill(f vfs.File, tmp string, c content, d store.Durability) (st vfs.Stat, err error) {
	if err = c(f); err == nil {
		// Some file systems refuse to set times. Then versions depend on inode, size and
		// the clock of the file system, and no write tells its version: another may have
		// the same.
		untimed := s.fs.Touch(tmp, s.timestamp())
		if st, err = f.Stat(); untimed != nil {
			st.Mtime = -1 // of no file, see versionOf
		}
	}
	// Step 5. Without this sync, a power cut after the rename could leave the new name
	// with only some of the bytes.
	if err == nil && d != store.Flush {
		err = s.sync(f)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return st, err
}

// timestamp returns the time in nanoseconds since 1970. Each result is later than all
// earlier ones.
func (s *files) timestamp() int64 {
	for {
		last := s.clock.Load()
		next := max(time.Now().UnixNano(), last+1)
		if s.clock.CompareAndSwap(last, next) {
			return next
		}
	}
}

// sync syncs f. After a failure the store refuses writes.
func (s *files) sync(f vfs.File) error {
	if err := f.Sync(); err != nil {
		// Do not try again: the kernel may have dropped the unwritten pages, and a second
		// sync would succeed without them.
		err = fmt.Errorf("%w: %w", store.ErrDurability, err)
		s.broken.CompareAndSwap(nil, &err)
		return err
	}
	return nil
}

// publishIf is publish under a condition.
func (s *files) publishIf(
	ctx context.Context, name string, c content, cond store.Condition, d store.Durability,
) (o outcome, err error) {
	if err := s.writable(ctx); err != nil {
		return o, err
	}
	// This check finds most conflicts before anything is written. moveIf repeats it under
	// the lock.
	if err := s.check(name, cond); err != nil {
		return o, err
	}
	tmp, st, err := s.prepare(name, c, d)
	if err != nil {
		return o, err
	}
	real := beside(tmp, name)
	o.dir = path.Dir(real)
	o.Version, err = s.moveIf(ctx, tmp, real, st, cond)
	return o, err
}

// moveIf is step 6 under a condition, for the temporary file tmp with status st. If it
// does not move the file, it removes it.
func (s *files) moveIf(
	ctx context.Context, tmp, name string, st vfs.Stat, cond store.Condition,
) (v store.Version, err error) {
	// The temporary file is in the directory, so no concurrent deletion prunes the
	// directory. Otherwise two writers could hold locks in two directories of this name.
	err = s.exclusively(ctx, path.Dir(name), func() error {
		if err := s.check(name, cond); err != nil {
			return err
		}
		if err := s.move(ctx, tmp, name); err != nil {
			return err
		}
		v = s.versionOf(name, st)
		return nil
	})
	if err != nil {
		s.drop(tmp)
		return store.Version{}, err
	}
	return v, nil
}

// check returns [store.ErrConflict] if cond does not hold for the file at name.
func (s *files) check(name string, cond store.Condition) error {
	st, err := s.fs.Stat(name)
	exists := err == nil && !st.Mode.IsDir()
	switch {
	case err != nil && !vfs.Missing(err):
		return tooLong(err)
	case !cond.Holds(describe(st).Version, exists):
		return store.ErrConflict
	}
	return nil
}

// removeIf removes a file if a condition holds. It returns the directory to sync.
func (s *files) removeIf(ctx context.Context, name string, cond store.Condition) (dir string, err error) {
	if err := s.writable(ctx); err != nil {
		return "", err
	}
	real := name
	err = s.exclusively(ctx, path.Dir(name), func() error {
		// PutIf takes the same lock, so it cannot replace the value between this check
		// and the removal.
		if err := s.check(name, cond); err != nil {
			return err
		}
		real, err = s.unlink(name, s.isNode)
		return err
	})
	switch {
	case err == nil:
		return s.prune(path.Dir(real)), nil
	// The directory is missing, so the lock could not be taken.
	case vfs.Missing(err):
		return "", store.ErrConflict
	}
	return "", tooLong(err)
}

// Batch implements [store.Batcher]. Each change syncs its file and moves it into place,
// so goroutines sync in parallel and nothing is buffered. Commit syncs each directory
// that was written to, once.
func (s *files) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	if err := s.writable(ctx); err != nil {
		return nil, fail("beginning", "batch", err)
	}
	// Stay registered as a writer until the batch ends. Otherwise each change would
	// make and remove the writer's file.
	s.begin()
	return &batch{s: s, d: d, dirs: map[string]bool{}, stays: map[string]bool{}, end: sync.OnceFunc(func() { s.end(nil) })}, nil
}

type batch struct {
	s *files
	d store.Durability

	mu    sync.Mutex
	dirs  map[string]bool // directories that Commit syncs
	stays map[string]bool // directories that had other files after a deletion
	end   func()
}

// Can implements [store.Batch].
func (b *batch) Can(op store.Op) bool { return b.s.Can(op) }

// Write implements [store.Batch]. It looks for versions only if the change asks for them.
func (b *batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	o, err := b.change(ctx, c)
	if err != nil {
		return store.Written{}, fail(doing(c.Op), c.Key.String(), err)
	}
	// If there was nothing to delete, no name has changed, and Commit has nothing to
	// sync.
	if o.dir != "" {
		b.touch(o.dir)
	}
	if c.Tell && o.moved != "" {
		o.Version = b.s.versionOf(o.moved, o.st)
	}
	return o.Written, nil
}

func (b *batch) change(ctx context.Context, c store.Change) (o outcome, err error) {
	if c.Op != store.OpDelete {
		return b.s.change(ctx, c, b.d)
	}
	name, err := nameOf(c.Key)
	if err == nil {
		o.dir, err = b.s.remove(ctx, name, b.prune)
	}
	return o, err
}

// prune is that of the store. A directory that has other files is tried again only when
// the batch ends: most deletions of a batch are of files side by side.
func (b *batch) prune(dir string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stays[dir] {
		return dir
	}
	b.mu.Unlock()
	left := b.s.prune(dir)
	b.mu.Lock()
	if left == dir {
		b.stays[dir] = true
	}
	return left
}

// pruneAll prunes the directories that may be empty by now.
func (b *batch) pruneAll() {
	b.mu.Lock()
	dirs := slices.Collect(maps.Keys(b.stays))
	clear(b.stays)
	b.mu.Unlock()
	for _, dir := range dirs {
		b.touch(b.s.prune(dir))
	}
}

func (b *batch) touch(dir string) {
	if b.d == store.Flush {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dirs[dir] = true
}

// Commit implements [store.Batch].
func (b *batch) Commit(ctx context.Context) error {
	defer b.end()
	b.pruneAll()
	b.mu.Lock()
	defer b.mu.Unlock()
	// One sync covers all names that changed in a directory. Until then, a power cut may
	// keep some of the renames and lose the others.
	for dir := range b.dirs {
		err := b.s.writable(ctx)
		if err == nil {
			err = b.s.syncDir(dir)
		}
		if err != nil {
			return fail("committing", dir, err)
		}
	}
	clear(b.dirs)
	return nil
}

// Discard implements [store.Batch].
func (b *batch) Discard() {
	b.pruneAll()
	b.end()
}
