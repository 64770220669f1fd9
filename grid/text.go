// SPDX-License-Identifier: Apache-2.0

package grid

import "varve.dev/zarr/internal/strictjson"

// ParseCuts parses the division of an array of the given shape, in the JSON that users
// write. The text is one integer for all axes (10), or a list with one entry per axis. An
// entry is an integer for a regular axis, or a list of edges and runs [length, count]:
// [10, 20], [[10, 20, 30], 25], [[[25, 4], 10], [50, 50]]. The integer -1 stands for the
// whole axis. Errors wrap [ErrInvalid] or [ErrOverflow]. If an axis is at fault, they
// name it.
func ParseCuts(shape []int64, text string) ([]Cut, error) {
	v, err := strictjson.Parse([]byte(text), strictjson.Limits{})
	if err != nil {
		return nil, invalid("chunks: %v", err)
	}
	// A single integer stands for all axes.
	if v.Kind() != strictjson.Array {
		cuts := make([]Cut, len(shape))
		for i := range cuts {
			if cuts[i], err = parseStep(v, shape[i]); err != nil {
				return nil, onAxis(i, err)
			}
		}
		return cuts, nil
	}
	// axisCuts does not pass the number of the axis, so count the calls.
	i := -1
	return axisCuts(v, func(entry strictjson.Value) (Cut, error) {
		if i++; i >= len(shape) {
			return Cut{}, invalid("the chunks have more than the %d axes of the shape", len(shape))
		}
		if entry.Kind() == strictjson.Array {
			return shapeCut(entry)
		}
		return parseStep(entry, shape[i])
	})
}

func parseStep(v strictjson.Value, extent int64) (Cut, error) {
	n, err := integer(v)
	if n == -1 {
		n = max(1, extent)
	}
	return Every(n), err
}
