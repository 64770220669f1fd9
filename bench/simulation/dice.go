// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"math/rand/v2"
)

// dice draws what is random. Equal seeds give equal draws.
type dice struct{ *rand.Rand }

func newDice(seed uint64) dice { return dice{rand.New(rand.NewPCG(seed, 0))} }

// exponential draws a time with a mean.
func (d dice) exponential(mean float64) float64 { return d.ExpFloat64() * mean }

// between draws a number from a to b.
func (d dice) between(a, b float64) float64 { return a + (b-a)*d.Float64() }

// logNormal draws a factor whose median is 1.
func (d dice) logNormal(sigma float64) float64 {
	if sigma == 0 {
		return 1
	}
	return math.Exp(sigma * d.NormFloat64())
}

const (
	rare      = 0.001 // tasks that take much longer
	rareTimes = 5     // as long as others
)

// factor draws by how much a task takes longer than it should. Its median is 1.
func (d dice) factor(sigma float64) float64 {
	f := d.logNormal(sigma)
	if sigma > 0 && d.Float64() < rare {
		f *= rareTimes
	}
	return f
}
