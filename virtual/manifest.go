// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/virtual/scan"
)

// Suffix ends the name of the folder of a manifest.
const Suffix = own.ManifestSuffix

// Manifest is a hierarchy whose arrays are references into sources.
type Manifest struct {
	Groups []Group // the root first, each before those below it
	Arrays []*Array
	Join   Join // how more files are added

	folder       *folder   // of a stored manifest
	former       *Manifest // the stored one, if this one was collected anew in its place
	copies       []Source  // the values that copies of chunks were stored in
	sourceBlocks []piece   // the sources that are stored already
	Sources      []Source  // those that follow them
}

// Group is a group of a manifest.
type Group struct {
	Path     string // "" for the root
	Document *metadata.Group
}

// Join says how files become one hierarchy. Without any field set, every array comes from
// one file (a merge), and arrays of several files must have the same values.
type Join struct {
	// Concat is the name of the dimension along which arrays that have it follow each
	// other, such as "time". Each file adds its own chunks, so that files of unequal
	// lengths fit. An array that has one value along it, as a field of a forecast has one
	// time, gets the dimension and a coordinate.
	Concat string
	// Stack is the name of a new dimension with one index for each file, such as
	// "member". It becomes the first axis of all arrays but coordinates.
	Stack string
	// Padded lets files end within a chunk that is stored with padding, by the experiment
	// encoded_chunk_shapes (zarr-extensions, pull request 75). Few programs read such
	// grids; see [zarr.Experimental].
	Padded bool
	// CopyPadded lets files end within such a chunk, and gives the manifest copies of
	// these chunks without the padding ([Collector.CopyPadded]). Every program can read
	// the grid. It comes before Padded.
	CopyPadded bool
	// Compare reads and compares all arrays that files repeat. Without it only
	// coordinates, and others of at most 1 MiB, are compared; larger ones count as the
	// first file has them, with a note, and are an error in a merge. It is not stored
	// with the manifest.
	Compare bool
}

// merges reports whether files add different arrays.
func (j Join) merges() bool { return j.Concat+j.Stack == "" }

// Array returns the array at a path, or nil.
func (m *Manifest) Array(path string) *Array {
	for _, a := range m.Arrays {
		if a.Path == path {
			return a
		}
	}
	return nil
}

// References returns the number of chunks of all arrays.
func (m *Manifest) References() (n int64) {
	for _, a := range m.Arrays {
		n += a.stored() + int64(a.refs.len())
	}
	return n
}

// sort sorts the nodes by path, which puts a group before what is below it.
func (m *Manifest) sort() {
	sort.Slice(m.Groups, func(i, j int) bool { return m.Groups[i].Path < m.Groups[j].Path })
	slices.SortFunc(m.Arrays, func(a, b *Array) int { return strings.Compare(a.Path, b.Path) })
}

// reference returns where a chunk is, or its bytes if it has no source.
func (m *Manifest) reference(ctx context.Context, a *Array, n int64) (reference, []byte, error) {
	if data, ok := a.inline[n]; ok {
		return reference{}, data, nil
	}
	p, ok := find(a.blocks, n)
	if !ok {
		if n -= a.stored(); n < 0 || n >= int64(a.refs.len()) {
			return reference{}, nil, nil
		}
		return a.refs.at(int(n)), nil, nil
	}
	r, err := m.folder.references(ctx, p)
	if err != nil {
		return reference{}, nil, err
	}
	return r.at(int(n - p.First)), nil, nil
}

// source returns the source with a number, counted from 1.
func (m *Manifest) source(ctx context.Context, number uint32) (Source, error) {
	n := int64(number) - 1
	p, ok := find(m.sourceBlocks, n)
	if !ok {
		if n -= firstNumber(m.sourceBlocks); n < 0 || n >= int64(len(m.Sources)) {
			return Source{}, scan.Corruptf("a reference to source %d of %d", number, m.count())
		}
		return m.Sources[n], nil
	}
	list, err := m.folder.sources(ctx, p)
	if err != nil {
		return Source{}, err
	}
	return list[n-p.First], nil
}

// count returns the number of sources.
func (m *Manifest) count() int64 { return firstNumber(m.sourceBlocks) + int64(len(m.Sources)) }

// load reads the references of an array from a number on into memory, and those that are
// in one block with them.
func (m *Manifest) load(ctx context.Context, a *Array, from int64) error {
	stay := 0
	for stay < len(a.blocks) && a.blocks[stay].First+a.blocks[stay].Count <= from {
		stay++
	}
	all := references{}
	for _, p := range a.blocks[stay:] {
		r, err := m.folder.references(ctx, p)
		if err != nil {
			return err
		}
		all.concat(r)
	}
	all.concat(a.refs)
	a.refs, a.blocks = all, a.blocks[:stay:stay]
	return nil
}

// before returns the manifest that is stored, whose references lead to its sources.
func (m *Manifest) before() *Manifest { return cmp.Or(m.former, m) }

// checkUnique returns an error if two nodes have one path.
func (m *Manifest) checkUnique() error {
	paths := make([]string, 0, len(m.Groups)+len(m.Arrays))
	for _, g := range m.Groups {
		paths = append(paths, g.Path)
	}
	for _, a := range m.Arrays {
		paths = append(paths, a.Path)
	}
	slices.Sort(paths)
	for i, path := range paths[min(1, len(paths)):] {
		if path == paths[i] {
			return scan.Corruptf("two nodes at %q", path)
		}
	}
	return nil
}
