// SPDX-License-Identifier: Apache-2.0

// Package running has the command run, which executes the plans of other commands, also
// together with other processes or by a runner.
package running

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/checking"
	"varve.dev/zarr/cmd/varve/internal/copying"
	"varve.dev/zarr/cmd/varve/internal/cost"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/flagtext"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/rechunking"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/virtualizing"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// running is the command run.
type running struct {
	stage        int
	task         string
	take         int64
	lease        time.Duration
	publish      bool
	status       bool
	dry          bool // is status, whatever part of the work is asked for
	shared       bool // only a part is executed
	exact        bool
	singleWriter bool
	ended        bool // whoever executed a part
	script       string
	tasks        int
	image        string
	runner       string
}

// usualTaken is the value of --take without a number. All processes must have the same.
const usualTaken = "100"

// NewRun returns the command run.
func NewRun() *cobra.Command {
	c := &cobra.Command{
		Use:   "run PLAN",
		Short: "Execute a plan of another command, whole or in parts",
		Long: `Execute a plan that varve compact, regularize, rechunk, drop, insert, copy, convert, check or
virtualize wrote to a file. Without flags this does all of it.

Several processes, on several machines, can share the work: with --take each takes tasks until none
is left, and with --stage and --task it executes a fixed part. --publish then makes the result
visible.`,
		Example: `  varve run p.json --take &
  varve run p.json --publish
  varve run p.json --stage 0 --task 17/400
  varve run /shared/p.json --script slurm --tasks 400 >job.sh
  varve run s3://bucket/p.json --runner beam -- --runner flink`,
		Args: runnerArguments,
	}
	r := new(running)
	f := c.Flags()
	r.runnerFlag(c)
	f.IntVar(&r.stage, "stage", 0, "execute only this `STAGE`, which counts from 0")
	f.StringVar(&r.task, "task", "", "execute only part K of N, as `K/N`; K counts from 0, and auto is that of the job of an array")
	f.Int64Var(&r.take, "take", 0, "divide each stage into `N` tasks, or 100 without a number, and take one after the other that no other process has taken, until none is left")
	f.Lookup("take").NoOptDefVal = usualTaken
	flagtext.Duration(f, &r.lease, "lease", time.Minute, "with --take, take over the task of a process that has not shown for this `TIME` that it works")
	f.BoolVar(&r.status, "status", false, "execute nothing, and print how far the tasks are")
	f.BoolVar(&r.dry, "dry-run", false, "change nothing, and print what --status prints")
	f.BoolVar(&r.publish, "publish", false, "make the result visible, when all stages are done")
	f.BoolVar(&r.exact, "exact", false, "refuse the plan if an array has changed since it was made")
	f.BoolVar(&r.singleWriter, "single-writer", false, "permit the change in a store without locks, also if a process that executed a part may have died")
	f.BoolVar(&r.ended, "ended", false, "the processes that executed parts have ended, also if some were killed: permits --publish in a store without locks")
	f.StringVar(&r.script, "script", "", "print a script for `SCHEDULER`, and execute nothing: slurm, kubernetes or aws-batch")
	f.IntVar(&r.tasks, "tasks", 64, "a script, or --runner beam, executes each stage in `N` tasks")
	f.StringVar(&r.image, "image", "", "the container `IMAGE` with varve, for --script kubernetes")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r.shared = f.Changed("stage") || r.task != ""
		if r.dry && r.script == "" {
			r.status, r.shared, r.publish, r.take, r.runner = true, false, false, 0, ""
		}
		if r.runner == beamRunner {
			if err := r.check(cmd, args[0]); err != nil {
				return err
			}
			if plan, _, err := rechunking.ReadPlan(cmd, args[0]); err == nil && changesRepository(plan) {
				return oneProcess(args[0])
			}
			return r.runBeam(cmd, args[0], args[1:])
		}
		return r.run(cmd, args[0])
	}
	return c
}

func (r *running) run(cmd *cobra.Command, file string) error {
	if err := r.check(cmd, file); err != nil {
		return err
	}
	task, err := r.part()
	if err != nil {
		return err
	}
	plan, f, err := rechunking.ReadPlan(cmd, file)
	switch {
	case err != nil:
		return err
	case changesRepository(plan) && (r.publish || r.shared || r.take > 0 || r.script != ""):
		return oneProcess(file)
	case r.script != "":
		return r.writeScript(cmd.OutOrStdout(), file, plan)
	case plan.Group != "" && (r.publish || r.shared || r.take > 0):
		return failure.BadArgument("%s: its arrays change in one transaction, which one process executes: leave out --stage, --task, --take and --publish", file)
	case plan.Group != "" && !r.status:
		return r.runTogether(cmd, plan, f)
	}
	defer cost.LimitHeap(plan.PeakMemory())()
	opt := r.workerOptions(cmd, f)
	if f != nil && r.take == 0 && !r.status {
		lines := rechunking.NewStageLines(cmd)
		defer lines.End()
		opt.Progress = lines.Reach
	}
	w, err := job.NewWorker(plan, opt)
	if err != nil {
		return err
	}
	defer w.Close()
	switch {
	case r.status:
		return r.printStatus(cmd, w)
	case r.take > 0:
		return r.runTaking(cmd, w)
	case r.shared:
		return r.runTask(cmd, w, f, task)
	}
	return r.finish(cmd, w, plan, f)
}

