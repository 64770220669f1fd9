// SPDX-License-Identifier: Apache-2.0

package beam

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"
	"varve.dev/zarr"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/quantity"
)

func init() {
	register.DoFn3x0[context.Context, int64, func(int64)](new(divideFn))
	register.DoFn2x2[context.Context, int64, int64, error](new(taskFn))
	register.DoFn2x2[context.Context, int64, string, error](new(publishFn))
	register.Emitter1[int64]()
}

// Execute adds the stages of the plan at a location, and its publication, to a pipeline.
// It panics where [TryExecute] returns an error.
func Execute(s beam.Scope, plan string, opt Options) beam.PCollection {
	return beam.Must(TryExecute(context.Background(), s, plan, opt))
}

// TryExecute reads the plan at a location, and adds its stages and its publication to a
// pipeline. All workers must reach the location. The result has one string: the [Summary]
// of the publication as JSON.
//
// If there is no plan that can be executed, the error wraps [job.ErrPlan]. A plan whose
// arrays change in one transaction, or with files that are inserted, is
// [zarr.ErrUnsupported]: one process executes it (varve run).
func TryExecute(ctx context.Context, s beam.Scope, plan string, opt Options) (beam.PCollection, error) {
	none := beam.PCollection{}
	if opt.Tasks < 0 || opt.Tasks > job.MostTasks || opt.Attempts < 0 || opt.Patience < 0 {
		return none, fmt.Errorf("beam: %w: %s, %s, a patience of %v", zarr.ErrInvalidArgument, quantity.Count(opt.Tasks, "tasks"), quantity.Count(opt.Attempts, "attempts"), opt.Patience)
	}
	plan = absolute(plan)
	p, err := job.Open(ctx, plan)
	if err == nil {
		err = executable(p)
	}
	if err != nil {
		return none, fmt.Errorf("beam: %w", err)
	}
	s, how := s.Scope("varve"), newSpec(plan, p.ID, opt)
	done := beam.Create(s, int64(0)) // the tasks of the stage before
	for stage := range p.Stages() {
		s := s.Scope(fmt.Sprintf("stage%d", stage))
		of := Tasks(p, stage, opt.Tasks)
		tasks := beam.Reshuffle(s, beam.ParDo(s, &divideFn{Of: of}, done))
		done = stats.Sum(s, beam.ParDo(s, &taskFn{Spec: how, Stage: stage, Of: of}, tasks))
	}
	return beam.ParDo(s.Scope("publish"), &publishFn{Spec: how}, done), nil
}

// Tasks returns the number of tasks that a stage of a plan is divided into if want are
// wanted, or 0 for the default.
func Tasks(p *job.Plan, stage int, want int64) int64 {
	usual := int64(usualTasks)
	if p.Operation == "copy" || p.Operation == "convert" || p.Operation == "check" {
		usual = listingTasks
	}
	return max(1, min(cmp.Or(want, usual), p.Tasks(stage)))
}

// executable returns an error if only one process can execute a plan.
func executable(p *job.Plan) error {
	if p.Group != "" {
		return fmt.Errorf("%w: %s: its arrays change in one transaction, which one process executes: use varve run", zarr.ErrUnsupported, p.Location)
	}
	for _, a := range p.Arrays {
		if a.Operation == "insert" {
			return fmt.Errorf("%w: %s: workers cannot read the files of an insertion: use varve run", zarr.ErrUnsupported, p.Location)
		}
	}
	return nil
}

// absolute returns a location that does not depend on the working directory: workers have
// others.
func absolute(location string) string {
	if strings.Contains(location, "://") || filepath.IsAbs(location) {
		return location
	}
	if path, err := filepath.Abs(location); err == nil {
		return filepath.ToSlash(path)
	}
	return location
}

// divideFn emits the numbers of the tasks of a stage, when the one before is done.
type divideFn struct {
	Of int64
}

// ProcessElement emits the numbers. Its input is the number of tasks that the stage
// before had.
func (f *divideFn) ProcessElement(_ context.Context, _ int64, emit func(int64)) {
	for k := range f.Of {
		emit(k)
	}
}

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
	Options
}

// newSpec returns what workers need to know.
func newSpec(location, id string, opt Options) spec {
	opt.Attempts, opt.Patience = cmp.Or(opt.Attempts, usualAttempts), cmp.Or(opt.Patience, usualPatience)
	return spec{location, id, opt}
}

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
