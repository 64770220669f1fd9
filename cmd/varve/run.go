// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/regrid"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/zipstore"
)

// running is the command run.
type running struct {
	stage        int
	task         string
	publish      bool
	shared       bool // only a part is executed
	exact        bool
	singleWriter bool
	ended        bool // whoever executed a part
	script       string
	tasks        int
	image        string
}

func newRunCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "run PLAN",
		Short: "Execute a plan of compact, regularize, rechunk, drop or insert, whole or in parts",
		Long: `Execute a plan that varve compact, regularize, rechunk, drop or insert wrote to a file. Without flags this does all of it.

Several processes, on several machines, can share the work. For every stage, from 0 on, each process executes a part of
the tasks: --stage 0 --task 0/8 is the first of eight parts. When all parts of all stages are done, --publish makes the
result visible. Tasks that are done are never repeated, unless what they were made from has changed. A task whose earlier
stage is not complete fails and names what is missing. varve vacuum --abandon gives a plan up. The arrays of a group that
varve drop or insert changes together are changed by one process.

--script prints a script that executes the plan on a scheduler: an array of --tasks jobs for each stage, and then the
publication. It is for Slurm, for Kubernetes, or for AWS Batch. In such a job, --task auto/N takes K from the scheduler. The
jobs need PLAN at the same place: on a shared file system, or at a location such as s3://bucket/p.json, where the commands
that make plans can write them, too.

Locations in a plan are absolute, so all processes need the same ones. If an array has changed since the plan was made, a
note says so, and the plan is computed again from what was wanted; with --exact it is refused. Once a part is executed,
only the metadata are compared, because the tasks find out which chunks have changed. Files that varve insert puts in must
not change.

The commands that write plans also say what these cost, given a file of prices. It is a JSON object such as
{"currency": "USD", "per_1000_requests": {"get": 0.0004, "head": 0.0004, "put": 0.005, "copy": 0.005, "list": 0.005},
"per_gib_read": 0.09}.`,
		Example: `  varve rechunk era5.zarr/t2m --chunks 8760,36,36 --memory 4GiB --plan p.json
  varve run p.json --stage 0 --task 0/2
  varve run p.json --stage 0 --task 1/2
  varve run p.json --publish
  varve run /shared/p.json --script slurm --tasks 400 >job.sh`,
		Args: arguments("PLAN"),
	}
	r := new(running)
	f := c.Flags()
	f.IntVar(&r.stage, "stage", 0, "execute only this `STAGE`, which counts from 0")
	f.StringVar(&r.task, "task", "", "execute only part K of N, as `K/N`; K counts from 0, and auto is that of the job of an array")
	f.BoolVar(&r.publish, "publish", false, "make the result visible, when all stages are done")
	f.BoolVar(&r.exact, "exact", false, "refuse the plan if an array has changed since it was made")
	f.BoolVar(&r.singleWriter, "single-writer", false, "permit the change in a store without locks, also if a process that executed a part may have died")
	f.BoolVar(&r.ended, "ended", false, "the processes that executed parts have ended, also if some were killed: permits --publish in a store without locks")
	f.StringVar(&r.script, "script", "", "print a script for `SCHEDULER`, and execute nothing: slurm, kubernetes or aws-batch")
	f.IntVar(&r.tasks, "tasks", 64, "the script executes each stage in `N` tasks")
	f.StringVar(&r.image, "image", "", "the container `IMAGE` with varve, for --script kubernetes")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		r.shared = f.Changed("stage") || r.task != ""
		return r.run(cmd, args[0])
	}
	return c
}

