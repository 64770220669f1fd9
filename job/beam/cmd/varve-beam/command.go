// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/quantity"
	varvebeam "varve.dev/zarr/job/beam"
)

// command is the command line.
type command struct {
	plan     string
	opt      varvebeam.Options
	workers  int
	json     bool
	keep     bool
	verbose  bool
	progress time.Duration
	pool     string // an address
}

const usage = `Usage: varve-beam PLAN [FLAGS] [-- FLAGS OF BEAM]

       varve-beam --worker-pool PORT

Varve-beam executes PLAN, which a command of varve wrote with --plan, on Apache Beam. Without
flags of Beam that is Prism, in this process. The workers of an engine need PLAN, its arrays
and their credentials at the same locations as this command.

  varve-beam p.json
  varve-beam /shared/p.json -- --runner=universal --endpoint=127.0.0.1:8099 \
    --environment_type=EXTERNAL --environment_config=localhost:15001
  varve-beam s3://bucket/p.json -- --runner=dataflow --project=P --region=R --staging_location=gs://B/S

If the pipeline fails, the same command continues where it was.

Flags:
`

// parse parses the arguments. What follows "--" is for Beam.
func parse(args []string, notes io.Writer) (*command, error) {
	var forBeam []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, forBeam = args[:i], args[i+1:]
	}
	c := new(command)
	f := c.flags(notes)
	var plans []string
	for len(args) > 0 { // package flag stops at the plan
		if err := f.Parse(args); err != nil {
			return nil, wrongUsage(err)
		}
		if args = f.Args(); len(args) > 0 {
			plans, args = append(plans, args[0]), args[1:]
		}
	}
	switch {
	case c.pool != "" && len(plans) == 0:
		return c, nil
	case c.pool != "":
		return nil, fmt.Errorf("%w: --worker-pool takes no plan", errUsage)
	case len(plans) != 1:
		return nil, fmt.Errorf("%w: %s given, want one", errUsage, quantity.Count(len(plans), "plans are"))
	case c.workers < 1 || c.opt.Tasks < 0 || c.opt.Attempts < 0 || c.opt.Patience < 0 || c.progress < 0:
		return nil, fmt.Errorf("%w: a number below 0, or no worker", errUsage)
	}
	c.plan = plans[0]
	flag.CommandLine.Init("", flag.ContinueOnError)
	flag.CommandLine.SetOutput(notes)
	if err := flag.CommandLine.Parse(forBeam); err != nil {
		return nil, wrongUsage(fmt.Errorf("after --: %w", err))
	}
	if rest := flag.Args(); len(rest) > 0 {
		return nil, fmt.Errorf("%w: after --: %q is no flag of Beam", errUsage, rest[0])
	}
	return c, nil
}

func wrongUsage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return fmt.Errorf("%w: %w", errUsage, err)
}

func (c *command) flags(notes io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet("varve-beam", flag.ContinueOnError)
	f.SetOutput(notes)
	f.Usage = func() {
		fmt.Fprint(notes, usage)
		f.PrintDefaults()
	}
	f.Int64Var(&c.opt.Tasks, "tasks", 0, "divide each stage into `N` tasks (by default 1,000, or 64 for a copy, a conversion or a check, or as many as there are)")
	f.IntVar(&c.workers, "workers", runtime.NumCPU(), "the `NUMBER` of workers, for engines that need it (--parallelism)")
	f.IntVar(&c.opt.Attempts, "attempts", 0, "try a task `N` times in its worker (3 by default)")
	f.DurationVar(&c.opt.Patience, "patience", 0, "the publication waits this `TIME` for workers to leave (30s by default)")
	f.BoolVar(&c.opt.Ended, "ended", false, "all workers of earlier pipelines have ended, also if some were killed: permits to publish in a store without locks")
	f.BoolVar(&c.opt.Exact, "exact", false, "refuse the plan if an array has changed since it was made")
	f.BoolVar(&c.json, "json", false, "print the result and the report as JSON")
	f.BoolVar(&c.keep, "keep", false, "keep the records of tasks beside the plan")
	f.BoolVar(&c.verbose, "verbose", false, "print what Beam logs")
	f.DurationVar(&c.progress, "progress", 10*time.Second, "print every `TIME` how many tasks are done; 0 is never")
	f.StringVar(&c.pool, "worker-pool", "", "serve workers on this `PORT` of the loopback address, or HOST:PORT, for --environment_type=EXTERNAL")
	return f
}

// execute executes the plan, and prints the report.
func (c *command) execute(ctx context.Context, out, notes io.Writer) error {
	beam.Init()
	quiet(c.verbose)
	undo, err := prepare(ctx, c.workers)
	if err != nil {
		return err
	}
	defer undo()
	c.opt.Result = beside(c.plan, resultSuffix)
	pipeline, s := beam.NewPipelineWithRoot()
	if _, err := varvebeam.TryExecute(ctx, s, c.plan, c.opt); err != nil {
		return err
	}
	plan, err := job.Open(ctx, c.plan)
	if err != nil {
		return err
	}
	w, err := job.NewWorker(plan, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	stop := c.watch(ctx, w, notes)
	result, err := beamx.RunWithMetrics(ctx, pipeline)
	stop()
	if err != nil {
		c.explain(ctx, w, notes)
		return err
	}
	return c.finish(ctx, w, result, out, notes)
}

// explain says how far a pipeline came that has failed.
func (c *command) explain(ctx context.Context, w *job.Worker, notes io.Writer) {
	if s, err := w.Status(context.WithoutCancel(ctx)); err == nil {
		fmt.Fprintf(notes, "the pipeline has failed: %s; the same command continues\n", progressText(s))
	}
}

// resultSuffix is what the name of the result has, after that of the plan.
const resultSuffix = ".result"

// beside returns the location of a file beside that of the plan.
func beside(plan, suffix string) string {
	if !strings.Contains(plan, "://") {
		return plan + suffix
	}
	at, query, has := strings.Cut(plan, "?")
	if at += suffix; has {
		at += "?" + query
	}
	return at
}

// watch prints how many tasks are done, until stop is called. It reads the records beside
// the plan, so it takes breaks that are long beside the time of that.
func (c *command) watch(ctx context.Context, w *job.Worker, notes io.Writer) (stop func()) {
	if c.progress == 0 {
		return func() {}
	}
	within, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		was, pause := "", c.progress
		for lease.Sleep(within, pause) == nil {
			began := time.Now()
			s, err := w.Status(within)
			if err != nil {
				continue // it is only a note
			}
			if text := progressText(s); text != was {
				fmt.Fprintln(notes, text)
				was = text
			}
			pause = max(c.progress, 20*time.Since(began))
		}
	})
	return func() { cancel(); running.Wait() }
}

// progressText says how many tasks are done.
func progressText(s *job.Status) string {
	var list []string
	for k, x := range s.Stages {
		if x.Of > 0 {
			list = append(list, fmt.Sprintf("stage %d: %d of %d done", k, x.Done, x.Of))
		}
	}
	if list == nil {
		return "no task is done"
	}
	return strings.Join(list, ", ")
}
