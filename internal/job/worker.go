// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/observed"
)

// Options are the options of a [Worker]. A nil *Options is the zero value.
type Options struct {
	// Access has limits, permissions and the observer of nodes.
	Access zarr.Options
	// TakeOver permits to publish in a store without locks. Set it only if all processes
	// that executed tasks have ended; see [rechunk.Options].
	TakeOver bool
	// SingleWriter is that of [zarr.Options], for nodes that are changed.
	SingleWriter bool
	// Exact refuses arrays that have changed since the plan was made. Without it,
	// Note is told.
	Exact bool
	// Note, if not nil, is called with what users should know about a node.
	Note func(node, text string)
	// Progress, if not nil, is called for parts of a task, one call at a time.
	Progress func(rechunk.Progress)
	// Load completes an insertion with the elements of its files, or of what the plan
	// has as inputs. The closer may be nil. Without Load, a plan with an insertion is
	// refused.
	Load func(ctx context.Context, w *Work, a *zarr.Array, r rechunk.Insertion) (rechunk.Insertion, io.Closer, error)
}

// operation executes the work of a plan.
type operation interface {
	// do executes a task, and may add to its record. It does nothing for what is done.
	do(ctx context.Context, w *Worker, t Task, r *Record) error
	// leave lets another process publish.
	leave() error
	// publish makes the result visible. Unless whole is set, all tasks must be done.
	publish(ctx context.Context, w *Worker, whole bool) (*Result, error)
	io.Closer
}

// Worker executes tasks of a plan, one after the other: each uses all cores. Its methods
// may be called by several goroutines.
type Worker struct {
	plan    *Plan
	opt     Options
	op      operation
	counter observe.Counter
	folder  *folder // nil if the plan was not read from a place

	mu sync.Mutex // held by a task
}

// NewWorker returns a worker. Nothing is opened before the first task.
func NewWorker(p *Plan, opt *Options) (*Worker, error) {
	w := &Worker{plan: p}
	if opt != nil {
		w.opt = *opt
	}
	var err error
	if w.op, err = p.newOperation(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPlan, err)
	}
	if w.opt.Access.Observer = observe.All(&w.counter, w.opt.Access.Observer); p.Location != "" {
		w.folder = newFolder(p)
	}
	return w, nil
}

// Plan returns the plan of the worker.
func (w *Worker) Plan() *Plan { return w.plan }

// Do executes a task. What is done already is not done again, unless what it was made
// from has changed. If a task of an earlier stage is not done, the error wraps
// [sharing.ErrUnfinished].
//
// Nobody can publish until Leave or Close is called.
func (w *Worker) Do(ctx context.Context, t Task) (*Record, error) {
	r, err := w.do(ctx, t)
	if err != nil {
		return nil, err
	}
	return r, w.note(ctx, r)
}

// errTogether means that the arrays of a group change in one transaction.
var errTogether = fmt.Errorf("%w: the arrays change in one transaction, which one process executes", zarr.ErrUnsupported)

// do executes a task, and returns its record.
func (w *Worker) do(ctx context.Context, t Task) (*Record, error) {
	if w.plan.Group != "" {
		return nil, errTogether
	}
	if err := t.check(w.plan.Stages()); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	began, was := time.Now(), w.counter.Stats()
	r := &Record{Task: t, Attempts: 1, Worker: ownName()}
	if err := w.op.do(ctx, w, t, r); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	r.count(w.counter.Stats().Sub(was))
	return r, nil
}

// Leave lets other processes publish, until the next task.
func (w *Worker) Leave() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.op.leave()
}

// Publish makes the result visible, when all tasks are done, by any processes. It may be
// called twice: the second call finds that there is nothing to do. If a task is not done,
// the error wraps [sharing.ErrUnfinished].
//
// Call it when all processes have ended. If one still executes a task of a rechunk,
// the error wraps [rechunk.ErrClaimed]. Other operations do not notice: a copy may then
// get older values.
func (w *Worker) Publish(ctx context.Context) (*Result, error) { return w.finish(ctx, false) }

// Run does all that is left of the plan, alone.
func (w *Worker) Run(ctx context.Context) (*Result, error) { return w.finish(ctx, true) }

func (w *Worker) finish(ctx context.Context, whole bool) (*Result, error) {
	if w.plan.Group != "" {
		return nil, errTogether
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.op.leave(); err != nil {
		return nil, err
	}
	return w.op.publish(ctx, w, whole)
}

// Close closes the stores and nodes that the worker has opened.
func (w *Worker) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.op.leave(), w.op.Close(), w.folder.Close())
}

// tell tells users about a node.
func (w *Worker) tell(node, text string) {
	if w.opt.Note != nil {
		w.opt.Note(node, text)
	}
}

// locate opens a place whose requests are counted.
func (w *Worker) locate(ctx context.Context, location string, access store.Access) (*zarr.Location, error) {
	at, err := zarr.Locate(ctx, location, access)
	if err != nil {
		return nil, err
	}
	return zarr.At(observed.New(at.Store(), w.opt.Access.Observer), at.Path()), nil
}

// progress reports how far a task is.
func (w *Worker) progress(done, total int64) {
	if w.opt.Progress != nil {
		w.opt.Progress(rechunk.Progress{Stage: 1, Stages: 1, Done: done, Total: total})
	}
}
