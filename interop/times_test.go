// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

//go:embed times.py
var timesProgram string

// patience is the time limit for zarr-python in one line of the table, including its
// setup.
const patience = 60 * time.Second

// TestTimes measures Varve and zarr-python in one run on one machine and prints a
// table, or the part that $VARVE_TIMES names. It asserts no time.
func TestTimes(t *testing.T) {
	if os.Getenv("VARVE_TIMES") == "" {
		t.Skip("measures and takes minutes: make bench-zarr-python")
	}
	b := &timeTable{T: t, python: interpreter(t)}
	b.print("Varve on %s, %s; %s; %s/%s, %d cores, %s; load before: %s\n\n", runtime.Version(), revision(), b.zarr(timeRequest{Op: "version"}).Text,
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), strings.TrimSpace(firstLine("/proc/loadavg", "")))
	b.print("| what | Varve | zarr-python | ratio |\n|---|--:|--:|--:|\n")
	start := time.Now()
	for _, part := range []struct {
		name    string
		measure func()
	}{
		{"lookups", b.lookups}, {"opens", b.opens}, {"appends", b.appends}, {"days", b.days},
		{"processes", b.processes}, {"shrinks", b.shrinks}, {"shards", b.shards},
	} {
		if only := os.Getenv("VARVE_TIMES"); only == "1" || only == part.name {
			part.measure()
		}
	}
	b.print("\nThe best of several rounds each, in %.0f s.\n", time.Since(start).Seconds())
}

// timeTable is a table of measurements.
type timeTable struct {
	*testing.T
	python string
}

// timeRequest describes a measurement for zarr-python.
type timeRequest struct {
	Op      string `json:"op"`
	Path    string `json:"path"`
	Memory  bool   `json:"memory"` // copy the directory into a store in memory
	Rounds  int    `json:"rounds"`
	Times   int    `json:"times"`   // calls a round
	Length  int64  `json:"length"`  // length to append, or index to read
	Indices string `json:"indices"` // file of int64

	Readers  int    `json:"readers"`
	Cold     bool   `json:"cold"`     // open the array in every round, unmeasured
	Pipeline string `json:"pipeline"` // other than the default
}

// timeAnswer is the result. Each operation sets the fields that apply to it.
type timeAnswer struct {
	Text          string
	Seconds       float64
	Bytes         float64
	Read, Written float64
	Sum           int64 // of the chunks that were found
	Late          bool  // patience ended; Seconds is the time until then
}

// zarr runs a measurement of zarr-python in a process of its own.
func (b *timeTable) zarr(r timeRequest) timeAnswer {
	b.Helper()
	raw, err := json.Marshal(r)
	check(b.T, err)
	ctx, stop := context.WithTimeout(b.Context(), patience)
	defer stop()
	c := exec.CommandContext(ctx, b.python, "-c", timesProgram, string(raw))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return timeAnswer{Seconds: patience.Seconds(), Late: true}
	}
	check(b.T, err)
	var answer timeAnswer
	check(b.T, json.Unmarshal(out, &answer))
	return answer
}

// best returns the time of one call in the fastest of several rounds, in seconds.
func best(rounds, times int, do func()) float64 { return bestAfter(rounds, times, func() {}, do) }

// bestAfter is best with an unmeasured preparation of every round.
func bestAfter(rounds, times int, prepare, do func()) float64 {
	least := math.Inf(1)
	for range rounds {
		prepare()
		runtime.GC()
		start := time.Now()
		for range times {
			do()
		}
		least = min(least, time.Since(start).Seconds()/float64(times))
	}
	return least
}

func (b *timeTable) print(format string, values ...any) { fmt.Printf(format, values...) }

// seconds adds a line with times.
func (b *timeTable) seconds(what string, varve float64, python timeAnswer) {
	more := ""
	if python.Late {
		more = "> "
	}
	b.print("| %s | %s | %s%s | %s%s |\n", what, duration(varve), more, duration(python.Seconds), more, ratio(python.Seconds/varve))
}

// sizes adds a line with bytes.
func (b *timeTable) sizes(what string, varve, python float64) {
	b.print("| %s | %s | %s | %s |\n", what, size(varve), size(python), ratio(python/varve))
}

func duration(s float64) string {
	switch {
	case math.IsNaN(s):
		return "–"
	case s < 1e-6:
		return fmt.Sprintf("%.3g ns", s*1e9)
	case s < 1e-3:
		return fmt.Sprintf("%.3g µs", s*1e6)
	case s < 1:
		return fmt.Sprintf("%.3g ms", s*1e3)
	}
	return fmt.Sprintf("%.3g s", s)
}

func size(n float64) string {
	switch {
	case math.IsNaN(n):
		return "–"
	case n < 1e4:
		return fmt.Sprintf("%.0f B", n)
	case n < 1e6:
		return fmt.Sprintf("%.3g kB", n/1e3)
	}
	return fmt.Sprintf("%.3g MB", n/1e6)
}

func ratio(r float64) string {
	switch {
	case math.IsNaN(r) || math.IsInf(r, 0) || r == 0:
		return "–"
	case r < 10:
		return fmt.Sprintf("%.1f ×", r)
	case r < 1000:
		return fmt.Sprintf("%.0f ×", r)
	}
	magnitude := math.Pow(10, math.Floor(math.Log10(r))-1)
	return fmt.Sprintf("%.0f ×", math.Round(r/magnitude)*magnitude)
}

// revision returns the commit that is measured.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown revision"
	}
	return strings.TrimSpace(string(out))
}

// processor returns the name of the processor, if Linux reports it.
func processor() string {
	_, name, _ := strings.Cut(firstLine("/proc/cpuinfo", "model name"), ": ")
	return name
}

// firstLine returns the first line of a file with a prefix, or "".
func firstLine(file, prefix string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), prefix) {
			return s.Text()
		}
	}
	return ""
}

// fresh returns the path for a new array in a directory of its own.
func (b *timeTable) fresh() string { return filepath.Join(b.TempDir(), "a.zarr") }
