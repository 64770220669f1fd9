// SPDX-License-Identifier: Apache-2.0

package main

import "slices"

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

// median returns the median of values, or 0 without values.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
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
	f.Median, f.CPU, f.Starting = median(f.Seconds), median(cpu), median(starting)
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
func peer(r result) bool    { return !r.Ours && !r.Bound }
func library(r result) bool { return !r.Bound }
