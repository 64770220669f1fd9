// SPDX-License-Identifier: Apache-2.0

// Page bundles the page of varve view: the TypeScript in serve/page/src and the libraries
// in serve/page/vendor become app.js.gz, app.css.gz and index.html in serve/page/dist,
// which package page embeds.
//
//	go run ./tools/page          bundle
//	go run ./tools/page -check   fail unless the committed bundle is what the source gives
//	go run ./tools/page -vendor  fetch the libraries that vendor.json lists
//
// The bundle is a function of the source: the same bytes on every system. Only -vendor
// needs the network and npm. The registry is the one that npm is configured for.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run() error {
	check := flag.Bool("check", false, "fail if the committed bundle is not what the source gives")
	vendor := flag.Bool("vendor", false, "fetch the libraries that vendor.json lists")
	flag.Parse()
	if flag.NArg() != 0 || *check && *vendor {
		flag.Usage()
		return fmt.Errorf("takes -check or -vendor, and no arguments")
	}
	gomod, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("run it in a clone of the repository: %w", err)
	}
	page := filepath.Join(strings.TrimSpace(string(gomod)), "serve", "page")
	if *vendor {
		return fetchAll(page)
	}
	if err := checkVendor(page); err != nil {
		return err
	}
	made, err := bundle(page, filepath.Join(page, "vendor"))
	if err != nil {
		return err
	}
	if made.size() > budget {
		return fmt.Errorf("the page has %d bytes, more than its budget of %d: take something away", made.size(), budget)
	}
	for name, content := range made.files {
		if err := place(filepath.Join(page, "dist", name), content, *check); err != nil {
			return err
		}
	}
	fmt.Printf("%d bytes of %d\n", made.size(), budget)
	return nil
}

// place writes the content to the file, or compares it with the file if check is set. A
// file of the name .gz is compressed. Only the content is compared, because another
// version of Go may compress it to other bytes; such a file is left as it is.
func place(file string, content []byte, check bool) error {
	old, err := os.ReadFile(file)
	if err == nil && strings.HasSuffix(file, ".gz") {
		old, err = expand(old)
	}
	switch {
	case err == nil && bytes.Equal(old, content):
		return nil
	case check:
		return fmt.Errorf("%s is not what the source gives: run go generate ./serve/page, and commit the bundle", file)
	}
	if strings.HasSuffix(file, ".gz") {
		if content, err = compress(content); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o666)
}
