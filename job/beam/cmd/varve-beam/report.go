// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"varve.dev/zarr/internal/job"
	"varve.dev/zarr/internal/quantity"
	varvebeam "varve.dev/zarr/job/beam"
)

// report is what is printed at the end.
type report struct {
	Result *varvebeam.Summary `json:"result"`
	Stages []job.StageStatus  `json:"stages"`
	// Counters are those of the workers, as the engine has counted them.
	Counters map[string]int64 `json:"counters"`
}

// finish prints the report, and deletes what is beside the plan.
func (c *command) finish(ctx context.Context, w *job.Worker, result beam.PipelineResult, out, notes io.Writer) error {
	if *jobopts.Async {
		fmt.Fprintf(notes, "the pipeline was submitted; its result will be at %s\n", c.opt.Result)
		return nil
	}
	r := report{Counters: counters(result)}
	var err error
	if r.Result, err = varvebeam.ReadSummary(ctx, c.opt.Result); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s, err := w.Status(ctx)
	if err != nil {
		return err
	}
	r.Stages = s.Stages
	if err := c.print(out, &r); err != nil {
		return err
	}
	checked := r.Result != nil && r.Result.Check != nil
	if checked && r.Result.Check.Checksums {
		fmt.Fprintf(notes, "the checksums are beside the plan: varve run %s --publish prints them\n", c.plan)
	} else if !c.keep {
		// What is left there harms nobody.
		if err := w.Forget(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintf(notes, "records of tasks are left beside %s: %v\n", c.plan, err)
		}
	}
	if checked && r.Result.Check.All > 0 {
		return errFound
	}
	return nil
}

// errFound means that a check has found something, which is printed.
var errFound = errors.New("the check has found something")

// counters returns the counters of workers.
func counters(result beam.PipelineResult) map[string]int64 {
	all := map[string]int64{}
	for _, c := range result.Metrics().AllMetrics().Counters() {
		if c.Key.Namespace == varvebeam.Namespace {
			all[c.Key.Name] += c.Result()
		}
	}
	return all
}

func (c *command) print(out io.Writer, r *report) error {
	if c.json {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	var b strings.Builder
	if r.Result != nil {
		printResult(&b, r.Result)
	}
	for k := range r.Stages {
		printStage(&b, k, &r.Stages[k])
	}
	if n := r.Counters["retries"]; n > 0 {
		fmt.Fprintf(&b, "%s failed; each was repeated\n", quantity.Count(n, "attempts have"))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// printResult prints what the publication has made.
func printResult(b *strings.Builder, s *varvebeam.Summary) {
	for _, a := range s.Arrays {
		node, how := a.Node, "published"
		if a.Target != "" {
			node = a.Target
		}
		if !a.Changed {
			how = "nothing to do"
		}
		fmt.Fprintf(b, "%s  %s: %s\n", node, a.Operation, how)
	}
	if m := s.Manifest; m != nil {
		fmt.Fprintf(b, "%s  %s added\n", m.Target, plural(int64(m.Files), "file"))
		for _, x := range m.Refused {
			fmt.Fprintf(b, "  left out: %s: %s: %s\n", x.File, x.Path, x.Reason)
		}
		for _, n := range m.Notes {
			fmt.Fprintf(b, "  %s\n", n)
		}
	}
	if x := s.Copy; x != nil {
		fmt.Fprintf(b, "%s  copied: %s, %s\n", x.Target, plural(int64(x.Arrays), "array"), plural(int64(x.Groups), "group"))
	}
	if x := s.Conversion; x != nil {
		fmt.Fprintf(b, "%s  converted: %s\n", x.Target, plural(int64(x.Nodes), "node"))
	}
	if s.Check != nil {
		printCheck(b, s.Check)
	}
}

func printCheck(b *strings.Builder, c *varvebeam.Check) {
	fmt.Fprintf(b, "%s  %s, %s, %s checked: %s\n", c.Node, plural(c.Arrays, "array"), plural(c.Chunks, "chunk"), bytesText(c.Bytes), plural(int64(c.All), "finding"))
	for _, f := range c.Findings {
		fmt.Fprintf(b, "  %s  %s: %s\n", f.Path, f.Kind, f.Message)
		if f.Repair != "" {
			fmt.Fprintf(b, "    %s\n", f.Repair)
		}
	}
	if n := c.All - len(c.Findings); n > 0 {
		fmt.Fprintf(b, "  and %d more\n", n)
	}
	if c.Incomplete != "" {
		fmt.Fprintf(b, "  not all was checked: %s\n", c.Incomplete)
	}
}

// shownSlowest is the number of tasks that the report names.
const shownSlowest = 3

func printStage(b *strings.Builder, k int, s *job.StageStatus) {
	if s.Done == 0 {
		return
	}
	requests := int64(0)
	for _, n := range s.Requests {
		requests += n
	}
	fmt.Fprintf(b, "stage %d  %s by %s, %d repeated\n", k, plural(s.Done, "task"), plural(int64(s.Workers), "worker"), s.Repeated)
	fmt.Fprintf(b, "  %s read, %s written, %s, %s of work\n", bytesText(s.Read), bytesText(s.Written), plural(requests, "request"), secondsText(s.Seconds))
	slowest := []string{}
	for _, r := range s.Slowest[:min(len(s.Slowest), shownSlowest)] {
		slowest = append(slowest, fmt.Sprintf("%d/%d (%s)", r.Number, r.Of, secondsText(r.Seconds)))
	}
	fmt.Fprintf(b, "  slowest  %s; median %s\n", strings.Join(slowest, ", "), secondsText(s.Median))
}

// plural returns a number of things.
func plural(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// bytesText returns a number of bytes as people read it.
func bytesText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	const units = "KMGTPE"
	x, unit := float64(n)/1024, 0
	for x >= 1023.5 && unit+1 < len(units) {
		x, unit = x/1024, unit+1
	}
	if x < 9.95 {
		return fmt.Sprintf("%.1f %ciB", x, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", x, units[unit])
}

// secondsText returns a duration in seconds as people read it.
func secondsText(s float64) string {
	d := time.Duration(s * float64(time.Second))
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}
