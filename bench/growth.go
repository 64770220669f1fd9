// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

// grow measures series, or loads results, and writes tables and plots.
func grow(ctx context.Context, s settings) error {
	if s.from != "" {
		g, err := readGrowth(s.from)
		if err != nil {
			return err
		}
		return g.save(s.out)
	}
	if len(s.candidates) == 0 {
		s.candidates = growers
	}
	all := allSeries(reaches[s.size.name])
	if len(s.rows) > 0 {
		all = slices.DeleteFunc(all, func(q series) bool { return !named(q.id, s.rows) })
	}
	found, missing, err := present(s.cache, s.candidates)
	if err != nil {
		return err
	}
	if run, err := offer(s, all, func(q series) (id, title string) { return q.id, q.title }, found, missing); !run {
		return err
	}
	g := &growth{Machine: describe(s, missing)}
	if g.Series, err = measureSeries(ctx, s, all, found); err != nil {
		return err
	}
	return g.save(s.out)
}

// readGrowth reads a file that save wrote.
func readGrowth(name string) (*growth, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	g := new(growth)
	if err := json.Unmarshal(data, g); err != nil {
		return nil, fmt.Errorf("figures of series in %s: %w", name, err)
	}
	return g, nil
}

// measureSeries runs all series. Data sets are large, so it deletes those of one
// question before the next one begins.
func measureSeries(ctx context.Context, s settings, all []series, found []candidate) (done []grown, err error) {
	b, err := newBench(s)
	if err != nil {
		return nil, err
	}
	b.data += "-growth"
	defer os.RemoveAll(b.scratch)
	defer os.RemoveAll(b.data)
	for i, q := range all {
		if i > 0 && question(q.id) != question(all[i-1].id) {
			if err := os.RemoveAll(b.data); err != nil {
				return nil, err
			}
		}
		g, err := b.follow(ctx, q, found)
		if err != nil {
			return nil, err
		}
		done = append(done, g)
	}
	return done, ctx.Err()
}

// question returns the first part of the name of a series.
func question(id string) string {
	name, _, _ := strings.Cut(id, "/")
	return name
}

// follow measures the points of a series in order.
func (b *bench) follow(ctx context.Context, q series, found []candidate) (g grown, err error) {
	g = grown{ID: q.id, Title: q.title, Across: q.across, Up: q.up}
	for _, p := range q.points {
		r := p.row
		r.id, r.set = fmt.Sprintf("%s/%.0f", q.id, p.x), p.data.name
		b.sets[r.set] = p.data
		m, err := b.measure(ctx, r, found)
		if err != nil {
			return g, fmt.Errorf("series %s: %w", r.id, err)
		}
		g.Places = append(g.Places, place{p.x, p.per, m})
		fmt.Fprintln(os.Stderr, line(m))
	}
	return g, nil
}
