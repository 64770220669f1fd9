// SPDX-License-Identifier: Apache-2.0

//go:build unix

// Command icechunk measures repositories of Icechunk, by Varve and by the reference in
// Python, in turns. Each measurement is a process of its own, and times what it does
// after it has started. "run" in this folder starts it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"

	"varve.dev/zarr/bench/protocol"
)

// settings are the flags of the command line.
type settings struct {
	python, longlog, out, data, only string
	rounds, arrays, refs, log, gc    int
}

func main() {
	var s settings
	flag.StringVar(&s.python, "python", "", "the `FILE` of a Python that has the reference")
	flag.StringVar(&s.longlog, "longlog", "", "the `FILE` of the command that makes a long history")
	flag.StringVar(&s.out, "out", "", "write the table to this `FILE`, and the data beside it; standard output by default")
	flag.StringVar(&s.data, "data", "", "make the repositories in this `FOLDER`; the default is a temporary one")
	flag.StringVar(&s.only, "only", "", "the `ROWS` to measure, by their names; all by default")
	flag.IntVar(&s.rounds, "rounds", 5, "measure so many rounds")
	flag.IntVar(&s.arrays, "arrays", 1000, "the arrays of a repository that is opened")
	flag.IntVar(&s.refs, "refs", 1_000_000, "the references of a large array")
	flag.IntVar(&s.log, "log", 100_000, "the snapshots of a long history")
	flag.IntVar(&s.gc, "gc", 1_000_000, "the objects of a repository that is cleaned")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if flag.Arg(0) == "make" && flag.NArg() == 3 {
		err = s.make(ctx, flag.Arg(1), flag.Arg(2))
	} else if flag.NArg() > 0 {
		err = measureOne(ctx, flag.Args())
	} else {
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/icechunk:", err)
		os.Exit(1)
	}
}

// row is what is measured.
type row struct {
	Name, Title string
	number      int
	folder      string // of the repository
	sync        bool   // the row is about writing
	again       bool   // each round needs a repository that nobody has changed
	Goal        float64
	Results     []*result
}

// result is what one program needs.
type result struct {
	Program       string
	Seconds, Peak []float64
	Done          float64
}

// answer is what a process prints.
type answer struct {
	Seconds, Peak, Done float64
}

// rows are what is measured.
func (s settings) rows() []*row {
	long := strconv.Itoa(s.refs)
	return []*row{
		{Name: "listing", Title: fmt.Sprintf("open, and list the keys of %d arrays", s.arrays), folder: "arrays", Goal: 2},
		{Name: "arrays", Title: fmt.Sprintf("open, and open %d arrays of a group", s.arrays), folder: "arrays", Goal: 2},
		{Name: "first", Title: "open, and read a chunk of " + long + " in one manifest", folder: "refs", number: s.refs / 2, Goal: 1},
		{Name: "first", Title: "the same, with the windows of Varve", folder: "windows", number: s.refs / 2, Goal: 1},
		{Name: "lookup", Title: "read one chunk more", folder: "refs", Goal: 1},
		{Name: "cube", Title: "read all of a cube with zstd, 512 MB", folder: "cube", Goal: 1},
		{Name: "commit", Title: "commit 10 changed chunks of " + long, folder: "refs", number: 10, sync: true, Goal: 2},
		{Name: "commit", Title: "the same, with the windows of Varve", folder: "windows", number: 10, sync: true, Goal: 2},
		{Name: "commit", Title: "commit 10,000 changed chunks", folder: "refs", number: min(10_000, s.refs), sync: true, Goal: 1},
		{Name: "commit", Title: "commit " + long + " changed chunks", folder: "refs", number: s.refs, sync: true, Goal: 1},
		{Name: "append", Title: "open, append a day to ten arrays, and commit", folder: "days", sync: true, Goal: 2},
		{Name: "log", Title: fmt.Sprintf("open, and list %d snapshots", s.log), folder: "log", Goal: 1},
		{Name: "gc", Title: fmt.Sprintf("delete %d objects as garbage", s.gc), folder: "garbage", number: s.gc, again: true, Goal: 1},
	}
}

