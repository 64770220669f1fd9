// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/zip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strings"
	"time"
)

// project is the name on the Python package index, where `varve` is taken by another
// project.
const project = "varve-zarr"

// licence is the SPDX name of the repository's licence.
const licence = "Apache-2.0"

// description is the page of the package on the index. It stands alone: links are
// absolute, and it says how to install the wheel.
//
//go:embed description.md
var description string

// wheel describes a wheel to build. See
// https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
type wheel struct {
	version  string // by PEP 440
	platform string // compressed platform tags
	system   string // GOOS
	binary   []byte
	licence  []byte // the text
	shared   []file // below share/ of the environment
}

// file is a file of a wheel.
type file struct {
	name string // with slashes
	data []byte
}

// base returns the beginning of the wheel's name and of the folders in it.
func (w *wheel) base() string { return strings.ReplaceAll(project, "-", "_") + "-" + w.version }

// name returns the file name of the wheel.
func (w *wheel) name() string { return w.base() + "-py3-none-" + w.platform + ".whl" }

// program returns the file name of the command.
func (w *wheel) program() string {
	if w.system == "windows" {
		return "varve.exe"
	}
	return "varve"
}

// write writes the wheel. RECORD, which lists all files with their hashes, comes last.
func (w *wheel) write(to io.Writer) error {
	z := zip.NewWriter(to)
	var record strings.Builder
	add := func(name string, mode fs.FileMode, data []byte) error {
		sum := sha256.Sum256(data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		return addFile(z, name, mode, data)
	}
	info := w.base() + ".dist-info/"
	if err := add(w.base()+".data/scripts/"+w.program(), 0o755, w.binary); err != nil {
		return err
	}
	for _, f := range w.shared {
		if err := add(w.base()+".data/data/share/"+f.name, 0o644, f.data); err != nil {
			return err
		}
	}
	for _, f := range []file{{"METADATA", w.metadata()}, {"WHEEL", w.tags()}, {"licenses/LICENSE", w.licence}} {
		if err := add(info+f.name, 0o644, f.data); err != nil {
			return err
		}
	}
	record.WriteString(info + "RECORD,,\n")
	if err := addFile(z, info+"RECORD", 0o644, []byte(record.String())); err != nil {
		return err
	}
	return z.Close()
}

// epoch is the earliest time that a zip archive can store. All files have it, so that
// builds are reproducible.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

func addFile(z *zip.Writer, name string, mode fs.FileMode, data []byte) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: epoch}
	h.SetMode(mode)
	f, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return err
}

// metadata returns METADATA. See
// https://packaging.python.org/en/latest/specifications/core-metadata/.
func (w *wheel) metadata() []byte {
	return fmt.Appendf(nil, `Metadata-Version: 2.4
Name: %s
Version: %s
Summary: The varve command: Zarr arrays with chunks that follow the data
License-Expression: %s
License-File: LICENSE
Project-URL: Homepage, https://varve.dev
Project-URL: Documentation, https://pkg.go.dev/varve.dev/zarr
Keywords: zarr,rectilinear,chunks,array
Requires-Python: >=3.8
Description-Content-Type: text/markdown

%s`, project, w.version, licence, description)
}

// tags returns WHEEL. Platform tags that the name compresses have a line each.
func (w *wheel) tags() []byte {
	text := "Wheel-Version: 1.0\nGenerator: varve.dev/zarr/tools/wheel\nRoot-Is-Purelib: false\n"
	for platform := range strings.SplitSeq(w.platform, ".") {
		text += "Tag: py3-none-" + platform + "\n"
	}
	return []byte(text)
}

// platforms are the tags of the systems and processors that a static binary runs on. See
// https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/.
//
// A static binary needs no C library, so it runs wherever glibc or musl programs do. Go
// 1.26 needs macOS 12.
var platforms = map[string]string{
	"linux/amd64":   "manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

func platform(system, arch string) (string, error) {
	p, ok := platforms[system+"/"+arch]
	if !ok {
		return "", fmt.Errorf("no platform tag is known for %s/%s", system, arch)
	}
	return p, nil
}

// described matches a version tag, or the output of git describe for a later commit.
var described = regexp.MustCompile(`^v(\d+\.\d+\.\d+)(?:-rc\.?(\d+))?(?:-(\d+)-g([0-9a-f]+))?$`)

// pythonVersion converts a version to PEP 440: v0.2.0-rc.1 becomes 0.2.0rc1. A commit
// after a tag becomes a post-release with the commit as local label.
func pythonVersion(version string) (string, error) {
	m := described.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("%q is not a version such as v0.1.0, v0.1.0-rc.1 or v0.1.0-5-g0123abc", version)
	}
	python := m[1]
	if m[2] != "" {
		python += "rc" + m[2]
	}
	if m[3] != "" {
		python += ".post" + m[3] + "+g" + m[4]
	}
	return python, nil
}
