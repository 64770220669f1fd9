// SPDX-License-Identifier: Apache-2.0

package netcdf

import (
	"context"
	"encoding/binary"
	"fmt"

	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/hdf5"
)

// The attributes and names of "NetCDF-4 file format" (NetCDF user guide, appendix C).
const (
	attrProperties  = "_NCProperties"
	attrDimension   = "_Netcdf4Dimid"
	attrCoordinates = "_Netcdf4Coordinates"
	// noVariable begins the name of a scale that is no variable. The length follows.
	noVariable = "This is a netCDF dimension but not a netCDF variable.%10d"
	// nonCoordinate begins the name of a variable that has the name of a dimension of its
	// group without being its coordinate.
	nonCoordinate = "_nc4_non_coord_"
)

// properties says which program has written a file. netCDF-C wants a version first.
const properties = "version=2,varve=1"

// hdf5File is a netCDF-4 file that is being written.
type hdf5File struct {
	Format
	*hdf5.Writer
	scales map[*dimension]*hdf5.Dataset
}

// writeHDF5 writes a netCDF-4 file: elements first, then the metadata.
func (f Format) writeHDF5(ctx context.Context, root *group, to export.File) error {
	w, err := hdf5.NewWriter(to)
	if err != nil {
		return err
	}
	h := &hdf5File{f, w, map[*dimension]*hdf5.Dataset{}}
	top, err := h.group(ctx, root)
	if err != nil {
		return err
	}
	top.Attributes = append([]hdf5.Attribute{hdf5.String(attrProperties, properties)}, top.Attributes...)
	return w.Close(top)
}

// group writes the elements of a group, and returns it.
func (h *hdf5File) group(ctx context.Context, from *group) (*hdf5.Group, error) {
	g := &hdf5.Group{Attributes: hdf5Attributes(from.attributes)}
	made := map[*variable]*hdf5.Dataset{}
	for _, d := range from.dimensions {
		s := h.scale(d)
		h.scales[d] = s
		name := d.name
		if d.coordinate != nil {
			made[d.coordinate] = s
		}
		g.AddDataset(name, s)
	}
	for _, v := range from.variables {
		d := made[v]
		if d == nil {
			d = &hdf5.Dataset{}
			g.AddDataset(h.nameOf(from, v), d)
		}
		if err := h.variable(ctx, d, v); err != nil {
			return nil, fmt.Errorf("%s: %w", v.at, err)
		}
	}
	for _, below := range from.groups {
		child, err := h.group(ctx, below)
		if err != nil {
			return nil, err
		}
		g.AddGroup(below.name, child)
	}
	return g, nil
}

// nameOf returns the name of the dataset of a variable that is no coordinate.
func (h *hdf5File) nameOf(g *group, v *variable) string {
	for _, d := range g.dimensions {
		if d.name == v.name {
			return nonCoordinate + v.name
		}
	}
	return v.name
}

// scale returns the dataset of a dimension. Unless a variable is its coordinate, it has a
// length but no elements.
func (h *hdf5File) scale(d *dimension) *hdf5.Dataset {
	id := binary.LittleEndian.AppendUint32(nil, uint32(d.id))
	s := &hdf5.Dataset{ScaleName: d.name, Attributes: []hdf5.Attribute{hdf5.Values(attrDimension, hdf5.Integer(4, true), nil, id)}}
	if d.coordinate != nil {
		return s
	}
	s.ScaleName, s.Type, s.Shape = fmt.Sprintf(noVariable, d.length), hdf5.Float(4), []int64{d.length}
	if d.unlimited {
		s.Unlimited, s.Chunk = []bool{true}, []int64{1024}
	} else {
		s.SetElements(0, d.length*4)
	}
	return s
}

// variable writes the elements of a variable, and sets its dataset.
func (h *hdf5File) variable(ctx context.Context, d *hdf5.Dataset, v *variable) error {
	d.Type, d.Shape = hdf5Type(v.kind), v.shape()
	if v.fill != nil {
		d.Fill = append([]byte(nil), v.fill...)
		swap(v.kind.dataType(), d.Fill, binary.LittleEndian)
	}
	for _, n := range v.dimensions {
		if v.isUnlimited() {
			d.Unlimited = append(d.Unlimited, n.unlimited)
		}
	}
	switch isScale := d.ScaleName != ""; {
	case isScale && len(v.dimensions) > 1:
		// A scale cannot have scales, so the numbers of its dimensions are stored.
		var ids []byte
		for _, n := range v.dimensions {
			ids = binary.LittleEndian.AppendUint32(ids, uint32(n.id))
		}
		d.Attributes = append(d.Attributes, hdf5.Values(attrCoordinates, hdf5.Integer(4, true), []int64{int64(len(v.dimensions))}, ids))
	case !isScale && len(v.dimensions) > 0:
		var scales []*hdf5.Dataset
		for _, n := range v.dimensions {
			scales = append(scales, h.scales[n])
		}
		d.SetScales(scales...)
	}
	d.Attributes = append(d.Attributes, hdf5Attributes(v.attributes)...)
	return h.elements(ctx, d, v)
}

// hdf5Type returns the datatype of a kind.
func hdf5Type(k kind) hdf5.Type {
	switch k {
	case kindChar:
		return hdf5.Character
	case kindString:
		return hdf5.Text
	case kindFloat, kindDouble:
		return hdf5.Float(k.size())
	}
	signed := k == kindByte || k == kindShort || k == kindInt || k == kindInt64
	return hdf5.Integer(k.size(), signed)
}

// hdf5Attributes returns attributes as HDF5 has them.
func hdf5Attributes(list []attribute) (made []hdf5.Attribute) {
	for _, a := range list {
		switch a.kind {
		case kindChar:
			made = append(made, hdf5.String(a.name, a.text))
		case kindString:
			made = append(made, hdf5.Strings(a.name, a.texts...))
		default:
			n := int64(len(a.data) / a.kind.size())
			made = append(made, hdf5.Values(a.name, hdf5Type(a.kind), []int64{n}, a.swapped(binary.LittleEndian)))
		}
	}
	return made
}
