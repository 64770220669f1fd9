// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
)

// A writer that crashes leaves temporary files. The next writer removes them, but must not
// remove those of a running writer. Process IDs cannot tell them apart, because each
// container has its own. So every writer holds a file lock, which ends with the process:
//
//  1. Before its first temporary file, a store makes the file "__tmp-writers/<id>" at its
//     top and locks it.
//  2. The file names the boot of the machine. Before the first temporary file in a
//     directory, it gets the name of that directory.
//  3. Temporary files are called "__tmp-<id>-<number>".
//  4. When no call, batch or lock of the store is in use any more, the store removes the
//     file and then releases the lock.
//
// Opening a store for writing tries to lock all these files. If a lock is free, its writer
// has crashed. The sweep removes the temporary files from the directories that the file
// names, and then the file itself, still locked.
//
// On a network file system, locks may hold for one machine only. There, a writer of
// another machine or of an earlier boot is unknown, and its files stay. If no file can be
// locked or made at the top, temporary files are called "__tmp-<random>", and their writer
// is unknown.

// mostDirs is the most directories that a writer records. Beyond that, a sweep searches
// all directories for its files.
const mostDirs = 4096

// writer is the file that marks this store as a running writer.
type writer struct {
	mu     sync.Mutex
	busy   int      // temporary files, batches and locks in use
	id     string   // "" while the writer is not registered
	file   vfs.File // locked
	refuse bool     // no such file can be made here
	stuck  bool     // a temporary file stayed, so the writer's file must stay
	dirs   map[string]bool
	last   uint64 // number of the latest temporary file
}

// begin says that work has begun which may make temporary files. [Store.end] must follow.
func (s *Store) begin() {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.writer.busy++
}

// end says that work has ended. err is the error of removing its temporary file, if any.
func (s *Store) end(err error) {
	w := &s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck = w.stuck || err != nil && !vfs.Missing(err)
	if w.busy--; w.busy == 0 && w.id != "" {
		s.deregister()
	}
}

// temporaryIn returns the name of a new temporary file in dir. [Store.end] must follow
// once the file is gone.
func (s *Store) temporaryIn(dir string) string {
	s.begin()
	w := &s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.id == "" && !w.refuse {
		s.register()
	}
	if w.id == "" || !w.record(dir) {
		return path.Join(dir, own.Temporary+strconv.FormatUint(rand.Uint64(), 36))
	}
	w.last++
	return path.Join(dir, own.Temporary+w.id+"-"+strconv.FormatUint(w.last, 36))
}

// register takes step 1. A concurrent writer that ends may remove the directory between
// Mkdir and TryLock. A sweep may lock the new file first and take it for that of a
// crashed writer. In both cases register tries again.
func (s *Store) register() {
	w := &s.writer
	for range createTries {
		_ = s.fs.Mkdir(own.Writers)
		id := strconv.FormatUint(rand.Uint64(), 36)
		f, err := s.fs.TryLock(path.Join(own.Writers, id))
		if errors.Is(err, vfs.ErrLocked) || vfs.Missing(err) {
			continue
		}
		if err == nil {
			// The boot comes first: a file without it says nothing about its writer.
			if _, err = fmt.Fprintf(f, "%s\n", s.boot); err == nil {
				w.id, w.file, w.dirs = id, f, map[string]bool{}
				return
			}
			_ = s.fs.Remove(path.Join(own.Writers, id))
			_ = f.Close()
		}
		break
	}
	w.refuse = true
	_ = s.fs.RemoveDir(own.Writers)
}

// deregister takes step 4.
func (s *Store) deregister() {
	w := &s.writer
	if !w.stuck {
		// Remove the file while it is locked. Unlocked, a sweep would take it for that of
		// a crashed writer.
		_ = s.fs.Remove(path.Join(own.Writers, w.id))
		_ = s.fs.RemoveDir(own.Writers)
	}
	_ = w.file.Close()
	w.id, w.file, w.dirs, w.stuck = "", nil, nil, false
}

// everywhere stands for all directories in the file of a writer.
const everywhere = "*"

