// SPDX-License-Identifier: Apache-2.0

package metadata

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
)

// repairs lists the programs that write each deviation, and the note for the reader of
// the node. Packages grid and codec have similar tables.
var repairs = [...]struct{ source, note string }{
	bareNumbers: {
		"zarr-python 2 and 3: Python's json module writes NaN and Infinity",
		V3Node + " has a bare NaN or Infinity, which is not JSON (zarr-python writes it): read as a text, written as it was",
	},
	bareNumbersV2: {
		"zarr-python 2 and 3: Python's json module writes NaN and Infinity",
		V2Attributes + " has a bare NaN or Infinity, which is not JSON (zarr-python writes it): read as a text, written as it was",
	},
	bareFill: {
		"writers of format 2 that pass a float to Python's json module",
		"a bare NaN or Infinity, which JSON does not have, was read as the text of that name",
	},
	nullFill: {
		"GDAL 3.8 to 3.12, for every raster without a nodata value: frmts/zarr/zarr_v3_array.cpp",
		"the fill value null, which format 3 does not have, was read as the zero of the data type, NaT for times (GDAL writes it)",
	},
	nullAttributes: {
		"writers that encode a missing map as null, as Go and Java do",
		"attributes are null: read as no attributes",
	},
	nullNames: {
		"writers that encode a missing list as null; zarr-python 3.0 to 3.1 reads it",
		"dimension_names are null: read as no names",
	},
	nullTransformers: {
		"writers that encode a missing list as null",
		"storage_transformers are null: read as no transformers",
	},
	numberForBool: {
		"writers in NumPy and C that store a bool as an integer; zarr-python reads it",
		"the fill value of the bool elements is a number: 0 was read as false, 1 as true",
	},
	zeroForText: {
		"zarr-python 2",
		"the fill value 0 of elements that are not numbers was read as an empty one (zarr-python 2 writes it)",
	},
	nullSeparator: {
		"writers that encode an unset option as null",
		"dimension_separator is null, which was read as \".\", the separator where none is given",
	},
	wordForChecksum: {
		"GDAL 3.11 and 3.12, for every array with zstd: options of its compressors are words",
		"the checksum of zstd is a word, \"NO\" or \"YES\" (GDAL writes it), which was read as false or true",
	},
}

// String returns the note for the reader of the node.
func (r repair) String() string { return repairs[r].note }

// texts returns the notes for the reader of a node.
func texts(list []repair) []string {
	var notes []string
	for _, r := range list {
		notes = append(notes, r.String())
	}
	return notes
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
