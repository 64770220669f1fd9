// SPDX-License-Identifier: Apache-2.0

package running

import (
	"bufio"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/progress"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/job"
)

// runTaking takes tasks until all are done.
func (r *running) runTaking(cmd *cobra.Command, w *job.Worker) error {
	line, at := progress.NewCount(cmd, "tasks", 0), 0
	defer func() { line.End() }()
	stages := map[int]int64{}
	err := w.Take(cmd.Context(), job.Taking{Of: r.take, Lease: r.lease, Done: func(stage int, done, of int64) {
		if stage != at {
			line.End()
			line, at = progress.NewCount(cmd, "tasks", of), stage
		}
		line.Reach(done, of)
		stages[stage] = of
	}})
	if err != nil {
		return err
	}
	line.End()
	return printTaken(cmd, stages)
}

// printTaken prints how many tasks of each stage are done. --status reads a record of
// each task, which not every worker should do at its end.
func printTaken(cmd *cobra.Command, stages map[int]int64) error {
	if session.WantsJSON(cmd) {
		list := make([]map[string]int64, len(stages))
		for k, of := range stages {
			list[k] = map[string]int64{"of": of, "done": of}
		}
		return session.PrintJSON(cmd, map[string]any{"stages": list})
	}
	for k := range len(stages) {
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "stage %d  %s done\n", k, phrase.Plural(stages[k], "task")); err != nil {
			return err
		}
	}
	return nil
}

// printTask prints what a task has taken.
func (r *running) printTask(cmd *cobra.Command, t *job.Record) error {
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, t)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%v: %s%s\n", t.Task, trafficText(t.Read, t.Written, t.Requests), phrase.Seconds(t.Seconds))
	return err
}

// printStatus prints how far the tasks are.
func (r *running) printStatus(cmd *cobra.Command, w *job.Worker) error {
	s, err := w.Status(cmd.Context())
	if err != nil {
		return err
	}
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, s)
	}
	if !slices.ContainsFunc(s.Stages, func(stage job.StageStatus) bool { return stage.Of > 0 }) {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "no task has begun, or the plan is published")
		return err
	}
	return printStages(cmd, w.Plan(), s)
}

// printStages prints the state of each stage. It prints nothing if s is nil or empty.
func printStages(cmd *cobra.Command, plan *job.Plan, s *job.Status) error {
	if s == nil || session.WantsJSON(cmd) {
		return nil
	}
	return session.Print(cmd, func(w *bufio.Writer) error {
		for k := range s.Stages {
			printStage(w, plan, k, &s.Stages[k])
		}
		return nil
	})
}

// shownSlowest is the number of tasks that the status names.
const shownSlowest = 3

func printStage(w *bufio.Writer, plan *job.Plan, k int, s *job.StageStatus) {
	if s.Of == 0 {
		return
	}
	fmt.Fprintf(w, "stage %d  %s of %s done", k, phrase.Count(s.Done), phrase.Plural(s.Of, "task"))
	if s.Claimed > 0 {
		fmt.Fprintf(w, ", %s taken", phrase.Count(s.Claimed))
	}
	if s.Repeated > 0 {
		fmt.Fprintf(w, ", %s repeated", phrase.Count(s.Repeated))
	}
	if s.Done == 0 {
		fmt.Fprintln(w)
		return
	}
	fmt.Fprintf(w, " by %s\n  %s%s of work\n", phrase.Plural(int64(s.Workers), "worker"), trafficText(s.Read, s.Written, s.Requests), phrase.Seconds(s.Seconds))
	slowest := []string{}
	for _, r := range s.Slowest[:min(len(s.Slowest), shownSlowest)] {
		slowest = append(slowest, fmt.Sprintf("%d/%d (%s)", r.Number, r.Of, phrase.Seconds(r.Seconds)))
	}
	fmt.Fprintf(w, "  slowest  %s; median %s\n", strings.Join(slowest, ", "), phrase.Seconds(s.Median))
}

// trafficText describes bytes and requests, or is "" if they are not known.
func trafficText(read, written int64, kinds map[string]int64) string {
	if len(kinds) == 0 {
		return ""
	}
	all := int64(0)
	for _, n := range kinds {
		all += n
	}
	return fmt.Sprintf("%s read, %s written, %s, ", phrase.Bytes(read), phrase.Bytes(written), phrase.Plural(all, "request"))
}
