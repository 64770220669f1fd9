// SPDX-License-Identifier: Apache-2.0

package grid

import "varve.dev/zarr/internal/checked"

// runSource calls add for every run of a list, in order, until add fails. Neighbouring
// runs may have equal lengths.
type runSource func(add func(length, count int64) error) error

// ofLengths returns a source with one run per cell.
func ofLengths(lengths []int64) runSource {
	return func(add func(length, count int64) error) error {
		for _, n := range lengths {
			if err := add(n, 1); err != nil {
				return err
			}
		}
		return nil
	}
}

// ofRuns returns a source of the given runs.
func ofRuns(runs []Run) runSource {
	return func(add func(length, count int64) error) error {
		for _, r := range runs {
			if err := add(r.Length, r.Count); err != nil {
				return err
			}
		}
		return nil
	}
}

// measure is the size of a list.
type measure struct {
	cells, sum int64
	runs       int64 // runs after neighbours of equal length are merged
}

// measured checks a list and measures it.
func measured(source runSource) (m measure, err error) {
	last := int64(0)
	err = source(func(length, count int64) error {
		if length < 1 {
			return invalid("edge length must be at least 1, got %d", length)
		}
		if count < 1 {
			return invalid("repeat count must be at least 1, got %d", count)
		}
		span, ok := checked.Mul(length, count)
		if ok {
			m.sum, ok = checked.Add(m.sum, span)
		}
		if !ok {
			return ErrOverflow
		}
		m.cells += count // cannot exceed the sum
		if length != last {
			m.runs, last = m.runs+1, length
		}
		return nil
	})
	return m, err
}

// isFlat reports whether to store one number per cell instead of three per run. It does
// so if that takes less memory.
func (m measure) isFlat() bool { return m.runs > m.cells/3 && m.runs > 4 }

// gatherLengths returns 0 and the length of every cell, to be replaced by prefix sums in
// place.
func (m measure) gatherLengths(source runSource) []int64 {
	lengths := make([]int64, 1, m.cells+1)
	_ = source(func(length, count int64) error {
		for range count {
			lengths = append(lengths, length)
		}
		return nil
	})
	return lengths
}

// gatherRuns returns the runs of the list, with neighbours of equal length merged.
func (m measure) gatherRuns(source runSource) []Run {
	runs := make([]Run, 0, m.runs)
	_ = source(func(length, count int64) error {
		runs = appendRun(runs, Run{length, count})
		return nil
	})
	return runs
}
