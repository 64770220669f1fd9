// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/store/storetest"
)

// Run plays scenes of three programs, each times times, in random orders, with and
// without faults, in object stores that open returns: those of one array, and those of
// groups. Each run has an empty store. The array must have every change that succeeded,
// once and whole, and no change that was reported as failed.
func Run(t *testing.T, open func() storetest.ObjectStore, times int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	var runs, stalled atomic.Int64
	group := new(errgroup.Group)
	group.SetLimit(4)
	try := func(name string, play func(p *runner, b bounds, by chooser) (storetest.Trace, error)) {
		group.Go(func() error {
			p := newRunner(open, false)
			all := []bounds{{1, 0}, {-1, 0}, {2, 1}, {-1, 2}}
			for i := range times {
				b := all[(i+int(seed))%len(all)]
				trace, err := play(p, b, randomly(rand.New(rand.NewPCG(seed, uint64(i)))))
				if err != nil {
					return fmt.Errorf("%s, seed %d, run %d, %+v: %w\n%v", name, seed, i, b, err, trace)
				}
				if runs.Add(1); trace == nil {
					stalled.Add(1)
				}
			}
			return nil
		})
	}
	for i := range scenes {
		s := &scenes[i]
		try(s.name, func(p *runner, b bounds, by chooser) (storetest.Trace, error) { return p.play(s, b, by) })
	}
	for i, acts := range jointScenes {
		try(fmt.Sprintf("group %d", i), func(p *runner, b bounds, by chooser) (storetest.Trace, error) { return p.playJoint(acts, b, by) })
	}
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	rarely(t, runs.Load())
	if stalled.Load() > runs.Load()/2 {
		t.Errorf("%d of %d runs took longer than %v and were discarded", stalled.Load(), runs.Load(), stallTime)
	}
}
