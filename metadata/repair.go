// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"slices"

	"varve.dev/zarr/internal/nodename"
)

// repair is a deviation from the specification that is accepted when reading.
type repair int

// The deviations. A document that is written again has the specified form. Only bare
// numbers in attributes keep theirs, because attributes belong to the user.
const (
	bareNumbers repair = iota
	bareNumbersV2
	bareFill
	nullFill
	nullAttributes
	nullNames
	nullTransformers
	numberForBool
	zeroForText
	nullSeparator
	wordForChecksum
	wordForElementSize
	zeroElementSize
	zeroChunk
)

// repairs lists the programs that write each deviation, and the note for the reader of
// the node. Packages grid and codec have similar tables.
var repairs = [...]struct {
	source, note string
	misread      bool // other programs read other values, see [Array.Misread]
}{
	bareNumbers: {
		source: "zarr-python 2 and 3: Python's json module writes NaN and Infinity",
		note:   nodename.V3Node + " has a bare NaN or Infinity, which is not JSON (zarr-python writes it): read as a text, written as it was",
	},
	bareNumbersV2: {
		source: "zarr-python 2 and 3: Python's json module writes NaN and Infinity",
		note:   nodename.V2Attributes + " has a bare NaN or Infinity, which is not JSON (zarr-python writes it): read as a text, written as it was",
	},
	bareFill: {
		source: "writers of format 2 that pass a float to Python's json module",
		note:   "a bare NaN or Infinity, which JSON does not have, was read as the text of that name",
	},
	nullFill: {
		source: "GDAL 3.8 to 3.12, for every raster without a nodata value: frmts/zarr/zarr_v3_array.cpp",
		note:   "the fill value null, which format 3 does not have, was read as the zero of the data type, NaT for times (GDAL writes it)",
	},
	nullAttributes: {
		source: "writers that encode a missing map as null, as Go and Java do",
		note:   "attributes are null: read as no attributes",
	},
	nullNames: {
		source: "writers that encode a missing list as null; zarr-python 3.0 to 3.1 reads it",
		note:   "dimension_names are null: read as no names",
	},
	nullTransformers: {
		source: "writers that encode a missing list as null",
		note:   "storage_transformers are null: read as no transformers",
	},
	numberForBool: {
		source: "writers in NumPy and C that store a bool as an integer; zarr-python reads it",
		note:   "the fill value of the bool elements is a number: 0 was read as false, 1 as true",
	},
	zeroForText: {
		source: "zarr-python 2",
		note:   "the fill value 0 of elements that are not numbers was read as an empty one (zarr-python 2 writes it)",
	},
	nullSeparator: {
		source: "writers that encode an unset option as null",
		note:   "dimension_separator is null, which was read as \".\", the separator where none is given",
	},
	wordForChecksum: {
		source: "GDAL 3.11 and 3.12, for every array with zstd: options of its compressors are words",
		note:   "the checksum of zstd is a word, \"NO\" or \"YES\" (GDAL writes it), which was read as false or true",
	},
	wordForElementSize: {
		source: "netcdf-c up to 4.9, which ignores the size when it reads: libnczarr/zfilter.c",
		note:   "the elementsize of shuffle is a text, which was read as a number (netcdf-c writes it)",
	},
	zeroElementSize: {
		source:  "netcdf-c, which takes the size of the type: plugins/NCZhdf5filters.c",
		note:    "the elementsize of shuffle is 0, which was read as the size of the data type (netcdf-c writes it); zarr-python does not, and returns wrong values",
		misread: true,
	},
	zeroChunk: {
		source: "older zarr-python, for axes of extent 0; zarr-python 3.4 reads 1",
		note:   "the chunk length 0 of an axis without elements was read as 1, the smallest length",
	},
}

// String returns the note for the reader of the node.
func (r repair) String() string { return repairs[r].note }

// notesOf returns the notes for the reader of a node.
func notesOf(list []repair) []string {
	var notes []string
	for _, r := range list {
		notes = append(notes, r.String())
	}
	return notes
}

// Misread returns those of [Array.Notes] on deviations for which other programs return
// wrong values. They are gone when the document is written again.
func (a *Array) Misread() []string {
	return notesOf(slices.DeleteFunc(slices.Clone(a.repairs), func(r repair) bool { return !repairs[r].misread }))
}

// rewritten returns the repairs that still apply when the document is written again: bare
// numbers, which are written as they were.
func rewritten(list []repair) []repair {
	var kept []repair
	for _, r := range list {
		if r == bareNumbers || r == bareNumbersV2 {
			kept = append(kept, r)
		}
	}
	return kept
}
