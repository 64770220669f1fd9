// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"iter"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// skewed is a store whose clock differs from that of this machine. If it is timeless, it
// knows no times.
type skewed struct {
	stepping.ObjectStore
	by       time.Duration
	timeless bool
}

func (s *skewed) at(t time.Time) time.Time {
	if s.timeless {
		return time.Time{}
	}
	return t.Add(s.by)
}

func (s *skewed) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	data, info, err := s.ObjectStore.Get(ctx, key, q, dst)
	info.Modified = s.at(info.Modified)
	return data, info, err
}

func (s *skewed) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := s.ObjectStore.Stat(ctx, key)
	info.Modified = s.at(info.Modified)
	return info, err
}

func (s *skewed) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range s.ObjectStore.List(ctx, dir, how) {
			if e.Modified = s.at(e.Modified); !yield(e, err) {
				return
			}
		}
	}
}

// TestSkewedClock vacuums in stores whose clocks are days off, in both directions, and in
// one without times. Neither shortens the grace nor lengthens it.
func TestSkewedClock(t *testing.T) {
	for name, s := range map[string]*skewed{
		"behind": {by: -72 * time.Hour}, "ahead": {by: 72 * time.Hour}, "timeless": {timeless: true},
	} {
		t.Run(name, func(t *testing.T) {
			s.ObjectStore = stepping.Conditional(memtest.New(), stepping.Hooks{})
			a := days(t, s, 4)
			compact(t, a, 2)
			for _, dry := range []bool{true, false} {
				r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{DryRun: dry})
				if err != nil || len(r.Items) != 1 || r.Items[0].Kept == "" {
					t.Fatalf("within the grace: %+v (%v)", r, err)
				}
				if left := time.Until(r.Items[0].Due); left < 23*time.Hour || left > 25*time.Hour {
					t.Errorf("due in %v", left)
				}
			}
			for _, dry := range []bool{true, false} {
				r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{DryRun: dry, Grace: 1})
				if err != nil || len(r.Items) != 1 || r.Items[0].Kept != "" {
					t.Fatalf("after the grace: %+v (%v)", r, err)
				}
			}
			reads(t, s, 1, 2, 3, 4)
		})
	}
}

// TestDryRunReadsOnly makes a dry run with an array that is open for reading. It writes
// nothing, so the clock of this machine has to do.
func TestDryRunReadsOnly(t *testing.T) {
	s := memtest.New()
	compact(t, days(t, s, 4), 2)
	before := keys(t, s)
	reading := stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name != "Get" && op.Name != "List" && op.Name != "Stat" {
			t.Errorf("%v", op)
		}
		return nil
	}})
	a, err := zarr.At(reading, "a").OpenArray(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{DryRun: true})
	if err != nil || len(r.Items) != 1 || r.Items[0].Kept == "" {
		t.Errorf("%+v (%v)", r, err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// coarse is a store whose times are accurate to two seconds only.
type coarse struct{ stepping.ObjectStore }

func (c *coarse) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	info, err := c.ObjectStore.Stat(ctx, key)
	if strings.HasSuffix(key.String(), ".since") {
		info.Modified = info.Modified.Add(2 * time.Second)
	}
	return info, err
}

// TestNoGrace vacuums a superseded grid without grace at once, although it seems to have
// been superseded only later.
func TestNoGrace(t *testing.T) {
	s := &coarse{inMemory()}
	a := days(t, s, 4)
	compact(t, a, 2)
	r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || len(r.Items) != 1 || r.Items[0].Kept != "" {
		t.Fatalf("%+v (%v)", r, err)
	}
	reads(t, s, 1, 2, 3, 4)
}
