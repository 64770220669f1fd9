// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
)

// delivering are kinds of stores in which a write may arrive late or twice: those whose
// versions never come back, and those with drafts.
var delivering = map[string]func() stepping.ObjectStore{
	"counted": func() stepping.ObjectStore { return stepping.Conditional(memtest.New(), stepping.Hooks{}) },
	"drafts":  func() stepping.ObjectStore { return stepping.Conditional(newDrafts(), stepping.Hooks{}) },
}

// newDelivering returns a runner with a network that delivers late and twice.
func newDelivering(open func() stepping.ObjectStore) *runner {
	p := newRunner(open, false)
	p.unsafe = true
	return p
}

// TestDelivery is [TestFence] with drivers that repeat what got no answer, and a network
// that delivers writes late, also after all programs have ended, and twice.
func TestDelivery(t *testing.T) {
	fixture.Sequential(t)
	most, times := 40, 16
	switch {
	case fixture.Long():
		most, times = 2000, 1000
	case fixture.Whole():
		most, times = 100, 40
	}
	seed := uint64(time.Now().UnixNano())
	var runs atomic.Int64
	group := new(errgroup.Group)
	group.SetLimit(8)
	for i := range scenes {
		s := &scenes[i]
		for _, open := range delivering {
			group.Go(func() error {
				runs.Add(int64(newDelivering(open).explore(t, s, bounds{1, 1}, most)))
				return nil
			})
			group.Go(func() error {
				p := newDelivering(open)
				for i, b := range []bounds{{1, 1}, {2, 2}, {-1, 2}} {
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
}

// TestDeliveryWithoutDrafts checks that the model sees what drafts are for. Where
// versions are hashes of the content and there are no drafts, a write that arrives late
// replaces a chunk that another writer has published. CORRECTNESS.md says which services
// that are.
func TestDeliveryWithoutDrafts(t *testing.T) {
	fixture.Sequential(t)
	const runs = 2000 // about 15 of them find it
	i := slices.IndexFunc(scenes, func(s scene) bool { return s.name == "part of a chunk" })
	p := newDelivering(stores["hashed"])
	for seed := range uint64(runs) {
		if _, err := p.play(&scenes[i], bounds{-1, 2}, randomly(rand.New(rand.NewPCG(seed, 1)))); err != nil {
			t.Logf("run %d: %v", seed, err)
			return
		}
	}
	t.Errorf("no late write was seen in %d runs", runs)
}
