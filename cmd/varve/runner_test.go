// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunner gives the plan and the flags after -- to the program that executes plans on
// Beam, and takes over its status.
func TestRunner(t *testing.T) {
	node, plan := newNode(t, "--shape", "4", "--dtype", "int32", "--chunks", "2"), filepath.Join(t.TempDir(), "p.json")
	must(t, "", "rechunk", node, "--chunks", "4", "--plan", plan)
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	if _, errs, status := execute(t, "", "run", plan, "--runner", "beam"); status != 1 || !strings.Contains(errs, "varve-beam is neither") {
		t.Errorf("without the program: status %d, %s", status, errs)
	}
	program := filepath.Join(bin, "varve-beam")
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$*\"\ncase $* in *fail*) echo broken >&2; exit 3 ;; esac\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out := must(t, "", "run", plan, "--runner", "beam", "--tasks", "7", "--", "--runner", "flink", "--endpoint=x")
	if want := plan + " --tasks 7 -- --runner flink --endpoint=x\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	if out := must(t, "", "run", plan, "--runner", "beam", "--json"); out != plan+" --json --\n" {
		t.Errorf("got %q", out)
	}
	if _, errs, status := execute(t, "", "run", plan, "--runner", "beam", "--", "fail"); status != 1 || !strings.Contains(errs, "broken") {
		t.Errorf("status %d, %s", status, errs)
	}
	for words, args := range map[string][]string{
		"for --runner beam":   {"run", plan, "--", "--x"},
		"exclude each other":  {"run", plan, "--runner", "beam", "--publish"},
		"local":               {"run", plan, "--runner", "spark"},
		"unexpected argument": {"run", plan, "more", "--runner", "beam", "--", "x"},
	} {
		if _, errs, status := execute(t, "", args...); status != 2 || !strings.Contains(errs, words) {
			t.Errorf("%q: status %d, %s; want %q", args, status, errs, words)
		}
	}
}