func (r *running) run(cmd *cobra.Command, file string) error {
	switch {
	case r.publish && r.shared:
		return failure.BadUsage("--publish executes no tasks: leave out --stage and --task")
	case r.script != "" && (r.publish || r.shared):
		return failure.BadUsage("--script executes nothing: leave out --stage, --task and --publish")
	case r.script != "" && httpstore.Reveal(cmd.Context(), file) != file:
		return failure.BadUsage("%s: a script has no options and credentials of a location: give them to the jobs by their environment, and leave them out here", file)
	case r.script == "" && (r.image != "" || cmd.Flags().Changed("tasks")):
		return failure.BadUsage("--tasks and --image are for --script")
	case r.ended && !r.publish:
		return failure.BadUsage("--ended is for --publish")
	}
	share, err := r.share()
	if err != nil {
		return err
	}
	plan, err := readPlan(cmd, file)
	switch {
	case err != nil:
		return err
	case r.script != "":
		return r.writeScript(cmd.OutOrStdout(), file, plan)
	case plan.Group != "" && (r.publish || r.shared):
		return failure.BadArgument("%s: its arrays change in one transaction, which one process executes: leave out --stage, --task and --publish", file)
	case plan.Group != "":
		return r.runTogether(cmd, plan)
	case r.shared && len(plan.Arrays) > 1 && share.Stage >= plan.stages():
		return failure.BadArgument("%s: there is no stage %d: its arrays have %s, which count from 0", file, share.Stage, phrase.Plural(int64(plan.stages()), "stage"))
	}
	return r.runAll(cmd, plan, func(p *planned, a *zarr.Array, opt *regrid.Options) (*regrid.Report, error) {
		switch {
		case r.publish:
			return regrid.Publish(cmd.Context(), a, p.request, opt)
		case r.shared && share.Stage >= p.stages() && len(plan.Arrays) > 1:
			return new(regrid.Report), nil // this array has fewer stages
		case r.shared:
			return regrid.Stage(cmd.Context(), a, p.request, share, opt)
		}
		return regrid.Do(cmd.Context(), a, p.request, opt)
	})
}

// share returns the part that --stage and --task name.
func (r *running) share() (regrid.Share, error) {
	share := regrid.Share{Stage: r.stage}
	if r.task == "" {
		return share, nil
	}
	text, of, isAuto := r.task, "", false
	if of, isAuto = strings.CutPrefix(r.task, "auto/"); isAuto {
		k, err := ownTask()
		if err != nil {
			return share, err
		}
		text = k + "/" + of
	}
	var rest string
	if n, _ := fmt.Sscanf(text+" ", "%d/%d%s", &share.Task, &share.Of, &rest); n != 2 || share.Of < 1 || share.Task < 0 || share.Task >= share.Of {
		return share, failure.BadUsage("--task %s: want K/N, such as 0/8, where K counts from 0, or auto/N in a job of an array", r.task)
	}
	return share, nil
}

// runAll executes the plan of each array.
func (r *running) runAll(cmd *cobra.Command, plan *planFile, do func(*planned, *zarr.Array, *regrid.Options) (*regrid.Report, error)) error {
	list := []*regridded{}
	batch := "" // varve revert GROUP goes back for all of them
	if len(plan.Arrays) > 1 {
		batch = rand.Text()
	}
	for _, p := range plan.Arrays {
		if !p.Changed {
			continue
		}
		p.batch = batch
		done, err := r.runOne(cmd, p, do)
		if err != nil {
			return failure.On("run", p.Node, err)
		}
		list = append(list, done)
		if err := r.print(cmd, done); err != nil {
			return err
		}
	}
	return r.printList(cmd, list)
}

// printList prints all results, with --json.
func (r *running) printList(cmd *cobra.Command, list []*regridded) error {
	if !session.WantsJSON(cmd) {
		return nil
	}
	return session.PrintJSON(cmd, map[string]any{"arrays": list})
}

// print prints the result for an array, without --json.
func (r *running) print(cmd *cobra.Command, d *regridded) error {
	if session.WantsJSON(cmd) {
		return nil
	}
	w, name := cmd.OutOrStdout(), phrase.Printable(d.Path)
	if !d.Changed && !r.shared {
		_, err := fmt.Fprintf(w, "%s  (nothing to do)\n", name)
		return err
	}
	scratch, ending := "", ""
	if d.scratch > 0 {
		scratch = phrase.Plural(d.scratch, "scratch object") + ", "
	}
	if !d.Changed {
		ending = "  (not published yet)"
	}
	_, err := fmt.Fprintf(w, "%s  %s%s linked, copied or put together, %s encoded anew%s\n",
		name, scratch, phrase.Count(*d.Copied+d.Linked), phrase.Count(*d.Rewritten), ending)
	return err
}

// runOne executes the plan of one array.
func (r *running) runOne(cmd *cobra.Command, p *planned, do func(*planned, *zarr.Array, *regrid.Options) (*regrid.Report, error)) (done *regridded, err error) {
	a, err := r.open(cmd, p)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	files, err := p.load(cmd, a)
	defer func() { err = errors.Join(err, files.Close()) }()
	if err != nil {
		return nil, err
	}
	opt := &regrid.Options{Memory: p.Memory, TakeOver: r.singleWriter || r.ended, Batch: p.batch}
	defer limitHeap(p.Memory)()
	lines := newStageLines(cmd)
	defer lines.end()
	opt.Progress = lines.reach
	if p.Target != nil {
		if opt.Into, err = newPlace(cmd, *p.Target, false); err != nil {
			return nil, err
		}
		if _, ok := store.Driver(opt.Into.Store()).(*zipstore.Archive); ok && (r.shared || r.publish) {
			return nil, errors.Join(
				failure.BadArgument("%s: a zip archive is written by one process: leave out --stage, --task and --publish", *p.Target),
				closeStore(opt.Into, false))
		}
	}
	var report *regrid.Report
	if err = r.compare(cmd, p, a, opt); err == nil {
		report, err = do(p, a, opt)
	}
	if opt.Into != nil {
		err = errors.Join(err, closeStore(opt.Into, err == nil))
	}
	if err != nil {
		return nil, err
	}
	return p.done(report), nil
}

