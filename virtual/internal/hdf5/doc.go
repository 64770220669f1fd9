// SPDX-License-Identifier: Apache-2.0

// Package hdf5 scans HDF5 files, and so netCDF-4 files: it reads their metadata and says
// where chunks are. It reads no chunks.
//
// It follows the HDF5 File Format Specification, whose sections the comments name, in all
// versions from 1.1 to 4.0: superblocks 0 to 3, both kinds of object headers, all kinds
// of groups, and all indexes of chunks.
//
// An array is refused with a reason if Zarr has no codec for one of its filters, no type
// for its elements, or if its chunks differ in their filters. Text of variable length is
// copied into the chunks if it is short.
//
// The names of dimensions are those that netCDF sees. Dimensions without values, which
// netCDF keeps as variables of their own, are left out, and so are the attributes that
// netCDF hides.
package hdf5
