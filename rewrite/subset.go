// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// matching returns the paths of the nodes below the root that match a pattern, without
// those below others.
func matching(all inventory, pattern string) (names []string) {
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		name := strings.TrimSuffix(dir, "/")
		if n := len(names); n > 0 && strings.HasPrefix(dir, names[n-1]+"/") {
			continue
		}
		if ok, _ := path.Match(pattern, name); ok && name != "" { // the pattern is valid
			names = append(names, name)
		}
	}
	return names
}

// makeGroups makes the groups above a node that the destination does not have, the first
// one at dst itself. Their consolidated metadata is left out, because it describes nodes
// that are not copied: they would be read as fill values.
func makeGroups(ctx context.Context, all inventory, name string, dst *zarr.Location, opt *SyncOptions) error {
	if opt.DryRun || opt.Share != nil {
		return nil
	}
	p, err := store.ParsePath(dst.Path())
	if err != nil {
		return err
	}
	c := &copier{Options: Options{Options: opt.Options}, dst: dst, to: dst.Store(), goal: p, old: all[""].format == 2}
	if err := c.makeParents(ctx); err != nil {
		return err
	}
	for end := 0; ; {
		if err := c.makeGroup(ctx, all[name[:end]]); err != nil {
			return err
		}
		next := strings.IndexByte(name[end:], '/')
		if next < 0 {
			return nil
		}
		end += next + 1
	}
}

// makeGroup stores the documents of a group unless there are some.
func (c *copier) makeGroup(ctx context.Context, i *item) error {
	p, err := c.goal.Join(strings.TrimSuffix(i.dir, "/"))
	if err != nil {
		return err
	}
	if found, err := exists(ctx, c.to, p, metadata.V3Node, metadata.V2Group, metadata.V2Array); found || err != nil {
		return err
	}
	for _, f := range i.files {
		raw, err := f.raw, error(nil)
		switch f.name {
		case metadata.V2Consolidated:
			continue
		case metadata.V3Node:
			raw, err = withoutConsolidated(f.raw)
		}
		if err == nil {
			n := publish.Node{Store: c.to, Path: p, Document: f.name, Durability: c.Durability}
			_, err = publish.Create(ctx, n, raw)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	if err := c.dst.At(strings.TrimSuffix(i.dir, "/")).UpdateConsolidated(ctx, c.writing()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// withoutConsolidated returns the document of a group without consolidated metadata, and
// otherwise as it is.
func withoutConsolidated(raw []byte) ([]byte, error) {
	g, err := metadata.ParseGroup(raw, metadata.Limits{})
	if err != nil || g.Consolidated == nil {
		return raw, err
	}
	return g.WithConsolidated(nil).Marshal(metadata.Limits{})
}
