// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/virtual"
)

// source is an object beside the repository.
type source struct {
	ref      format.ChunkRef // the one that ends last
	node     format.NodeID
	manifest ID
}

// virtual asks for the objects beside the repository. Those that the reader has not
// allowed are one finding for each folder.
func (c *inspection) virtual(ctx context.Context) error {
	var found []Finding
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(snapshotsAtOnce)
	for location, is := range c.sources {
		g.Go(func() error {
			// The last byte of the last chunk tells that the object has all of them.
			_, err := c.virtualChunk(within, is.ref, int64(is.ref.Length)-1, 1, nil)
			if within.Err() != nil || err == nil {
				return within.Err()
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			one := Finding{Kind: FoundSource, Path: c.paths[is.node], Chunk: is.ref.Index, Message: err.Error(), Manifest: is.manifest}
			if errors.Is(err, virtual.ErrNotAllowed) {
				one.Chunk, one.place = nil, path.Dir(location)+" "+one.Path
			}
			one.Key = location
			found = append(found, one)
			return nil
		})
	}
	if err := cmp.Or(g.Wait(), ctx.Err()); err != nil {
		return err
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Key < found[j].Key })
	forbidden := map[string]int{}
	for _, f := range found {
		forbidden[f.place]++
	}
	for _, f := range found {
		f.Key = "" // it lies beside the repository
		if n := forbidden[f.place]; f.place != "" && n > 0 {
			f.Message, forbidden[f.place] = fmt.Sprintf("%s (objects there: %d)", f.Message, n), 0
		} else if f.place != "" {
			continue
		}
		c.add(f)
	}
	return nil
}

// affected is what a damaged manifest has an effect on.
type affected struct {
	paths     []string
	snapshots int
	isTip     bool // of main
}

// trace adds to findings about manifests which arrays and snapshots they affect, and the
// last snapshot of main without any of the damage.
func (c *inspection) trace(ctx context.Context, is *state, ids []ID) error {
	of, damaged := map[ID]*affected{}, map[ID]bool{}
	for _, f := range c.report.Findings {
		if f.Manifest != (ID{}) {
			of[f.Manifest] = &affected{}
		}
		if f.Kind == FoundDamaged || f.Kind == FoundMissing {
			if id, ok := strings.CutPrefix(f.Key, snapshotFolder+"/"); ok {
				id, _ := format.ParseObjectID(id) // a name that was made here
				damaged[id] = true
			}
		}
	}
	if len(of)+len(damaged) == 0 {
		return nil
	}
	var tip ID
	if main, err := c.branch(ctx, is, mainBranch); err == nil {
		tip = main
	}
	again := c.newSurvey(nil)
	err := again.each(ctx, ids, map[ID]bool{}, snapshotsAtOnce, func(ctx context.Context, id ID) error {
		s, err := c.parsed(ctx, id)
		if err != nil {
			return nil // it was found
		}
		again.mu.Lock()
		defer again.mu.Unlock()
		named := map[ID]bool{}
		for _, n := range s.Nodes {
			for _, m := range n.Manifests {
				a := of[m.ID]
				if a == nil {
					continue
				}
				if !slices.Contains(a.paths, n.Path) {
					a.paths = append(a.paths, n.Path)
				}
				if !named[m.ID] {
					named[m.ID], a.isTip = true, a.isTip || id == tip
					a.snapshots++
				}
				damaged[id] = damaged[id] || c.broken[m.ID]
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var whole ID
	for commit, err := range c.ancestors(ctx, is, tip) {
		if err != nil {
			break // the snapshots before cannot be found
		}
		if !damaged[commit.ID] {
			whole = commit.ID
			break
		}
	}
	for i := range c.report.Findings {
		c.report.Findings[i].tell(of, damaged[tip], whole)
	}
	return nil
}

// tell adds to a finding what it affects.
func (f *Finding) tell(of map[ID]*affected, isTipDamaged bool, whole ID) {
	const most = 5
	if a := of[f.Manifest]; a != nil && len(a.paths) > 0 {
		slices.Sort(a.paths)
		shown := a.paths[:min(most, len(a.paths))]
		if f.Path == "" && len(a.paths) == 1 {
			f.Path = a.paths[0]
		}
		where := "not that of main"
		if a.isTip {
			where = "that of main, too"
		}
		f.Message += "; it affects " + strings.Join(shown, ", ")
		if len(a.paths) > most {
			f.Message += ", …"
		}
		f.Message += fmt.Sprintf(" (snapshots: %d, %s)", a.snapshots, where)
	}
	isDamage := f.Kind == FoundDamaged || f.Kind == FoundMissing
	if isDamage && isTipDamaged && whole != (ID{}) && (f.Manifest != (ID{}) || strings.HasPrefix(f.Key, snapshotFolder+"/")) {
		f.Whole = whole
		f.Message += fmt.Sprintf("; the last snapshot of main without such damage is %v", whole)
	}
}