// run makes the repositories, measures, and writes the report.
func run(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp(s.data, "varve-icechunk-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{settings: s, dir: dir, machine: protocol.Machine()}
	for _, r := range s.rows() {
		if s.only != "" && !strings.Contains(","+s.only+",", ","+r.Name+",") {
			continue
		}
		fmt.Fprintln(os.Stderr, r.Title)
		if err := b.measure(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		b.rows = append(b.rows, r)
	}
	return b.write()
}

// bench is one run of all rows.
type bench struct {
	settings
	dir, machine string
	rows         []*row
}

// programs are what is compared. Rows that write have Varve twice: as it is, and without
// waiting for the disk, which the reference does not do.
const (
	ours     = "Varve"
	unsynced = "Varve, not synced"
	theirs   = "icechunk"
)

// measure measures a row in rounds.
func (b *bench) measure(ctx context.Context, r *row) error {
	names := []string{ours, theirs}
	if r.sync {
		names = []string{unsynced, theirs, ours}
	}
	for _, name := range names {
		r.Results = append(r.Results, &result{Program: name})
	}
	rounds := b.rounds
	if r.again {
		rounds = min(rounds, 2) // making the repository takes longer than the work
	}
	for range rounds {
		for _, x := range r.Results {
			at, err := b.repository(ctx, r, x.Program)
			if err != nil {
				return err
			}
			a, err := b.one(ctx, r, x.Program, at)
			if err != nil {
				return fmt.Errorf("%s: %w", x.Program, err)
			}
			x.Seconds, x.Peak = append(x.Seconds, a.Seconds), append(x.Peak, a.Peak)
			if x.Done = a.Done; x.Done != r.Results[0].Done {
				return fmt.Errorf("%s has %v as the result, %s %v", x.Program, x.Done, r.Results[0].Program, r.Results[0].Done)
			}
		}
	}
	return nil
}

// repository returns the folder of the repository of a row, which it makes if it is not
// there. Programs that write have one each.
func (b *bench) repository(ctx context.Context, r *row, program string) (string, error) {
	at := filepath.Join(b.dir, r.folder)
	if r.sync || r.again {
		at += "-" + strings.ReplaceAll(program, ", ", "-")
	}
	if r.again {
		if err := os.RemoveAll(at); err != nil {
			return "", err
		}
	}
	if _, err := os.Stat(at); err == nil {
		return at, nil
	}
	switch r.folder {
	case "log":
		return at, exec.CommandContext(ctx, b.longlog, at, strconv.Itoa(b.log)).Run()
	case "refs":
		// The reference writes a configuration in which manifests are not split.
		if err := b.python1(ctx, "init", at, 0, nil); err != nil {
			return "", err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return at, process(ctx, nil, self, fmt.Sprint("-arrays=", b.arrays), fmt.Sprint("-refs=", b.refs), fmt.Sprint("-gc=", b.gc), "make", r.folder, at)
}

// one makes one measurement.
func (b *bench) one(ctx context.Context, r *row, program, at string) (a answer, err error) {
	if program == theirs {
		return a, b.python1(ctx, r.Name, at, r.number, &a)
	}
	self, err := os.Executable()
	if err != nil {
		return a, err
	}
	return a, process(ctx, &a, self, r.Name, at, strconv.Itoa(r.number), strconv.FormatBool(program == unsynced))
}

func (b *bench) python1(ctx context.Context, name, at string, number int, a *answer) error {
	return process(ctx, a, b.python, "reference.py", name, at, strconv.Itoa(number))
}

// process runs a process, and parses what it prints.
func process(ctx context.Context, a *answer, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Stderr = os.Stderr
	out, err := c.Output()
	// The reference sometimes ends with a signal after it has printed.
	if len(out) == 0 && err != nil {
		return err
	}
	if a == nil {
		return nil
	}
	return json.Unmarshal(out, a)
}

// write writes the report.
func (b *bench) write() error {
	if b.out == "" {
		return b.report(os.Stdout)
	}
	f, err := os.Create(b.out)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := b.report(f); err != nil {
		return err
	}
	data, err := json.MarshalIndent(b.rows, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(b.out, ".md")+".json", append(data, '\n'), 0o644)
}

func (b *bench) report(w io.Writer) error {
	fmt.Fprintf(w, `# Repositories of Icechunk

%s %d rounds.

Varve and the reference (icechunk 2.3.0 and zarr 3.4.2 for Python) do the same work on repositories of a local disk, in turns. Each
measurement is a process of its own; its start and the imports of Python are not counted. Ratios are the time of the reference divided by
that of Varve in the same round: above 1, Varve is faster. The median, and the lowest and highest of the middle half. The reference does
not wait until the disk has what it writes; Varve does, unless it is told not to. All files are in the system's cache.
`+"`make bench-icechunk`"+` repeats this.

| work | program | ms | its time ÷ Varve's | peak of memory, MB |
|---|---|--:|--:|--:|
`, b.machine, b.rounds)
	for _, r := range b.rows {
		for i, x := range r.Results {
			title := ""
			if i == 0 {
				title = r.Title
			}
			fmt.Fprintf(w, "| %s | %s | %.4g | %s | %.0f |\n", title, x.Program, 1e3*protocol.Median(x.Seconds),
				protocol.Ratios(x.Seconds, r.Results[0].Seconds), protocol.Median(x.Peak)/1e6)
		}
	}
	return nil
}
