// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestWheel checks RECORD against the files, as installers do.
func TestWheel(t *testing.T) {
	w := wheel{version: "0.1.0", platform: "manylinux2014_x86_64.musllinux_1_1_x86_64", system: "linux", binary: []byte("program"), readme: []byte("# Text\n")}
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
