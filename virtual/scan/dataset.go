// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"

	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/sentinel"
	"varve.dev/zarr/metadata"
)

// ErrUnsupported means that a file, or an array in it, is valid but has something that
// Zarr or this program cannot express.
var ErrUnsupported = sentinel.New("not supported", sentinel.ErrUnsupported)

// ErrCorrupt means that a file is damaged or is not of the format that its first bytes
// promise.
var ErrCorrupt = errors.New("damaged file")

// Corruptf returns an [ErrCorrupt] with a reason.
func Corruptf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// Unsupportedf returns an [ErrUnsupported] with a reason.
func Unsupportedf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// Dataset is what a scanner has found in a file: a tree of groups and arrays.
type Dataset struct {
	// Format names the format, such as "NetCDF-3 classic".
	Format string
	// Groups are the groups by path, the root "" first, each before those below it.
	Groups []Group
	// Arrays are in the order of the file.
	Arrays []*Array
	// Omitted is what else the file has and the data set does not, with the reason: users
	// are told of it as they are of arrays that are refused.
	Omitted []Omission
}

// Omission is a part of a file that is no array, and that the data set does not have:
// such as a link that leads nowhere, an attribute, or planes behind an image.
type Omission struct {
	// Path is that of the object in the file. An attribute follows that of its node after
	// a colon, as in "forecast/t2m:valid_range".
	Path   string
	Reason error // wraps [ErrUnsupported] or [ErrCorrupt]
}

// Omit adds an omission, with a reason that wraps [ErrUnsupported].
func (d *Dataset) Omit(path, format string, args ...any) {
	d.Omitted = append(d.Omitted, Omission{path, Unsupportedf(format, args...)})
}

// Group is a group of a data set.
type Group struct {
	Path       string // "" for the root, or such as "forecast/members"
	Attributes Attributes
}

// Array is an array of a data set. Its chunks are all of one shape; those at the upper
// edges may be short.
type Array struct {
	Path  string // such as "forecast/t2m"
	Shape []int64
	// Chunk is the shape of a chunk in elements. It has positive lengths, and may be
	// larger than the array.
	Chunk []int64
	// Short says that chunks at the upper edges hold only elements of the array. Without
	// it every chunk holds the elements of a whole one, and those beyond the array are
	// padding.
	Short bool
	Type  dtype.Type
	// Fill is the value of elements in chunks that the file lacks, as one element in host
	// byte order. Nil is zero.
	Fill []byte
	// Codecs are in the order of encoding; the first one makes bytes of an array.
	Codecs []metadata.Extension
	// Names are the names of the dimensions, "" for one without a name. Nil if no
	// dimension has one.
	Names      []string
	Attributes Attributes
	// Points are the places of the array along axes that it lacks, in the order of axes.
	Points []Point
	// Chunks are the chunks that the file has, in any order. None is there twice.
	Chunks []Chunk
	// Refused is why the array cannot be referenced, or nil. It wraps [ErrUnsupported],
	// or [ErrCorrupt] if only this array is damaged. Only Path and what is known of the
	// other fields are set then.
	Refused error
}

// Point is the place of an array along an axis that it lacks, because it has one value
// there: a field of a forecast is of one time. If files are joined along the axis, the
// array gets it, with chunks of one element.
type Point struct {
	// Axis is the number that the axis would have.
	Axis int
	// Coordinate is an array of one element, in a chunk with Data. Its path is the name
	// of the axis.
	Coordinate *Array
	// Attributes are those of the array that say the same. An array with the axis does
	// not have them.
	Attributes []string
}

// Chunk says where a chunk is.
type Chunk struct {
	// Number counts the chunks of the array in C order: the last index runs fastest.
	Number int64
	// Offset and Length are the encoded bytes in the file.
	Offset, Length int64
	// Data are the encoded bytes if the file does not have them as they are, such as
	// values that lie in its header. Then Offset and Length are 0.
	Data []byte
}

// Count returns the number of chunks along every axis.
func (a *Array) Count() []int64 {
	n := make([]int64, len(a.Shape))
	for i := range n {
		n[i] = checked.CeilDiv(a.Shape[i], a.Chunk[i])
	}
	return n
}