// changesRepository reports whether a plan writes into a repository of Icechunk. There is
// no place in it for the records of tasks and for chunks without an array.
func changesRepository(plan *job.Plan) bool {
	for _, w := range append([]*job.Work{&plan.Work}, plan.Arrays...) {
		to := w.Node
		if w.Target != nil {
			to = *w.Target
		}
		if node.IsRepository(to) && w.Operation != "check" {
			return true
		}
	}
	return false
}

// oneProcess is the error for parts of a plan that writes into a repository.
func oneProcess(file string) error {
	return failure.BadArgument("a plan that writes into a repository of Icechunk runs in one process, which makes one commit: varve run %s", phrase.Word(file))
}

// check refuses flags that contradict each other.
func (r *running) check(cmd *cobra.Command, file string) error {
	given := 0
	for _, is := range []bool{r.publish, r.shared, r.take > 0 && r.script == "", r.script != "", r.status, r.runner == beamRunner} {
		if is {
			given++
		}
	}
	switch flags := cmd.Flags(); {
	case r.publish && r.shared:
		return failure.BadUsage("--publish executes no tasks: leave out --stage and --task")
	case r.script != "" && (r.publish || r.shared):
		return failure.BadUsage("--script executes nothing: leave out --stage, --task and --publish")
	case given > 1:
		return failure.BadUsage("--stage and --task, --take, --publish, --status, --script and --runner beam exclude each other")
	case flags.Changed("take") && r.take < 1 && !r.dry:
		return failure.BadUsage("--take %d: want at least 1 task", r.take)
	case r.take > job.MostTaken:
		return failure.BadUsage("--take %d: at most %s possible", r.take, quantity.Count(job.MostTaken, "tasks are"))
	case flags.Changed("lease") && !r.dry && (r.take == 0 || r.lease < time.Second):
		return failure.BadUsage("--lease is for --take, and at least 1s")
	case r.script != "" && driver.Reveal(cmd.Context(), file) != file:
		return failure.BadUsage("%s: a script has no options and credentials of a location: give them to the jobs by their environment, and leave them out here", file)
	case r.script == "" && (r.image != "" || flags.Changed("tasks") && r.runner != beamRunner):
		return failure.BadUsage("--tasks and --image are for --script")
	case r.ended && !r.publish && !r.dry:
		return failure.BadUsage("--ended is for --publish")
	}
	return nil
}

// part returns the part that --stage and --task name.
func (r *running) part() (job.Task, error) {
	t := job.Task{Stage: r.stage, Of: 1}
	if r.task == "" {
		return t, nil
	}
	text, of, isAuto := r.task, "", false
	if of, isAuto = strings.CutPrefix(r.task, "auto/"); isAuto {
		k, err := ownTask()
		if err != nil {
			return t, err
		}
		text = k + "/" + of
	}
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &t.Number, &t.Of, &rest); n != 2 || t.Of < 1 || t.Number < 0 || t.Number >= t.Of {
		return t, failure.BadUsage("--task %s: want K/N, such as 0/8, where K counts from 0, or auto/N in a job of an array", r.task)
	}
	return t, nil
}

// workerOptions returns the options of a worker. f is nil unless it rechunks arrays.
func (r *running) workerOptions(cmd *cobra.Command, f *rechunking.PlanFile) *job.Options {
	opt := &job.Options{
		Access: *session.Writing(cmd), TakeOver: r.ended, SingleWriter: r.singleWriter, Exact: r.exact,
		Note: func(node, text string) { session.Note(cmd, node, text) },
	}
	opt.Access.RequireChunks = session.Reading(cmd).RequireChunks
	if f != nil {
		opt.Load = func(ctx context.Context, w *job.Work, a *zarr.Array, i rechunk.Insertion) (rechunk.Insertion, io.Closer, error) {
			var in rechunking.Inputs
			if err := json.Unmarshal(w.Inputs, &in); err != nil {
				return i, nil, err
			}
			return in.Load(cmd, a, i, w.Memory)
		}
	}
	return opt
}

// runTask executes one task.
func (r *running) runTask(cmd *cobra.Command, w *job.Worker, f *rechunking.PlanFile, t job.Task) error {
	record, err := w.Do(cmd.Context(), t)
	if err != nil {
		return err
	}
	if f == nil {
		return r.printTask(cmd, record)
	}
	return r.printAll(cmd, f, record.Arrays, nil)
}

