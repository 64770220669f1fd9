// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"slices"
)

// graph has the references between the files of one package.
type graph struct {
	files []string
	uses  [][]bool            // uses[i][k]: file i uses a name of file k
	names map[[2]int][]string // names of file k that file i uses
}

func newGraph(files []string) *graph {
	g := &graph{files, make([][]bool, len(files)), map[[2]int][]string{}}
	for i := range g.uses {
		g.uses[i] = make([]bool, len(files))
	}
	return g
}

func (g *graph) add(from, to int, name string) {
	if from == to {
		return
	}
	g.uses[from][to] = true
	if pair := [2]int{from, to}; !slices.Contains(g.names[pair], name) {
		g.names[pair] = append(g.names[pair], name)
	}
}

// count returns the number of references.
func (g *graph) count() (n int) {
	for i := range g.uses {
		for _, used := range g.uses[i] {
			if used {
				n++
			}
		}
	}
	return n
}

// upward returns the number of references from a file to one earlier in the order.
func (g *graph) upward(order []int) (n int) {
	for i, from := range order {
		for _, to := range order[:i] {
			if g.uses[from][to] {
				n++
			}
		}
	}
	return n
}

// starts is the number of initial orders of the search. More of them find no better
// order for the packages here.
const starts = 300

// order returns an order of the files with few upward references. Finding the minimum
// is NP-hard. So order starts from several orders, and moves one file at a time as long
// as that helps. The result is deterministic.
func (g *graph) order() []int {
	order := make([]int, len(g.files))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return g.balance(b) - g.balance(a) })
	for g.improve(order) {
	}
	random := rand.New(rand.NewPCG(1, 2))
	best, least := order, g.upward(order)
	for i := 0; i < starts && least > 0; i++ {
		other := slices.Clone(best)
		if i%2 == 0 {
			random.Shuffle(len(other), func(i, k int) { other[i], other[k] = other[k], other[i] })
		} else {
			for range 4 { // leave a local minimum, but stay near
				i, k := random.IntN(len(other)), random.IntN(len(other))
				other[i], other[k] = other[k], other[i]
			}
		}
		for g.improve(other) {
		}
		if n := g.upward(other); n < least {
			best, least = other, n
		}
	}
	return best
}

// balance returns the number of files that a file uses, minus the number that use it.
func (g *graph) balance(file int) (n int) {
	for other := range g.files {
		if g.uses[file][other] {
			n++
		}
		if g.uses[other][file] {
			n--
		}
	}
	return n
}

// improve moves each file to its best place. It reports whether that saved an upward
// reference.
func (g *graph) improve(order []int) (better bool) {
	for _, file := range slices.Clone(order) {
		at := slices.Index(order, file)
		// cost is the cost of the place before order[k], relative to the first place.
		best, cost, least := at, 0, 0
		costs := make([]int, 0, len(order))
		rest := slices.Delete(slices.Clone(order), at, at+1)
		for k := 0; ; k++ {
			costs = append(costs, cost)
			if k == len(rest) {
				break
			}
			if g.uses[rest[k]][file] {
				cost-- // it points down now
			}
			if g.uses[file][rest[k]] {
				cost++ // it points up now
			}
		}
		least = costs[at]
		for k, c := range costs {
			if c < least {
				best, least = k, c
			}
		}
		if best != at {
			copy(order, slices.Insert(rest, best, file))
			better = true
		}
	}
	return better
}
