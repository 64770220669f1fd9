// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// syncNodes syncs the nodes below src that match a pattern.
func syncNodes(ctx context.Context, src, dst *zarr.Location, opt *SyncOptions, r *SyncReport) error {
	p, err := store.ParsePath(src.Path())
	if err != nil {
		return err
	}
	c := &copying.Copy{Options: copying.Options{Options: opt.Options}}
	c.Source.Store, c.Target.Store = src.Store(), dst.Store()
	c.Source.Path = p
	all, err := librarianOf(c, c.Source).walk(ctx)
	if err != nil {
		return err
	}
	damaged := damageIn(all).matching(opt.Nodes)
	names := matching(all, opt.Nodes)
	if len(names)+len(damaged.Nodes) == 0 {
		return fmt.Errorf("no node below it matches %q: %w", opt.Nodes, fs.ErrNotExist)
	}
	for _, name := range names {
		if err := makeGroups(ctx, all, name, dst, opt); err != nil {
			return err
		}
		var one SyncReport
		err := syncOne(ctx, src.At(name), dst.At(name), name+"/", opt, &one)
		r.add(name, one)
		if below := (*DamageError)(nil); errors.As(err, &below) {
			damaged.add(name, below)
		} else if err != nil {
			return copying.Wrap("sync", path.Join(src.Path(), name), err)
		}
	}
	if opt.Share != nil {
		return nil // the call that publishes reports them
	}
	return damaged.orNil()
}

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
	to, err := copying.PlaceOf(dst)
	if err != nil {
		return err
	}
	c := &copying.Copy{Options: copying.Options{Options: opt.Options}, Target: to, Format: all[""].format}
	if err := c.MakeParents(ctx); err != nil {
		return err
	}
	for end := 0; ; {
		if err := makeGroup(ctx, c, all[name[:end]]); err != nil {
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
func makeGroup(ctx context.Context, c *copying.Copy, i *item) error {
	p, err := c.Target.Path.Join(strings.TrimSuffix(i.dir, "/"))
	if err != nil {
		return err
	}
	if found, err := copying.Exists(ctx, c.Target.Store, p, nodename.V3Node, nodename.V2Group, nodename.V2Array); found || err != nil {
		return err
	}
	for _, f := range i.files {
		raw, err := f.raw, error(nil)
		switch f.name {
		case nodename.V2Consolidated:
			continue
		case nodename.V3Node:
			raw, err = withoutConsolidated(f.raw)
		}
		if err == nil {
			n := publish.Node{Store: c.Target.Store, Path: p, Document: f.name, Durability: c.Durability}
			_, err = publish.Create(ctx, n, raw)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	if err := c.Target.Location.At(strings.TrimSuffix(i.dir, "/")).UpdateConsolidated(ctx, c.Writing()); !errors.Is(err, fs.ErrNotExist) {
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
