// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// execute runs a command line and returns what it printed and its status.
func execute(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, console.Streams{In: strings.NewReader(stdin), Out: &out, Err: &errs})
	return out.String(), errs.String(), status
}

// must runs a command line that must succeed and print nothing on standard error.
func must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, errs, status := execute(t, stdin, args...)
	for line := range strings.Lines(errs) {
		// One goroutine waits for another one while the disk is slow.
		if strings.HasPrefix(line, "varve: waiting for the lock of ") {
			errs = strings.Replace(errs, line, "", 1)
		}
	}
	if status != 0 || errs != "" {
		t.Fatalf("varve %q: status %d, %s", args, status, errs)
	}
	return out
}

// decode reads the JSON that a command printed.
func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// fixture returns a copy of a store in testdata that the test may change.
func fixture(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// overwrite makes text the content of a file.
func overwrite(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// treeOf describes a directory: every name below it, with content and time of the last
// change.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, name, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(name)
			fmt.Fprintf(&b, "%x\n", content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
