// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"slices"
	"strings"

	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/virtual/scan"
)

// Dimension scales are arrays that give other arrays the names, and often the
// coordinates, of their dimensions ("HDF5 Dimension Scale Specification"). NetCDF makes
// them of its dimensions ("NetCDF-4 file format").

// The attributes of dimension scales and of netCDF.
const (
	attrClass       = "CLASS"
	attrName        = "NAME"
	attrLabels      = "DIMENSION_LABELS"
	attrList        = "DIMENSION_LIST"
	attrReferences  = "REFERENCE_LIST"
	attrProperties  = "_NCProperties"
	attrClassic     = "_nc3_strict"
	attrCoordinates = "_Netcdf4Coordinates"
	attrDimension   = "_Netcdf4Dimid"
)

const (
	classOfScale = "DIMENSION_SCALE"
	// nonCoordinate begins the name of an array that has the name of a dimension without
	// being its coordinate.
	nonCoordinate = "_nc4_non_coord_"
	// noVariable begins the name of a scale that is no variable of netCDF.
	noVariable = "This is a netCDF dimension but not a netCDF variable"
)

// scale is what an array says about dimensions.
type scale struct {
	isScale    bool
	noVariable bool
	id         *int32 // of the dimension
	// coordinates are the identifiers of the dimensions. Arrays that are scales, or that
	// netCDF was asked not to attach to scales, have them.
	coordinates []int32
	name        string   // NAME of a scale, which is its own one if netCDF has made it
	labels      []string // of the dimensions, which need no scales
	// axes are the addresses of the scales of the dimensions, or undefined.
	axes []int64
}

// hidden reports whether netCDF hides an attribute.
func (s *scale) hidden(name string) bool {
	switch name {
	case attrClass, attrName:
		return s.isScale
	case attrLabels, attrList, attrReferences, attrProperties, attrClassic, attrCoordinates, attrDimension:
		return true
	}
	return false
}

// scale reads the attributes that are about dimensions.
func (r *reader) scale(list []attribute) (s scale, err error) {
	for i := range list {
		a := &list[i]
		switch a.name {
		case attrClass, attrName, attrDimension, attrCoordinates, attrLabels:
			v, err := r.value(a)
			if err != nil {
				continue // it is not what netCDF writes
			}
			s.set(a.name, v)
		case attrList:
			if s.axes, err = r.axes(a); err != nil {
				return s, err
			}
		}
	}
	return s, nil
}

// set sets what one attribute says.
func (s *scale) set(name string, v any) {
	text, _ := v.(string)
	switch name {
	case attrClass:
		s.isScale = text == classOfScale
	case attrName:
		s.name, s.noVariable = text, strings.HasPrefix(text, noVariable)
	case attrLabels:
		switch v := v.(type) {
		case string:
			s.labels = []string{v}
		case []string:
			s.labels = v
		}
	case attrDimension:
		if id, ok := v.(int32); ok {
			s.id = &id
		}
	case attrCoordinates:
		switch v := v.(type) {
		case int32:
			s.coordinates = []int32{v}
		case []int32:
			s.coordinates = v
		}
	}
}

// axes returns the first scale of every dimension.
func (r *reader) axes(a *attribute) (list []int64, err error) {
	d := a.typ
	size := int64(r.sizes.address)
	// An attribute of another form is not one of the dimension scales API. It says
	// nothing about dimensions, and is no error.
	if a.refused != nil || d.class != classSequence || d.text || d.size != r.sequenceBytes() || d.base.class != classReference || d.base.odd != "" || d.base.size < size {
		return nil, nil
	}
	for b := range slices.Chunk(a.data, int(d.size)) {
		references, err := r.sequence(r.over(b), d.base.size)
		if err != nil {
			return nil, err
		}
		first := int64(undefined)
		// HDF5 permits several scales of an axis, and netCDF attaches one.
		if len(references) > 0 {
			first = r.over(references).address()
		}
		list = append(list, first)
	}
	return list, nil
}

// dimensions are the scales of a file.
type dimensions struct {
	names   map[int64]string // by the address of the scale
	ids     map[int32]int64  // addresses by the identifier of netCDF
	lengths map[int64]int64  // of unlimited ones, by address
}

