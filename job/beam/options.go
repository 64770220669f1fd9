// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"cmp"
	"time"
)

// Options are the options of [Execute]. The zero value is usable.
type Options struct {
	// Tasks is the number of tasks that each stage is divided into; 0 is 1,000, or 64 for
	// a copy, a conversion or a check, each task of which lists all values. There are
	// never more than the plan has. Pipelines that continue a plan may divide it
	// differently.
	Tasks int64
	// Attempts is how often a worker tries a task, or the publication, until the bundle
	// fails; 0 is 3.
	Attempts int
	// Patience is how long the publication waits for workers that have not left yet; 0 is
	// 30 s.
	Patience time.Duration
	// Result, if not "", is a location where the [Summary] is stored as JSON. That of an
	// earlier publication of the plan stays, because a repeated one has less to tell.
	Result string
	// Ended says that all workers of earlier pipelines have ended, also those that were
	// killed. It permits to publish what they have left in a store without locks.
	Ended bool
	// Exact refuses a plan if an array has changed since it was made.
	Exact bool
}

// The defaults of [Options].
const (
	usualTasks    = 1000
	listingTasks  = 64 // of operations whose tasks list everything
	usualAttempts = 3
	usualPatience = 30 * time.Second
)

// spec says what workers execute, and how. It is JSON in the DoFns of a pipeline.
type spec struct {
	Location string
	ID       string // of the plan
	Attempts int
	Patience time.Duration
	Result   string
	Ended    bool
	Exact    bool
}

// newSpec returns what workers need to know.
func newSpec(location, id string, opt Options) spec {
	return spec{
		Location: location, ID: id, Result: opt.Result, Ended: opt.Ended, Exact: opt.Exact,
		Attempts: cmp.Or(opt.Attempts, usualAttempts), Patience: cmp.Or(opt.Patience, usualPatience),
	}
}