// record writes into the writer's file that dir will have temporary files, and reports
// whether that succeeded.
func (w *writer) record(dir string) bool {
	switch {
	// A full disk may have cut an earlier line, so nothing can be appended.
	case w.dirs == nil:
		return false
	case w.dirs[dir] || w.dirs[everywhere]:
		return true
	}
	if len(w.dirs) == mostDirs {
		dir = everywhere
	}
	if _, err := io.WriteString(w.file, dir+"\n"); err != nil {
		w.dirs = nil
		return false
	}
	w.dirs[dir] = true
	return true
}

// writerOf returns the id of the writer of a temporary file, or "" if its name has none.
func writerOf(name string) string {
	id, _, ok := strings.Cut(strings.TrimPrefix(path.Base(name), own.Temporary), "-")
	if !ok {
		return ""
	}
	return id
}

// Sweep implements [store.Sweeper].
func (s *Store) Sweep(ctx context.Context) {
	found := false
	for e, err := range s.fs.ReadDir(own.Writers) {
		if err != nil || s.writable(ctx) != nil {
			return
		}
		found = true
		s.removeOf(ctx, e.Name())
	}
	if found {
		_ = s.fs.RemoveDir(own.Writers)
	}
}

// removeOf removes the temporary files of a writer that is not running. If one cannot be
// removed, the writer's file stays, so that a later sweep tries again.
func (s *Store) removeOf(ctx context.Context, id string) {
	name := path.Join(own.Writers, id)
	content, err := s.fs.Open(name)
	if err != nil {
		return
	}
	defer content.Close()
	// A running writer holds this lock.
	lock, err := s.fs.TryLock(name)
	if err != nil {
		return
	}
	defer lock.Close()
	// The writer ended between Open and TryLock, which then made a new file.
	if replaced(content, lock) {
		_ = s.fs.Remove(name)
		return
	}
	// Locks of another boot, or of another machine, may not be visible here.
	boot, dirs, ok := readWriter(content)
	if boot != s.boot || boot == "" || !ok {
		if !s.fs.Local() {
			return
		}
		// The machine has restarted since. A power cut may have lost lines that were not
		// synced, so search all directories.
		dirs = []string{everywhere}
	}
	done := true
	for _, dir := range dirs {
		if dir == everywhere {
			done = s.removeBelow(ctx, ".", id) && done
		} else {
			done = s.removeIn(ctx, dir, id) && done
		}
	}
	// Still locked, so that no concurrent sweep works on it.
	if done {
		_ = s.fs.Remove(name)
	}
}

// replaced reports whether the locked file is a new one, because the writer has removed
// its own. Files without identity, as on Windows, keep their name while they are open.
func replaced(content, lock vfs.File) bool {
	was, err1 := content.Stat()
	is, err2 := lock.Stat()
	return err1 == nil && err2 == nil && was.Ino != 0 && !was.SameFile(is)
}

// readWriter reads the file of a writer. ok says whether its first line is there.
func readWriter(f vfs.File) (boot string, dirs []string, ok bool) {
	lines := bufio.NewScanner(io.NewSectionReader(f, 0, math.MaxInt64))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !ok {
			boot, ok = lines.Text(), true
		} else {
			dirs = append(dirs, lines.Text())
		}
	}
	return boot, dirs, ok && lines.Err() == nil
}

// removeIn removes the temporary files of a writer in one directory, and reports whether
// none stayed.
func (s *Store) removeIn(ctx context.Context, dir, id string) (done bool) {
	done = true
	for e, err := range s.fs.ReadDir(dir) {
		switch {
		case vfs.Missing(err):
			return true
		case err != nil || ctx.Err() != nil:
			return false
		case strings.HasPrefix(e.Name(), own.Temporary+id+"-"):
			real, err := s.unlink(path.Join(dir, e.Name()), always)
			if err != nil && !vfs.Missing(err) {
				done = false
			} else if err == nil {
				s.prune(path.Dir(real))
			}
		}
	}
	return done
}

// removeBelow removes the temporary files of a writer in dir and all directories below,
// and reports whether none stayed.
func (s *Store) removeBelow(ctx context.Context, dir, id string) (done bool) {
	done = s.removeIn(ctx, dir, id)
	for e, err := range s.fs.ReadDir(dir) {
		if vfs.Missing(err) {
			break
		}
		if err != nil {
			return false
		}
		if e.IsDir() {
			done = s.removeBelow(ctx, path.Join(dir, e.Name()), id) && done
		}
	}
	return done
}

// createTries is how often concurrent deletions may prune the directory of a new file
// before the write fails.
const createTries = 100
