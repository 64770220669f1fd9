// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/archive"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

// rechunking executes the rechunks of arrays.
type rechunking struct {
	arrays []*rechunked
}

// rechunked is one array of a plan.
type rechunked struct {
	*Work
	request rechunk.Request
	opened  *openArray // nil if it is not open
	whole   bool       // one process does it all
}

// openArray is an array that is open, and what belongs to it.
type openArray struct {
	array   *zarr.Array
	opt     rechunk.Options
	request rechunk.Request
	inputs  io.Closer                     // may be nil
	tasks   sharing.Tasks[rechunk.Report] // nil before the first one
	done    bool                          // a new archive is complete
}

func newRechunking(p *Plan) (operation, error) {
	r := new(rechunking)
	for i, w := range p.Arrays {
		request, err := rechunk.ParseRequest(w.Operation, w.Request)
		if err != nil {
			return nil, fmt.Errorf("/arrays/%d: %w", i, err)
		}
		r.arrays = append(r.arrays, &rechunked{Work: w, request: request})
	}
	return r, nil
}

func (r *rechunking) do(ctx context.Context, w *Worker, t Task, record *Record) error {
	record.Arrays = make([]*rechunk.Report, len(r.arrays))
	for i, a := range r.arrays {
		if !a.Changed || t.Stage >= a.stages() {
			continue // it has fewer stages
		}
		var err error
		if record.Arrays[i], err = a.do(ctx, w, t); a.isPublished(ctx, w, err) {
			record.Arrays[i], err = new(rechunk.Report), nil // the task comes late
		}
		if err != nil {
			return a.fail(err)
		}
	}
	return nil
}

func (a *rechunked) do(ctx context.Context, w *Worker, t Task) (*rechunk.Report, error) {
	o, err := a.open(ctx, w)
	if err != nil {
		return nil, err
	}
	if o.tasks == nil {
		if o.tasks, err = rechunk.Tasks(o.array, o.request, &o.opt); err != nil {
			return nil, err
		}
	}
	return o.tasks.Do(ctx, sharing.Share{Stage: t.Stage, Task: t.Number, Of: t.Of})
}

// isPublished reports whether err means that the target exists because it is published:
// an array of the same shape and type, with the wanted chunks.
func (a *rechunked) isPublished(ctx context.Context, w *Worker, err error) bool {
	if a.Target == nil || !errors.Is(err, fs.ErrExist) {
		return false
	}
	access := w.opt.Access
	access.Write = false
	is, err := zarr.OpenArray(ctx, *a.Target, &access)
	if err != nil {
		return false
	}
	defer is.Close()
	of, err := zarr.OpenArray(ctx, a.Node, &access)
	if err != nil {
		return false
	}
	defer of.Close()
	return a.isDone(ctx, is, nil) && slices.Equal(is.Shape(), of.Shape()) && is.Type().Name() == of.Type().Name()
}

// fail returns an error that names the operation and the node.
func (w *Work) fail(err error) error {
	var e *zarr.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &zarr.Error{Op: w.Operation, Path: w.Node, Axis: -1, Err: err}
}

// open opens the array, its inputs and its destination, unless they are open.
func (a *rechunked) open(ctx context.Context, w *Worker) (*openArray, error) {
	if a.opened != nil {
		return a.opened, nil
	}
	access := w.opt.Access
	access.Write, access.SingleWriter = a.Target == nil, w.opt.SingleWriter
	array, err := zarr.OpenArray(ctx, a.Node, &access)
	if err != nil {
		return nil, err
	}
	o := &openArray{array: array, request: a.request}
	o.opt = rechunk.Options{Memory: a.Memory, TakeOver: w.opt.TakeOver || w.opt.SingleWriter, Progress: w.opt.Progress}
	if err := o.complete(ctx, w, a); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	a.opened = o
	return o, nil
}

// complete opens what belongs to an array.
func (o *openArray) complete(ctx context.Context, w *Worker, a *rechunked) (err error) {
	if insertion, is := a.request.(rechunk.Insertion); is {
		if w.opt.Load == nil {
			return fmt.Errorf("%w: the files of an insertion cannot be read here; varve run executes the plan", zarr.ErrUnsupported)
		}
		if o.request, o.inputs, err = loaded(w.opt.Load(ctx, a.Work, o.array, insertion)); err != nil {
			return err
		}
	}
	if a.Target != nil {
		if o.opt.Into, err = w.locate(ctx, *a.Target, store.Create); err != nil {
			return err
		}
		if o.makesArchive() && !a.whole {
			return fmt.Errorf("%w: %s: a zip archive is written by one process", zarr.ErrUnsupported, *a.Target)
		}
	}
	return a.NoteChanges(ctx, o.array, &o.opt, &w.opt)
}

