// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/format"
	"varve.dev/zarr/internal/racing"
)

// TestExportStreams writes a long JSON document to standard output without a temporary
// file. If reading fails, a long document is cut, and of a short one nothing is written.
func TestExportStreams(t *testing.T) {
	racing.Skip(t)
	aside := t.TempDir()
	t.Setenv("TMPDIR", aside)
	node := newNode(t, "--shape", "9000000", "--chunks", "1000000", "--dtype", "int8")
	if _, stderr, code := execute(t, "", "write", node, "--value", "7"); code != 0 {
		t.Fatal(stderr)
	}
	stdout, stderr, code := execute(t, "", "export", node, "--format", "json")
	if code != 0 || len(stdout) != 18000002 || !strings.HasPrefix(stdout, "[7,7") || !strings.HasSuffix(stdout, ",7]\n") {
		t.Errorf("%d bytes, %s", len(stdout), stderr)
	}
	if left, err := os.ReadDir(aside); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if err := os.WriteFile(node+"/c/8", []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	for sel, least := range map[string]int{"": 0, "7999000:8001000": 0} {
		stdout, stderr, code = execute(t, "", "export", node, "--select", sel, "--format", "json")
		if code != 1 || len(stdout) < least || strings.HasSuffix(stdout, "]\n") || !strings.Contains(stderr, "c/8") {
			t.Errorf("%q: status %d, %d bytes, %s", sel, code, len(stdout), stderr)
		}
	}
}

// TestExportLimit refuses output that is longer than --limit, before anything is written
// if the length is known.
func TestExportLimit(t *testing.T) {
	node := newNode(t, "--shape", "1000", "--chunks", "100", "--dtype", "int32")
	file := t.TempDir() + "/out"
	for _, c := range []struct {
		format, limit string
		fits          bool
	}{
		{"raw", "4000", true}, {"raw", "3999", false}, {"npy", "4000", false}, {"npy", "4128", true},
		{"json", "1999", false}, {"json", "2000", false}, {"json", "2002", true}, {"csv", "1999", false}, {"csv", "2000", true},
	} {
		for _, args := range [][]string{nil, {"-o", file}} {
			_ = os.Remove(file)
			stdout, stderr, code := execute(t, "", append([]string{"export", node, "--format", c.format, "--limit", c.limit + "B"}, args...)...)
			_, err := os.Stat(file)
			made := err == nil || len(stdout) > 0
			if (code == 0) != c.fits || made != c.fits || !c.fits && !strings.Contains(stderr, "--limit") {
				t.Errorf("%+v %v: status %d, output %t, %s", c, args, code, made, stderr)
			}
		}
	}
	var to bytes.Buffer
	err := format.Within(10, bufio.NewWriter(&to), func(w *bufio.Writer) error { _, err := w.WriteString("more than ten"); return err })
	if !errors.Is(err, zarr.ErrLimit) {
		t.Error(err)
	}
}
