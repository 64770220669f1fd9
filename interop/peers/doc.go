// Package peers has other implementations of Zarr write a fixed set of small arrays,
// which each of them and Varve then read: versions of zarr-python, TensorStore, zarrs,
// zarrita and GDAL.
//
// The set is made by data types, codecs, grids, key encodings, shards and fill values, in
// both formats. Elements are compared one by one. Who refuses what is in refusals.txt: a
// failure that is not listed there fails the test, and so does a success that is.
//
// The script setup installs the peers in a cache folder. Those that are not there are
// left out. With VARVE_PEERS=all none may be missing. With VARVE_PEERS_UPDATE=1 the test
// writes refusals.txt and RESULTS.md anew, for somebody to look at what changed.
package peers
