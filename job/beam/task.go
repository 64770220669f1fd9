// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"context"
	"time"

	"varve.dev/zarr/internal/job"
)

// taskFn executes tasks of a stage.
type taskFn struct {
	Spec  spec
	Stage int
	Of    int64
}

// ProcessElement executes a task, and returns 1.
func (f *taskFn) ProcessElement(ctx context.Context, number int64) (int64, error) {
	began := time.Now()
	r, err := f.do(ctx, job.Task{Stage: f.Stage, Number: number, Of: f.Of})
	if err != nil {
		f.Spec.leave(ctx) // FinishBundle is not called for a bundle that fails
		return 0, err
	}
	count(ctx, r, time.Since(began))
	return 1, nil
}

func (f *taskFn) do(ctx context.Context, t job.Task) (r *job.Record, err error) {
	w, err := f.Spec.join(ctx)
	if err != nil {
		return nil, err
	}
	defer f.Spec.part(w)
	err = f.Spec.try(ctx, t.String(), func() (err error) {
		if err := fault("before", t); err != nil {
			return err
		}
		if r, err = w.Do(ctx, t); err != nil {
			return err
		}
		return fault("after", t)
	})
	return r, err
}

// FinishBundle lets others publish, before the engine knows that the tasks are done.
func (f *taskFn) FinishBundle(ctx context.Context) { f.Spec.leave(ctx) }
