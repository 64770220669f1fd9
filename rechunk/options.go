// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/blocks"
	"varve.dev/zarr/internal/budget"
)

// Options are the options of rechunking. A nil *Options is the zero value.
type Options struct {
	// Memory bounds the bytes of elements and chunks that are held at once. If a chunk
	// of the new grid needs more, the error wraps [zarr.ErrLimit] and says how much
	// suffices. 0 is 512 MiB, or a quarter of the memory limit of the process if that is
	// less, and more if a single chunk needs it.
	//
	// By default, the garbage collector lets the heap of a program grow to twice what it
	// holds. A program that must stay near Memory sets a limit a little above it with
	// runtime/debug.SetMemoryLimit, as the command varve does.
	Memory int64
	// TakeOver resumes a rechunk of another process in a store without locks, or gives
	// it up for another request, at once. Without it, that happens when the other
	// process has not renewed its lease for a minute; what several processes share has
	// none. Set it only if that process has ended: a process that still runs may
	// overwrite chunks that are written after the rechunk is published.
	TakeOver bool
	// Batch is a name that calls for several arrays share, so that [RevertAll] can revert
	// all of them. It is not used by [DoAll], whose arrays share one anyway.
	Batch string
	// Progress, if not nil, is called after every task, one call at a time.
	Progress func(Progress)

	// Grace, if not 0, makes the rechunk vacuum the array first, as [Vacuum] with
	// this grace does: superseded grids go that are older, and their chunk keys are free
	// again. A negative value is no grace. Then readers that opened the array before find
	// no chunks of the grid that they know, and nothing can show that no such reader is
	// left. If chunks need not be stored, nothing is vacuumed. [Follow] vacuums the array
	// that follows. A new array has nothing to vacuum, so elsewhere Into excludes Grace.
	// What only this process reads, such as a session of Icechunk, is vacuumed without
	// grace if chunk keys are needed.
	Grace time.Duration

	// Into is the place of a new array that gets the result. The array itself stays, and
	// need not be open for writing. Nil rechunks in place.
	Into *zarr.Location

	// planning replaces the costs by which stages are planned, in tests.
	planning *blocks.Options
}

// Progress counts what a rechunk has done.
type Progress struct {
	Stage, Stages int   // from 1 on
	Done, Total   int64 // chunks of the new grid or, before the last stage, scratch objects
}

// defaultMemory is the default of [Options.Memory].
const defaultMemory = 512 << 20

func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// memory returns the bytes that may be held.
func (o Options) memory() int64 { return cmp.Or(o.Memory, min(defaultMemory, 4*budget.Most())) }

// Parts of the memory. Two tasks run at once, so that one reads while the other writes.
const tasks = 2

// block returns the bytes of the elements of one task.
func (o Options) block() int64 { return max(1, o.memory()/(2*tasks)) }

// engine returns the budget of reading or writing the elements of one task.
func (o Options) engine() int64 { return max(1, o.memory()/(4*tasks)) }

// progress counts what one stage has stored.
type progress struct {
	mu     sync.Mutex
	state  Progress
	report func(Progress) // may be nil
}

// progress begins to count a stage that has all objects but some.
func (o Options) progress(stage, stages, all, missing int) *progress {
	now := Progress{Stage: stage, Stages: stages, Done: int64(max(0, all-missing)), Total: int64(all)}
	return &progress{state: now, report: o.Progress}
}

// add counts the objects of a box.
func (p *progress) add(box grid.Box) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, _ := box.Len()
	p.state.Done = min(p.state.Done+n, p.state.Total)
	if p.report != nil {
		p.report(p.state)
	}
}
