// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const folder = "../../serve/page"

// TestBundle checks that two bundles of the same source are alike, within the budget, and
// without addresses of other hosts that a browser would ask.
func TestBundle(t *testing.T) {
	page, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	one, err := bundle(page, filepath.Join(page, "vendor"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := bundle(page, filepath.Join(page, "vendor"))
	if err != nil {
		t.Fatal(err)
	}
	if len(one.files) != 3 || one.size() > budget {
		t.Errorf("%d files of %d bytes", len(one.files), one.size())
	}
	for name, content := range one.files {
		if !bytes.Equal(content, two.files[name]) {
			t.Errorf("%s differs", name)
		}
		text := strings.NewReplacer("http://www.w3.org/", "", "https://www.w3.org/", "").Replace(string(content))
		if strings.Contains(text, "http://") || strings.Contains(text, "https://") {
			t.Errorf("%s has the address of another host", name)
		}
	}
}

// TestPlace checks that a file that is not what the source gives is found, and replaced
// by one that is.
func TestPlace(t *testing.T) {
	for _, name := range []string{"app.js.gz", "index.html"} {
		file := filepath.Join(t.TempDir(), "dist", name)
		if err := place(file, []byte("new"), true); err == nil {
			t.Errorf("%s: a missing file is taken for a current one", name)
		}
		for range 2 {
			if err := place(file, []byte("new"), false); err != nil {
				t.Fatal(err)
			}
			if err := place(file, []byte("new"), true); err != nil {
				t.Error(err)
			}
		}
		if err := place(file, []byte("newer"), true); err == nil || !strings.Contains(err.Error(), "go generate ./serve/page") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVendor checks that a change of a library is found.
func TestVendor(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := checkVendor(dir); err != nil {
		t.Fatal(err)
	}
	licence := filepath.Join(dir, "vendor", "uplot", "LICENSE")
	for _, change := range []func() error{
		func() error { return os.WriteFile(licence, []byte("other"), 0o666) },
		func() error { return os.Remove(licence) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if err := checkVendor(dir); err == nil || !strings.Contains(err.Error(), "uplot/LICENSE") {
			t.Error(err)
		}
	}
}
