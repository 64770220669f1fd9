// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sampleGrowth has a candidate that gets faster, one that fails, and a bound.
func sampleGrowth() *growth {
	at := func(seconds ...float64) figures {
		var all []sample
		for _, s := range seconds {
			all = append(all, sample{seconds: s, bytes: 2e9})
		}
		return gather(all)
	}
	there := func(x float64, varve, zarrs result) place {
		varve.Candidate, zarrs.Candidate = "varve", "zarrs"
		return place{x, 1, measured{Results: []result{varve, zarrs, {Candidate: "limit", Bound: true, Why: "nothing to compare with"}}}}
	}
	return &growth{Machine: machine{Date: "2026-01-02", Cores: 2, Size: "small", Rounds: 3}, Series: []grown{{
		ID: "chunk-size/raw", Title: "Read all", Across: chunkBytes, Up: throughput, Places: []place{
			there(1<<14, result{figures: at(2)}, result{Why: "no such work"}),
			there(1<<20, result{figures: at(1.25, 0.75, 1)}, result{figures: at(4)}),
		},
	}}}
}

func TestGrowthMarkdown(t *testing.T) {
	var b bytes.Buffer
	sampleGrowth().markdown(&b)
	for _, want := range []string{
		"## How large a chunk", "![Read all: GB/s by bytes of a chunk](plots/chunk-size-raw.svg)", "| bytes of a chunk | varve | zarrs |",
		"| 16 KiB | 1 | – |", "| 1 MiB | 2 ± 25 % | 0.5 |", "| last ÷ first | 2.00 | 1.00 |", "Without figures: zarrs: no such work.\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "| limit |") {
		t.Errorf("a column without figures in\n%s", b.String())
	}
}

// TestGrowthSave checks that saved figures give the same tables and plots.
func TestGrowthSave(t *testing.T) {
	first, second := filepath.Join(t.TempDir(), "new", "G.md"), filepath.Join(t.TempDir(), "G.md")
	if err := sampleGrowth().save(first); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-from", strings.TrimSuffix(first, ".md") + ".json", "-out", second}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"G.md", "G.json", "plots/chunk-size-raw.svg"} {
		a, err := os.ReadFile(filepath.Join(filepath.Dir(first), name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(filepath.Dir(second), name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v", name, err)
		}
	}
}

// TestGrowthDrawn checks that the tables and plots in the repository match the figures
// beside them.
func TestGrowthDrawn(t *testing.T) {
	g, err := readGrowth("GROWTH.json")
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	g.markdown(&text)
	compare := func(name string, want []byte) {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
			t.Errorf("%s is not of these figures (%v): draw them with: go run . -from GROWTH.json -out GROWTH.md", name, err)
		}
	}
	compare("GROWTH.md", text.Bytes())
	for _, s := range g.Series {
		compare(s.plot(), s.chart().svg())
	}
}
