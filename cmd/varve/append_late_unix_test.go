// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"path/filepath"
	"testing"
)

// TestAppendLateProcesses inserts the same late day by several processes at once, each
// with another one. They wait for each other, and there is one copy of each day.
func TestAppendLateProcesses(t *testing.T) {
	group := filepath.Join(t.TempDir(), "g.zarr")
	station(t, group, "[[1],2]")
	must(t, "", byTime(t, group, 10, "", 0, 9)...)
	var all []*process
	for k := range 3 {
		all = append(all, start(t, append(byTime(t, group, 10, "skip", 5, 6+k, 10+k), "--grace", "0s")...))
	}
	for _, p := range all {
		<-p.ended
		if status := p.ProcessState.ExitCode(); status != 0 {
			t.Errorf("status %d, %s%s", status, p.out.String(), p.errs.String())
		}
	}
	checkDays(t, group, []int{0, 5, 6, 7, 8, 9, 10, 11, 12}, []int{10, 10, 10, 10, 10, 10, 10, 10, 10})
}
