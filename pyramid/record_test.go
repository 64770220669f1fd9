// SPDX-License-Identifier: Apache-2.0

package pyramid

import (
	"maps"
	"testing"

	"varve.dev/zarr/grid"
)

// FuzzFolds parses folds of any form. What is parsed is encoded and parsed again to the
// same.
func FuzzFolds(f *testing.F) {
	g, err := grid.New([]int64{9, 2000}, grid.Every(4), grid.Every(4))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(appendFolds(nil, g, map[int64]fold{0: 1, 700: 1 << 60, 1499: 3}))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		folds, _, err := parseFolds(data, g)
		if err != nil {
			return
		}
		again, _, err := parseFolds(appendFolds(nil, g, folds), g)
		if err != nil || !maps.Equal(folds, again) {
			t.Fatalf("%v, then %v (%v)", folds, again, err)
		}
	})
}
