// SPDX-License-Identifier: Apache-2.0

// Package interop compares Varve with zarr-python, in both directions and in the same
// directories.
//
// One program writes arrays, and both read them. In histories both change one array in
// turns, Varve with every policy of growth and with reservations. Both read it after each
// change: shape, declared edges, chunk sizes and all elements must agree with an
// independent model. Sharded arrays go through the same, and both programs write parts of
// them in turns, zarr-python with both of its pipelines. With deterministic codecs,
// shards agree byte by byte. Arrays with codecs that change values, types and shapes are
// separate cases. Groups are read through their consolidated metadata only, and converted
// between the formats; xarray reads the same values from both, including missing values.
//
// Three things are left out: grids that zarr-python does not support; old values that
// zarr-python brings back when an array shrinks and grows; and shards behind a
// transposition whose inner chunks do not divide the edges of the array, which
// zarr-python refuses.
//
// The tests need an interpreter with zarr-python 3.4 and xarray, which the script setup
// installs in a cache folder; $ZARR_PYTHON names another one. Without an interpreter they
// are skipped, or fail if $CI is "true". Cases are random: a failing test prints the
// seed, and $VARVE_SEED repeats it.
package interop
