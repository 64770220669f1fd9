// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"varve.dev/zarr/bench/protocol"
)

// sample is one run.
type sample struct {
	seconds, cpu, starting float64
	peak, bytes            int64
	requests, received     int64 // in a far store, without those of checks
	moved                  moved
	answer                 protocol.Answer
}

// result is what one candidate achieved in a row.
type result struct {
	Candidate    string
	Varve, Bound bool
	figures
	Requests, Received int64  `json:",omitempty"` // of one run, in a far store
	Why                string `json:",omitempty"` // why there are no figures
}

// measured is a row with its results.
type measured struct {
	ID, Title string
	Ideal     float64 `json:",omitempty"` // minimum seconds with a far store
	Results   []result
}

// measureAll runs all rows, each with its candidates.
func measureAll(ctx context.Context, s settings, rows []row, candidates func(row) []candidate) (all []measured, err error) {
	b, err := newBench(s)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.scratch)
	for _, r := range rows {
		m, err := b.measure(ctx, r, candidates(r))
		if err != nil {
			return nil, fmt.Errorf("row %s: %w", r.id, err)
		}
		all = append(all, m)
		fmt.Fprintln(os.Stderr, line(m))
	}
	return all, ctx.Err()
}

// bench is a run of the benchmarks.
type bench struct {
	settings
	sets     map[string]set
	data     string // folder of the data sets
	scratch  string // folder for output
	expected map[string]string
	bucket   *bucket // of rows with a link
}

func newBench(s settings) (*bench, error) {
	b := &bench{settings: s, sets: allSets(s.size), data: filepath.Join(s.cache, "data", s.size.name), expected: map[string]string{}}
	if err := os.MkdirAll(b.data, 0o777); err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp(s.cache, "scratch-")
	b.scratch = scratch
	return b, err
}

// measure runs one row: every candidate once to warm up and check the answer, and then
// all in turns.
func (b *bench) measure(ctx context.Context, r row, found []candidate) (m measured, err error) {
	w, err := b.prepare(ctx, r)
	if err != nil {
		return m, err
	}
	if w.far != nil {
		defer w.far.close()
	}
	m = measured{ID: r.id, Title: r.title, Ideal: w.ideal}
	m.Results = make([]result, len(found))
	runs := make([][]sample, len(found))
	for round := range b.rounds + 1 {
		for k := range found {
			// Rotate the order, so that no candidate always follows the same
			// one.
			i := (k + round) % len(found)
			c, res := found[i], &m.Results[i]
			res.Candidate, res.Varve, res.Bound = c.name, c.varve, c.bound
			// Do not repeat what failed or takes very long.
			if res.Why != "" || len(runs[i]) == 1 && runs[i][0].seconds > b.slow.Seconds() {
				continue
			}
			x, err := w.run(ctx, c, round == 0)
			if err != nil {
				res.Why = err.Error()
				continue
			}
			// The warm-up counts only if it will be the only run.
			if round > 0 || x.seconds > b.slow.Seconds() {
				runs[i] = append(runs[i], x)
			}
			res.Requests, res.Received = x.requests, x.received
		}
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
	}
	for i := range m.Results {
		m.Results[i].figures = gather(runs[i])
	}
	return m, nil
}

// run executes one candidate once. If every byte is checked, the time does not count.
func (w *work) run(ctx context.Context, c candidate, check bool) (x sample, err error) {
	q, err := w.fresh(ctx, check, c)
	if err != nil {
		return x, err
	}
	if c.adjust != nil {
		c.adjust(&q)
	}
	if w.cold {
		if err := dropCache(w.dir); err != nil {
			return x, err
		}
	}
	if w.far != nil {
		w.far.reset()
	}
	if c.command != nil {
		return w.runCommand(ctx, c, q, check)
	}
	text, err := json.Marshal(q)
	if err != nil {
		return x, err
	}
	l, err := start(ctx, w.limit, keep, append(append([]string(nil), c.program...), string(text)))
	if err != nil {
		return x, err
	}
	var a protocol.Answer
	if l.Failure != "" {
		return x, fmt.Errorf("failed: %s", strings.ReplaceAll(l.Failure, w.cache, "…"))
	}
	if err := json.Unmarshal([]byte(l.Out), &a); err != nil {
		return x, fmt.Errorf("answer %q: %w", l.Out, err)
	}
	if a.Unsupported != "" {
		return x, fmt.Errorf("%s", a.Unsupported)
	}
	x = sample{seconds: a.Seconds, cpu: a.CPU, starting: max(0, l.Wall-a.Seconds-a.Checking), peak: l.Peak, bytes: a.Bytes, moved: l.Moved, answer: a}
	w.count(&x)
	if q.Work == protocol.Open || q.Work == protocol.Members {
		// Short work was repeated for Least seconds, and Seconds is the mean.
		x.starting = max(0, l.Wall-max(protocol.Least, a.Seconds))
	}
	if c.bound {
		return x, nil
	}
	if w.target != nil && !check {
		return x, nil // only one run is checked: that takes longer than the work
	}
	return x, w.verify(ctx, q, a)
}

// count records the requests of a run.
func (w *work) count(x *sample) {
	if w.far != nil {
		x.requests, x.received = w.far.counts()
	}
}

