// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr/rechunk"
)

// checkDone returns an error that wraps [rechunk.ErrUnfinished] unless there are records
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
		return 0, fmt.Errorf("%w: no task of stage %d is done", rechunk.ErrUnfinished, stage)
	}
	has := map[int64]bool{}
	for _, t := range in(done, stage, of) {
		has[t.Number] = true
	}
	for k := range of {
		if !has[k] {
			return 0, fmt.Errorf("%w: stage %d lacks task %d/%d", rechunk.ErrUnfinished, stage, k, of)
		}
	}
	return of, nil
}
