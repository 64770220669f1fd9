// SPDX-License-Identifier: Apache-2.0

// Package kerchunk reads and writes references in the JSON of kerchunk, versions 0 and 1
// (kerchunk documentation, "References specification"): keys of a Zarr hierarchy whose
// values are given, or are bytes of other files.
//
// Templates may be names, as in {{u}}. In generators they may also be integer arithmetic
// with + - * // % and parentheses over the variables, as in {{(i + 1) * 1000}}, which
// means what it does in Python. All else that Jinja can do is refused.
//
// It also has the parts of the parquet form of kerchunk that need no library for Parquet:
// the document of a folder, and the records of its files. The separate module
// varve.dev/zarr/virtual/parquet reads and writes those files.
//
// The package opens no files and checks no URLs. References are hostile until proven
// otherwise: who reads a URL decides whether it may be read.
package kerchunk

const (
	// Suffix ends the names of files with references in JSON. Package virtual opens them
	// like manifests: refs.json/t2m.
	Suffix = ".json"
	// ParquetSuffix ends the names of folders with references in the parquet form, which
	// are opened in the same way: refs.parq/t2m.
	ParquetSuffix = ".parq"
	// LongParquetSuffix is the other name of such folders.
	LongParquetSuffix = ".parquet"
)
