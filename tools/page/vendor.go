// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// library is a package of npm at one version.
type library struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Licence string `json:"licence"`
	// Integrity is that of the published archive, as npm writes it.
	Integrity string `json:"integrity"`
	// Files are the files that the page needs, relative to the folder of the library, and
	// the integrity of each.
	Files map[string]string `json:"files"`
}

// readVendor reads the list of libraries, which is written by hand but for its files.
func readVendor(page string) ([]*library, error) {
	b, err := os.ReadFile(filepath.Join(page, "vendor", "vendor.json"))
	if err != nil {
		return nil, err
	}
	var list []*library
	return list, json.Unmarshal(b, &list)
}

// checkVendor returns an error if a file of a library was changed, is missing, or is not
// listed.
func checkVendor(page string) error {
	list, err := readVendor(page)
	if err != nil {
		return err
	}
	root := filepath.Join(page, "vendor")
	listed := map[string]string{}
	for _, l := range list {
		for name, sum := range l.Files {
			listed[path.Join(l.Name, name)] = sum
		}
	}
	err = filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "vendor.json" {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		if listed[name] != integrity(content) {
			return fmt.Errorf("%s is not the file that vendor.json lists: run go run ./tools/page -vendor", file)
		}
		delete(listed, name)
		return nil
	})
	for name := range listed {
		return errors.Join(err, fmt.Errorf("%s is missing in %s: run go run ./tools/page -vendor", name, root))
	}
	return err
}

// fetchAll fetches the libraries of vendor.json, and keeps the files of them that the
// bundle is made of, with the licences.
//
//  1. npm downloads each archive. It must have the integrity that vendor.json says.
//  2. All files are unpacked in a temporary folder, and the page is bundled with them.
//  3. The folder vendor is replaced by the inputs of that bundle.
func fetchAll(page string) error {
	list, err := readVendor(page)
	if err != nil {
		return err
	}
	all, err := os.MkdirTemp("", "varve-page-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(all)
	for _, l := range list {
		if err := l.fetch(all); err != nil {
			return fmt.Errorf("%s@%s: %w", l.Name, l.Version, err)
		}
	}
	made, err := bundle(page, all)
	if err != nil {
		return err
	}
	root := filepath.Join(page, "vendor")
	for _, l := range list {
		if err := os.RemoveAll(filepath.Join(root, l.Name)); err != nil {
			return err
		}
		l.Files = map[string]string{}
		if err := l.keep(all, root, needed(l, page, all, made.inputs)); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(list, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "vendor.json"), append(b, '\n'), 0o666)
}

// needed returns the files of the library that the page needs: inputs of the bundle, the
// documents that lead to them, and the licence.
func needed(l *library, page, all string, inputs []string) []string {
	folder := filepath.Join(all, l.Name)
	var names []string
	for _, input := range inputs {
		file, err := filepath.Rel(folder, filepath.Join(page, input))
		if err == nil && filepath.IsLocal(file) {
			names = append(names, filepath.ToSlash(file))
		}
	}
	for _, name := range []string{"LICENSE", "package.json", "hooks/package.json", "jsx-runtime/package.json"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// keep copies the files of the library from one folder of libraries to another.
func (l *library) keep(from, to string, names []string) error {
	for _, name := range names {
		content, err := os.ReadFile(filepath.Join(from, l.Name, name))
		if err != nil {
			return err
		}
		file := filepath.Join(to, l.Name, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
		l.Files[name] = integrity(content)
	}
	return nil
}

// fetch unpacks the published archive of the library in a folder of the name of the
// library.
func (l *library) fetch(folder string) error {
	pack := exec.Command("npm", "pack", "--silent", l.Name+"@"+l.Version)
	pack.Dir, pack.Stderr = folder, os.Stderr
	out, err := pack.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	archive, err := os.ReadFile(filepath.Join(folder, strings.TrimSpace(string(out))))
	if err != nil {
		return err
	}
	switch sum := integrity(archive); l.Integrity {
	case sum:
	case "":
		l.Integrity = sum // a new version, whose integrity the commit shows
	default:
		return fmt.Errorf("the archive has the integrity %s, and vendor.json says %s", sum, l.Integrity)
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/")
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		file := filepath.Join(folder, l.Name, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o666); err != nil {
			return err
		}
	}
}

// integrity returns the SHA-512 of the content as npm writes it.
func integrity(content []byte) string {
	sum := sha512.Sum512(content)
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}
