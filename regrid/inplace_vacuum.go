// SPDX-License-Identifier: Apache-2.0

package regrid

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr/internal/likeness"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// keptInPlace returns why chunks beyond the grid must stay because a re-gridding in place
// has superseded them, or "", and when their grace ends.
func (v *vacuum) keptInPlace(ctx context.Context, old *snapshot.Array) (why string, due time.Time, err error) {
	inPlace, longest := false, time.Duration(0)
	for _, r := range v.chain {
		if !r.InPlace {
			continue
		}
		inPlace = true
		left, err := v.graceLeft(ctx, r)
		if err != nil {
			return "", due, err
		}
		longest = max(longest, left)
	}
	if longest > 0 {
		due = time.Now().Add(longest)
		return fmt.Sprintf("readers may still use them until %s", due.Format(time.RFC3339)), due, nil
	}
	if !inPlace {
		return "", time.Time{}, nil
	}
	for p := v.at.Path; !p.IsRoot(); {
		p = p.Parent()
		doc, err := v.Node.Listed(ctx, p)
		if err != nil {
			return "", due, err
		}
		if a, ok := doc.(*metadata.Array); ok && !likeness.Complete(a).ChunkGrid.Equal(likeness.Complete(old.Doc).ChunkGrid) {
			return fmt.Sprintf("the consolidated metadata of %q has another grid; consolidate it again", "/"+p.String()), time.Time{}, nil
		}
	}
	return "", time.Time{}, nil
}

// mergedItems returns what re-griddings in place have kept, by their IDs.
func (v *vacuum) mergedItems(ctx context.Context) (map[string]*VacuumItem, error) {
	root := v.at.MergedRoot()
	items := map[string]*VacuumItem{}
	for e, err := range store.List(ctx, v.at.Store, root, true) {
		if err != nil {
			return nil, err
		}
		id, _, below := strings.Cut(e.Name, "/")
		if !below || !lineage.IsID(id) {
			continue // it is not ours
		}
		if items[id] == nil {
			items[id] = &VacuumItem{Kind: "merged", Keys: v.at.Path.Rel(root.MustKey(e.Name))}
		}
		items[id].Values++
		items[id].Bytes += max(0, e.Size)
	}
	return items, nil
}

// reclaimMerged deletes the chunks that re-griddings in place have kept, if their grace
// is over. What was listed before the claim was read is of no later claim.
func (v *vacuum) reclaimMerged(ctx context.Context, items map[string]*VacuumItem) error {
	for _, r := range v.records {
		if !r.InPlace {
			continue
		}
		why, due, err := v.keptMerged(ctx, r)
		if err != nil {
			return err
		}
		if i := items[r.ID]; i != nil {
			i.Kept, i.Due = why, due
		}
		if why != "" {
			continue
		}
		v.over = append(v.over, r)
		if v.dry {
			continue
		}
		// From here on, a late writer knows that the chunks are gone.
		if err := v.at.RemoveChunks(ctx, r); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(items)) {
		i := items[id]
		if v.claim != nil && v.claim.ID == id {
			i.Kept = "staged by a re-gridding that is not finished: " + v.claim.Text()
		}
		v.found.Items = append(v.found.Items, *i)
		if v.dry || i.Kept != "" {
			continue
		}
		if err := v.at.RemoveMerged(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// keptMerged returns why what a re-gridding in place has kept must stay, or "", and when
// its grace ends.
func (v *vacuum) keptMerged(ctx context.Context, r *lineage.Record) (why string, due time.Time, err error) {
	switch {
	case v.claim != nil && v.claim.ID == r.ID:
		return "staged by a re-gridding that is not finished: " + v.claim.Text(), due, nil
	case v.broken != "":
		return v.broken, due, nil
	case !slices.Contains(v.chain, r):
		return "", due, nil // it was never published
	}
	left, err := v.graceLeft(ctx, r)
	if err != nil || left <= 0 {
		return "", due, err
	}
	due = time.Now().Add(left)
	return fmt.Sprintf("writers may still need them until %s", due.Format(time.RFC3339)), due, nil
}
