// SPDX-License-Identifier: Apache-2.0

// Package arrow writes and reads tables in the IPC format of Apache Arrow: streams, and
// files, which are also called Feather version 2. Each [columnar.Batch] is one record
// batch.
//
// The writer has text, bytes and lists with offsets of 32 bits, and the values of
// dictionaries in place of indices. The reader knows all types of version 1.5 of the
// format but unions, maps, intervals, list views, run-end encoded columns, lists of lists
// or structs, and decimals of more than 38 digits. The fields of a struct become columns,
// such as place.lat; times of Date64 become timestamps in milliseconds, and a column of
// type null becomes one of float64 without values.
//
// Files are not trusted. All offsets, bounds, indices and texts of a batch are checked,
// and the memory is bounded.
//
// The format is in https://arrow.apache.org/docs/format/Columnar.html.
package arrow
