// SPDX-License-Identifier: Apache-2.0

package ragged

import (
	"context"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
)

// Field describes an array of a new set.
type Field struct {
	Name string
	Type dtype.Type
	// PerRow means that the array has one element for each row.
	PerRow bool
	// Attributes of the array, anything that encodes to a JSON object, or nil.
	Attributes any
}

// Create creates an empty contiguous ragged array (CF conventions, section 9.3.3): a
// group with the array row_size, and one for each field. The dimensions are row and obs.
func Create(ctx context.Context, at *zarr.Location, fields []Field, opt *zarr.CreateOptions) (*Set, error) {
	g, err := at.CreateGroup(ctx, map[string]any{"featureType": "trajectory", "Conventions": "CF-1.11"}, opt)
	if err != nil {
		return nil, err
	}
	list := append([]Field{{Name: "row_size", Type: dtype.Int64, PerRow: true, Attributes: map[string]string{
		sampleDimension: "obs", "long_name": "number of observations of each row",
	}}}, fields...)
	for _, f := range list {
		if err := create(ctx, g, f, 0, opt); err != nil {
			return nil, err
		}
	}
	return Of(ctx, g)
}

// CreateCSR creates an empty matrix of compressed sparse rows, as AnnData has them
// (encoding-type csr_matrix, version 0.1.0), with a number of columns and the data type
// of its elements.
func CreateCSR(ctx context.Context, at *zarr.Location, columns int64, typ dtype.Type, opt *zarr.CreateOptions) (*Set, error) {
	if columns < 0 {
		return nil, fmt.Errorf("%w: %d columns", zarr.ErrInvalidArgument, columns)
	}
	g, err := at.CreateGroup(ctx, map[string]any{encodingType: "csr_matrix", "encoding-version": "0.1.0", "shape": []int64{0, columns}}, opt)
	if err != nil {
		return nil, err
	}
	for _, f := range []Field{{Name: pointers, Type: dtype.Int64}, {Name: "indices", Type: dtype.Int64}, {Name: "data", Type: typ}} {
		lead := int64(0)
		if f.Name == pointers {
			lead = 1 // the offset 0 of the first row, which is the fill value
		}
		if err := create(ctx, g, f, lead, opt); err != nil {
			return nil, err
		}
	}
	return Of(ctx, g)
}

// create creates one array of a set. A set of AnnData has no names of dimensions.
func create(ctx context.Context, g *zarr.Group, f Field, length int64, opt *zarr.CreateOptions) error {
	spec := zarr.Spec{Shape: []int64{length}, Type: f.Type, Chunks: []grid.Cut{grid.Edges()}}
	if length > 0 {
		spec.Chunks = []grid.Cut{grid.Edges(length)}
	}
	if attribute(g.Attributes(), encodingType) == "" {
		spec.DimensionNames = []string{"obs"}
		if f.PerRow {
			spec.DimensionNames = []string{"row"}
		}
	}
	spec.Attributes = f.Attributes
	_, err := g.At(f.Name).CreateArray(ctx, spec, opt)
	return err
}
