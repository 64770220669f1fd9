// SPDX-License-Identifier: Apache-2.0

// Tarfile describes an array in an uncompressed tar file. It reads the array through
// its own store, without unpacking the file.
//
//	tarfile archive.tar era5.zarr/t2m
package main

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log"
	"os"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: tarfile FILE ARRAY")
	}
	if err := run(context.Background(), os.Stdout, os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, file, path string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := index(f)
	if err != nil {
		return err
	}
	a, err := zarr.At(s, path).OpenArray(ctx, nil)
	if err != nil {
		return err
	}
	stored := 0
	for _, err := range a.StoredChunks(ctx) {
		if err != nil {
			return err
		}
		stored++
	}
	fmt.Fprintf(out, "%s %v, %d chunks stored\n", a.Type(), a.Shape(), stored)
	return nil
}

// tarStore reads the values in a tar file.
type tarStore struct {
	file   io.ReaderAt
	values map[string]value
}

// value is the position and length of a value in the file.
type value struct{ offset, size int64 }

// index reads the headers of a tar file. It skips directories, links, and names that
// are not valid keys.
func index(f *os.File) (*tarStore, error) {
	s := &tarStore{file: f, values: map[string]value{}}
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		if _, err := store.ParseKey(h.Name); err != nil || h.Typeflag != tar.TypeReg {
			continue
		}
		offset, err := f.Seek(0, io.SeekCurrent) // the reader is just behind the header
		if err != nil {
			return nil, err
		}
		s.values[h.Name] = value{offset, h.Size}
	}
}

// Get implements [store.Store].
func (s *tarStore) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, store.Info{}, err
	}
	v, ok := s.values[key.String()]
	if !ok {
		return nil, store.Info{}, fmt.Errorf("tar: %s: %w", key, fs.ErrNotExist)
	}
	start, n, err := q.Resolve(v.size) // the requested bytes, within the limit of the caller
	if err != nil {
		return nil, store.Info{}, err
	}
	at := len(dst)
	dst = append(dst, make([]byte, n)...)
	if _, err := s.file.ReadAt(dst[at:], v.offset+start); err != nil {
		return nil, store.Info{}, err
	}
	return dst, store.Info{Size: v.size}, nil
}

// List implements [store.Lister].
func (s *tarStore) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(store.Entry{}, err)
			return
		}
		seen := map[string]bool{}
		for name, v := range s.values {
			e, ok := entry(name, v, dir, how&store.Deep != 0)
			if !ok || seen[e.Name] {
				continue
			}
			seen[e.Name] = true
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entry returns the entry for a value in the listing of a directory: the value itself,
// or the subdirectory that contains it.
func entry(name string, v value, dir store.Path, deep bool) (store.Entry, bool) {
	key := store.MustKey(name)
	if !dir.Contains(key) {
		return store.Entry{}, false
	}
	rest := dir.Rel(key)
	if first, _, below := strings.Cut(rest, "/"); below && !deep {
		return store.Entry{Name: first, Dir: true, Size: -1}, true
	}
	return store.Entry{Name: rest, Size: v.size}, true
}
