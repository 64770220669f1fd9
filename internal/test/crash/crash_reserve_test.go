// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// reserve reserves room for two parts, fills them in reverse order, and publishes or
// cancels the reservation.
func reserve(cancel bool) func(context.Context, *zarr.Location) error {
	return change(func(ctx context.Context, a *zarr.Array) error {
		r, err := a.Reserve(ctx, 0, 4, 2)
		if err == nil {
			err = fillParts(ctx, r)
		}
		if err != nil || cancel {
			return errors.Join(err, cancelled(ctx, r))
		}
		return r.Publish(ctx)
	})
}

func cancelled(ctx context.Context, r *zarr.Reservation) error {
	if r == nil {
		return nil
	}
	return r.Cancel(ctx)
}

func fillParts(ctx context.Context, r *zarr.Reservation) error {
	if err := zarr.WritePart(ctx, r, 1, fixture.Numbers(13, 2)); err != nil {
		return err
	}
	return zarr.WritePart(ctx, r, 0, fixture.Numbers(9, 4))
}

// settle ends the reservation that a crashed writer may have left: it completes it or
// cancels it.
func settle(t *testing.T, disk *vfs.Disk, finish bool, label string) {
	t.Helper()
	ctx := context.Background()
	a, err := openArray(ctx, zarr.At(fixture.FileStore(disk), ""))
	if err != nil {
		t.Fatalf("%s: opening for writing afterwards: %v", label, err)
	}
	r, err := a.Reservation(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && finish:
		if err = fillParts(ctx, r); err == nil {
			err = r.Publish(ctx)
		}
	case err == nil:
		err = r.Cancel(ctx)
	}
	if err != nil {
		t.Fatalf("%s: ending the reservation (finish %v): %v", label, finish, err)
	}
	if got := fixture.Look(t, disk, label); (got.Shape[0] == 14) != finish {
		t.Fatalf("%s: %d elements after the end of the reservation (finish %v)", label, got.Shape[0], finish)
	}
}

// TestCrashReserve stops the machine before every operation of a reservation. Readers
// see nothing of it, or all. The next program finds the reservation, and completes or
// cancels it.
func TestCrashReserve(t *testing.T) {
	fixture.Sequential(t)
	points, images := 0, 0
	for _, c := range []crashCase{
		{name: "published, listed", spec: fixture.Edges(1, 4, 3), run: reserve(false), expect: appended(fixture.Numbers(9, 6), fixture.List("[1, 4, 3, 4, 2]"))},
		{name: "published, regular", spec: fixture.Every(8, 4), run: reserve(false), expect: appended(fixture.Numbers(9, 6), "")},
		{name: "cancelled, listed", spec: fixture.Edges(1, 4, 3), run: reserve(true), expect: becomes(fixture.List("[1, 4, 3]"), 8)},
		{name: "cancelled, regular", spec: fixture.Every(8, 4), run: reserve(true), expect: becomes("", 8)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var checked [2]outcomes // cancelled, completed
			for n := int64(0); ; n++ {
				disk, old := c.prepare(t)
				stop, stopped := vfs.StopAt(n)
				err := c.run(context.Background(), zarr.At(fixture.FileStore(vfs.Hook(disk, stop)), ""))
				if !stopped() && err != nil {
					t.Fatal(err)
				}
				points++
				for label, image := range disk.Images(uint64(n), fixture.RandomImages()) {
					images++
					goOn := images%5 == 0 || fixture.Long()
					if !checked[images%2].first(image, err == nil, goOn) {
						continue
					}
					label := fmt.Sprintf("operation %d, %s", n, label)
					got := fixture.Look(t, image, label)
					c.expectOne(t, got.Cut(""), old, err == nil, label)
					settle(t, image, images%2 == 0, label)
					if goOn {
						growOver(t, image, fixture.Look(t, image, label), label)
					}
				}
				if !stopped() {
					return
				}
			}
		})
	}
	t.Logf("%d points, %d images", points, images)
	if points < 550 || images < fixture.LeastImages(6500) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// TestReserveBeyondExtent checks that a reservation is refused if an edge reaches beyond
// the extent: its parts would begin within a chunk that has elements, or in cells of
// other lengths.
func TestReserveBeyondExtent(t *testing.T) {
	ctx := t.Context()
	for name, spec := range map[string]zarr.Spec{"part": fixture.Within(fixture.Edges(2, 4), 3), "cells": fixture.Within(fixture.Edges(3, 2, 2), 3)} {
		a, err := zarr.At(memstore.New(), "a").CreateArray(ctx, spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Reserve(ctx, 0, 3, 2)
		fixture.Expect(t, err, zarr.ErrInvalidArgument, "invalid-argument", "axis 0", "beyond")
		if _, err := a.Reservation(ctx); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a reservation is left: %v", name, err)
		}
		if err := a.Resize(ctx, []int64{3}, &zarr.ResizeOptions{Shrink: grid.TrimExact}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Reserve(ctx, 0, 3, 2); err != nil {
			t.Errorf("%s, trimmed: %v", name, err)
		}
	}
}

// TestPublishRepeated publishes a reservation again after the answer of the first call
// was lost. It succeeds, and so does the next append.
func TestPublishRepeated(t *testing.T) {
	ctx, s := t.Context(), memstore.New()
	a, err := zarr.At(s, "a").CreateArray(ctx, fixture.Edges(1, 4, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := a.Reserve(ctx, 0, 4, 2)
	if err == nil {
		err = fillParts(ctx, r)
	}
	if err != nil {
		t.Fatal(err)
	}
	pending := store.MustKey("a/__varve/pending.json")
	note, _, err := s.Get(ctx, pending, store.Request{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Publish(ctx); err != nil {
		t.Fatal(err)
	}
	for name, next := range map[string]func() error{
		"publish": func() error { return r.Publish(ctx) },
		"append":  func() error { return zarr.Append(ctx, a, 0, []int32{1}, &zarr.AppendOptions{Expect: a.Shape()}) },
	} {
		fixture.Put(t, s, pending.String(), string(note)) // the state after a crash before the reservation ended
		if err := next(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if found, err := store.Exists(ctx, s, pending); found || err != nil {
			t.Errorf("%s: the pointer is still stored: %v, %v", name, found, err)
		}
		if err := a.Resize(ctx, []int64{14}, &zarr.ResizeOptions{Shrink: grid.TrimEdges}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Publish(ctx); !errors.Is(err, zarr.ErrConflict) {
		t.Errorf("publishing after another change: error is %v, want a conflict", err)
	}
}
