// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestLocateByName finds the chunk of an element whose index is given by the names of
// dimensions.
func TestLocateByName(t *testing.T) {
	node := newNode(t, "--shape", "60,100", "--dtype", "int8", "--chunks", "[25,30]", "--dimension-names", "time,lat")
	want := must(t, "", "grid", "--json", node, "--locate", "26,31")
	for _, text := range []string{"time=26,lat=31", "lat=31, time=26", "0=26,-1=31"} {
		if got := must(t, "", "grid", "--json", node, "--locate", text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for text, message := range map[string]string{
		"time=26": "the index along lat is missing", "tiem=1,lat=0": "did you mean time?", "time=1,0=2": "axis 0 is given twice", "2=1": "there is no axis 2; the array has",
	} {
		if _, errs, status := execute(t, "", "grid", node, "--locate", text); status != 1 || !strings.Contains(errs, message) {
			t.Errorf("%s: %d, %s", text, status, errs)
		}
	}
	for _, text := range []string{"time=", "=1", "time=1,2", "time=x"} {
		if _, errs, status := execute(t, "", "grid", node, "--locate", text); status != 2 {
			t.Errorf("%s: %d, %s", text, status, errs)
		}
	}
}

// TestCSVNotRead checks the hint how values of a csv file are read.
func TestCSVNotRead(t *testing.T) {
	node := newNode(t, "--shape", "2", "--dtype", "int8")
	t.Chdir(t.TempDir())
	overwrite(t, "x.csv", "")
	for _, args := range [][]string{{"x.csv"}, {"x", "--format", "csv"}} {
		if _, errs, status := execute(t, "", append([]string{"write", node}, args...)...); status != 2 || !strings.Contains(errs, "numpy.loadtxt") {
			t.Errorf("%s: %d, %s", args, status, errs)
		}
	}
}
