// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWheel checks RECORD against the files, as installers do.
func TestWheel(t *testing.T) {
	w := wheel{version: "0.1.0", platform: "manylinux2014_x86_64.musllinux_1_1_x86_64", system: "linux", binary: []byte("program"), licence: []byte("Apache License\n"),
		shared: []file{{"man/man1/varve.1", []byte(".TH")}}}
	if got := w.name(); got != "varve_zarr-0.1.0-py3-none-manylinux2014_x86_64.musllinux_1_1_x86_64.whl" {
		t.Errorf("the name is %s", got)
	}
	var b, again bytes.Buffer
	if err := w.write(&b); err != nil {
		t.Fatal(err)
	}
	if err := w.write(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Errorf("a second wheel has other bytes: %v", err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = string(data)
		if executable := f.Mode()&0o111 != 0; executable != strings.HasSuffix(f.Name, "/varve") {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	record := files["varve_zarr-0.1.0.dist-info/RECORD"]
	if n := strings.Count(record, "\n"); n != len(files) {
		t.Errorf("RECORD lists %d of %d files:\n%s", n, len(files), record)
	}
	for name, data := range files {
		sum := sha256.Sum256([]byte(data))
		line := fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		if strings.HasSuffix(name, "/RECORD") {
			line = name + ",,\n"
		}
		if !strings.Contains(record, line) {
			t.Errorf("RECORD lacks %s", line)
		}
	}
	const base = "varve_zarr-0.1.0."
	if files[base+"dist-info/licenses/LICENSE"] != "Apache License\n" || files[base+"data/data/share/man/man1/varve.1"] != ".TH" {
		t.Error("the licence or the manual page is missing")
	}
	head, text, _ := strings.Cut(files[base+"dist-info/METADATA"], "\n\n")
	if !strings.Contains(head, "\nLicense-File: LICENSE\n") || text != description {
		t.Errorf("METADATA is\n%s\n\n%s", head, text)
	}
	tags := files["varve_zarr-0.1.0.dist-info/WHEEL"]
	if !strings.Contains(tags, "Tag: py3-none-musllinux_1_1_x86_64\n") || strings.Contains(tags, "x86_64.musl") {
		t.Errorf("WHEEL is\n%s", tags)
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "0.1.0", "v1.20.3-rc.1": "1.20.3rc1", "v0.1.0-rc2": "0.1.0rc2", "v0.1.0-12-g0123abc": "0.1.0.post12+g0123abc",
		"0.1.0": "", "v0.1": "", "v0.1.0-dirty": "", "v0.1.0\nName: other": "",
	} {
		if got, err := pythonVersion(version); got != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q (%v), want %q", version, got, err, want)
		}
	}
}

// relative matches a Markdown link or image whose address is relative: an index of
// packages has nothing to resolve it against.
var relative = regexp.MustCompile(`\]\([^h)]|\]\(h[^t)]`)

// TestDescription checks that the page stands alone.
func TestDescription(t *testing.T) {
	if found := relative.FindString(description); found != "" {
		t.Errorf("the address after %q is relative", found)
	}
	if !strings.Contains(description, "pip install "+project) || strings.Contains(description, "clone") {
		t.Error("the description does not say how the wheel is installed")
	}
}

// TestSharedFiles takes manual pages and completions from a folder like that of
// .ci/extras.
func TestSharedFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := sharedFiles(dir); err == nil {
		t.Error("an empty folder is accepted")
	}
	for _, name := range []string{"completions/varve.bash", "completions/_varve", "completions/varve.fish", "completions/varve.ps1", "man/man1/varve.1", "man/man7/varve-select.7"} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	files, err := sharedFiles(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	want := []string{"bash-completion/completions/varve", "zsh/site-functions/_varve", "fish/vendor_completions.d/varve.fish", "man/man1/varve.1", "man/man7/varve-select.7"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}