// open opens the array of a plan.
func (r *running) open(cmd *cobra.Command, p *planned) (*zarr.Array, error) {
	access := session.Writing(cmd)
	access.Write, access.SingleWriter = p.Target == nil, r.singleWriter
	return zarr.OpenArray(cmd.Context(), p.Node, access)
}

// compare tells if an array has changed since the plan was made. With --exact that is an
// error.
func (r *running) compare(cmd *cobra.Command, p *planned, a *zarr.Array, opt *regrid.Options) error {
	if p.Source.Document == "" {
		if r.exact {
			return failure.BadArgument("the plan does not say what it was made from: leave out --exact")
		}
		return nil
	}
	changes, err := p.Source.Changes(cmd.Context(), a, p.Fingerprint, opt)
	switch {
	case err != nil || changes == "":
		return err
	case r.exact:
		return failure.OfKind(zarr.ErrConflict, "it has changed since the plan was made: %s; make the plan again, or leave out --exact", changes)
	}
	session.Note(cmd, p.Node, "it has changed since the plan was made: "+changes+"; the plan is computed again")
	return nil
}

// load opens the files of an insertion. Close the result also after an error.
func (p *planned) load(cmd *cobra.Command, a *zarr.Array) (*inserted, error) {
	r, is := p.request.(regrid.Insertion)
	if !is {
		return new(inserted), nil
	}
	files, err := p.Inputs.names()
	if err != nil {
		return new(inserted), err
	}
	in, err := openInserted(cmd, files, p.Inputs.Format, a, r.Axis)
	if err != nil {
		return in, err
	}
	in.give(&r)
	p.request = r
	if !p.Inputs.hashed() {
		return in, nil
	}
	hashed := r
	hashed.Identity = ""
	now, err := regrid.NewPlan(cmd.Context(), a, hashed, &regrid.Options{Memory: p.Memory})
	if err == nil && now.Request.(regrid.Insertion).Identity != r.Identity {
		err = failure.OfKind(zarr.ErrConflict, "the arrays that are inserted have other elements than when the plan was made: make the plan again")
	}
	return in, err
}

// done returns the result of a plan that is executed.
func (p *planned) done(report *regrid.Report) *regridded {
	d := p.regridded
	d.DryRun = false
	d.did(report)
	return &d
}

// runTogether executes a plan whose arrays change in one transaction.
func (r *running) runTogether(cmd *cobra.Command, plan *planFile) (err error) {
	ctx, access := cmd.Context(), session.Writing(cmd)
	access.SingleWriter = r.singleWriter
	group, err := zarr.OpenGroup(ctx, plan.Group, access)
	if err != nil {
		return err
	}
	defer group.Close()
	var parts []regrid.Part
	var open []*inserted
	defer func() {
		for _, in := range open {
			err = errors.Join(err, in.Close())
		}
	}()
	memory := int64(0)
	for _, p := range plan.Arrays {
		a, err := group.At(p.member(plan.Group)).OpenArray(ctx, access)
		if err != nil {
			return err
		}
		files, err := p.load(cmd, a)
		open = append(open, files)
		if err == nil {
			err = r.compare(cmd, p, a, nil)
		}
		if err != nil {
			return failure.On("run", p.Node, err)
		}
		memory = max(memory, p.Memory)
		parts = append(parts, regrid.Part{Array: a, Request: p.request, Alone: plan.Alone})
	}
	defer limitHeap(memory)()
	lines := newStageLines(cmd)
	defer lines.end()
	reports, err := regrid.DoAll(ctx, parts, &regrid.Options{Memory: memory, TakeOver: r.singleWriter, Progress: lines.reach})
	if err != nil {
		return err
	}
	var list []*regridded
	for i, p := range plan.Arrays {
		list = append(list, p.done(reports[i]))
		if err := r.print(cmd, list[i]); err != nil {
			return err
		}
	}
	return r.printList(cmd, list)
}
