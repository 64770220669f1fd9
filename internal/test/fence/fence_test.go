// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
)

// TestFence runs three programs that change one array in a store without locks: in every
// order with one interrupt, in every order with one fault, and in random orders with and
// without faults. In half of the runs they have published before, and the last one knows
// that version of the document. The array must have every change that succeeded, once and
// whole, and no change that was reported as failed.
func TestFence(t *testing.T) {
	fixture.Sequential(t)
	all, most, times := []bounds{{1, 0}, {0, 1}}, 40, 8
	switch {
	case fixture.Long():
		all, most, times = []bounds{{1, 0}, {0, 1}, {2, 0}, {1, 1}}, 400, 200
	case fixture.Whole():
		most, times = 100, 20
	}
	seed := uint64(time.Now().UnixNano())
	var runs atomic.Int64
	group := new(errgroup.Group)
	group.SetLimit(8)
	for i := range scenes {
		s := &scenes[i]
		for kind := range stores {
			for _, warm := range []bool{false, true} {
				group.Go(func() error {
					for _, b := range all {
						p := runnerOn(kind)
						p.warm = warm
						runs.Add(int64(p.explore(t, s, b, most)))
					}
					return nil
				})
			}
			group.Go(func() error {
				p := runnerOn(kind)
				for i, b := range []bounds{{2, 0}, {3, 0}, {-1, 0}, {3, 1}, {-1, 2}} {
					p.warm = (uint64(i)+seed)%2 == 0
					runs.Add(int64(p.sample(t, s, b, seed+uint64(i), times)))
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	rarely(t, runs.Load())
	if want := int64(len(scenes) * len(stores) * (5*times + most)); runs.Load() < want && !t.Failed() {
		t.Errorf("%d runs, want at least %d", runs.Load(), want)
	}
}

// stores are the kinds of stores that the programs share: with versions that are never
// reused, and with hashes as versions.
var stores = map[string]func() stepping.ObjectStore{
	"counted": func() stepping.ObjectStore { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
	"hashed":  func() stepping.ObjectStore { return stepping.Conditional(newHashed(), stepping.Hooks{}) },
}

// runnerOn returns a runner on a kind of stores.
func runnerOn(kind string) *runner { return newRunner(stores[kind], kind == "hashed") }

// explore runs the scene in every order within the bounds, at most most times. It
// returns the number of runs.
func (p *runner) explore(t *testing.T, s *scene, b bounds, most int) (runs int) {
	stepping.Explore(func(choose func(int) int) bool {
		trace, err := p.play(s, b, chooser{choose, choose})
		runs++
		if err != nil {
			t.Errorf("%s (prompt %t, warm %t), run %d, at most %d interrupts and %d faults: %v\n%v", s.name, p.prompt, p.warm, runs, b.interrupts, b.faults, err, trace)
		}
		return err == nil && runs < most
	})
	return runs
}

// sample runs the scene in random orders.
func (p *runner) sample(t *testing.T, s *scene, b bounds, seed uint64, times int) int {
	for i := range times {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		if trace, err := p.play(s, b, randomly(r)); err != nil {
			t.Errorf("%s (prompt %t, warm %t), seed %d, run %d: %v\n%v", s.name, p.prompt, p.warm, seed, i, err, trace)
			return i
		}
	}
	return times
}
