// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/internal/test/stepping"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/store"
)

// undeletable is an object store that cannot delete on conditions.
type undeletable struct {
	store.Store
	store.Stater
	store.Writer
	store.Lister
}

// refusing returns a store whose service refuses to delete some values on conditions.
func refusing(s stepping.ObjectStore, which func(key store.Key) bool) store.Store {
	return stepping.Conditional(s, stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		if op.Name == "DeleteIf" && which(op.Key) {
			return store.ErrUnsupported
		}
		return nil
	}})
}

// TestVacuumRefused vacuums in stores that do not delete on conditions. Superseded chunks
// stay, are not reported as freed, and can be reverted to. A single writer deletes them.
func TestVacuumRefused(t *testing.T) {
	inner := func() stepping.ObjectStore { return stepping.Conditional(memtest.New(), stepping.Hooks{}) }
	without := inner()
	for name, s := range map[string]store.Store{
		"no power": undeletable{without, without, fixture.Only(without, store.OpPut, store.OpPutIf, store.OpDelete), without},
		"refused":  refusing(inner(), func(store.Key) bool { return true }),
	} {
		t.Run(name, func(t *testing.T) {
			a := days(t, s, 4)
			compact(t, a, 2)
			for _, dry := range []bool{true, false} {
				stays(t, a, dry)
			}
			if err := rechunk.Revert(t.Context(), a); err != nil {
				t.Fatal(err)
			}
			reads(t, s, 1, 2, 3, 4)
			compact(t, a, 4)
			freed(t, s)
			reads(t, s, 1, 2, 3, 4)
		})
	}
}

// TestVacuumRefusedLate finds out only when the chunks are deleted. They are not reported
// as freed either, and their record stays for a single writer.
func TestVacuumRefusedLate(t *testing.T) {
	s := refusing(stepping.Conditional(memtest.New(), stepping.Hooks{}), func(key store.Key) bool {
		return strings.HasPrefix(key.String(), "a/c/")
	})
	a := days(t, s, 4)
	compact(t, a, 2)
	stays(t, a, false)
	freed(t, s)
	if is, want := keys(t, s), "a/0 a/1 a/zarr.json zarr.json"; is != want {
		t.Errorf("left %s, want %s", is, want)
	}
}

// TestAbandonRefused gives up a rechunk in a store that does not delete on
// conditions. Its claim stays with its chunks, until a single writer gives it up.
func TestAbandonRefused(t *testing.T) {
	readOnly := false
	s := stepping.Conditional(memtest.New(), stepping.Hooks{Before: func(_ context.Context, op stepping.Op) error {
		switch {
		case op.Name == "DeleteIf":
			return store.ErrUnsupported
		case readOnly && op.Name == "PutIf" && op.Key.Base() == "zarr.json":
			return driver.Refused(fs.ErrPermission)
		}
		return nil
	}})
	a := days(t, s, 4)
	before := keys(t, s)
	readOnly = true // it ends when all chunks are staged
	if _, err := rechunk.Do(t.Context(), a, rechunk.Compaction{UpTo: 2}, nil); !errors.Is(err, fs.ErrPermission) {
		t.Fatal(err)
	}
	readOnly = false
	take := &rechunk.Options{TakeOver: true}
	if err := rechunk.Abandon(t.Context(), a, take); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "Options.SingleWriter") {
		t.Fatalf("error is %v", err)
	}
	single, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true, SingleWriter: true})
	if err == nil {
		err = rechunk.Abandon(t.Context(), single, take)
	}
	if err == nil { // the first try has left records
		_, err = rechunk.Vacuum(t.Context(), single, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if is := keys(t, s); is != before {
		t.Errorf("left %s, want %s", is, before)
	}
}

// stays expects that a vacuum keeps the superseded chunks, and says what to do.
func stays(t *testing.T, a *zarr.Array, dry bool) {
	t.Helper()
	r, err := rechunk.Vacuum(t.Context(), a, &rechunk.VacuumOptions{Grace: -1, DryRun: dry})
	if err != nil || r.Freed() != 0 || len(r.Items) != 1 || len(r.Notes) != 0 || !strings.Contains(r.Items[0].Kept, "Options.SingleWriter") {
		t.Fatalf("dry %v: %+v (%v)", dry, r, err)
	}
}

// freed expects that a single writer deletes all superseded chunks.
func freed(t *testing.T, s store.Store) {
	t.Helper()
	single, err := zarr.At(s, "a").OpenArray(t.Context(), &zarr.Options{Write: true, SingleWriter: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := rechunk.Vacuum(t.Context(), single, &rechunk.VacuumOptions{Grace: -1})
	if err != nil || r.Freed() == 0 {
		t.Fatalf("%+v (%v)", r, err)
	}
	for _, i := range r.Items {
		if i.Kept != "" {
			t.Errorf("%+v stays", i)
		}
	}
	if err := rechunk.Revert(t.Context(), single); !errors.Is(err, rechunk.ErrNoRevert) {
		t.Errorf("revert after a vacuum: %v", err)
	}
}
