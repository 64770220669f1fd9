// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func sampleReport() *report {
	return &report{Machine: machine{Date: "2026-01-02", Cores: 2, Size: "small", Rounds: 1, Missing: []string{"zarrita"}}, Rows: []measured{
		{ID: "1/raw/all", Title: "read all of raw", Results: []result{
			{Candidate: "varve", Varve: true, figures: gather([]sample{{seconds: 0.5, cpu: 1, starting: 0.01, peak: 20 << 20, bytes: 1e9}})},
			{Candidate: "zarrs", figures: gather([]sample{{seconds: 1, cpu: 2, starting: 0.02, peak: 30 << 20, bytes: 1e9}})},
			{Candidate: "tensorstore", Why: "it knows no rectilinear grids"},
		}},
		{ID: "9/zstd/all-8", Title: "read all from afar", Ideal: 0.25, Results: []result{
			{Candidate: "varve", Varve: true, Requests: 65, Received: 4096, figures: gather([]sample{{seconds: 0.3, cpu: 1, starting: 0.01, peak: 20 << 20}})},
		}},
	}}
}

func TestMarkdown(t *testing.T) {
	var b bytes.Buffer
	sampleReport().markdown(&b)
	for _, want := range []string{
		"| 1/raw/all | **500 ms** | 1 s | – | 2.00 | 2.00 |", "Not there: zarrita.", "## The arrays of zarr_benchmarks",
		"| zarrs | 1 s | 0 % | 2.00 | 1 | 2 s | 30 MiB | 20 ms |", "Without figures: tensorstore: it knows no rectilinear grids.",
		"At best 250 ms.", "| varve | 300 ms | 0 % | 1.00 | – | 1 s | 20 MiB | 10 ms | 65 | 4 KiB |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

func TestSave(t *testing.T) {
	name := filepath.Join(t.TempDir(), "R.md")
	if err := save(name, sampleReport()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(strings.TrimSuffix(name, ".md") + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(data, &back); err != nil || len(back.Rows) != 2 || back.Rows[0].Results[0].Median != 0.5 {
		t.Errorf("%v: %+v", err, back)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{duration(0), "0"}, {duration(12e-6), "12 µs"}, {duration(0.0123), "12.3 ms"}, {duration(1.234), "1.23 s"}, {duration(123.4), "123 s"},
		{memory(1 << 10), "1 KiB"}, {memory(3 << 19), "1.5 MiB"}, {memory(20 << 20), "20 MiB"}, {memory(11 << 30), "11.0 GiB"},
		{times(3, 2), "1.50"}, {times(1, 0), "–"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
