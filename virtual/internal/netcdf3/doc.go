// SPDX-License-Identifier: Apache-2.0

// Package netcdf3 finds the values of variables in NetCDF-3 files: the classic format
// (CDF-1), that with 64-bit offsets (CDF-2) and that with 64-bit data (CDF-5).
//
// A variable without the record dimension is one chunk. Other variables have a chunk for
// every record. Records that the header counts and the file does not have, because it was
// only partly written, are missing chunks: they read as the fill value of the variable,
// which is its attribute _FillValue or the default of the netCDF library. A file that
// ends within a chunk is damaged, and so is one that ends before a variable without
// records.
//
// Structures are those of "NetCDF Classic Format Specification" in the NetCDF User's
// Guide, and of "CDF-5 File Format Specification" of PnetCDF.
package netcdf3
