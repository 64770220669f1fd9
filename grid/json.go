// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"fmt"

	"varve.dev/zarr/internal/strictjson"
)

// ParseOptions permits experimental forms. The zero value permits none.
type ParseOptions struct {
	// EncodedShapes permits encoded_chunk_shapes. This is an experiment that
	// zarr-extensions pull request 75 proposes; it may change before it is accepted.
	EncodedShapes bool
}

// Parse returns the grid of an array of the given shape. name and configuration, a JSON
// object, come from metadata. The kind of grid is kept: a rectilinear grid of equal edges
// stays rectilinear. Forms that programs wrote before are read as the specified grid that
// they stand for ([Grid.Notes]).
//
// Parse returns an error that wraps [ErrUnsupported] if it does not know the name or the
// form of the grid. Other faults wrap [ErrInvalid] or [ErrOverflow]. If a value is at
// fault, the error has its JSON pointer.
//
// Sources: zarr-specs v3 core, "Regular grids"; zarr-extensions, chunk-grids/rectilinear.
func Parse(shape []int64, name string, configuration []byte) (*Grid, error) {
	return ParseOptions{}.Parse(shape, name, configuration)
}

// Parse is like the function [Parse], with options.
func (o ParseOptions) Parse(shape []int64, name string, configuration []byte) (*Grid, error) {
	cuts := o.reader(name)
	// The old name "rectangular" has no reader here: the table of older forms reads it.
	if cuts == nil && name != rectangularName {
		return nil, fmt.Errorf("%w: chunk grid %q", ErrUnsupported, strictjson.Abbreviate(name))
	}
	// zarr-specs requires the member for every specified grid.
	if configuration == nil {
		return nil, invalid("chunk grid %q needs a configuration", name)
	}
	v, err := strictjson.Parse(configuration, strictjson.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	// Older forms come first, because two of them are named "regular".
	if f := olderOf(name, v); f != nil {
		return f.read(shape, v)
	}
	c, err := cuts(v)
	if err != nil {
		return nil, err
	}
	return newGrid(name, shape, c)
}

// reader returns the function that reads the configuration of a grid, or nil if the name
// is unknown.
func (o ParseOptions) reader(name string) func(strictjson.Value) ([]Cut, error) {
	switch name {
	case RegularName:
		return regularCuts
	case BoundedName:
		return boundedCuts
	case RectilinearName:
		return o.rectilinearCuts
	}
	return nil
}

func boundedCuts(v strictjson.Value) ([]Cut, error) {
	cuts, err := regularCuts(v)
	for i := range cuts {
		cuts[i].trimmed = true
	}
	return cuts, err
}

func (o ParseOptions) rectilinearCuts(v strictjson.Value) ([]Cut, error) {
	m, err := members(v, 2, "kind", "chunk_shapes", "encoded_chunk_shapes")
	if err != nil {
		return nil, err
	}
	kind, shapes, encoded := m[0], m[1], m[2]
	if name, err := kind.Str(); err != nil || name != "inline" {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, kind.Errorf("kind %s of a rectilinear grid; only \"inline\" is defined", kind.Brief()))
	}
	cuts, err := axisCuts(shapes, shapeCut)
	if err != nil || encoded.IsZero() {
		return cuts, err
	}
	// An experiment whose form may still change must not be read by accident.
	if !o.EncodedShapes {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, encoded.Errorf("encoded_chunk_shapes are an experiment "+
			"(zarr-extensions pull request 75, not yet accepted): permit them by Experimental.EncodedShapes"))
	}
	lengths, err := axisCuts(encoded, shapeCut)
	if err != nil {
		return nil, err
	}
	if len(lengths) != len(cuts) {
		return nil, located(encoded, "%d axes, chunk_shapes has %d", len(lengths), len(cuts))
	}
	for i := range cuts {
		cuts[i] = cuts[i].EncodedAs(lengths[i])
	}
	return cuts, nil
}
