// SPDX-License-Identifier: Apache-2.0

package filestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"sync"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/vfs"
)

// A writer that crashes leaves temporary files. The next writer removes them, but not
// those of running writers. Process IDs do not tell which writers run, because each
// container has its own. So every writer holds a file lock, which ends with the process:
//
//  1. Before its first temporary file, a store makes the file "__tmp-writers/<id>" at its
//     top and locks it.
//  2. It writes the boot ID of the machine into that file. Before its first temporary
//     file in a directory, it adds the name of the directory.
//  3. Temporary files are called "__tmp-<id>-<number>". The ID has 13 digits, so that
//     files of other programs do not have such names.
//  4. When its last call, batch or lock ends, the store removes the file and then
//     releases the lock.
//
// Opening a store for writing tries to lock all these files. If a lock is free, its
// writer has crashed. The sweep removes the temporary files from the directories that
// the file names, and then the file itself, still locked.
//
// On a network file system, a lock may exclude only writers of the same machine. There,
// the state of writers of other machines and of earlier boots is unknown, and their files
// stay. If no file can be made or locked at the top, temporary files are called
// "__tmp-<random>", and the state of their writer is unknown.

// mostDirs is the largest number of directories that a writer records. If there are more,
// a sweep searches all directories for its files.
const mostDirs = 4096

// writer is the file that marks this store as a running writer.
type writer struct {
	mu     sync.Mutex
	busy   int      // temporary files, batches and locks in use
	id     string   // "" while the writer is not registered
	file   vfs.File // locked
	refuse bool     // the file could not be made or locked
	stuck  bool     // a temporary file could not be removed, so the writer's file must stay
	dirs   map[string]bool
	last   uint64 // number of the latest temporary file
}

// begin counts a call, batch or lock that may make temporary files. [files.end] must
// follow.
func (s *files) begin() {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.writer.busy++
}

// end follows each [files.begin]. err is the error of removing the temporary file, if
// any.
func (s *files) end(err error) {
	w := &s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	// The writer's file is the only record of its temporary files. If one of them stays,
	// keep the record for a sweep.
	w.stuck = w.stuck || err != nil && !vfs.Missing(err)
	if w.busy--; w.busy == 0 && w.id != "" {
		s.deregister()
	}
}

// temporaryIn returns the name of a new temporary file in dir. [files.end] must follow
// once the file is renamed or removed.
func (s *files) temporaryIn(dir string) string {
	s.begin()
	w := &s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.id == "" && !w.refuse {
		s.register()
	}
	// Without a registered writer, no sweep can tell whether the temporary file is in
	// use. RemoveTemporary removes such files by their age.
	if w.id == "" || !w.record(dir) {
		return path.Join(dir, own.Temporary+own.Random())
	}
	w.last++
	return path.Join(dir, own.Temporary+w.id+"-"+strconv.FormatUint(w.last, 36))
}

// register takes step 1.
func (s *files) register() {
	w := &s.writer
	for range createTries {
		_ = s.fs.Mkdir(own.Writers)
		id := own.Random()
		f, err := s.fs.TryLock(path.Join(own.Writers, id))
		if errors.Is(err, vfs.ErrLocked) || vfs.Missing(err) {
			// A sweep locked the new file first and takes its writer for crashed, or the
			// last concurrent writer removed the directory after Mkdir.
			continue
		}
		if err == nil {
			// The boot is the first line. Without it, a sweep cannot tell whether this
			// machine could see the writer's lock.
			if _, err = fmt.Fprintf(f, "%s\n", s.boot); err == nil {
				w.id, w.file, w.dirs = id, f, map[string]bool{}
				return
			}
			// The disk may be full. Half of a first line would mislead a sweep.
			_ = s.fs.Remove(path.Join(own.Writers, id))
			_ = f.Close()
		}
		break
	}
	// Do not try again. From now on, temporary files get random names.
	w.refuse = true
	_ = s.fs.RemoveDir(own.Writers)
}

// deregister takes step 4.
func (s *files) deregister() {
	w := &s.writer
	if !w.stuck {
		// Remove the file while it is locked. Once it is unlocked, a sweep takes its
		// writer for crashed.
		_ = s.fs.Remove(path.Join(own.Writers, w.id))
		_ = s.fs.RemoveDir(own.Writers)
	}
	_ = w.file.Close()
	w.id, w.file, w.dirs, w.stuck = "", nil, nil, false
}

// everywhere is a line in the file of a writer that stands for all directories.
const everywhere = "*"

// record adds dir to the writer's file, and reports whether that succeeded. It precedes
// the first temporary file in dir, so that a sweep after a crash finds all of them.
func (w *writer) record(dir string) bool {
	switch {
	// An earlier write failed and may have left half of a line.
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

// Sweep implements [store.Directories].
func (s *files) Sweep(ctx context.Context) {
	found := false
	for e, err := range s.fs.ReadDir(own.Writers) {
		// Sweeping is best effort. The next Sweep tries again.
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
func (s *files) removeOf(ctx context.Context, id string) {
	name := path.Join(own.Writers, id)
	content, err := s.fs.Open(name)
	if err != nil {
		return
	}
	defer content.Close()
	lock, err := s.fs.TryLock(name)
	if err != nil { // the writer is running
		return
	}
	defer lock.Close()
	// The writer ended between Open and TryLock, and TryLock made a new file.
	if replaced(content, lock) {
		_ = s.fs.Remove(name)
		return
	}
	// Locks of another boot, or of another machine, may not be visible here.
	boot, dirs, ok := readWriter(content)
	if boot != s.boot || boot == "" || !ok {
		if !s.fs.Local() {
			return // the writer may be running on another machine
		}
		// The machine has restarted since. A power cut may have lost lines of the file,
		// because they are not synced. So search all directories.
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
	// Remove the file while it is locked, so that no concurrent sweep uses it.
	if done {
		_ = s.fs.Remove(name)
	}
}

// replaced reports whether the locked file is not the one that was read, because the
// writer removed that one. It is always false on Windows, where an open file keeps its
// name.
func replaced(content, lock vfs.File) bool {
	was, err1 := content.Stat()
	is, err2 := lock.Stat()
	return err1 == nil && err2 == nil && was.Ino != 0 && !was.SameFile(is)
}

// readWriter reads the file of a writer. ok reports whether it has the first line.
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
// it removed all of them.
func (s *files) removeIn(ctx context.Context, dir, id string) (done bool) {
	done = true
	for e, err := range s.fs.ReadDir(dir) {
		switch {
		// A concurrent deletion removed the directory and everything in it.
		case vfs.Missing(err):
			return true
		case err != nil || ctx.Err() != nil:
			return false
		case strings.HasPrefix(e.Name(), own.Temporary+id+"-") && own.IsTemporary(e.Name()):
			real, err := s.unlink(path.Join(dir, e.Name()), permitAny)
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
// and reports whether it removed all of them.
func (s *files) removeBelow(ctx context.Context, dir, id string) (done bool) {
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

// createTries is the number of attempts to create a file in a directory that concurrent
// deletions prune.
const createTries = 100
