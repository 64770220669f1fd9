// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// isRemote reports whether a location is not a path of this machine, but a URL as that of
// an object store.
func isRemote(location string) bool {
	return strings.Contains(location, "://") && !strings.HasPrefix(location, "file://")
}

// open opens the place of the archive, which is empty or does not exist yet. The caller
// calls end.
func (d *demo) open(ctx context.Context) (end func() error, err error) {
	if isRemote(d.dir) {
		if d.h, err = zarr.Locate(ctx, d.dir, store.Create); err != nil {
			return nil, err
		}
		d.facts.Path = strings.TrimRight(d.dir, "/") + "/" + d.name
	} else {
		s, err := filestore.Open(d.dir, &filestore.Options{Create: true})
		if err != nil {
			return nil, err
		}
		d.h, d.facts.Path = zarr.At(s, ""), filepath.ToSlash(filepath.Join(d.dir, d.name))
	}
	end = func() error { return store.Close(d.h.Store()) }
	values, err := d.list(ctx)
	if err == nil && len(values) > 0 {
		err = errNotEmpty
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// classify counts a value that was written, replaced or removed.
func (d *demo) classify(f *appendFacts, name string, chunks []int64, after snapshot) {
	key, ok := strings.CutPrefix(name, d.name+"/")
	index, isChunk := d.origin.spec.KeyEncoding.ParseKey(key, len(chunks), nil)
	is, there := after[name]
	switch {
	case !there || !ok:
		f.Others++
	case key == "zarr.json":
		f.Documents++
		f.DocumentBytes += is.Size
	case isChunk && index[0] >= chunks[0]:
		f.NewChunks++
		f.NewBytes += is.Size
	default:
		f.Others++
	}
}

// measure counts the stored chunks of the array and their bytes.
func (d *demo) measure(ctx context.Context, a *zarr.Array) (archiveFacts, error) {
	f := archiveFacts{Shape: a.Shape()}
	values, err := d.list(ctx)
	for name, e := range values {
		key, _ := strings.CutPrefix(name, d.name+"/")
		if _, ok := d.origin.spec.KeyEncoding.ParseKey(key, a.Rank(), nil); ok {
			f.Chunks++
			f.Bytes += e.Size
		}
	}
	return f, err
}

// snapshot has the values of the archive at one time, by their paths.
type snapshot map[string]store.Entry

// list returns the values of the archive, without those that Varve reserves, such as
// locks, which come and go with each append.
func (d *demo) list(ctx context.Context) (snapshot, error) {
	s := snapshot{}
	dir, err := store.ParsePath(d.h.Path())
	if err != nil {
		return nil, err
	}
	for e, err := range store.List(ctx, d.h.Store(), dir, store.Deep|store.WithVersions) {
		if err != nil {
			return nil, err
		}
		if !strings.Contains("/"+e.Name, "/__") {
			s[e.Name] = e
		}
	}
	return s, nil
}

// changes yields the paths of the values that are new, removed, or of another version.
func (s snapshot) changes(after snapshot) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name, was := range s {
			if is, ok := after[name]; ok && is.Version == was.Version && is.Size == was.Size {
				continue
			}
			if !yield(name) {
				return
			}
		}
		for name := range after {
			if _, ok := s[name]; !ok && !yield(name) {
				return
			}
		}
	}
}
