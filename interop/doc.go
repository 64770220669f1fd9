// Package interop checks Varve against zarr-python, in both directions and in the same
// directories.
//
// Arrays are written by one and read by both. In histories both change one array by
// turns, Varve with every policy of growth and with reservations, and both read it after
// each change: shape, declared edges, chunk sizes and all elements have to be those of a
// model that has nothing in common with either. Arrays of shards go through the same, and
// both write parts of them by turns, zarr-python by both of its pipelines; with codecs
// that leave no choice shards are the same byte by byte. Codecs that change values, types
// and shapes stand before others in arrays of their own. Groups are read by their
// consolidated metadata alone. Groups are converted between the formats, and xarray reads
// the same of them, missing values included.
//
// Left out are grids that zarr-python does not know, that it lets old values come back
// where an array shrank and grows, and shards behind a transposition whose inner chunks
// would not divide the edges of an array that is not transposed: it refuses these.
//
// Its tests need an interpreter with zarr-python 3.4 and xarray, which the script setup
// prepares in a cache folder; $ZARR_PYTHON names another one. Without an interpreter they
// are skipped, except where $CI is "true": there that is a failure. Cases are random: a
// failing test prints the seed, and $VARVE_SEED repeats it.
package interop
