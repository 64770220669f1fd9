// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
)

// sets returns how many sets of chunk keys an array has.
func sets(s zarr.Spec) int {
	switch rank := len(s.Shape); {
	case s.Format == 2:
		return 2
	case rank == 1:
		return 3
	}
	return 4
}

// nextEra appends to the array, and rechunks it. Before that, it vacuums the grid that
// was superseded so many eras ago that its keys are needed.
func (w *world) nextEra(a *zarr.Array, of int) error {
	for range 1 + w.IntN(3) {
		if err := w.during(func() error { return w.add(a) }); err != nil {
			return err
		}
	}
	if err := w.during(func() error { return w.put(a) }); err != nil {
		return err
	}
	w.era++
	w.staging = true
	defer func() { w.staging = false }()
	if _, err := w.vacuum(a, time.Duration(of)*24*time.Hour-36*time.Hour); err != nil {
		return err
	}
	for try := 0; ; try++ {
		if try == 50 {
			return fmt.Errorf("%s: nothing changes %s", w.seed, a)
		}
		q, changed := w.request(a), false
		err := w.during(func() error {
			r, err := rechunk.Do(context.Background(), a, q, nil)
			changed = err == nil && r.Changed
			return err
		})
		if err != nil {
			return fmt.Errorf("%s, era %d: %+v of %s: %w", w.seed, w.era, q, a, err)
		}
		if changed {
			return w.settled()
		}
	}
}

// TestEras appends to drawn arrays and rechunks them again and again. The keys are used
// in turn, and a superseded grid is deleted when its keys are needed. Readers of any era
// find the elements. Readers that cannot see that the array has changed find them as long
// as it was rechunked fewer times than there are sets of keys; later ones do not.
func TestEras(t *testing.T) {
	fixture.Sequential(t)
	worlds := fixture.Soaked(t, 30, 6000)
	seed := uint64(time.Now().UnixNano())
	var guarded, safe, late outcomes
	lags := map[int]map[int]*outcomes{2: {}, 3: {}, 4: {}}
	for i := range worlds {
		w, a := newWorld(t, "conditions", seed, uint64(i), randomizer.spec)
		w.rate, w.most, w.sparse = 40, 16, 4
		of := sets(a.Spec())
		err := w.put(a)
		for range 7 {
			if err == nil {
				err = w.nextEra(a, of)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		guarded.add(*w.found[false])
		for lag, o := range w.lags {
			if lag < of {
				safe.add(*o)
			} else {
				late.add(*o)
			}
		}
		w.tellLags(lags[of])
	}
	t.Logf("%d worlds\n\treaders: %s", worlds, guarded)
	for of, o := range lags {
		t.Logf("blind readers of arrays with %d sets of keys:%s", of, table(o))
	}
	if guarded[loud]+guarded[filled]+guarded[silent]+safe[loud]+safe[filled]+safe[silent] > 0 {
		t.Error("a reader found wrong elements")
	}
	if guarded[right] < 50*worlds || safe[right] < 20*worlds || late[filled] == 0 || late[silent] == 0 {
		t.Error("the model shows too little")
	}
}
