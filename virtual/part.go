// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/selection"
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
	// host. Coordinates and small arrays are read, to compare or to keep them.
	Values func(ctx context.Context, path string) ([]byte, error)
	// Format names the format of the file, and Refused lists the arrays in it that cannot
	// be referenced, and what else is left out.
	Format  string
	Refused []Refusal
	// Kept says that an earlier collection has scanned the file ([Collector.Keep]).
	Kept bool

	// array opens an array of it to read its elements; nil if that is not possible.
	array  func(ctx context.Context, path string) (*zarr.Array, error)
	isFile bool
	// shown is the file as a store, until it is closed; nil if the part is no file.
	shown  *view
	read   map[string][]byte // what Values has returned, if it is remembered
	closer func() error
}

// openPart scans the file at a key of a store. location is how the manifest will name it,
// and scheme is that of the store, "file" for a directory of this machine. The caller
// closes the part.
func openPart(ctx context.Context, s store.Store, key store.Key, location, scheme string) (*Part, error) {
	f, err := scan.Open(ctx, s, key)
	if err != nil {
		return nil, err
	}
	p, err := partOf(f, location, scheme)
	if err != nil {
		// Without a part, nothing else closes the file.
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// isArchive reports whether a file begins as zip archives do.
func isArchive(f *scan.File) bool {
	b, err := f.Bytes(0, 4)
	return err == nil && string(b) == "PK\x03\x04"
}

func partOf(f *scan.File, location, scheme string) (*Part, error) {
	if f.Size() == 0 {
		return nil, scan.Unsupportedf("the file is empty")
	}
	s, known := scannerOf(f)
	if !known && isArchive(f) {
		return nil, scan.Unsupportedf("it is a zip archive, and references lead to bytes of plain files: " + remedy.CopyArchive)
	}
	if !known {
		return nil, scan.Unsupportedf("the first bytes are of no known format: %s", formats())
	}
	found, err := s.Scan(f)
	if err != nil {
		return nil, err
	}
	m, refused, err := New(describe(location, f.Info(), scheme), found)
	if err != nil {
		return nil, err
	}
	p := &Part{Name: location, Manifest: m, Refused: refused, Format: found.Format, isFile: true, closer: f.Close}
	// Coordinates are read through the store, with the codecs of the array, from blocks
	// that the scan has in memory.
	p.shown = newStore(m, &scanned{file: f})
	p.readFrom(openerOf(p.shown))
	return p, nil
}

// openerOf returns a function that opens arrays of a store.
func openerOf(s store.Store) func(ctx context.Context, path string) (*zarr.Array, error) {
	return func(ctx context.Context, path string) (*zarr.Array, error) {
		return zarr.At(s, path).OpenArray(ctx, nil)
	}
}

// close releases the file.
func (p *Part) close() error {
	if p.closer == nil {
		return nil
	}
	return p.closer()
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

func (s *scanned) shown(location string) string { return location }

func (s *scanned) close() error { return nil }

// Get implements [store.Store].
func (s *scanned) Get(_ context.Context, _ store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	// A File is for one goroutine, and an array is read by several.
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

// readFrom makes a function the one that opens the arrays of a part to read them.
func (p *Part) readFrom(open func(ctx context.Context, path string) (*zarr.Array, error)) {
	p.array = open
	p.Values = func(ctx context.Context, path string) ([]byte, error) {
		a, err := open(ctx, path)
		if err != nil {
			return nil, err
		}
		return readAll(ctx, a)
	}
}

// readAll returns all elements of an array, in host byte order. Texts have their lengths
// before them.
func readAll(ctx context.Context, a *zarr.Array) ([]byte, error) {
	if a.Type().Variable() {
		b, err := zarr.Read[string](ctx, a, nil)
		return appendTexts(nil, b.Data), err
	}
	n, ok := checked.Product(append(a.Shape(), int64(a.Type().Size()))...)
	if !ok || n > mostValues {
		return nil, fmt.Errorf("%w: the array %s of shape %v", ErrLimit, a.Path(), a.Shape())
	}
	values := make([]byte, n)
	return values, a.ReadBytes(ctx, nil, values)
}

// appendTexts appends texts with their lengths before them.
func appendTexts(dst []byte, texts []string) []byte {
	for _, text := range texts {
		dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	}
	return dst
}

// mostValues bounds the values of a coordinate in bytes.
const mostValues = 1 << 30

// digest returns a hash of all elements of an array of a part, which it reads piece by
// piece. Arrays with the same chunks have the same digest if and only if their elements
// are equal.
func (p *Part) digest(ctx context.Context, path string) ([]byte, error) {
	if p.array == nil {
		return nil, errors.New("its elements cannot be read")
	}
	a, err := p.array(ctx, path)
	if err != nil {
		return nil, err
	}
	sum, buffer := sha256.New(), []byte(nil)
	for box := range boxesOf(a.Grid(), widthOf(a.Type()), digestBytes) {
		if buffer, err = elementsIn(ctx, a, box, buffer[:0]); err != nil {
			return nil, err
		}
		sum.Write(buffer)
	}
	return sum.Sum(nil), nil
}

// digestBytes is how many bytes of elements are read at once for a digest, unless a chunk
// has more.
const digestBytes = 64 << 20

// boxesOf yields boxes that cover an array, in the order of their first elements. Each
// consists of whole chunks, and has at most so many bytes unless it is one chunk.
func boxesOf(g *grid.Grid, width, most int64) iter.Seq[selection.Box] {
	shape, count := g.Shape(), g.Chunks()
	split := 0 // the boxes have one chunk along the axes before this one, and all of the others
	// Boxes of whole rows are read by fewer requests than single chunks.
	for split < len(shape) && !fitsIn(g, width, split, most) {
		split++
	}
	return func(yield func(selection.Box) bool) {
		if slices.Contains(shape, 0) {
			return
		}
		boxes, _ := checked.Product(count[:split]...)
		index := make([]int64, len(count))
		for k := range boxes {
			indexOf(k, count[:split], 0, index[:split])
			cell, _ := g.Chunk(index) // it is in the grid
			length := slices.Clone(shape)
			copy(length, cell.Logical[:split])
			if !yield(boxOf(cell.Start, length)) {
				return
			}
		}
	}
}

// fitsIn reports whether boxes with one chunk along the first axes, and with all elements
// along the others, have at most so many bytes.
func fitsIn(g *grid.Grid, width int64, first int, most int64) bool {
	n := width
	for i, extent := range g.Shape() {
		if axis := g.Axis(i); i < first {
			extent = axis.Longest(grid.Interval{Stop: axis.Chunks()})
		}
		var ok bool
		if n, ok = checked.Mul(n, extent); !ok || n > most {
			return false
		}
	}
	return true
}

// elementsIn appends the elements of a part of an array, in host byte order. Texts have
// their lengths before them.
func elementsIn(ctx context.Context, a *zarr.Array, sel selection.Box, dst []byte) ([]byte, error) {
	if a.Type().Variable() {
		b, err := zarr.Read[string](ctx, a, sel)
		return appendTexts(dst, b.Data), err
	}
	n := int64(a.Type().Size())
	for _, x := range sel {
		n *= x[1] - x[0]
	}
	dst = slices.Grow(dst, int(n))[:len(dst)+int(n)]
	return dst, a.ReadBytes(ctx, sel, dst[len(dst)-int(n):])
}
