// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr/bench/protocol"
)

// TestTry measures options with small arrays. A few rows cover all options.
func TestTry(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program and runs it for seconds")
	}
	cache := t.TempDir()
	varve := built(t, cache)[0]
	z := size{name: "test", cube: 64, tiny: 4, inner: 10, planes: 1, edges: 10, run: 10, arrays: 1}
	rows := slices.DeleteFunc(tryouts(z), func(r row) bool {
		return !slices.Contains([]string{"concurrency/zstd", "budget/shard", "index-cache/tiny-far", "gap/planes-far", "durability/copy"}, r.id)
	})
	s := settings{cache: cache, size: z, rounds: 1, limit: time.Minute, slow: time.Second}
	done, err := tryAll(t.Context(), s, rows, varve)
	if err != nil || len(done) != len(allOptions) {
		t.Fatalf("%d of %d rows: %v", len(done), len(allOptions), err)
	}
	for i, m := range done {
		if len(m.Results) != len(allOptions[i].settings) {
			t.Errorf("%s: %d settings", m.ID, len(m.Results))
		}
		for _, r := range m.Results {
			if r.Why != "" || r.Median <= 0 || m.far() != rows[i].remote {
				t.Errorf("%s with %s: %+v", m.ID, r.Candidate, r)
			}
		}
	}
}

// TestOptions checks that every option has adjacent rows, data sets, the zero value as
// default, and different settings.
func TestOptions(t *testing.T) {
	sets, seen := allSets(sizes[0]), map[string]bool{}
	var order []string
	for _, r := range tryouts(sizes[0]) {
		if _, ok := sets[r.set]; !ok || seen[r.id] {
			t.Errorf("row %s is there twice, or has no data set %q", r.id, r.set)
		}
		seen[r.id] = true
		order = append(order, optionOf(r.id).id)
	}
	if order = slices.Compact(order); len(order) != len(allOptions) {
		t.Errorf("rows of %v, of %d options", order, len(allOptions))
	}
	for _, o := range allOptions {
		requests := map[protocol.Request]bool{}
		for _, c := range (candidate{}).apply(o) {
			var q protocol.Request
			c.adjust(&q)
			requests[q] = true
		}
		if len(requests) != len(o.settings) || o.settings[0].value != 0 || !strings.Contains(o.settings[0].name, "default") {
			t.Errorf("%s: %d requests of %v", o.id, len(requests), o.settings)
		}
	}
}

func TestParseOptions(t *testing.T) {
	if s, err := parse([]string{"-options", "-rows", "gap"}); err != nil || !s.options {
		t.Errorf("%+v, %v", s, err)
	}
	for _, more := range []string{"-grow", "-candidates=zarrs", "-from=G.json"} {
		if _, err := parse([]string{"-options", more}); err == nil {
			t.Errorf("no error for -options %s", more)
		}
	}
}

func TestEffects(t *testing.T) {
	e := &effects{Machine: machine{Date: "2026-01-02", Cores: 2, Size: "small", Rounds: 2}, Rows: []measured{
		{ID: "gap/planes", Title: "read planes", Results: []result{
			{Candidate: "default", figures: gather([]sample{{seconds: 0.5, cpu: 1, starting: 0, peak: 20 << 20, bytes: 1e9}, {seconds: 1.5, cpu: 1, starting: 0, peak: 20 << 20, bytes: 1e9}})},
			{Candidate: "4 MiB", Why: "wrong: the checksum"},
		}},
		{ID: "gap/planes-far", Title: "read planes, from afar", Results: []result{
			{Candidate: "default", Requests: 4, Received: 4096, figures: gather([]sample{{seconds: 1, cpu: 1, starting: 0, peak: 20 << 20, bytes: 1e9}})},
			{Candidate: "16 KiB", Requests: 65, Received: 2048, figures: gather([]sample{{seconds: 2, cpu: 0.5, starting: 0, peak: 20 << 20, bytes: 1e9}})},
		}},
	}}
	var b bytes.Buffer
	e.markdown(&b)
	for _, want := range []string{
		"## Shards.Gap\n", "### Read planes\n", "| default | 1 s | 50 % | 1.00 | 1 s | 20 MiB |\n", "| 4 MiB | wrong: the checksum |\n",
		"| Shards.Gap | time | ± | ÷ default | CPU | memory | requests | received |\n", "| 16 KiB | 2 s | 0 % | 2.00 | 500 ms | 20 MiB | 65 | 2 KiB |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Count(b.String(), "## Shards.Gap\n") != 1 {
		t.Errorf("more than one heading in\n%s", b.String())
	}
}
