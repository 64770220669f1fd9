// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr/bench/protocol"
)

// report is the results of all rows.
type report struct {
	Machine machine
	Rows    []measured
}

// tables is a report as text and as data.
type tables interface{ markdown(w io.Writer) }

// save writes the tables to a file and the data beside it, or prints the tables.
func save(name string, t tables) error {
	var text bytes.Buffer
	t.markdown(&text)
	if name == "" {
		_, err := os.Stdout.Write(text.Bytes())
		return err
	}
	data, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(strings.TrimSuffix(name, filepath.Ext(name))+".json", append(data, '\n'), 0o666); err != nil {
		return err
	}
	return os.WriteFile(name, text.Bytes(), 0o666)
}

// groups are the headings of the rows.
var groups = map[string]string{
	"1": "The arrays of zarr_benchmarks", "2": "The same with uneven edges", "3": "Small chunks", "4": "Small inner chunks in one shard",
	"5": "blosc", "6": "Random elements and planes", "7": "Appends", "8": "Opening", "9": "A store far away", "10": "Round trips",
}

func (r *report) markdown(w io.Writer) {
	fmt.Fprint(w, "# Results\n\n")
	r.Machine.markdown(w)
	fmt.Fprint(w, explanation)
	r.overview(w)
	group := ""
	for _, row := range r.Rows {
		if number, _, _ := strings.Cut(row.ID, "/"); number != group {
			group = number
			fmt.Fprintf(w, "\n## %s\n", groups[group])
		}
		row.markdown(w)
	}
}

func (m machine) markdown(w io.Writer) {
	fmt.Fprintf(w, "%s, %d cores of %s, %s of memory, %s; load %s when the run began.\n", m.Date, m.Cores, m.Processor, m.Memory, m.System, m.Load)
	cache := "warm"
	if m.Cold {
		cache = "cold"
	}
	fmt.Fprintf(w, "Size %s, %d rounds, cache %s. %s.\n", m.Size, m.Rounds, cache, strings.Join(m.Versions, ", "))
	if len(m.Missing) > 0 {
		fmt.Fprintf(w, "Not there: %s.\n", strings.Join(m.Missing, ", "))
	}
}

// explanation explains the figures of the tables.
const explanation = `

The programs take turns. Each measures the seconds of its work, from opening the store on. The tables have the median of all rounds;
± is half of the difference between the slowest and the fastest round. "Start" is the rest of the time of the process. Memory is the
peak of the process. For a command, start and work are not told apart. All answers were checked, except for "limit", which moves the
same bytes, or decodes the same frames, without Zarr.
`

// overview writes one table of all rows: the median of each candidate, the ratio of the
// fastest other library's time to Varve's, and the same for processor time.
func (r *report) overview(w io.Writer) {
	if len(r.Rows) == 0 {
		return
	}
	fmt.Fprint(w, "\n## Overview\n\n| row |")
	for _, c := range r.Rows[0].Results {
		fmt.Fprintf(w, " %s |", c.Candidate)
	}
	fmt.Fprintf(w, " time of the fastest other ÷ varve | the same of CPU |\n|---|%s--:|--:|\n", strings.Repeat("--:|", len(r.Rows[0].Results)))
	for _, row := range r.Rows {
		fmt.Fprintf(w, "| %s |", row.ID)
		least := fastest(row.Results, took, library)
		for _, c := range row.Results {
			text := "–"
			if c.Why == "" {
				text = duration(c.Median)
			}
			if c.Why == "" && c.Median == least && !c.Bound {
				text = "**" + text + "**"
			}
			fmt.Fprintf(w, " %s |", text)
		}
		fmt.Fprintf(w, " %s | %s |\n", row.ratio(took), row.ratio(worked))
	}
}

// took and worked are the quantities by which results are compared.
func took(r result) float64 { return r.Median }

func worked(r result) float64 { return r.CPU }

// ratio returns the time of the fastest other library divided by that of Varve.
func (m measured) ratio(by func(result) float64) string {
	other, own := fastest(m.Results, by, peer), fastest(m.Results, by, func(r result) bool { return r.Candidate == "varve" })
	if own == 0 || other == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", other/own)
}

// far reports whether the store was far, so that requests were counted.
func (m measured) far() bool {
	return m.Ideal > 0 || slices.ContainsFunc(m.Results, func(r result) bool { return r.Requests > 0 })
}

func (m measured) markdown(w io.Writer) {
	fmt.Fprintf(w, "\n### %s: %s\n\n", m.ID, m.Title)
	far := m.far()
	if m.Ideal > 0 {
		fmt.Fprintf(w, "At best %s.\n\n", duration(m.Ideal))
	}
	more, rule := "", ""
	if far {
		more, rule = " requests | received | CPU a GB | CPU a request |", "--:|--:|--:|--:|"
	}
	fmt.Fprintf(w, "| | time | ± | ÷ fastest | GB/s | CPU | memory | start |%s\n|---|--:|--:|--:|--:|--:|--:|--:|%s\n", more, rule)
	least := fastest(m.Results, took, library)
	var notes []string
	for _, r := range m.Results {
		if r.Why != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", r.Candidate, strings.TrimSuffix(r.Why, ".")))
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %.0f %% | %s | %s | %s | %s | %s |", r.Candidate, duration(r.Median), 100*r.spread(),
			times(r.Median, least), rate(r.figures), duration(r.CPU), memory(r.Peak), duration(r.Starting))
		if far {
			fmt.Fprintf(w, " %d | %s | %s | %s |", r.Requests, memory(r.Received),
				each(r.CPU, float64(r.Bytes)/1e9), each(r.CPU, float64(r.Requests)))
		}
		fmt.Fprintln(w)
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\nWithout figures: %s\n", strings.Join(notes, " "))
	}
}