// makesArchive reports whether the array is made in a new zip archive.
func (o *openArray) makesArchive() bool {
	return o.opt.Into != nil && archive.IsNew(o.opt.Into.Store())
}

// loaded returns an insertion as a request.
func loaded(r rechunk.Insertion, c io.Closer, err error) (rechunk.Request, io.Closer, error) {
	return r, c, err
}

// NoteChanges tells by Options.Note if an array has changed since the plan was made. With
// Options.Exact that is an error that wraps [zarr.ErrConflict]. how has the destination,
// if there is one, and may be nil.
func (w *Work) NoteChanges(ctx context.Context, a *zarr.Array, how *rechunk.Options, opt *Options) error {
	if w.Source.Document == "" {
		if opt.Exact {
			return fmt.Errorf("%w: the plan does not say what it was made from, so it cannot be executed exactly", zarr.ErrInvalidArgument)
		}
		return nil
	}
	changes, err := w.Source.Changes(ctx, a, w.Fingerprint, how)
	switch {
	case err != nil || changes == "":
		return err
	case opt.Exact:
		return fmt.Errorf("%w: it has changed since the plan was made: %s; make the plan again, or do not ask for an exact one", zarr.ErrConflict, changes)
	case opt.Note == nil || w.isDone(ctx, a, how):
		return nil
	}
	opt.Note(w.Node, "it has changed since the plan was made: "+changes+"; the plan is computed again")
	return nil
}

// isDone reports whether an array has the wanted grid, as after the publication.
func (w *Work) isDone(ctx context.Context, a *zarr.Array, how *rechunk.Options) bool {
	request, err := rechunk.ParseRequest(w.Operation, w.Request)
	if err != nil {
		return false
	}
	tasks, err := rechunk.Tasks(a, request, how)
	if err != nil {
		return false
	}
	needed, err := tasks.Needed(ctx)
	return err == nil && !needed
}

// Close closes the array and what belongs to it. An archive that is not complete is
// discarded.
func (o *openArray) Close() error {
	errs := []error{}
	if o.makesArchive() && !o.done {
		errs = append(errs, zipstore.Discard(o.opt.Into.Store()))
		o.opt.Into = nil
	}
	if o.tasks != nil {
		errs = append(errs, o.tasks.Leave())
	}
	if o.inputs != nil {
		errs = append(errs, o.inputs.Close())
	}
	if o.opt.Into != nil {
		errs = append(errs, store.Close(o.opt.Into.Store()))
	}
	return errors.Join(append(errs, o.array.Close())...)
}

func (r *rechunking) leave() (err error) {
	for _, a := range r.arrays {
		if a.opened != nil && a.opened.tasks != nil {
			err = errors.Join(err, a.opened.tasks.Leave())
		}
	}
	return err
}

func (r *rechunking) publish(ctx context.Context, w *Worker, whole bool) (*Result, error) {
	all := &Result{Arrays: make([]*rechunk.Report, len(r.arrays))}
	for i, a := range r.arrays {
		if !a.Changed {
			continue
		}
		a.whole = whole
		var err error
		if all.Arrays[i], err = a.publish(ctx, w); a.isPublished(ctx, w, err) {
			all.Arrays[i], err = new(rechunk.Report), nil
		}
		if err != nil {
			return all, a.fail(err)
		}
	}
	return all, nil
}

// publish publishes one array, and closes it.
func (a *rechunked) publish(ctx context.Context, w *Worker) (report *rechunk.Report, err error) {
	o, err := a.open(ctx, w)
	if err != nil {
		return nil, err
	}
	o.opt.Batch = w.plan.batch()
	if a.whole {
		report, err = rechunk.Do(ctx, o.array, o.request, &o.opt)
	} else {
		var tasks sharing.Tasks[rechunk.Report]
		if tasks, err = rechunk.Tasks(o.array, o.request, &o.opt); err == nil {
			report, err = tasks.Publish(ctx)
		}
	}
	a.opened, o.done = nil, err == nil
	return report, errors.Join(err, o.Close())
}

// batch names the rechunks of a plan with several arrays, so that they can be
// reverted together.
func (p *Plan) batch() string {
	if len(p.Arrays) < 2 {
		return ""
	}
	return p.ID
}

// Close closes all arrays.
func (r *rechunking) Close() (err error) {
	for _, a := range r.arrays {
		if a.opened != nil {
			err = errors.Join(err, a.opened.Close())
			a.opened = nil
		}
	}
	return err
}
