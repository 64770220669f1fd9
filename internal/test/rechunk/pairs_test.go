// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/rechunk"
)

// TestGridPairs rechunks drawn arrays in drawn ways, and then vacuums them without grace.
// Between any two operations of the store, readers that opened the array at any time
// before read any chunk. They find the elements. So do readers that cannot see that the
// array has changed, such as those of other programs, until the vacuum.
func TestGridPairs(t *testing.T) {
	for kind, pairs := range map[string]int{"conditions": fixture.Soaked(t, 200, 40_000), "files": fixture.Soaked(t, 30, 4000)} {
		t.Run(kind, func(t *testing.T) {
			fixture.Sequential(t)
			seed := uint64(time.Now().UnixNano())
			var guarded, before, after outcomes
			done := 0
			for i := range pairs {
				w, a := newWorld(t, kind, seed, uint64(i), randomizer.spec)
				for range 1 + w.IntN(3) {
					if err := w.put(a); err != nil {
						t.Fatal(err)
					}
				}
				changed, err := w.pair(t, a)
				if err != nil {
					t.Fatal(err)
				}
				if changed {
					done++
				}
				before.add(*w.found[true])
				*w.found[true] = outcomes{}
				_, err = w.vacuum(a, -1)
				if err == nil {
					err = w.settled()
				}
				if err != nil {
					t.Fatal(err)
				}
				after.add(*w.found[true])
				guarded.add(*w.found[false])
			}
			t.Logf("%d of %d rechunks\n\treaders: %s\n\tblind readers: %s\n\tthe same after the vacuum: %s", done, pairs, guarded, before, after)
			if guarded[loud]+guarded[filled]+guarded[silent]+before[loud]+before[filled]+before[silent] > 0 {
				t.Error("a reader found wrong elements")
			}
			if done < pairs/2 || before[right] < 10*pairs || guarded[right] < 20*pairs || after[filled] < pairs/40 {
				t.Error("the model shows too little")
			}
		})
	}
}

// pair rechunks the array once, while readers read.
func (w *world) pair(t *testing.T, a *zarr.Array) (changed bool, err error) {
	q := w.request(a)
	err = w.during(func() error {
		report, err := rechunk.Do(context.Background(), a, q, nil)
		if err == nil {
			changed = report.Changed
		}
		return err
	})
	if err != nil {
		t.Logf("%s: %+v of %s", w.seed, q, a)
		return false, err
	}
	return changed, w.settled()
}

// vacuum deletes superseded grids, while readers read.
func (w *world) vacuum(a *zarr.Array, grace time.Duration) (r *rechunk.VacuumReport, err error) {
	err = w.during(func() (err error) {
		r, err = rechunk.Vacuum(context.Background(), a, &rechunk.VacuumOptions{Grace: grace})
		return err
	})
	if errors.Is(err, zarr.ErrConflict) {
		err = errors.Join(errors.New(w.seed), err)
	}
	return r, err
}
