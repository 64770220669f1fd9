// SPDX-License-Identifier: Apache-2.0

// Package sharing is how package job executes the tasks of a rechunk that several
// processes share. Package rechunk does the work ([varve.dev/zarr/rechunk.Tasks]).
package sharing

import (
	"context"

	"varve.dev/zarr"
)

// Share is a part of the tasks of a stage: those of one of several processes that execute
// a plan together. See [varve.dev/zarr/rechunk.Plan.Stages].
type Share struct {
	// Stage counts from 0.
	Stage int
	// Task and Of say which of how many equal parts of the tasks, from 0 on. Of 0 is all
	// tasks.
	Task, Of int64
}

// ErrUnfinished means that an earlier stage of a plan is not complete. To try the change
// again does not help.
var ErrUnfinished error = unfinished{}

// unfinished is the type of [ErrUnfinished].
type unfinished struct{}

func (unfinished) Error() string { return "an earlier stage is not complete" }

// Is reports whether target is [zarr.ErrConflict].
func (unfinished) Is(target error) bool { return target == zarr.ErrConflict }

// Final implements Final of package publish.
func (unfinished) Final() {}

// Tasks executes shares of a rechunk, one after the other, which several processes may do
// at once, on several machines. Tasks that are done already are not repeated, unless what
// they were made from has changed. When all stages are complete, Publish makes the result
// visible. All processes need the same request and the same memory, which may not be 0:
// the stages follow from them.
//
// Tasks list the stored chunks once for each stage, not once for each share, so a process
// may execute many small shares. Several goroutines may use them. Their shares run one
// after the other, because each uses all cores.
//
// From the first share on, nobody can publish until Leave is called.
//
// R is the type of reports of package rechunk, which imports this one.
type Tasks[R any] interface {
	// Needed reports whether the rechunk would change the array. It reads the document
	// and lists nothing. A new array is always needed, and so is what a removal or an
	// insertion of planes does.
	Needed(ctx context.Context) (bool, error)
	// Do executes a share, unless another process has done so. The report says what was
	// done for this share. If an earlier stage is not complete, the error wraps
	// [ErrUnfinished] and names a task. If the array has the wanted grid already, as
	// after Publish, there is nothing to do.
	Do(ctx context.Context, s Share) (*R, error)
	// Leave lets others publish. Another share may follow: then this process joins again.
	// After an error, call it again.
	Leave() error
	// Publish makes the result of the stages visible, as a rechunk by one process does.
	// It makes again the few chunks whose sources have changed since. If other processes
	// still execute tasks, the error wraps [varve.dev/zarr/rechunk.ErrClaimed]; in a
	// store without locks, also if such a process has died, unless the options take over.
	// If a stage is not complete, the error wraps [ErrUnfinished].
	Publish(ctx context.Context) (*R, error)
}
