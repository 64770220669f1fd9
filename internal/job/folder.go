// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
	"varve.dev/zarr/virtual"
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

// folderSuffix ends the name of the folder; the name of the plan comes before it.
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
		return errors.Join(err, store.Close(s))
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
	return store.Close(s)
}

// key returns the key of the value of a task in a directory.
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
	entries := store.List(ctx, f.store, at, store.Flat)
	if versions {
		entries = store.List(ctx, f.store, at, store.WithVersions)
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
			return nil, fmt.Errorf("more than %s in %s", quantity.Count(mostListed, "tasks"), at)
		}
	}
	return tasks, nil
}

// get reads the value of a task in a directory as JSON.
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

// checkDone returns an error that wraps [sharing.ErrUnfinished] unless there are records
// of all tasks of each stage. A plan from nowhere has no records: then nothing is
// checked.
func (w *Worker) checkDone(ctx context.Context) error {
	for stage := range w.plan.Stages() {
		if _, err := w.division(ctx, stage); err != nil && !errors.Is(err, errNoFolder) {
			return err
		}
	}
	return nil
}

// division returns the number of tasks of a stage that are all done.
func (w *Worker) division(ctx context.Context, stage int) (of int64, err error) {
	if err := w.folder.open(ctx); err != nil {
		return 0, err
	}
	done, err := w.folder.list(ctx, recordsDir, false)
	if err != nil {
		return 0, err
	}
	if of = division(done, stage); of == 0 {
		return 0, fmt.Errorf("%w: no task of stage %d is done", sharing.ErrUnfinished, stage)
	}
	has := map[int64]bool{}
	for _, t := range in(done, stage, of) {
		has[t.Number] = true
	}
	for k := range of {
		if !has[k] {
			return 0, fmt.Errorf("%w: stage %d lacks task %d/%d", sharing.ErrUnfinished, stage, k, of)
		}
	}
	return of, nil
}

// Result is the result of a plan. Which member is set depends on the operation.
type Result struct {
	// Arrays are the reports of rechunks, in the order of [Plan.Arrays]. They are nil
	// for arrays that have the wanted grid already.
	Arrays []*rechunk.Report
	// Copy, Conversion and Check are the reports of these operations.
	Copy       *transfer.SyncReport
	Conversion *convert.Conversion
	Check      *Checked
	// Manifest is that of a scan.
	Manifest *Manifest
}

// Manifest is a manifest that was made, and what was found in the files.
type Manifest struct {
	*virtual.Manifest
	// Files is the number of files that were added, and Kept is how many of them tasks
	// have scanned.
	Files, Kept int
	// Refused are what was left out, by files.
	Refused []RefusedPart
	// Notes say what users should know. Summary is shorter ([virtual.Joined.Summary]).
	Notes, Summary []string
}

// RefusedPart is an array, or another part of a file, that was left out.
type RefusedPart struct {
	File, Path string
	Err        error
	Array      bool  // as in [virtual.Refusal]
	More       int64 // as in [virtual.Refusal]
}

// Record has the time, requests and bytes that a task has taken.
type Record struct {
	Task
	// Attempts is how often the task was begun. Attempts that have left neither a record
	// nor a claim are not counted.
	Attempts int `json:"attempts"`
	// Worker is the process that has done it.
	Worker  string  `json:"worker"`
	Seconds float64 `json:"seconds"`
	// Requests are those to stores, by their kind: "get", "put", "list" and so on. They
	// and the bytes are not known for scans of foreign files.
	Requests map[string]int64 `json:"requests"`
	// Read and Written are bytes.
	Read    int64 `json:"bytes_read"`
	Written int64 `json:"bytes_written"`
	// Arrays says what was done for each array of a plan of rechunks. It is nil for
	// arrays that have no such task, and is not stored.
	Arrays []*rechunk.Report `json:"-"`
}

// mostRecord bounds the bytes of a record.
const mostRecord = 1 << 16

// count sets the requests and bytes.
func (r *Record) count(s observe.Stats) {
	r.Requests = map[string]int64{}
	for op := range observe.Commit + 1 {
		if n := s.Of(op).Times; n > 0 {
			r.Requests[op.String()] = n
		}
	}
	r.Read, r.Written = s.Read.Bytes, s.Written.Bytes+s.Copied.Bytes
}

// add adds what earlier attempts have taken.
func (r *Record) add(was *Record) {
	r.Attempts += was.Attempts
	r.Seconds += was.Seconds
	r.Read += was.Read
	r.Written += was.Written
	for kind, n := range was.Requests {
		r.Requests[kind] += n
	}
}

// note stores the record of a task. If there is one already, the task was repeated. For
// rechunks it is no error that nothing can be kept beside the plan: the records are
// for the report, and what was done is in the store of the array.
func (w *Worker) note(ctx context.Context, r *Record) error {
	err := w.folder.open(ctx)
	if err == nil {
		err = w.putRecord(ctx, r)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case len(w.plan.Arrays) == 0: // the publication looks for the records
		return fmt.Errorf("the task is done, but its record beside the plan cannot be stored: %w", err)
	case !errors.Is(err, errNoFolder):
		w.tell(w.plan.Location, "the report will lack a task, whose record cannot be stored: "+err.Error())
	}
	return nil
}

// putRecord stores a record, to which it adds what earlier attempts have taken.
func (w *Worker) putRecord(ctx context.Context, of *Record) error {
	f, r := w.folder, new(*of)
	r.Requests = maps.Clone(of.Requests)
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	key := f.key(recordsDir, r.Task)
	_, err = store.Write(ctx, f.store, store.PutIf(key, raw, store.IfAbsent()), store.Flush)
	if !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrUnsupported) {
		return err
	}
	var was Record
	if _, err := f.get(ctx, recordsDir, r.Task, mostRecord, &was); err == nil {
		r.add(&was)
	}
	if raw, err = json.Marshal(r); err != nil {
		return err
	}
	_, err = store.Write(ctx, f.store, store.Put(key, raw), store.Flush)
	return err
}
