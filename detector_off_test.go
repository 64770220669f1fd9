//go:build !race

package zarr_test

// detector tells whether the tests run under the race detector.
const detector = false