// finish publishes, or does all that is left.
func (r *running) finish(cmd *cobra.Command, w *job.Worker, plan *job.Plan, f *rechunking.PlanFile) error {
	var status *job.Status
	do, err := w.Run, error(nil)
	if r.publish {
		do = w.Publish
		if status, err = w.Status(cmd.Context()); err != nil {
			return err
		}
	}
	result, err := do(cmd.Context())
	if err != nil {
		return err
	}
	if f != nil {
		err = r.printAll(cmd, f, result.Arrays, status)
	} else {
		err = printResult(cmd, plan, result)
	}
	var found failure.Verdict // of a check
	if err != nil && !errors.As(err, &found) {
		return err
	}
	if failed := printStages(cmd, plan, status); failed != nil {
		return failed
	}
	if err != nil { // a verdict, which a scheduler may ask for again
		return err
	}
	// What is left beside the plan harms nobody.
	if forgot := w.Forget(store.Finishing(cmd.Context())); forgot != nil {
		session.Note(cmd, plan.Location, "records of tasks are left beside it: "+failure.OneLine(forgot))
	}
	return err
}

// printAll prints what was done for each array and, with --json, what the tasks have
// taken, if that is known.
func (r *running) printAll(cmd *cobra.Command, f *rechunking.PlanFile, reports []*rechunk.Report, status *job.Status) error {
	list := []*rechunking.Rechunked{}
	for i, report := range reports {
		if report == nil {
			continue
		}
		done := f.Arrays[i].Done(report)
		list = append(list, done)
		if err := r.print(cmd, done); err != nil {
			return err
		}
	}
	return r.printList(cmd, list, status)
}

// printList prints all results, with --json.
func (r *running) printList(cmd *cobra.Command, list []*rechunking.Rechunked, status *job.Status) error {
	if !session.WantsJSON(cmd) {
		return nil
	}
	all := map[string]any{"arrays": list}
	if status != nil {
		all["stages"] = status.Stages
	}
	return session.PrintJSON(cmd, all)
}

// print prints the result for an array, without --json.
func (r *running) print(cmd *cobra.Command, d *rechunking.Rechunked) error {
	if session.WantsJSON(cmd) {
		return nil
	}
	w, name := cmd.OutOrStdout(), phrase.Printable(d.Path)
	if !d.Changed && !r.shared {
		_, err := fmt.Fprintf(w, "%s  (nothing to do)\n", name)
		return err
	}
	scratch, ending := "", ""
	if d.Objects > 0 {
		scratch = phrase.Plural(d.Objects, "scratch object") + ", "
	}
	if !d.Changed {
		ending = "  (not published yet)"
	}
	if r.publish && *d.Copied+d.Linked+*d.Rewritten == 0 { // tasks have made all chunks
		_, err := fmt.Fprintf(w, "%s  published\n", name)
		return err
	}
	_, err := fmt.Fprintf(w, "%s  %s%s linked, copied or put together, %s encoded anew%s\n",
		name, scratch, phrase.Count(*d.Copied+d.Linked), phrase.Count(*d.Rewritten), ending)
	return err
}

// runTogether executes a plan whose arrays change in one transaction.
func (r *running) runTogether(cmd *cobra.Command, plan *job.Plan, f *rechunking.PlanFile) (err error) {
	ctx, access := cmd.Context(), session.Writing(cmd)
	access.SingleWriter = r.singleWriter
	group, err := zarr.OpenGroup(ctx, plan.Group, access)
	if err != nil {
		return err
	}
	defer group.Close()
	var parts []rechunk.Part
	var open []*rechunking.Inserted
	defer func() {
		for _, in := range open {
			err = errors.Join(err, in.Close())
		}
	}()
	memory := int64(0)
	for i, p := range f.Arrays {
		a, err := group.At(p.Member(plan.Group)).OpenArray(ctx, access)
		if err != nil {
			return err
		}
		files, err := p.Load(cmd, a)
		open = append(open, files)
		if err == nil {
			err = plan.Arrays[i].NoteChanges(ctx, a, nil, r.workerOptions(cmd, f))
		}
		if err != nil {
			return failure.On("run", p.Node, err)
		}
		memory = max(memory, p.Memory)
		parts = append(parts, rechunk.Part{Array: a, Request: p.Wanted, Alone: plan.Alone})
	}
	defer cost.LimitHeap(memory)()
	lines := rechunking.NewStageLines(cmd)
	defer lines.End()
	reports, err := rechunk.DoAll(ctx, parts, &rechunk.Options{Memory: memory, TakeOver: r.singleWriter, Progress: lines.Reach})
	if err != nil {
		return err
	}
	var list []*rechunking.Rechunked
	for i, p := range f.Arrays {
		list = append(list, p.Done(reports[i]))
		if err := r.print(cmd, list[i]); err != nil {
			return err
		}
	}
	return r.printList(cmd, list, nil)
}

// printResult prints what a plan has made that is no rechunk.
func printResult(cmd *cobra.Command, plan *job.Plan, r *job.Result) error {
	switch {
	case r.Manifest != nil:
		return virtualizing.PrintManifest(cmd, place.WithoutOptions(*plan.Target), r.Manifest)
	case r.Check != nil:
		return checking.PrintChecked(cmd, plan, r.Check)
	case r.Copy != nil:
		return copying.PrintCopied(cmd, plan, *r.Copy)
	}
	return copying.PrintConverted(cmd, plan, *r.Conversion)
}
