// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

// scanRecord is the stored form of the scan of one file.
type scanRecord struct {
	Format  string                  `json:"format"`
	Groups  scanList[nodeRecord]    `json:"groups"`
	Arrays  scanList[nodeRecord]    `json:"arrays"`
	Refused scanList[refusalRecord] `json:"refused,omitempty"`
	Values  map[string][]byte       `json:"values,omitempty"` // of the arrays that were read
}

// scanList is a list of at most mostScanned: empty objects, which compress well, would
// take much memory.
type scanList[T any] []T

// UnmarshalJSON implements [json.Unmarshaler].
func (l *scanList[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != nil && t != json.Delim('[') {
		return scan.Corruptf("no list (%v)", err)
	}
	for d.More() {
		if len(*l) == mostScanned {
			return scan.Corruptf("a list of more than %d", mostScanned)
		}
		var x T
		if err := d.Decode(&x); err != nil {
			return err
		}
		*l = append(*l, x)
	}
	return nil
}

type nodeRecord struct {
	Path     string           `json:"path"`
	Document string           `json:"document"`
	Blocks   [][]byte         `json:"references,omitempty"` // each has mostReferences, but for the last one
	Inline   map[int64][]byte `json:"inline,omitempty"`
	Points   scanList[point]  `json:"points,omitempty"`
}

type refusalRecord struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
	// Corrupt says that the array is damaged. Otherwise it is not supported, or too
	// large.
	Corrupt bool  `json:"corrupt,omitempty"`
	Array   bool  `json:"array,omitempty"`
	More    int64 `json:"more,omitempty"`
}

// recordOf returns the stored form of a part that was scanned.
func recordOf(p *Part, values map[string][]byte) ([]byte, error) {
	r := scanRecord{Format: p.Format, Values: values}
	for _, g := range p.Manifest.Groups {
		text, err := g.Document.Marshal(metadata.Limits{})
		if err != nil {
			return nil, err
		}
		r.Groups = append(r.Groups, nodeRecord{Path: g.Path, Document: string(text)})
	}
	for _, a := range p.Manifest.Arrays {
		// The document is text: it may have a bare NaN, which JSON does not have.
		text, err := a.Document.Marshal(metadata.Limits{})
		if err != nil {
			return nil, err
		}
		n := nodeRecord{Path: a.Path, Document: string(text), Inline: a.inline, Points: a.points}
		for at := 0; at < a.refs.len(); at += mostReferences {
			n.Blocks = append(n.Blocks, appendBlock(nil, a.refs.slice(at, min(at+mostReferences, a.refs.len()))))
		}
		r.Arrays = append(r.Arrays, n)
	}
	for _, x := range p.Refused {
		r.Refused = append(r.Refused, refusalRecord{x.Path, x.Err.Error(), errors.Is(x.Err, scan.ErrCorrupt), x.Array, x.More})
	}
	return json.Marshal(r)
}

// parseRecord returns the manifest of a file, and the record that it was made of.
func parseRecord(text []byte, source Source) (*Manifest, *scanRecord, error) {
	var r scanRecord
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, nil, scan.Corruptf("%v", err)
	}
	m := &Manifest{Sources: []Source{source}}
	for _, g := range r.Groups {
		node, err := metadata.Parse([]byte(g.Document), metadata.Limits{})
		if err != nil {
			return nil, nil, err
		}
		doc, ok := node.(*metadata.Group)
		// Kept scans lie in a folder that others may write to.
		if _, err := store.ParsePath(g.Path); err != nil || !ok {
			return nil, nil, scan.Corruptf("no group at %q", g.Path)
		}
		m.Groups = append(m.Groups, Group{g.Path, doc})
	}
	// Find out what the references take before any are in memory: a block of a few bytes
	// may have thousands of them.
	for _, n := range r.Arrays {
		a, err := n.array()
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", n.Path, err)
		}
		m.Arrays = append(m.Arrays, a)
	}
	// A manifest in which two nodes share a path would be refused by its readers.
	if err := m.checkUnique(); err != nil {
		return nil, nil, err
	}
	if err := r.checkStored(m, source.Size); err != nil {
		return nil, nil, err
	}
	for i, a := range m.Arrays {
		if err := r.Arrays[i].read(a, source.Size); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", a.Path, err)
		}
	}
	for path, values := range r.Values {
		a := m.Array(path)
		if a == nil {
			return nil, nil, scan.Corruptf("values of %q, which is not there", path)
		}
		if n, ok := sizeOf(a, mostValues); isFixed(a) && (!ok || n != int64(len(values))) {
			return nil, nil, scan.Corruptf("%s of %q, which has the shape %v", quantity.Count(len(values), "bytes"), path, a.Document.Shape)
		}
	}
	m.sort()
	return m, &r, nil
}

// isFixed reports whether the elements of an array have one length.
func isFixed(a *Array) bool {
	t, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
	return err == nil && !t.Variable()
}

