// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// rechunked is the results of all cases of rechunking.
type rechunked struct {
	Machine machine
	Cases   []compared
}

// compared is the results of a case with its goal.
type compared struct {
	measured
	Beside string  `json:",omitempty"`
	Most   float64 `json:",omitempty"`
	Memory int64   `json:",omitempty"`
}

const rechunkExplanation = `
The programs take turns on the same stores. Each figure is the median of all rounds; ± is half of the difference between the slowest and
the fastest round. Ratios are those of the runs of one round, with the lowest and the highest one. A ratio without
a spread is that of a single run, for long work the one that was checked: take it as a hint. Read, written and calls are those of the
system, also from its cache. "Encoded" are bytes that were copied without being decoded, "linked" those that the old and the new chunks
share. Varve works in place and keeps the old chunks; the others write to an empty folder. The first run of every program, which
otherwise does not count, was checked in full. Chunks are of float32; those with zstd shrink to about a third.
`

func (r *rechunked) markdown(w io.Writer) {
	fmt.Fprint(w, "# Rechunking\n\n")
	r.Machine.markdown(w)
	fmt.Fprint(w, rechunkExplanation)
	fmt.Fprint(w, "\n## Overview\n\n| case | varve | beside | time | ratio | goal | memory | goal |\n|---|--:|---|--:|--:|--:|--:|--:|\n")
	for _, c := range r.Cases {
		c.overview(w)
	}
	for _, c := range r.Cases {
		c.table(w)
	}
}

// own returns the results of Varve.
func (c compared) own() (r result) {
	if i := slices.IndexFunc(c.Results, func(r result) bool { return r.Candidate == "varve" }); i >= 0 {
		r = c.Results[i]
	}
	return r
}

// other returns the results to compare with.
func (c compared) other() (r result) {
	least := fastest(c.Results, took, peer)
	for _, o := range c.Results {
		if o.Why == "" && o.Median > 0 && (o.Candidate == c.Beside || c.Beside == "" && o.Median == least) {
			r = o
		}
	}
	return r
}

func (c compared) overview(w io.Writer) {
	own, other := c.own(), c.other()
	if own.Why != "" || own.Median == 0 { // nothing was reached
		fmt.Fprintf(w, "| %s | no figure ✗ | – | – | – | – | – | – |\n", c.ID)
		return
	}
	fmt.Fprintf(w, "| %s | %s |", c.ID, duration(own.Median))
	if other.Candidate == "" {
		fmt.Fprint(w, " – | – | – | – |")
	} else {
		fmt.Fprintf(w, " %s | %s | %s | %.2f%s |", other.Candidate, duration(other.Median), ratios(own, other), c.Most, reached(ratio(own, other) <= c.Most))
	}
	fmt.Fprintf(w, " %s |", memory(own.Peak))
	if c.Memory == 0 {
		fmt.Fprintln(w, " – |")
		return
	}
	fmt.Fprintf(w, " %s%s |\n", memory(c.Memory), reached(own.Peak <= c.Memory))
}

func reached(is bool) string {
	if is {
		return " ✓"
	}
	return " ✗"
}

// ratiosOf returns the ratios of the rounds, in order of size.
func ratiosOf(a, b result) (all []float64) {
	for i := range min(len(a.Seconds), len(b.Seconds)) {
		all = append(all, a.Seconds[i]/b.Seconds[i])
	}
	slices.Sort(all)
	return all
}

func ratio(a, b result) float64 { return median(ratiosOf(a, b)) }

func ratios(a, b result) string {
	all := ratiosOf(a, b)
	if len(all) < 2 {
		return fmt.Sprintf("%.2f", median(all))
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", median(all), all[0], all[len(all)-1])
}

func (c compared) table(w io.Writer) {
	fmt.Fprintf(w, "\n### %s: %s\n\n| | time | ± | GB/s | CPU | memory | read | written | calls | encoded | linked | decoded |\n|---|%s\n",
		c.ID, c.Title, strings.Repeat("--:|", 11))
	var notes []string
	for _, r := range c.Results {
		if r.Why != "" {
			notes = append(notes, fmt.Sprintf("%s: %s.", r.Candidate, strings.TrimSuffix(r.Why, ".")))
			continue
		}
		fmt.Fprintf(w, "| %s | %s | %.0f %% | %s | %s | %s | %s | %s | %s |", r.Candidate, duration(r.Median), 100*r.spread(), rate(r.figures),
			duration(r.CPU), memory(r.Peak), memory(r.Moved.Read), memory(r.Moved.Written), grouped(r.Moved.Calls))
		if r.Candidate == "varve" {
			fmt.Fprintf(w, " %s | %s | %s |\n", memory(r.Encoded), memory(r.Linked), memory(r.Decoded))
		} else {
			fmt.Fprintln(w, " | | |")
		}
	}
	if len(notes) > 0 {
		fmt.Fprintf(w, "\nWithout figures: %s\n", strings.Join(notes, " "))
	}
}
