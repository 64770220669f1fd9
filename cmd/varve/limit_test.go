// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// TestLimit lowers and raises the limit for a chunk by --limit.
func TestLimit(t *testing.T) {
	node := newNode(t, "--shape", "4096", "--dtype", "int8", "--chunks", "4096", "--compressor", "gzip:1")
	must(t, "", "write", node, "--value", "7")
	_, errs, status := execute(t, "", "cat", node, "--limit", "4095B")
	if status != 1 || !strings.Contains(errs, "--limit") || !strings.Contains(errs, "4095") {
		t.Errorf("status %d, %s", status, errs)
	}
	if out := must(t, "", "cat", node, "--limit", "4kiB", "--select", "-1"); strings.TrimSpace(out) != "7" {
		t.Error(out)
	}
	for _, bad := range []string{"", "many", "0B", "4096", "-1MiB"} {
		if _, errs, status := execute(t, "", "cat", node, "--limit", bad); status != 2 || !strings.Contains(errs, "--limit") {
			t.Errorf("%q: status %d, %s", bad, status, errs)
		}
	}
}

// TestLimitOfParts writes and checks a part of an uncompressed chunk that is larger than
// the limit.
func TestLimitOfParts(t *testing.T) {
	node := newNode(t, "--shape", "100000", "--dtype", "int16", "--chunks", "100000", "--compressor", "none")
	must(t, "", "write", node, "--value", "7")
	must(t, "\x05\x00\x06\x00", "write", node, "--select", "50000:50002", "--format", "raw", "--limit", "1kiB")
	must(t, "", "write", node, "--select", "-1", "--value", "8", "--limit", "1kiB")
	if out := must(t, "", "cat", node, "--select", "49999:50003"); strings.TrimSpace(out) != "[7 5 6 7]" {
		t.Errorf("%q", out)
	}
	if out := must(t, "", "check", node, "--limit", "1kiB"); !strings.Contains(out, "0 faults") {
		t.Error(out)
	}
	_, errs, status := execute(t, "", "write", node, "--value", "3", "--limit", "1kiB")
	if status != 1 || !strings.Contains(errs, "--limit") {
		t.Errorf("status %d, %s", status, errs)
	}
	packed := newNode(t, "--shape", "100000", "--dtype", "int16", "--chunks", "100000", "--compressor", "gzip:1")
	must(t, "", "write", packed, "--value", "7")
	for _, args := range [][]string{{"check", packed}, {"write", packed, "--select", "0", "--value", "1"}} {
		_, errs, status := execute(t, "", append(args, "--limit", "1kiB")...)
		if status != 1 || !strings.Contains(errs, "--limit") || !strings.Contains(errs, "as a whole") {
			t.Errorf("%v: status %d, %s", args, status, errs)
		}
	}
}
