// SPDX-License-Identifier: Apache-2.0

// Package rechunk tests the rechunk of arrays against models, in crashes, beside other
// programs, and with readers of any age. [Run] lets the tests of a driver do a part of it
// on a real object store.
package rechunk

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"varve.dev/zarr/store/storetest"
)

// Run makes rechunks of every kind in empty object stores that open returns. It stops
// each at every step-th operation in every way, for steps from 16 on in one way, and
// plays it beside other clients in times random orders. It returns the number of stops
// and of orders.
func Run(t *testing.T, open func() storetest.ObjectStore, step, times int) (stops, orders int) {
	t.Helper()
	for name, c := range changes {
		for fate, end := range someFates(step) {
			t.Run(name+"/"+fate, func(t *testing.T) {
				for at := rand.IntN(step); c.crashAt(t, open(), at, end); at += step {
					stops++
				}
			})
		}
	}
	for name, m := range moves {
		for fate, end := range someFates(step) {
			t.Run(name+"/"+fate, func(t *testing.T) {
				for at := rand.IntN(step); moveCrashAt(t, open(), m, at, end); at += step {
					stops++
				}
			})
		}
	}
	together := moveScenes()
	maps.Copy(together, scenes)
	for name, s := range together {
		t.Run(name, func(t *testing.T) {
			for i := 0; i < times && !t.Failed(); i++ {
				if s.play(t, open(), 3, rand.IntN) != nil {
					orders++
				}
			}
		})
	}
	return stops, orders
}

// someFates returns all fates. For a step of 16 or more it draws one.
func someFates(step int) map[string]func(*storetest.Stepper) bool {
	if step < 16 {
		return fates
	}
	names := slices.Sorted(maps.Keys(fates))
	name := names[rand.IntN(len(names))]
	return map[string]func(*storetest.Stepper) bool{name: fates[name]}
}
