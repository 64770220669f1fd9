// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/store"
)

// leftover is an object of a rechunk: a record of staged chunks, or scratch.
type leftover struct {
	kind string
	id   string // of its claim
	name string // relative to the array
	size int64  // bytes, or -1 if the listing does not know it
}

// leftovers lists the objects of all rechunks of an array. Those of the claim are in
// use. The others are left by a crash, between the end of a claim and their deletion.
func leftovers(ctx context.Context, at lineage.Array) ([]leftover, error) {
	var found []leftover
	for _, of := range []struct{ kind, dir string }{{"records", recordsDir}, {"scratch", scratchDir}} {
		dir := at.Path.MustKey(of.dir + "-").Dir()
		for e, err := range store.List(ctx, at.Store, dir, store.Deep) {
			if err != nil {
				return nil, err
			}
			// What has another name is not ours.
			if id, _, below := strings.Cut(e.Name, "/"); below && lineage.IsID(id) {
				found = append(found, leftover{of.kind, id, of.dir + e.Name, e.Size})
			}
		}
	}
	return found, nil
}

// reclaimJournals deletes the journals of transactions that were rolled back, and whose
// writers have had time to notice.
func (v *vacuum) reclaimJournals(ctx context.Context) error {
	found, err := publish.Aborted(ctx, v.array.core.Node.Node)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := v.grace.askTime(ctx); err != nil {
		return err
	}
	for _, key := range found {
		info, err := store.Stat(ctx, v.hold.at.Store, key)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		item := VacuumItem{Kind: "journal", Keys: key.String(), Values: 1, Bytes: info.Size}
		left := v.grace.remaining(info.Modified)
		switch {
		case info.Modified.IsZero():
			item.Kept = "the store does not say how old it is"
		case left > 0:
			item.Due = time.Now().Add(left)
			item.Kept = "its writer may still run"
		case !v.dry:
			_, err = store.Write(ctx, v.hold.at.Store, store.Delete(key), store.Sync)
		}
		if err != nil {
			return err
		}
		v.findings.Items = append(v.findings.Items, item)
	}
	return nil
}

// reclaimMark deletes the object that keeps the directory of the lock of staging, if a
// rechunk that was killed has left it. It keeps the object while a rechunk runs, such as
// the one that this vacuum is a part of.
func (v *vacuum) reclaimMark(ctx context.Context) error {
	key := v.hold.at.Path.MustKey(lockName)
	if _, locks := store.As[store.Locker](v.hold.at.Store); !locks || v.dry || v.history.claim != nil || v.hold.locked {
		return nil
	}
	if there, err := store.Exists(ctx, v.hold.at.Store, key); !there || err != nil {
		return err
	}
	unlock, _, err := lockDir(ctx, v.hold.at.Store, key, -1)
	if errors.Is(err, ErrClaimed) || errors.Is(err, store.ErrLocked) {
		return nil // it is in use
	}
	if err != nil {
		return err
	}
	return unlock()
}

// reclaimLeftovers reports what belongs to no claim, and deletes it.
func (v *vacuum) reclaimLeftovers(ctx context.Context, list []leftover) error {
	if err := v.reclaimMark(ctx); err != nil {
		return err
	}
	items := map[string]*VacuumItem{}
	for _, l := range list {
		if v.history.claim != nil && l.id == v.history.claim.ID {
			continue
		}
		item := items[l.kind]
		if item == nil {
			item = &VacuumItem{Kind: l.kind, Keys: l.name}
			items[l.kind] = item
		}
		item.Values++
		item.Bytes += max(0, l.size)
		if v.dry {
			continue
		}
		if _, err := store.Write(ctx, v.hold.at.Store, store.Delete(v.hold.at.Path.MustKey(l.name)), store.Sync); err != nil {
			return err
		}
	}
	for _, kind := range []string{"records", "scratch"} {
		if item := items[kind]; item != nil {
			v.findings.Items = append(v.findings.Items, *item)
		}
	}
	return v.reclaimJournals(ctx)
}