// runCommand measures the whole process of a command, which does not report the time of
// its work.
func (w *work) runCommand(ctx context.Context, c candidate, q protocol.Request, check bool) (x sample, err error) {
	args := c.command(w.row, q)
	if args == nil {
		return x, fmt.Errorf("the command has no such operation")
	}
	mode := drop
	summed := check && q.Work == protocol.ReadAll
	if summed {
		mode = sum
	}
	l, err := start(ctx, w.limit, mode, append(append([]string(nil), c.program...), args...))
	if err != nil {
		return x, err
	}
	if l.Failure != "" {
		return x, fmt.Errorf("failed: %s", strings.ReplaceAll(l.Failure, w.cache, "…"))
	}
	if want := w.want(q); summed && l.Out != want {
		return x, fmt.Errorf("wrong: the checksum is %s, not %s", l.Out, want)
	}
	w.count(&x)
	if check && q.Target != "" {
		if err := w.verifyWritten(ctx, q); err != nil {
			return x, err
		}
	}
	x.seconds, x.cpu, x.peak, x.bytes, x.moved = l.Wall, l.CPU, l.Peak, w.bytes, l.Moved
	return x, nil
}

// effects is the measured cost and benefit of options.
type effects report

// trying explains the figures of the tables.
const trying = `
Options are the fields of zarr.Options. The settings take turns on the same stores. Each figure is the median of all rounds. ± is
half of the difference between the slowest and the fastest round. Time is that of the work, from opening the store on. CPU is the
seconds of all cores in that time, and memory the peak of the process. Work that takes longer than a few seconds is measured once.
A far store answers each request after %s and transfers %.0f MB per second. Requests and bytes are those of one run. All answers
were checked.
`

func (e *effects) markdown(w io.Writer) {
	fmt.Fprint(w, "# What options cost and gain\n\n")
	e.Machine.markdown(w)
	fmt.Fprintf(w, trying, duration(latency.Seconds()), bandwidth/1e6)
	last := ""
	for _, m := range e.Rows {
		o := optionOf(m.ID)
		if o.id != last {
			last = o.id
			fmt.Fprintf(w, "\n## %s\n\n%s\n", o.name, o.text)
		}
		m.effect(w, o.name)
	}
}

// effect writes the table of one row, with a line for every setting.
func (m measured) effect(w io.Writer, name string) {
	far, more, rule := m.far(), "", ""
	if far {
		more, rule = " requests | received |", "--:|--:|"
	}
	fmt.Fprintf(w, "\n### %s%s\n\n", strings.ToUpper(m.Title[:1]), m.Title[1:])
	fmt.Fprintf(w, "| %s | time | ± | ÷ default | CPU | memory |%s\n|--:|--:|--:|--:|--:|--:|%s\n", name, more, rule)
	for _, r := range m.Results {
		if r.Why != "" {
			fmt.Fprintf(w, "| %s | %s |\n", r.Candidate, r.Why)
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %.0f %% | %s | %s | %s |", r.Candidate, duration(r.Median), 100*r.spread(),
			times(r.Median, m.Results[0].Median), duration(r.CPU), memory(r.Peak))
		if far {
			fmt.Fprintf(w, " %d | %s |", r.Requests, memory(r.Received))
		}
		fmt.Fprintln(w)
	}
}

// launch is what is known about a process from outside.
type launch struct {
	Wall, CPU float64 // seconds
	Peak      int64   // bytes of memory
	Moved     moved
	Out       string // the line that it printed, or the checksum of its output
	Failure   string
}

// The treatment of a program's standard output.
const (
	keep = "keep" // it contains the answer
	sum  = "sum"  // its checksum is the answer
	drop = "drop" // discarded
)

// start runs a program as a child of a small intermediate process. A forked process
// starts with the peak memory of its parent, and this process may have made data sets.
func start(ctx context.Context, limit time.Duration, mode string, program []string) (l launch, err error) {
	self, err := os.Executable()
	if err != nil {
		return l, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, self, append([]string{"launch", limit.String(), mode}, program...)...)
	c.Stderr = os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 5 * time.Second
	out, err := c.Output()
	if err != nil {
		return l, fmt.Errorf("launching %s: %w", program[0], err)
	}
	return l, json.Unmarshal(out, &l)
}

// launched is the intermediate process. Its arguments are the time limit, the mode, the
// program and its arguments.
func launched(args []string) int {
	limit, err := time.ParseDuration(args[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: launch:", err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if err := json.NewEncoder(os.Stdout).Encode(watch(ctx, args[1], args[2:])); err != nil {
		return 1
	}
	return 0
}

// watch runs a program to its end.
func watch(ctx context.Context, mode string, program []string) (l launch) {
	c := exec.CommandContext(ctx, program[0], program[1:]...)
	var out, messages bytes.Buffer
	crc := crc32.NewIEEE()
	c.Stdout = map[string]io.Writer{keep: &out, sum: crc, drop: nil}[mode]
	if mode == drop {
		c.Stdout = nil
	}
	c.Stderr = &messages
	begin := time.Now()
	err := c.Run()
	l.Wall = time.Since(begin).Seconds()
	if c.ProcessState != nil {
		l.Peak, l.CPU = used(c.ProcessState)
		l.Moved = movedBytes()
	}
	if l.Out = out.String(); mode == sum {
		l.Out = fmt.Sprintf("%016x", crc.Sum32())
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		l.Failure = "took too long"
	case err != nil:
		l.Failure = last(messages.String(), err)
	}
	return l
}

// last returns the last line of a failed program's output, or for Node the line with the
// error, shortened for a table.
func last(messages string, err error) string {
	found := err.Error()
	for line := range strings.Lines(messages) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "Node.js ") && !strings.HasPrefix(line, "at ") && line != "}" {
			found = line
		}
	}
	if len(found) > 160 {
		found = strings.ToValidUTF8(found[:160], "") + " …"
	}
	return found
}
