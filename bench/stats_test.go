// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"testing"
)

func TestGather(t *testing.T) {
	f := gather([]sample{
		{seconds: 3, cpu: 6, starting: 0.1, peak: 100, bytes: 8},
		{seconds: 1, cpu: 2, starting: 0.3, peak: 300, bytes: 8},
		{seconds: 2, cpu: 4, starting: 0.2, peak: 200, bytes: 8},
	})
	if f.Median != 2 || f.Least != 1 || f.Most != 3 || f.CPU != 4 || f.Peak != 300 || f.Starting != 0.2 || f.Bytes != 8 {
		t.Errorf("gather: %+v", f)
	}
	if s := f.spread(); math.Abs(s-0.5) > 1e-9 {
		t.Errorf("spread %v, want 0.5", s)
	}
	if s := gather(nil).spread(); s != 0 {
		t.Errorf("spread of nothing %v", s)
	}
}

func TestRatio(t *testing.T) {
	m := measured{Results: []result{
		{Candidate: "varve", Varve: true, figures: figures{Median: 2, CPU: 4}},
		{Candidate: "varve-16MiB", Varve: true, figures: figures{Median: 1, CPU: 1}},
		{Candidate: "quick but wrong", Why: "wrong", figures: figures{Median: 0.1, CPU: 0.1}},
		{Candidate: "limit", Bound: true, figures: figures{Median: 0.5, CPU: 0.5}},
		{Candidate: "a", figures: figures{Median: 3, CPU: 20}},
		{Candidate: "b", figures: figures{Median: 5, CPU: 2}},
	}}
	if r, c := m.ratio(took), m.ratio(worked); r != "1.50" || c != "0.50" {
		t.Errorf("ratios %s and %s, want 1.50 and 0.50", r, c)
	}
	if least := fastest(m.Results, took, library); least != 1 {
		t.Errorf("the fastest library takes %v, want 1", least)
	}
	if r := (measured{}).ratio(took); r != "–" {
		t.Errorf("ratio of nothing %q", r)
	}
}
