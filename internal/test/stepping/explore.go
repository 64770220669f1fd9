// SPDX-License-Identifier: Apache-2.0

package stepping

import "fmt"

// choice is one decision of a run: the chosen option and the number of options.
type choice struct{ taken, of int }

// Explore calls run once for every sequence of choices that run can make, and returns the
// number of calls. In run, choose(n) returns a number from 0 to n-1. A run that returns
// false is the last.
//
// Runs may differ only in their choices. If, after the same choices, a run asks for
// another number of options than an earlier one did, Explore panics. Runs come in a fixed
// order, and the first one chooses 0 everywhere, so a failure can be repeated.
func Explore(run func(choose func(n int) int) (more bool)) (runs int) {
	var path []choice
	for {
		depth := 0
		more := run(func(n int) int {
			if n <= 1 {
				return 0
			}
			if depth == len(path) {
				path = append(path, choice{0, n})
			}
			c := path[depth]
			if c.of != n {
				panic(fmt.Sprintf("stepping: choice %d of the run is of %d options, and was of %d before", depth, n, c.of))
			}
			depth++
			return c.taken
		})
		runs++
		// A run may make fewer choices than the one before.
		path = path[:depth]
		// Drop the last choices whose options were all tried. The one before takes its
		// next option.
		for len(path) > 0 && path[len(path)-1].taken+1 == path[len(path)-1].of {
			path = path[:len(path)-1]
		}
		if !more || len(path) == 0 {
			return runs
		}
		path[len(path)-1].taken++
	}
}
