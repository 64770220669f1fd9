// SPDX-License-Identifier: Apache-2.0

package hdf5

import (
	"slices"
	"strings"

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
		case attrClass, attrName, attrDimension, attrCoordinates:
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
		s.noVariable = strings.HasPrefix(text, noVariable)
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
	if d.class != classSequence || d.text || d.size != r.sequenceBytes() || d.base.class != classReference || d.base.odd != "" || d.base.size < size {
		return nil, nil
	}
	for b := range slices.Chunk(a.data, int(d.size)) {
		references, err := r.sequence(r.over(b), d.base.size)
		if err != nil {
			return nil, err
		}
		first := int64(undefined)
		if len(references) > 0 {
			first = r.over(references).address()
		}
		list = append(list, first)
	}
	return list, nil
}

// nameAxes sets the names of the dimensions of all arrays.
func nameAxes(list []*found) {
	scales, ids := map[int64]string{}, map[int32]string{}
	for _, f := range list {
		if f.scale.isScale {
			scales[f.address] = leaf(f.array.Path)
			if f.scale.id != nil {
				ids[*f.scale.id] = leaf(f.array.Path)
			}
		}
	}
	for _, f := range list {
		names := make([]string, len(f.array.Shape))
		for i := range names {
			switch s := &f.scale; {
			case !s.isScale && len(s.axes) == len(names):
				names[i] = scales[s.axes[i]]
			case len(s.coordinates) == len(names):
				names[i] = ids[s.coordinates[i]]
			case s.isScale && i == 0:
				names[i] = leaf(f.array.Path)
			}
		}
		if slices.ContainsFunc(names, func(n string) bool { return n != "" }) {
			f.array.Names = names
		}
	}
}

// leaf returns the last name of a path.
func leaf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// rename gives an array the name that netCDF gives it, unless another one has it.
func rename(a *scan.Array, taken map[string]bool) {
	name := leaf(a.Path)
	if plain, ok := strings.CutPrefix(name, nonCoordinate); ok && plain != "" {
		path := strings.TrimSuffix(a.Path, name) + plain
		if !taken[path] {
			a.Path = path
			taken[path] = true
		}
	}
}
