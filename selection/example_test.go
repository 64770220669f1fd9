// SPDX-License-Identifier: Apache-2.0

package selection_test

import (
	"fmt"

	"varve.dev/zarr/selection"
)

func ExampleParser_json() {
	names := []string{"time", "lat", "lon"}
	for _, text := range []string{
		`{"basic": "time=::-24"}`,
		`{"orthogonal": [[0, 6, 6], "10:20", [3]]}`,
		`{"points": [[0, 1], [[5], [6], [7]], 0]}`,
		`{"fields": ["u", "v"], "orthogonal": {"lat": 5}}`,
	} {
		sel, err := selection.Parser{Names: names}.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		target := selection.Target{Shape: []int64{8760, 721, 1440}, Names: names}
		r, err := target.Resolve(sel)
		fmt.Println(r.Shape(), r.Fields(), err)
	}
	// Output:
	// [365 721 1440] [] <nil>
	// [3 10 1] [] <nil>
	// [3 2] [] <nil>
	// [8760 1440] [[u v]] <nil>
}
