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

// A writer that is killed leaves temporary files. The next one removes them, but must not
// take the file of a writer that is at work. Process numbers do not tell them apart:
// containers have their own. So every writer holds a lock, which ends with it however it
// ends:
//
//  1. Before its first temporary file a store makes the file "__tmp-writers/<id>" at its top and locks it.
//  2. The file says on which machine the writer is, and before the first temporary file in a directory gets its name.
//  3. Temporary files are called "__tmp-<id>-<number>".
//  4. When no call, batch or lock of the store is under way any more, it removes the file and then lets go of the lock.
//
// Opening a store for writing tries to lock all these files. The writer of one that can
// be locked is dead: its temporary files are removed from the directories that it has
// named, and then the file goes, while it is locked.
//
// On a network file system locks may hold for one machine only. There a writer on another
// machine, and one from before this machine was started anew, count as unknown, and their
// files stay. Where no file can be locked or none can be made at the top, temporary files
// are called "__tmp-<random>" and have no writer that anybody knows.

// mostDirs is how many directories a writer names. Past that it is looked for in all.
const mostDirs = 4096

// writer is the file by which a store shows that it is alive.
type writer struct {
	mu     sync.Mutex
	busy   int      // temporary files, batches and locks that there are
	id     string   // "" while there is no such file
	file   vfs.File // locked
	refuse bool     // no such file can be made here
	stuck  bool     // a temporary file could not be removed: the writer's file stays to tell of it
	dirs   map[string]bool
	last   uint64 // number of the latest temporary file
}

// begin tells that work has begun in which there may be temporary files. [Store.end]
// follows.
func (s *Store) begin() {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	s.writer.busy++
}

// end tells that work has ended. err says why its temporary file could not be removed.
func (s *Store) end(err error) {
	w := &s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck = w.stuck || err != nil && !vfs.Missing(err)
	if w.busy--; w.busy == 0 && w.id != "" {
		s.vanish()
	}
}

// temporaryIn returns the name of a new temporary file in dir. It begins work:
// [Store.end] follows once the file is gone.
func (s *Store) temporaryIn(dir string) string {
	s.begin()
	w := &s.writer
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.id == "" && !w.refuse {
		s.appear()
	}
	if w.id == "" || !w.names(dir) {
		return path.Join(dir, own.Temporary+strconv.FormatUint(rand.Uint64(), 36))
	}
	w.last++
	return path.Join(dir, own.Temporary+w.id+"-"+strconv.FormatUint(w.last, 36))
}

// appear runs step 1. Another writer may remove the directory in between, or take the new
// file for that of a dead one.
func (s *Store) appear() {
	w := &s.writer
	for range createTries {
		_ = s.fs.Mkdir(own.Writers)
		id := strconv.FormatUint(rand.Uint64(), 36)
		f, err := s.fs.TryLock(path.Join(own.Writers, id))
		if errors.Is(err, vfs.ErrLocked) || vfs.Missing(err) {
			continue
		}
		if err == nil {
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

// vanish runs step 4.
func (s *Store) vanish() {
	w := &s.writer
	if !w.stuck {
		_ = s.fs.Remove(path.Join(own.Writers, w.id)) // while it is locked: nobody may take it for that of a dead writer
		_ = s.fs.RemoveDir(own.Writers)
	}
	_ = w.file.Close()
	w.id, w.file, w.dirs, w.stuck = "", nil, nil, false
}

// everywhere is the name of all directories.
const everywhere = "*"

// names writes down that there will be temporary files in dir, and reports whether it
// could.
func (w *writer) names(dir string) bool {
	switch {
	case w.dirs == nil: // a line before was written in part, so that none can follow
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

// writerOf returns the id of the writer of a temporary file, "" where its name does not
// say.
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

// removeOf removes the temporary files of a writer if it is dead. What cannot be removed
// keeps the writer's file, so that somebody else can.
func (s *Store) removeOf(ctx context.Context, id string) {
	name := path.Join(own.Writers, id)
	content, err := s.fs.Open(name)
	if err != nil {
		return
	}
	defer content.Close()
	lock, err := s.fs.TryLock(name)
	if err != nil {
		return
	}
	defer lock.Close()
	if replaced(content, lock) {
		_ = s.fs.Remove(name)
		return
	}
	boot, dirs, ok := readWriter(content)
	if boot != s.boot || boot == "" || !ok {
		if !s.fs.Local() {
			return
		}
		dirs = []string{everywhere} // what was not synced before the machine stopped may be missing here
	}
	done := true
	for _, dir := range dirs {
		if dir == everywhere {
			done = s.removeBelow(ctx, ".", id) && done
		} else {
			done = s.removeIn(ctx, dir, id) && done
		}
	}
	if done {
		_ = s.fs.Remove(name)
	}
}

// replaced reports whether the file that was locked is a new one: the writer has just
// removed its own. Where files have no identity, as on Windows, one that is open stays at
// its name.
func replaced(content, lock vfs.File) bool {
	was, err1 := content.Stat()
	is, err2 := lock.Stat()
	return err1 == nil && err2 == nil && was.Ino != 0 && !was.SameFile(is)
}

// readWriter reads the file of a writer, and reports whether its first line is whole.
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

// removeIn removes the temporary files of a writer in one directory.
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

// removeBelow removes the temporary files of a writer from a directory and all below it.
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
