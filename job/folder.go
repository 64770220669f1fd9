// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// folder is the folder beside a plan. It belongs to one plan: another one at the same
// place has another ID.
type folder struct {
	location string // of the plan
	id       string

	mu    sync.Mutex // guards opening
	store store.Store
	path  store.Path
}

func newFolder(p *Plan) *folder { return &folder{location: p.Location, id: p.ID} }

// folderSuffix is what the name of the folder has, after that of the plan.
const folderSuffix = ".tasks"

// The directories of a folder.
const (
	recordsDir = "done"   // a record for each task that is done
	claimsDir  = "claims" // a claim for each task that a worker has taken
	resultsDir = "found"  // what tasks have found
)

// errNoFolder means that the plan is from standard input, or from memory.
var errNoFolder = errors.New("the plan was not read from a file or a location, so nothing can be kept beside it: write it to one, and name that")

// open opens the store of the folder.
func (f *folder) open(ctx context.Context) error {
	if f == nil {
		return errNoFolder
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store != nil {
		return nil
	}
	s, key, err := openFile(ctx, f.location, store.Create)
	if err != nil {
		return err
	}
	path, err := store.ParsePath(key.String() + folderSuffix + "/" + f.id)
	if err != nil {
		return errors.Join(err, closeStore(s))
	}
	f.store, f.path = s, path
	return nil
}

// Close closes the store.
func (f *folder) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.store == nil {
		return nil
	}
	s := f.store
	f.store = nil
	return closeStore(s)
}

// key returns the key of what a task has in a directory.
func (f *folder) key(dir string, t Task) store.Key {
	return f.path.MustKey(fmt.Sprintf("%s/%s", dir, t.name()))
}

// published returns the key of a value that says that what tasks have found was
// published.
func (f *folder) published() store.Key { return f.path.MustKey(resultsDir + "/published") }

// name returns the name of a task in a directory.
func (t Task) name() string { return fmt.Sprintf("%d-%d-%d", t.Stage, t.Of, t.Number) }

// parseName parses the name of a task in a directory.
func parseName(name string) (t Task, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d", &t.Stage, &t.Of, &t.Number)
	return t, n == 3 && err == nil && t.name() == name && t.Number >= 0 && t.Number < t.Of
}

// listed is a task of which a directory has something.
type listed struct {
	Task
	version store.Version
}

// mostListed bounds the objects of a directory.
const mostListed = 1 << 22

// list lists a directory, with versions if they are wanted.
func (f *folder) list(ctx context.Context, dir string, versions bool) (tasks []listed, err error) {
	at, err := f.path.Join(dir)
	if err != nil {
		return nil, err
	}
	entries := store.List(ctx, f.store, at, false)
	if versions {
		entries = store.ListVersions(ctx, f.store, at, false)
	}
	for e, err := range entries {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		if t, ok := parseName(e.Name); ok && !e.Dir {
			tasks = append(tasks, listed{t, e.Version})
		}
		if len(tasks) > mostListed {
			return nil, fmt.Errorf("more than %d tasks in %s", mostListed, at)
		}
	}
	return tasks, nil
}

// get reads what a task has in a directory as JSON.
func (f *folder) get(ctx context.Context, dir string, t Task, most int64, into any) (store.Version, error) {
	data, info, err := f.store.Get(ctx, f.key(dir, t), store.Request{Limit: most}, nil)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	return info.Version, err
}

// atOnce is the number of requests in flight for what tasks have.
const atOnce = 64

// each calls do for tasks, several at once.
func each(ctx context.Context, tasks []listed, do func(ctx context.Context, i int, t Task) error) error {
	group, within := parallel.New(ctx)
	group.SetLimit(atOnce)
	for i, t := range tasks {
		group.Go(func() error { return do(within, i, t.Task) })
	}
	return group.Wait(nil)
}

// Forget deletes the folder beside the plan: the records and claims of tasks, and what
// they have found. The plan itself stays.
func (w *Worker) Forget(ctx context.Context) error {
	if err := w.folder.open(ctx); err != nil {
		if errors.Is(err, errNoFolder) {
			return nil
		}
		return err
	}
	err := store.DeleteTree(ctx, w.folder.store, w.folder.path, store.TreeOrder{}, store.Flush)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// forgetDone deletes records and claims, so that workers offer all tasks again.
func (w *Worker) forgetDone(ctx context.Context) error {
	for _, dir := range []string{claimsDir, recordsDir} {
		at, err := w.folder.path.Join(dir)
		if err != nil {
			return err
		}
		err = store.DeleteTree(ctx, w.folder.store, at, store.TreeOrder{}, store.Flush)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// ownName says who this process is.
func ownName() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}