// dimensions sets the names of the dimensions of all arrays, and their lengths.
func (w *walk) dimensions() {
	d := dimensions{map[int64]string{}, map[int32]int64{}, map[int64]int64{}}
	// The passes are in this order because arrays may come before their scales, and
	// because all arrays of a dimension count for its length.
	for _, f := range w.found {
		d.addScale(f)
	}
	for _, f := range w.found {
		d.measure(f)
	}
	for _, f := range w.found {
		d.name(f)
		w.lengthen(f, &d)
	}
}

// addScale adds an array that is a scale. One with several names has the one that it says
// itself, or else the first.
func (d *dimensions) addScale(f *found) {
	if !f.scale.isScale {
		return
	}
	name := leaf(f.array.Path)
	if _, known := d.names[f.address]; !known || name == f.scale.name {
		d.names[f.address] = name
	}
	if f.scale.id != nil {
		d.ids[*f.scale.id] = f.address
	}
}

// scale returns the address of the scale of an axis, or undefined.
func (d *dimensions) scale(f *found, axis int) int64 {
	rank := len(f.space.shape)
	switch s := &f.scale; {
	case !s.isScale && len(s.axes) == rank:
		return s.axes[axis]
	case len(s.coordinates) == rank:
		// A scale cannot have scales. If it has several axes, netCDF stores the
		// identifiers of their dimensions instead.
		if address, ok := d.ids[s.coordinates[axis]]; ok {
			return address
		}
	case s.isScale && axis == 0:
		return f.address
	}
	return undefined
}

// measure finds the lengths of the unlimited dimensions: each is as long as the longest
// of its arrays.
func (d *dimensions) measure(f *found) {
	for i, n := range f.space.shape {
		if at := d.scale(f, i); at != undefined && f.space.most[i] == undefined {
			d.lengths[at] = max(d.lengths[at], n)
		}
	}
}

// name sets the names of the dimensions of an array: those of its scales, or its labels.
func (d *dimensions) name(f *found) {
	names, labels := make([]string, len(f.array.Shape)), f.scale.labels
	for i := range f.space.shape {
		names[i] = d.names[d.scale(f, i)]
		if names[i] == "" && len(labels) == len(f.space.shape) {
			names[i] = labels[i]
		}
	}
	if slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
		f.array.Names = names
	}
}

// lengthen makes an array as long as its unlimited dimensions. HDF5 stores the length of
// each array, and netCDF shows what one lacks as the fill value.
func (w *walk) lengthen(f *found, d *dimensions) {
	shape := slices.Clone(f.array.Shape)
	for i, n := range f.space.shape {
		if f.space.most[i] == undefined {
			shape[i] = max(n, d.lengths[d.scale(f, i)])
		}
	}
	if a := f.array; a.Refused == nil && !slices.Equal(shape, a.Shape) {
		if f.noFill {
			w.set.Omit(a.Path, "its elements from %v up to %v, the lengths of its dimensions: they have no fill value", a.Shape, shape)
			return
		}
		w.reshape(a, shape)
	}
}

// reshape gives an array a larger shape. Its chunks keep their indexes.
func (w *walk) reshape(a *scan.Array, shape []int64) {
	from := a.Count()
	a.Shape = shape
	to := a.Count()
	if _, ok := checked.Product(to...); !ok {
		a.Refused, a.Chunks = scan.Unsupportedf("%v chunks are too many", to), nil
		return
	}
	a.Chunks = slices.Clone(a.Chunks) // other names of the array share them
	for k := range a.Chunks {
		old, number, stride := a.Chunks[k].Number, int64(0), int64(1)
		for i := len(to) - 1; i >= 0; i-- {
			number += old % from[i] * stride
			old, stride = old/from[i], stride*to[i]
		}
		a.Chunks[k].Number = number
	}
}

// leaf returns the last name of a path.
func leaf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// rename gives an array the name that netCDF gives it, unless another one has it.
func rename(a *scan.Array, taken map[string]bool) {
	name := leaf(a.Path)
	// A group may have a variable and a dimension of one name that do not belong
	// together. The scale of the dimension then has the name, and the variable the
	// prefix.
	if plain, ok := strings.CutPrefix(name, nonCoordinate); ok && plain != "" {
		path := strings.TrimSuffix(a.Path, name) + plain
		if !taken[path] {
			a.Path = path
			taken[path] = true
		}
	}
}
