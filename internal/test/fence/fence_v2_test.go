// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"testing"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
)

// TestFenceV2 is [TestFence] with an array of format 2.
func TestFenceV2(t *testing.T) {
	fixture.Sequential(t)
	most, times := 16, 4
	switch {
	case fixture.Long():
		most, times = 400, 100
	case fixture.Whole():
		most, times = 40, 8
	}
	group := new(errgroup.Group)
	group.SetLimit(4)
	played := 0
	for _, s := range scenes {
		if g, err := grid.New(s.spec.Shape, s.spec.Chunks...); err != nil || g.Name() != "regular" {
			continue
		}
		s.spec = fixture.AsV2(s.spec)
		left := map[string]int{}
		for key, n := range s.left {
			left[key[len("c/"):]] = n
		}
		s.left = left
		played++
		for kind := range stores {
			group.Go(func() error {
				p := runnerOn(kind)
				p.explore(t, &s, bounds{1, 0}, most)
				p.explore(t, &s, bounds{0, 1}, most)
				p.sample(t, &s, bounds{-1, 2}, 7, times)
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil || played < 12 {
		t.Error(played, err)
	}
}
