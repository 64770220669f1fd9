// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"errors"
	"fmt"
	"slices"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/virtual/scan"
)

// Scan returns the arrays of a file, and where their chunks are.
func Scan(f *scan.File) (*scan.Dataset, error) {
	return scanWith(newReader(f))
}

func scanWith(r *reader) (*scan.Dataset, error) {
	w := &walk{reader: r, set: &scan.Dataset{Format: "HDF5"}, seen: map[int64]bool{}}
	s, err := w.open()
	if err != nil {
		return nil, fmt.Errorf("superblock: %w", err)
	}
	if s.extension != undefined {
		if err := w.readExtension(s.extension); err != nil {
			return nil, fmt.Errorf("superblock: %w", err)
		}
	}
	if err := w.visit("", s.root, 0); err != nil {
		return nil, err
	}
	w.finish()
	return w.set, nil
}

// walk visits all objects of a file once: each under the first of its names, in the order
// of H5Ovisit.
type walk struct {
	*reader
	set   *scan.Dataset
	seen  map[int64]bool // addresses of objects
	found []*found
}

// found is an array of the file.
type found struct {
	address int64
	array   *scan.Array
	scale   scale
}

const (
	// mostGroups bounds groups within groups.
	mostGroups = 256
	// visitCost bounds the objects of a file.
	visitCost = 16
)

// visit visits the object at an address, and all below it.
func (w *walk) visit(path string, address int64, depth int) error {
	if w.seen[address] {
		return nil
	}
	w.seen[address] = true
	if depth > mostGroups {
		w.refuse(path, scan.Unsupportedf("groups nested more than %d deep", mostGroups))
		return nil
	}
	links, err := w.object(path, address)
	if errors.Is(err, scan.ErrUnsupported) && path != "" {
		w.refuse(path, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	for _, l := range links {
		below := l.name
		if path != "" {
			below = path + "/" + l.name
		}
		if err := w.spend(int64(visitCost + len(below))); err != nil {
			return err
		}
		if err := nodename.Check(l.name); err != nil {
			w.refuse(below, scan.Unsupportedf("%v", err))
		} else if err := w.visit(below, l.address, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// refuse adds an array that cannot be referenced.
func (w *walk) refuse(path string, err error) {
	w.found = append(w.found, &found{address: undefined, array: &scan.Array{Path: path, Refused: err}})
}

// object adds a group or an array, and returns the links of a group.
func (w *walk) object(path string, address int64) ([]link, error) {
	o, err := w.reader.object(address)
	if err != nil {
		return nil, err
	}
	if o.find(kindLayout) != nil || o.find(kindDataspace) != nil {
		return nil, w.addArray(path, o)
	}
	if !o.isGroup() {
		return nil, nil // a named type
	}
	list, err := w.attributes(o)
	if err != nil {
		return nil, err
	}
	if path == "" && slices.ContainsFunc(list, func(a attribute) bool { return a.name == attrProperties }) {
		w.set.Format = "NetCDF-4"
	}
	g := scan.Group{Path: path}
	if g.Attributes, err = w.visible(list, &scale{}); err != nil {
		return nil, err
	}
	w.set.Groups = append(w.set.Groups, g)
	return w.links(o)
}

// visible returns the attributes that netCDF shows. Those whose values JSON cannot
// express, such as references, are left out.
func (w *walk) visible(list []attribute, s *scale) (shown scan.Attributes, err error) {
	for i := range list {
		a := &list[i]
		if s.hidden(a.name) {
			continue
		}
		v, err := w.value(a)
		switch {
		case errors.Is(err, scan.ErrUnsupported):
		case err != nil:
			return nil, fmt.Errorf("attribute %q: %w", a.name, err)
		default:
			shown = append(shown, scan.Attribute{Name: a.name, Value: v})
		}
	}
	return shown, nil
}

// finish names dimensions, and leaves out the arrays that are only names of dimensions.
func (w *walk) finish() {
	nameAxes(w.found)
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
