// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"fmt"

	"varve.dev/zarr/virtual/scan"
)

// Scan returns the arrays of a file, and where their chunks are.
func Scan(f *scan.File) (*scan.Dataset, error) {
	return scanWith(newReader(f))
}

func scanWith(r *reader) (*scan.Dataset, error) {
	// A few long names of groups make long paths of everything below them.
	w := &walk{reader: r, set: &scan.Dataset{Format: "HDF5"}, nodes: map[int64]*node{}, paths: r.left + mostAgain}
	s, err := w.open()
	if err != nil {
		return nil, fmt.Errorf("superblock: %w", err)
	}
	if s.extension != undefined {
		if err := w.readExtension(s.extension); err != nil {
			return nil, fmt.Errorf("superblock: %w", err)
		}
	}
	w.root = s.root
	w.nodes[s.root] = &node{group: s.root}
	if err := w.visit("", s.root, 0); err != nil {
		return nil, err
	}
	for _, f := range w.further {
		w.addFurther(f, false)
	}
	w.finish()
	return w.set, nil
}

// finish sets the dimensions, and leaves out the arrays that are only names of them.
func (w *walk) finish() {
	w.dimensions()
	taken := map[string]bool{}
	for _, f := range w.found {
		taken[f.array.Path] = !f.scale.noVariable
	}
	for _, f := range w.found {
		if !f.scale.noVariable {
			rename(f.array, taken)
			w.set.Arrays = append(w.set.Arrays, f.array)
		}
	}
}
