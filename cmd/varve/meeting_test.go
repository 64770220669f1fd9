// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// meeting is input that another program has waited for: it changes the store before the
// first byte arrives.
type meeting struct {
	change func()
	*strings.Reader
}

func (m *meeting) Read(b []byte) (int, error) {
	if m.change != nil {
		m.change()
		m.change = nil
	}
	return m.Reader.Read(b)
}

// another runs a command on the goroutine that reads the input, where a test must not
// end.
func another(t *testing.T, stdin string, args ...string) {
	if _, errs, status := execute(t, stdin, args...); status != 0 {
		t.Errorf("varve %q: status %d, %s", args, status, errs)
	}
}

// TestWriteMeetsMove finds the elements to write, and then gets the values. Meanwhile
// elements are dropped, inserted and moved back. The values are at the elements that were
// meant, or nowhere.
func TestWriteMeetsMove(t *testing.T) {
	drop := func(group string) {
		another(t, "", "drop", group, "--axis", "time", "--range", "0:4", "--yes")
	}
	for name, c := range map[string]struct {
		change func(group string)
		status int
		want   string // the values of the times 40 to 42
	}{
		"drop": {drop, 1, "[[80,81],[82,83],[84,85]]"},
		"drop and vacuum": {func(group string) {
			drop(group)
			another(t, "", "vacuum", group, "--grace", "0s", "--yes")
		}, 1, "[[80,81],[82,83],[84,85]]"},
		"insert": {func(group string) {
			another(t, "\x00\x00\x00\x00", "insert", group+"/t2m", "--at", "0", "--alone")
		}, 1, "[[78,79],[80,81],[82,83]]"},
		"drop and revert": {func(group string) {
			drop(group)
			another(t, "", "revert", group)
		}, 0, "[[1,2],[3,4],[5,6]]"},
		"compact": {func(group string) {
			another(t, "", "compact", group+"/t2m", "--to", "max:90")
		}, 0, "[[1,2],[3,4],[5,6]]"},
	} {
		for _, sel := range []string{"time=40.0..42.0", "40:43"} {
			t.Run(name+" "+sel, func(t *testing.T) {
				group := window(t)
				in := &meeting{func() { c.change(group) }, strings.NewReader("[[1,2],[3,4],[5,6]]")}
				var out, errs bytes.Buffer
				status := run(t.Context(), []string{"write", group + "/t2m", "--select", sel, "--format", "json"}, console.Streams{In: in, Out: &out, Err: &errs})
				if status != c.status || status == 1 && !strings.Contains(errs.String(), "dropped or inserted elements") {
					t.Errorf("status %d, %s", status, &errs)
				}
				at := "40:43"
				if strings.HasPrefix(name, "drop") && status == 1 {
					at = "36:39"
				}
				if got := elementsAt(t, group+"/t2m", at); got != c.want {
					t.Errorf("%s", got)
				}
			})
		}
	}
}

// TestMovedPlan executes a plan of a removal after other elements were dropped and the
// array has grown to its length of before.
func TestMovedPlan(t *testing.T) {
	group := window(t)
	plan := group + ".json"
	must(t, "", "drop", group+"/t2m", "--axis", "time", "--range", "40:43", "--alone", "--dry-run", "--plan", plan)
	must(t, "", "drop", group, "--axis", "time", "--range", "0:4", "--yes")
	must(t, "[[180,181],[182,183],[184,185],[186,187]]", "append", group+"/t2m", "--axis", "time", "--alone", "--format", "json", "-")
	if _, errs, status := execute(t, "", "run", plan); status != 1 || !strings.Contains(errs, "make the plan again") {
		t.Errorf("status %d, %s", status, errs)
	}
	if got := elementsAt(t, group+"/t2m", "36:38"); got != "[[80,81],[82,83]]" {
		t.Errorf("%s", got)
	}
}