// checkStored returns an error if most chunks of large arrays are not stored, as
// checkAbsent does, but for all arrays of a file with so many bytes: a stored chunk takes
// a byte of it at least.
func (r *scanRecord) checkStored(m *Manifest, size int64) error {
	all := int64(0)
	for _, a := range m.Arrays {
		n, _ := a.Grid.NumChunks()
		all += n
	}
	if all <= mostAbsent {
		return nil
	}
	// First the bound that needs no decoding, then the number itself.
	stored := min(all, size) // at most
	if all <= mostAbsent+64*stored {
		stored = 0
		for i, a := range m.Arrays {
			n, err := r.Arrays[i].stored(a)
			if err != nil {
				return fmt.Errorf("%q: %w", a.Path, err)
			}
			stored += n
		}
	}
	if all > mostAbsent+64*stored {
		return fmt.Errorf("%w: %s, and at most %d of them are stored", ErrLimit, quantity.Count(all, "chunks"), stored)
	}
	return nil
}

// array returns the array of a record, without its references.
func (n *nodeRecord) array() (*Array, error) {
	node, err := metadata.Parse([]byte(n.Document), metadata.Limits{})
	if err != nil {
		return nil, err
	}
	doc, ok := node.(*metadata.Array)
	if _, err := store.ParsePath(n.Path); err != nil || !ok {
		return nil, scan.Corruptf("no array")
	}
	g, err := grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, nil)
	if err != nil {
		return nil, err
	}
	chunks, ok := g.NumChunks()
	if !ok || (chunks+mostReferences-1)/mostReferences != int64(len(n.Blocks)) {
		return nil, scan.Corruptf("%s of references for %v chunks", quantity.Count(len(n.Blocks), "blocks"), g.Chunks())
	}
	a := &Array{Path: n.Path, Document: doc, Grid: g, inline: n.Inline, points: n.Points}
	if err := cmp.Or(a.checkPoints(), a.checkChunks()); err != nil {
		return nil, err
	}
	for k := range a.inline {
		if k < 0 || k >= chunks {
			return nil, scan.Corruptf("chunk %d of %d", k, chunks)
		}
	}
	return a, nil
}

// blocks returns the references of an array, block by block.
func (n *nodeRecord) blocks(a *Array) iter.Seq2[references, error] {
	return func(yield func(references, error) bool) {
		left, _ := a.Grid.NumChunks()
		for _, b := range n.Blocks {
			some, err := parseBlock(b, int(min(mostReferences, left)))
			left -= int64(some.len())
			if !yield(some, err) || err != nil {
				return
			}
		}
	}
}

// stored returns the number of the chunks of an array that are stored.
func (n *nodeRecord) stored(a *Array) (int64, error) {
	stored := int64(len(n.Inline))
	for some, err := range n.blocks(a) {
		if err != nil {
			return 0, err
		}
		stored += some.stored()
	}
	return stored, nil
}

// read reads the references of an array of a file with so many bytes.
func (n *nodeRecord) read(a *Array, size int64) error {
	stored := int64(len(n.Inline))
	for some, err := range n.blocks(a) {
		if err != nil {
			return err
		}
		for i, s := range some.source {
			r := some.at(i)
			// A file has one source. The record is hostile, too: it lies in a folder
			// that others may write to.
			if s > 1 || s == 1 && size > 0 && r.offset+r.length > uint64(size) {
				return scan.Corruptf("chunk %d has %s at %d of source %d, which has %d", a.refs.len()+i, quantity.Count(r.length, "bytes"), r.offset, s, size)
			}
			stored += int64(s)
		}
		a.refs.concat(some)
	}
	return checkAbsent(a.Grid, stored)
}

// part returns what was found as a part. Values that were not read when the file was
// scanned are read from it; open scans it again.
func (r *scanRecord) part(m *Manifest, open func(ctx context.Context) (*Part, error)) *Part {
	p := &Part{Name: m.Sources[0].Location, Manifest: m, Format: r.Format, Kept: true}
	for _, x := range r.Refused {
		kind := error(scan.ErrUnsupported)
		if x.Corrupt {
			kind = scan.ErrCorrupt
		}
		p.Refused = append(p.Refused, Refusal{x.Path, &keptError{x.Reason, kind}, x.Array, x.More})
	}
	var mu sync.Mutex
	var again *Part
	scanAgain := func(ctx context.Context) (*Part, error) {
		mu.Lock()
		defer mu.Unlock()
		if again == nil {
			var err error
			if again, err = open(ctx); err != nil {
				return nil, err
			}
		}
		// The file may have changed since its size and time were compared. Values of
		// the new file do not belong to the references of the old one.
		if again.Manifest.Sources[0] != m.Sources[0] {
			return nil, fmt.Errorf("%w: %s", errSourceChanged, p.Name)
		}
		return again, nil
	}
	p.array = func(ctx context.Context, path string) (*zarr.Array, error) {
		of, err := scanAgain(ctx)
		if err != nil {
			return nil, err
		}
		return of.array(ctx, path)
	}
	p.Values = func(ctx context.Context, path string) ([]byte, error) {
		if v, ok := r.Values[path]; ok {
			return v, nil
		}
		of, err := scanAgain(ctx)
		if err != nil {
			return nil, err
		}
		return of.Values(ctx, path)
	}
	p.closer = func() error {
		mu.Lock()
		defer mu.Unlock()
		if again == nil {
			return nil
		}
		return again.close()
	}
	return p
}

// keptError is the error of an earlier scan.
type keptError struct {
	text string
	kind error
}

func (e *keptError) Error() string { return e.text }

func (e *keptError) Unwrap() error { return e.kind }

// mostScanned bounds the sources of a value, and the nodes in one file whose scan is
// kept.
const mostScanned = 1 << 16
