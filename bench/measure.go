// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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
	Candidate   string
	Ours, Bound bool
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

// measureAll runs all rows.
func measureAll(ctx context.Context, s settings, rows []row, found []candidate) (all []measured, err error) {
	b, err := newBench(s)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(b.scratch)
	for _, r := range rows {
		m, err := b.measure(ctx, r, found)
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
			res.Candidate, res.Ours, res.Bound = c.name, c.ours, c.bound
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
