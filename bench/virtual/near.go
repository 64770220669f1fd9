// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/selection"
)

// form is where an array is stored, and how long it took to read it in each round.
type form struct {
	name    string
	path    string // below the folder of the set
	seconds []float64
	work    []float64 // processor time in seconds
}

// forms are the forms of each set. The first one is what the others are compared with.
func forms() []form {
	return []form{{name: "Zarr", path: stored}, {name: "manifest of one file", path: whole + "/a"}, {name: "manifest of the Zarr array", path: each}}
}

// measured is a set with its times.
type measured struct {
	set   set
	forms []form
}

// measureNear reads every set in each form, in turns.
func measureNear(ctx context.Context, dir string, rounds int) ([]measured, error) {
	var all []measured
	for _, s := range sets() {
		at := filepath.Join(dir, s.name)
		if err := os.Mkdir(at, 0o777); err != nil {
			return nil, err
		}
		if err := s.make(ctx, at); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		m := measured{s, forms()}
		if err := m.measure(ctx, at, rounds); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if err := os.RemoveAll(at); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// measure reads all forms of a set. The first round does not count: in it all elements
// are compared.
func (m *measured) measure(ctx context.Context, dir string, rounds int) error {
	n, sel := m.set.elements()
	want, got := make([]byte, 4*n), make([]byte, 4*n)
	for round := range rounds + 1 {
		for k := range m.forms {
			f := &m.forms[(k+round)%len(m.forms)] // no form is always the first
			runtime.GC()
			before := processor()
			seconds, err := read(ctx, filepath.Join(dir, f.path), sel, got)
			work := processor() - before
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			switch {
			case round > 0:
				f.seconds, f.work = append(f.seconds, seconds), append(f.work, work)
			case k == 0:
				copy(want, got)
			case !bytes.Equal(want, got):
				return fmt.Errorf("%s: other elements", f.name)
			}
		}
	}
	return nil
}

// read opens an array, reads a part of it, and returns how long both took, in seconds.
func read(ctx context.Context, location string, sel selection.Selection, dst []byte) (float64, error) {
	begin := time.Now()
	a, err := zarr.OpenArray(ctx, location, nil)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	err = a.ReadBytes(ctx, sel, dst)
	return time.Since(begin).Seconds(), err
}

// writeNear writes the table.
func writeNear(w io.Writer, machine string, rounds int, all []measured) {
	fmt.Fprintf(w, `
## Reading through a manifest

%s

Arrays of 256 MiB on this machine, in the system's cache, are opened and read: stored as Zarr; through a manifest, from one file with the
same chunks one after the other; and through a manifest of the Zarr array itself. They take turns, %d rounds. Ratios are those of one
round, their median and the lowest and highest of the middle half. Processor time is that of this process; it depends less on what else
the machine does.

| read | | ms, median | fastest | ÷ Zarr | processor ms | ÷ Zarr |
|---|---|--:|--:|--:|--:|--:|
`, machine, rounds)
	for _, m := range all {
		for i, f := range m.forms {
			what := m.set.from
			if i > 0 {
				what = ""
			}
			base := m.forms[0]
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", what, f.name, milliseconds(median(f.seconds)), milliseconds(slices.Min(f.seconds)), ratio(f.seconds, base.seconds), milliseconds(median(f.work)), ratio(f.work, base.work))
		}
	}
}

func median(list []float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}

// milliseconds returns seconds as text, with three digits that count.
func milliseconds(seconds float64) string {
	if ms := 1000 * seconds; ms < 1000 {
		return fmt.Sprintf("%.3g", ms)
	}
	return fmt.Sprintf("%.0f", math.Round(100*seconds)*10)
}

// ratio returns the ratios of two lists, one for each round, as text.
func ratio(list, base []float64) string {
	all := make([]float64, len(list))
	for i := range list {
		all[i] = list[i] / base[i]
	}
	slices.Sort(all)
	return fmt.Sprintf("%.2f (%.2f to %.2f)", median(all), all[len(all)/4], all[len(all)*3/4])
}
