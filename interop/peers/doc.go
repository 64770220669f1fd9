// SPDX-License-Identifier: Apache-2.0

// Package peers is a matrix of implementations of Zarr. Each writes a fixed set of small
// arrays, and each reads those of all others: versions of zarr-python, TensorStore,
// zarrs, zarrita, GDAL, and Varve.
//
// The set covers data types, codecs, grids, key encodings, shards and fill values, in
// both formats. Elements are compared one by one. refusals.txt lists the known failures.
// An unlisted failure fails the test, and so does a listed failure that succeeds.
//
// The script setup installs the peers in a cache folder. Missing peers are left out;
// with VARVE_PEERS=all they are an error. With VARVE_PEERS_UPDATE=1 the test updates
// refusals.txt and RESULTS.md for a review of the differences.
package peers
