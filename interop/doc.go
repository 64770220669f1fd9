// Package interop checks Varve against zarr-python, in both directions and in the same directories.
//
// Its tests need an interpreter with zarr-python 3.4, which the script setup prepares in a cache folder; $ZARR_PYTHON
// names another one. Without an interpreter they are skipped, except where $CI is "true": there that is a failure. Cases are
// random: a failing test prints the seed, and $VARVE_SEED repeats it.
package interop
