// SPDX-License-Identifier: Apache-2.0

// Package pyramid makes levels of lower resolution of an array, for viewers that show all
// of a large image at once.
//
// Every level is made from the one before it: an element stands for a block of elements,
// of one [Method]. The array itself is level 0. It stays where it is and is not changed.
// The group above it gets the metadata "multiscales" of OME-Zarr, 0.5 in format 3 and 0.4
// in format 2, which name all levels.
//
// xarray opens no group in which one dimension has two lengths, and no hierarchy in which
// a group and one above it differ. So each level has a group of its own, and names of its
// own for the dimensions that are divided: NAME_levels/1/NAME with y_level1. Images of
// OME-Zarr, which xarray does not open anyway, have the same dimensions in all levels.
// The levels of an array that another program has described as one are NAME_levels/1 and
// so on; if the array is named 0, they lie beside it, as 1, 2 and so on. So do levels of
// an array named 0 that were made before levels had groups, until they are removed. What
// others have written about an image stays, and so do their levels.
//
// # Blocks
//
// A level has the extent n/f, rounded up, along an axis of n elements that is divided by
// f. The last block is shorter if f does not divide n. Missing values are ignored: NaN,
// NaT, and what the attributes of CF or a fill value of format 2 mark as missing, as in
// package cf. A block of missing values only gives its first element. Elements that are
// not stored are fill values; where a level would be made of nothing else, nothing is
// read and nothing is stored.
//
// Numbers are those that readers see: _Unsigned changes their sign, and a negative
// scale_factor their order. A mean that would be missing is replaced by the number next
// to it.
//
// A mean of floats is a sum in float64, in C order, that is divided by the number of its
// elements. A mean of integers is exact, in 64 or 128 bits, and rounded half to even, as
// by numpy.rint. Since a level is made from the one before it, rounded means are rounded
// again there.
//
// # One pass
//
// [Make] reads every chunk of the array once. A tile of a level is a chunk of it. It is
// kept in memory until it is a part of the tile above, and is written once and whole.
// Tiles are made depth first and in parallel, so that few are unfinished at any time:
// memory does not depend on the size of the array. Where the array has a list of edges
// along an axis that is divided, a chunk that two tiles share is read for each.
//
// # Making a pyramid again
//
// A record beside the first level tells of which versions of chunks every tile was made.
// If the array has grown or was written since, Make appends to the levels and makes only
// the tiles that are concerned. It takes one listing of the array to find them. In a
// store without versions, chunks that were overwritten in place are not noticed.
//
//  1. Read the record, list the chunks of the array, and compare.
//  2. If there is no record of the same request, remove the levels from the metadata of
//     the group, delete them, and create them again.
//  3. Write the tiles. Levels grow by appends, so their readers never see elements that
//     are not written yet.
//  4. Store the record, on the condition that no other process has done so meanwhile.
//  5. Publish the metadata of the group.
//
// A crash before step 4 leaves the old record, so the next run makes the same tiles
// again. Only one process at a time should make the pyramid of an array.
package pyramid
