// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"strconv"

	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/store"
)

// Each share that is done has a marker, an object that says so by its name. Whoever
// publishes can tell a share that nobody has executed from chunks that have changed
// since.
const markersDir = "done/"

// lastStage is how the names of markers begin for the last stage, which may have another
// number once the array has grown.
const lastStage = "last"

// marker returns the name of the marker of a share in a plan.
func (p Share) marker(plan *blocks.Plan) string {
	stage := lastStage
	if p.Stage < len(plan.Stages)-1 {
		stage = strconv.Itoa(p.Stage)
	}
	return fmt.Sprintf("%s-%d-%d", stage, max(1, p.Of), p.Task)
}

// markers returns the directory of the markers.
func (w *work) markers() store.Path {
	return recordsOf(w.at, w.claim.ID).MustKey(markersDir + "-").Dir()
}

// mark notes that a share is done.
func (w *sharedWork) mark(ctx context.Context, share Share) error {
	_, err := store.Put(ctx, w.at.Store, w.markers().MustKey(share.marker(w.plan)), []byte("{}"), w.Node.Durability)
	return err
}

// isMarked reports whether a share was done.
func (w *sharedWork) isMarked(ctx context.Context, share Share) (bool, error) {
	return store.Exists(ctx, w.at.Store, w.markers().MustKey(share.marker(w.plan)))
}

// marked returns the names of the markers.
func (w *work) marked(ctx context.Context) (map[string]struct{}, error) {
	names, err := namesIn(ctx, w.at.Store, w.markers(), false)
	done := make(map[string]struct{}, len(names))
	for _, name := range names {
		done[name] = struct{}{}
	}
	return done, err
}

// checkDone returns an error unless all shares of the last stage are done.
func (w *work) checkDone(ctx context.Context, plan *blocks.Plan) error {
	names, err := w.marked(ctx)
	if err != nil {
		return err
	}
	best, tasks := int64(0), map[int64]map[int64]bool{}
	for name := range names {
		var of, task int64
		if n, err := fmt.Sscanf(name, lastStage+"-%d-%d", &of, &task); n < 2 || err != nil {
			continue
		}
		if tasks[of] == nil {
			tasks[of] = map[int64]bool{}
		}
		tasks[of][task] = true
	}
	for of, done := range tasks {
		if int64(len(done)) == of {
			return nil
		}
		if len(done) > len(tasks[best]) {
			best = of
		}
	}
	stage := len(plan.Stages) - 1
	if best == 0 {
		return fmt.Errorf("%w: no task of stage %d is done", ErrUnfinished, stage)
	}
	missing := int64(0)
	for tasks[best][missing] {
		missing++
	}
	return fmt.Errorf("%w: stage %d lacks task %d/%d", ErrUnfinished, stage, missing, best)
}
