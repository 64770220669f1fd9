// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/strictjson"
)

// readerV2 reads the document of an array of format 2.
type readerV2 struct {
	root     strictjson.Value
	members  map[string]strictjson.Value
	limits   Limits
	array    *Array
	elements elementV2
	refused  error // why the array can only be described
}

// required returns a required member.
func (r *readerV2) required(name string) (strictjson.Value, error) {
	v, ok := r.members[name]
	if !ok {
		return v, r.root.Errorf("member %q is missing", name)
	}
	return v, nil
}

// repair records a repair, once for each kind.
func (r *readerV2) repair(what repair) {
	if !slices.Contains(r.array.repairs, what) {
		r.array.repairs = append(r.array.repairs, what)
	}
}

// Members of the document of an array (zarr-specs v2, "Arrays"), in the order of writing.
const (
	v2Shape      = "shape"
	v2Chunks     = "chunks"
	v2DType      = "dtype"
	v2Fill       = "fill_value"
	v2Order      = "order"
	v2Filters    = "filters"
	v2Separator  = "dimension_separator"
	v2Compressor = "compressor"
	v2Format     = "zarr_format"
)

// elementV2 is the data type of an array of format 2 (zarr-specs v2, "Data type
// encoding").
type elementV2 struct {
	typ dtype.Type // zero if it is unknown, and for objects
	ext Extension  // the type in format 3
	big bool       // numbers are stored in big-endian order
	// orders has the byte order of every field that has one, true for big-endian. It is
	// nil if all agree.
	orders []bool
	// object is set for elements of variable length, whose type follows from a filter.
	object bool
	// text is set if fill values are base64, as those of bytes and structs are.
	text bool
}
