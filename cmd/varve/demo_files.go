// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
)

// classify counts a file that was written, replaced or removed. For a removed file, info
// is nil.
func (d *demo) classify(f *appendFacts, path string, chunks []int64, info fs.FileInfo) {
	key, ok := strings.CutPrefix(path, d.name+"/")
	index, isChunk := d.origin.spec.KeyEncoding.ParseKey(key, len(chunks), nil)
	switch {
	case info == nil || !ok:
		f.Others++
	case key == "zarr.json":
		f.Documents++
		f.DocumentBytes += info.Size()
	case isChunk && index[0] >= chunks[0]:
		f.NewChunks++
		f.NewBytes += info.Size()
	default:
		f.Others++
	}
}

// measure counts the stored chunks of the array and their bytes.
func (d *demo) measure(a *zarr.Array) (archiveFacts, error) {
	f := archiveFacts{Shape: a.Shape()}
	files, err := listFiles(d.dir)
	for path, info := range files {
		key, _ := strings.CutPrefix(path, d.name+"/")
		if _, ok := d.origin.spec.KeyEncoding.ParseKey(key, a.Rank(), nil); ok {
			f.Chunks++
			f.Bytes += info.Size()
		}
	}
	return f, err
}

// snapshot has the files of a directory at one time, by their paths with slashes.
type snapshot map[string]fs.FileInfo

// listFiles returns the files below dir, without those that Varve reserves, such as
// locks.
func listFiles(dir string) (snapshot, error) {
	s := snapshot{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), "__") {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		s[filepath.ToSlash(rel)], err = e.Info()
		return err
	})
	return s, err
}

// changes yields the paths of the files that are new, removed, or changed: replaced, or
// of another size or time.
func (s snapshot) changes(after snapshot) iter.Seq[string] {
	return func(yield func(string) bool) {
		for path, was := range s {
			is, ok := after[path]
			if ok && os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime()) {
				continue
			}
			if !yield(path) {
				return
			}
		}
		for path := range after {
			if _, ok := s[path]; !ok && !yield(path) {
				return
			}
		}
	}
}
