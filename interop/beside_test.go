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

//go:embed beside.py
var besideProgram string

// patience is how long zarr-python may take for one line of the table, setting up
// included.
const patience = 60 * time.Second

// TestBeside measures Varve and zarr-python in one run on one machine and prints a table,
// or the part of it that $VARVE_BESIDE names. It asserts no time.
func TestBeside(t *testing.T) {
	if os.Getenv("VARVE_BESIDE") == "" {
		t.Skip("measures and takes minutes: make beside")
	}
	b := &beside{T: t, python: interpreter(t)}
	b.print("Varve on %s, %s; %s; %s/%s, %d cores, %s; load before: %s\n\n", runtime.Version(), revision(), b.zarr(besideRequest{Op: "version"}).Text,
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
		if only := os.Getenv("VARVE_BESIDE"); only == "1" || only == part.name {
			part.measure()
		}
	}
	b.print("\nThe best of several rounds each, in %.0f s.\n", time.Since(start).Seconds())
}

// beside is a table that is being measured.
type beside struct {
	*testing.T
	python string
}

// besideRequest is what zarr-python is to measure.
type besideRequest struct {
	Op      string `json:"op"`
	Path    string `json:"path"`
	Memory  bool   `json:"memory"` // in a store in memory, which gets a copy of the directory
	Rounds  int    `json:"rounds"`
	Times   int    `json:"times"`   // calls a round
	Length  int64  `json:"length"`  // appended, or the index that is read
	Indices string `json:"indices"` // file of int64

	Readers  int    `json:"readers"`
	Cold     bool   `json:"cold"`     // open the array in every round, without measuring that
	Pipeline string `json:"pipeline"` // that is not the usual one
}

// besideAnswer is what it measured, of which an operation tells what applies to it.
type besideAnswer struct {
	Text          string
	Seconds       float64
	Bytes         float64
	Read, Written float64
	Sum           int64 // of the chunks that were found
	Late          bool  // patience was over; Seconds is how long it was
}

// zarr has zarr-python measure something, in a process of its own.
func (b *beside) zarr(r besideRequest) besideAnswer {
	b.Helper()
	raw, err := json.Marshal(r)
	check(b.T, err)
	ctx, stop := context.WithTimeout(b.Context(), patience)
	defer stop()
	c := exec.CommandContext(ctx, b.python, "-c", besideProgram, string(raw))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return besideAnswer{Seconds: patience.Seconds(), Late: true}
	}
	check(b.T, err)
	var answer besideAnswer
	check(b.T, json.Unmarshal(out, &answer))
	return answer
}

// best returns the seconds of one call in the fastest of some rounds of calls.
func best(rounds, times int, do func()) float64 { return bestAfter(rounds, times, func() {}, do) }

// bestAfter prepares every round without measuring that.
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

func (b *beside) print(format string, values ...any) { fmt.Printf(format, values...) }

// seconds adds a line with times.
func (b *beside) seconds(what string, varve float64, python besideAnswer) {
	more := ""
	if python.Late {
		more = "> "
	}
	b.print("| %s | %s | %s%s | %s%s |\n", what, duration(varve), more, duration(python.Seconds), more, ratio(python.Seconds/varve))
}

// sizes adds a line with bytes.
func (b *beside) sizes(what string, varve, python float64) {
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

// revision names the commit that is measured.
func revision() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown revision"
	}
	return strings.TrimSpace(string(out))
}

// processor returns the name of the processor, where Linux tells it.
func processor() string {
	_, name, _ := strings.Cut(firstLine("/proc/cpuinfo", "model name"), ": ")
	return name
}

// firstLine returns the first line of a file that begins with a prefix, "" where there is
// none.
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

// fresh returns the path of a new array in a directory of its own.
func (b *beside) fresh() string { return filepath.Join(b.TempDir(), "a.zarr") }
