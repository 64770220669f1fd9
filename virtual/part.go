// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"io"
	"sync"

	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// Part is one file to join.
type Part struct {
	// Name is what messages call it.
	Name string
	// Manifest has what was found in it.
	Manifest *Manifest
	// Values reads all elements of an array of it, in C order and the byte order of the
	// host. Only coordinates are read.
	Values func(ctx context.Context, path string) ([]byte, error)
	// Format names the format of the file, and Refused lists the arrays in it that cannot
	// be referenced.
	Format  string
	Refused []Refusal
	// Kept says that an earlier collection has scanned the file ([Collector.Keep]).
	Kept bool

	read  map[string][]byte // what Values has returned, if that is kept
	close func() error
}

// Scanner finds the arrays of files of a format.
type Scanner struct {
	// Format names the format, such as "NetCDF-3".
	Format string
	// Is reports whether the first bytes of a file are those of the format.
	Is func(*scan.File) bool
	// Scan returns what is in the file.
	Scan func(*scan.File) (*scan.Dataset, error)
}

// OpenPart scans the file at a key of a store. location is how the manifest will name it,
// and scheme is that of the store, "file" for a directory of this machine. The caller
// calls [Part.Close].
func OpenPart(ctx context.Context, s store.Store, key store.Key, location, scheme string) (*Part, error) {
	f, err := scan.Open(ctx, s, key)
	if err != nil {
		return nil, err
	}
	p, err := partOf(f, location, scheme)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

func partOf(f *scan.File, location, scheme string) (*Part, error) {
	for _, s := range scanners {
		if !s.Is(f) {
			continue
		}
		found, err := s.Scan(f)
		if err != nil {
			return nil, err
		}
		m, refused, err := New(Describe(location, f.Info(), scheme), found)
		if err != nil {
			return nil, err
		}
		p := &Part{Name: location, Manifest: m, Refused: refused, Format: found.Format, close: f.Close}
		shown := newStore(m, &scanned{file: f})
		p.Values = func(ctx context.Context, path string) ([]byte, error) { return readAll(ctx, shown, path) }
		return p, nil
	}
	return nil, scan.Unsupportedf("the first bytes are of no known format: %s", formats())
}

// formats lists the formats that scanners know.
func formats() (text string) {
	for i, s := range scanners {
		if i > 0 {
			text += ", "
		}
		text += s.Format
	}
	return text
}

// Close releases the file.
func (p *Part) Close() error {
	if p.close == nil {
		return nil
	}
	return p.close()
}

// scanned is a file that is being scanned, as the only source of its manifest. Its blocks
// are in memory already, so that reading small coordinates takes no further request.
type scanned struct {
	mu   sync.Mutex
	file *scan.File
}

// fileKey is the key of the file in the store that it is.
var fileKey = store.MustKey("file")

func (s *scanned) of(string) (target, error) { return target{s, fileKey, ""}, nil }

func (s *scanned) close() error { return nil }

// Get implements [store.Store].
func (s *scanned) Get(_ context.Context, _ store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	off, n, err := q.Resolve(s.file.Size())
	if err != nil {
		return nil, store.Info{}, err
	}
	out := append(dst, make([]byte, n)...)
	if _, err := s.file.ReadAt(out[len(dst):], off); err != nil && !errors.Is(err, io.EOF) {
		return nil, store.Info{}, err
	}
	return out, s.file.Info(), nil
}
