// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/virtual"
)

// source is one version of an object beside the repository.
type source struct {
	ref      format.ChunkRef // the one that ends last
	node     format.NodeID
	manifest ID
}

// carrier is an array whose references a manifest has, or, with the zero node, all of
// them.
type carrier struct {
	manifest ID
	node     format.NodeID
}

// appendSource appends the key of a source, which is that of all references to the same
// version: the object may be the one that some name, and not the one that others do.
func appendSource(key []byte, ref *format.ChunkRef) []byte {
	key = append(append(key, ref.Location...), 0)
	return append(append(binary.LittleEndian.AppendUint32(key, ref.Modified), 0), ref.ETag...)
}

// virtual asks for the objects beside the repository. There is one finding for each
// object, and for each folder that the reader has not allowed.
func (c *inspection) virtual(ctx context.Context) error {
	failed := map[string]error{}
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(snapshotsAtOnce)
	for key, is := range c.sources {
		g.Go(func() error {
			// The last byte of the last chunk tells that the object has all of them.
			_, err := c.virtualChunk(within, is.ref, int64(is.ref.Length)-1, 1, nil)
			if within.Err() != nil || err == nil {
				return within.Err()
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			failed[key] = err
			return nil
		})
	}
	if err := cmp.Or(g.Wait(), ctx.Err()); err != nil || len(failed) == 0 {
		return err
	}
	found, all := map[string]*Finding{}, []*Finding(nil)
	objects := map[*Finding]map[string]bool{}
	in := map[string]map[carrier]bool{} // where the references to a source are
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		is, err := c.sources[key], failed[key]
		location := string(is.ref.Location)
		one := Finding{Kind: FoundSource, Path: c.paths[is.node], Chunk: is.ref.Index, Message: err.Error(), Manifest: is.manifest, in: map[carrier]bool{}}
		place := location
		if errors.Is(err, virtual.ErrNotAllowed) {
			place, one.Path, one.Chunk = path.Dir(location)+"/", "", nil
		}
		f := found[place]
		if f == nil {
			f = &one
			found[place], objects[f] = f, map[string]bool{}
			all = append(all, f)
		}
		objects[f][location], in[key] = true, f.in
	}
	if err := c.carriers(ctx, in); err != nil {
		return err
	}
	for _, f := range all {
		if f.Chunk == nil {
			f.Message = fmt.Sprintf("%s (objects there: %d)", f.Message, len(objects[f]))
		}
		c.add(*f)
	}
	return nil
}

// carriers finds where the references to sources are.
func (c *inspection) carriers(ctx context.Context, in map[string]map[carrier]bool) error {
	again := c.newSurvey(nil)
	again.failed = func(string, error) error { return nil } // it was found
	again.onManifest = func(m *format.Manifest) error {
		var key []byte
		for _, refs := range m.Arrays() {
			for ref, err := range refs.All() {
				if err != nil {
					return err
				}
				if ref.Payload != format.Virtual {
					continue
				}
				key = appendSource(key[:0], &ref)
				if to := in[string(key)]; to != nil {
					to[carrier{m.ID, refs.Node}] = true
				}
			}
		}
		return nil
	}
	return again.visit(ctx, slices.Collect(maps.Keys(c.snapshots)))
}

// affected is what a finding has an effect on.
type affected struct {
	paths     map[string]bool
	snapshots int
	last      ID   // of them
	isTip     bool // of main
}

// meet counts an array of a snapshot.
func (a *affected) meet(path string, snapshot, tip ID) {
	a.paths[path] = true
	if a.last != snapshot {
		a.last = snapshot
		a.snapshots++
	}
	a.isTip = a.isTip || snapshot == tip
}

// trace adds to findings about manifests which arrays and snapshots they affect, and the
// last snapshot of main without any of the damage.
func (c *inspection) trace(ctx context.Context, is *state, ids []ID) error {
	of, damaged := map[carrier][]*affected{}, map[ID]bool{}
	all := make([]*affected, len(c.report.Findings))
	for i, f := range c.report.Findings {
		all[i] = &affected{paths: map[string]bool{}}
		if f.in == nil && f.Manifest != (ID{}) {
			f.in = map[carrier]bool{{manifest: f.Manifest}: true}
		}
		for at := range f.in {
			of[at] = append(of[at], all[i])
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
		for _, n := range s.Nodes {
			for _, m := range n.Manifests {
				for _, at := range []carrier{{manifest: m.ID}, {m.ID, n.ID}} {
					for _, a := range of[at] {
						a.meet(n.Path, id, tip)
					}
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
		c.report.Findings[i].tell(all[i], damaged[tip], whole)
	}
	return nil
}

// tell adds to a finding what it affects.
func (f *Finding) tell(a *affected, isTipDamaged bool, whole ID) {
	const most = 5
	if paths := slices.Sorted(maps.Keys(a.paths)); len(paths) > 0 {
		shown := paths[:min(most, len(paths))]
		if f.Path == "" && len(paths) == 1 {
			f.Path = paths[0]
		}
		where := "not that of main"
		if a.isTip {
			where = "that of main, too"
		}
		f.Message += "; it affects " + strings.Join(shown, ", ")
		if len(paths) > most {
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
