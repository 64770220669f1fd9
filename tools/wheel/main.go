// SPDX-License-Identifier: Apache-2.0

// Wheel packs the static command varve into a Python wheel, so that `pip install` and
// `uv tool install` put it on the path. The wheel has no Python code.
//
//	go run ./tools/wheel -binary build/varve -os linux -arch amd64 -version v0.1.0 -out build
//
// It prints the name of the wheel. The same arguments make the same bytes.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "wheel:", err)
		os.Exit(1)
	}
}

func run() error {
	binary := flag.String("binary", filepath.Join("build", "varve"), "the static binary")
	system := flag.String("os", runtime.GOOS, "the GOOS that the binary was built for")
	arch := flag.String("arch", runtime.GOARCH, "the GOARCH that the binary was built for")
	version := flag.String("version", "v0.0.0", "the version, as v0.1.0 or from git describe")
	readme := flag.String("readme", "README.md", "the description, in Markdown")
	out := flag.String("out", "build", "the folder for the wheel")
	flag.Parse()
	w := wheel{system: *system}
	var err error
	if w.version, err = pythonVersion(*version); err != nil {
		return err
	}
	if w.platform, err = platform(*system, *arch); err != nil {
		return err
	}
	if w.binary, err = os.ReadFile(*binary); err != nil {
		return err
	}
	if w.readme, err = os.ReadFile(*readme); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := w.write(&b); err != nil {
		return err
	}
	name := filepath.Join(*out, w.name())
	fmt.Println(name)
	return os.WriteFile(name, b.Bytes(), 0o666)
}
