// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"slices"
	"strings"

	"varve.dev/zarr/metadata"
)

// ErrLimit means that a manifest is larger than this program works with.
var ErrLimit = errors.New("the manifest is too large")

// Manifest is a hierarchy whose arrays are references into sources.
type Manifest struct {
	Groups []Group // the root first, each before those below it
	Arrays []*Array
	Join   Join // how more files are added

	folder       *folder   // of a stored manifest
	was          *Manifest // the stored one, if this one was collected anew in its place
	copies       []Source  // the values that copies of chunks were stored in
	sourceBlocks []piece   // the sources that are stored already
	Sources      []Source  // those that follow them
}

// Group is a group of a manifest.
type Group struct {
	Path     string // "" for the root
	Document *metadata.Group
}

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
	slices.SortFunc(m.Groups, func(a, b Group) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(m.Arrays, func(a, b *Array) int { return strings.Compare(a.Path, b.Path) })
}