// line formats a row in one line, to show progress.
func line(m measured) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s", m.ID)
	for _, r := range m.Results {
		text := duration(r.Median)
		if text = strings.ReplaceAll(text, " ", ""); r.Why != "" {
			text = "–"
			if strings.HasPrefix(r.Why, "wrong") || strings.HasPrefix(r.Why, "failed") {
				text = "✗ " + r.Why
			}
		}
		fmt.Fprintf(&b, " %s=%s", r.Candidate, text)
	}
	return b.String() + " ratio=" + m.ratio(took) + " of CPU=" + m.ratio(worked)
}

// figures summarize several runs of the same work.
type figures struct {
	Seconds  []float64 // in the order of the runs
	Median   float64
	Least    float64
	Most     float64
	CPU      float64 // median of the seconds of all cores
	Peak     int64   // peak memory in bytes
	Starting float64 // median of the seconds of the process outside the work
	Bytes    int64   // of elements
	Moved    moved   `json:",omitzero"`
	// Encoded, Linked and Decoded are bytes of a rechunk by Varve.
	Encoded, Linked, Decoded int64 `json:",omitempty"`
}

// gather summarizes runs.
func gather(runs []sample) (f figures) {
	var cpu, starting []float64
	for _, r := range runs {
		f.Seconds = append(f.Seconds, r.seconds)
		cpu, starting = append(cpu, r.cpu), append(starting, r.starting)
		f.Peak = max(f.Peak, r.peak)
		f.Bytes, f.Moved = r.bytes, r.moved
		f.Encoded, f.Linked, f.Decoded = r.answer.Moved, r.answer.Linked, r.answer.Decoded
	}
	if len(runs) > 0 {
		f.Least, f.Most = slices.Min(f.Seconds), slices.Max(f.Seconds)
	}
	f.Median, f.CPU, f.Starting = protocol.Median(f.Seconds), protocol.Median(cpu), protocol.Median(starting)
	return f
}

// spread is half the distance between the fastest and the slowest run, as a fraction of
// the median.
func (f figures) spread() float64 {
	if f.Median == 0 {
		return 0
	}
	return (f.Most - f.Least) / 2 / f.Median
}

// fastest returns the smallest of the results that count.
func fastest(all []result, by func(result) float64, counts func(result) bool) (least float64) {
	for _, r := range all {
		if v := by(r); r.Why == "" && v > 0 && counts(r) && (least == 0 || v < least) {
			least = v
		}
	}
	return least
}

// peer reports whether a result is of another library, and library whether it is of any
// library.
func peer(r result) bool { return !r.Varve && !r.Bound }

func library(r result) bool { return !r.Bound }

// duration formats seconds with three digits.
func duration(s float64) string {
	switch {
	case s <= 0:
		return "0"
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	case s < 100:
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.0f s", s)
}

// memory formats bytes.
func memory(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// rate formats the throughput of elements, in 10^9 bytes per second.
func rate(f figures) string {
	if f.Bytes == 0 || f.Median == 0 {
		return "–"
	}
	return fmt.Sprintf("%.3g", float64(f.Bytes)/f.Median/1e9)
}

// each formats a time divided by a number of things, of which there may be none.
func each(seconds, n float64) string {
	if n == 0 {
		return "–"
	}
	return duration(seconds / n)
}

// times formats a ratio.
func times(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", a/b)
}

// machine describes the machine and the programs.
type machine struct {
	Date      string
	System    string
	Processor string
	Cores     int
	Memory    string
	Size      string
	Rounds    int
	Cold      bool
	Load      string // of the machine at the start
	Versions  []string
	Missing   []string // candidates that are not installed
}

func describe(s settings, missing []string) machine {
	return machine{
		Date: time.Now().Format("2006-01-02"), System: system(), Processor: protocol.Field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(),
		Memory: protocol.Field("/proc/meminfo", "MemTotal"), Size: s.size.name, Rounds: s.rounds, Cold: s.cold, Load: protocol.Load(),
		Versions: versions(s.cache), Missing: missing,
	}
}

func system() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + string(release))
}

// versions returns the versions of the programs. bench/setup writes one line for each.
func versions(cache string) []string {
	all := []string{"Varve " + commit(), runtime.Version()}
	data, _ := os.ReadFile(filepath.Join(cache, "versions"))
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" {
			all = append(all, line)
		}
	}
	return all
}

// commit returns the commit of the source if Git knows it.
func commit() string {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "of unknown state"
	}
	return string(bytes.TrimSpace(out))
}

// moved is what a process has read and written through system calls, also from the cache
// of the system.
type moved struct {
	Read, Written int64 // bytes
	Calls         int64 // reads and writes
}

// movedBytes returns what the finished children of this process have moved. It is zero on
// systems that do not count it.
func movedBytes() (m moved) {
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(protocol.Field("/proc/self/io", name), 10, 64)
		return n
	}
	m.Read, m.Written = number("rchar"), number("wchar")
	m.Calls = number("syscr") + number("syscw")
	return m
}
