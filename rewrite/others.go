// SPDX-License-Identifier: Apache-2.0

package rewrite

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// Other programs keep files of their own in a hierarchy: SpatialData has tables in
// Parquet beside its arrays. A conversion copies them as they are.

// copyOthers copies the values that belong to no node, and counts them. A dry run only
// counts.
func (c *conversion) copyOthers(ctx context.Context) error {
	v := c.newValues()
	g, within := parallel.New(ctx)
	g.SetLimit(c.workers())
	var listed error
	for rel, err := range c.others(within) {
		if err != nil {
			listed = err
			break
		}
		g.Go(func() error { return c.countedFile(c.copyOther(within, v, rel)) })
		if within.Err() != nil {
			break
		}
	}
	return v.end(ctx, g.Wait(listed))
}

func (c *conversion) copyOther(ctx context.Context, v *values, rel string) (int64, error) {
	if c.DryRun {
		info, err := store.Stat(ctx, c.from, c.at.MustKey(rel))
		return info.Size, err
	}
	return v.between(ctx, c.goal.MustKey(rel), c.at.MustKey(rel))
}

// countedFile counts a value that belongs to no node.
func (c *conversion) countedFile(n int64, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another program deleted it after the listing
	}
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.report.Values++
		c.report.Bytes += n
		c.files++
	}
	return err
}

// others yields the values that belong to no node, relative to the converted one: neither
// documents nor chunks of whatever grid, nor what Varve keeps for itself. In a store that
// cannot be listed they are not known.
func (c *conversion) others(ctx context.Context) iter.Seq2[string, error] {
	at := map[string]*member{}
	for _, m := range c.survey.members {
		at[strings.TrimPrefix(m.Path+"/", "/")] = m
	}
	return func(yield func(string, error) bool) {
		for e, err := range store.List(ctx, c.from, c.at, true) {
			if errors.Is(err, store.ErrUnsupported) {
				return
			}
			if err == nil && !c.isOther(at, e.Name) {
				continue
			}
			if !yield(e.Name, err) || err != nil {
				return
			}
		}
	}
}

// isOther reports whether a value belongs to no node. at has the nodes by their
// directories.
func (c *conversion) isOther(at map[string]*member, rel string) bool {
	if _, isOwn := kept(rel); isOwn {
		return false
	}
	dir, name := split(rel)
	if at[dir] != nil && slices.Contains(documentNames, name) {
		return false
	}
	owner := at[""]
	for end := 0; owner.Kind != "array"; {
		i := strings.IndexByte(rel[end:], '/')
		if i < 0 {
			return true
		}
		end += i + 1
		if next := at[rel[:end]]; next != nil {
			owner = next
		}
	}
	// Derive copies all values below an array that it does not make anew.
	return (c.derived == nil || owner.derived != nil) && !owner.hasChunk(strings.TrimPrefix(rel, strings.TrimPrefix(owner.Path+"/", "/")))
}

// hasChunk reports whether a key below an array is that of a chunk of some grid.
func (m *member) hasChunk(rest string) bool {
	rank := len(m.is.(*metadata.Array).Shape)
	for k := metadata.DefaultSlash; k <= metadata.V2Slash; k++ {
		if _, ok := k.ParseKey(rest, rank, nil); ok {
			return true
		}
	}
	return false
}

// imaging returns a note on a group with metadata of OME-Zarr, or "". A conversion to the
// other format keeps them, because programs add members of their own. But OME-Zarr puts
// them elsewhere: 0.4 and older, of format 2, among the attributes; 0.5, of format 3,
// below "ome".
func imaging(g *metadata.Group, to int) string {
	if to == 2 {
		if _, found, err := metadata.Attribute(g.Attributes, "ome"); err == nil && found {
			return `the metadata of OME-Zarr 0.5 stay in the attribute "ome", where readers of format 2 do not look: they expect version 0.4 among the attributes`
		}
		return ""
	}
	for _, name := range []string{"multiscales", "plate", "well", "image-label", "bioformats2raw.layout"} {
		if _, found, err := metadata.Attribute(g.Attributes, name); err == nil && found {
			return "the metadata of OME-Zarr (" + name + `) keep the form of version 0.4, where readers of format 3 do not look: they expect version 0.5 in the attribute "ome"`
		}
	}
	return ""
}
