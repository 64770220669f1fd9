// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// Record says what the execution of a task has taken.
type Record struct {
	Task
	// Attempts is how often the task was begun, as far as is known.
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
	for _, op := range observe.Ops() {
		if n := s.Of(op).Times; n > 0 && op.IsRequest() {
			r.Requests[op.String()] = n
		}
	}
	r.Read, r.Written = s.Read().Bytes, s.Written().Bytes+s.Copied().Bytes
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
	case len(w.plan.Arrays) == 0: // whoever publishes looks for the records
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
	_, err = store.PutIf(ctx, f.store, key, raw, store.IfAbsent(), store.Flush)
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
	_, err = store.Put(ctx, f.store, key, raw, store.Flush)
	return err
}
