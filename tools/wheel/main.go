// SPDX-License-Identifier: Apache-2.0

// Wheel packs the static command varve into a Python wheel, so that `pip install` and
// `uv tool install` put it on the path. The wheel has no Python code.
//
//	go run ./tools/wheel -binary build/varve -os linux -arch amd64 -version v0.1.0 -extras build/extras -out build
//
// The manual pages and completions of -extras, which .ci/extras writes, go to share/ of
// the environment. It prints the name of the wheel. The same arguments make the same
// bytes.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path"
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
	licence := flag.String("licence", "LICENSE", "the text of the licence")
	extras := flag.String("extras", "", "the folder with manual pages and completions, as .ci/extras writes it")
	out := flag.String("out", "build", "the folder for the wheel, which is created if it is missing")
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
	if w.licence, err = os.ReadFile(*licence); err != nil {
		return err
	}
	if *extras != "" && *system != "windows" {
		if w.shared, err = sharedFiles(*extras); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	if err := w.write(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	name := filepath.Join(*out, w.name())
	fmt.Println(name)
	return os.WriteFile(name, b.Bytes(), 0o666)
}

// completions are the places of the completion scripts below share/, where the Debian and
// RPM packages have them too.
var completions = []struct{ script, place string }{
	{"varve.bash", "bash-completion/completions/varve"},
	{"_varve", "zsh/site-functions/_varve"},
	{"varve.fish", "fish/vendor_completions.d/varve.fish"},
}

// sharedFiles returns the files below share/, from a folder that .ci/extras wrote.
func sharedFiles(extras string) ([]file, error) {
	var files []file
	for _, c := range completions {
		data, err := os.ReadFile(filepath.Join(extras, "completions", c.script))
		if err != nil {
			return nil, err
		}
		files = append(files, file{c.place, data})
	}
	for _, section := range []string{"man1", "man7"} {
		pages, err := os.ReadDir(filepath.Join(extras, "man", section))
		if err != nil {
			return nil, err
		}
		for _, page := range pages {
			data, err := os.ReadFile(filepath.Join(extras, "man", section, page.Name()))
			if err != nil {
				return nil, err
			}
			files = append(files, file{path.Join("man", section, page.Name()), data})
		}
	}
	return files, nil
}
