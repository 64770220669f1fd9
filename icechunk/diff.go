// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr/icechunk/internal/format"
)

// Diff is what differs between two snapshots. Paths of nodes are sorted, without a
// leading slash.
type Diff struct {
	From, To ID
	// Logged is set if it is from transaction logs, which also have what was changed and
	// changed back. Otherwise both snapshots were compared.
	Logged                       bool
	NewGroups, NewArrays         []string
	DeletedGroups, DeletedArrays []string
	UpdatedGroups, UpdatedArrays []string // with another document
	// Chunks are the chunks that were added, replaced or deleted, by the paths of arrays.
	Chunks map[string][][]uint32
	Moved  []Moved
	// Documents are the two documents of each node that is in both snapshots and has
	// different ones, by path.
	Documents map[string][2][]byte
}

// Moved is a node that has got another path.
type Moved struct{ From, To string }

// Diff compares two snapshots, which texts after @ in a location name. If the first one
// led to the second one, it reads the transaction logs between them, as the reference
// does. Otherwise, or if a log was deleted, it compares nodes and references.
func (r *Repository) Diff(ctx context.Context, from, to string) (*Diff, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	a, b, err := r.pair(ctx, is, from, to)
	if err != nil {
		return nil, err
	}
	logs, err := r.logsBetween(ctx, is, a.ID(), b.ID())
	if err != nil {
		return nil, err
	}
	d := newDiff(a, b)
	if d.Logged = logs != nil; d.Logged {
		err = d.add(ctx, r, logs)
	}
	// Older programs delete the logs of snapshots that have expired.
	if !d.Logged || errors.Is(err, errMissing) {
		d = newDiff(a, b)
		err = d.compare(ctx)
	}
	if err != nil {
		return nil, err
	}
	d.finish()
	return &d.Diff, nil
}

// pair opens two snapshots.
func (r *Repository) pair(ctx context.Context, is *state, from, to string) (a, b *Snapshot, err error) {
	for at, s := range map[*string]**Snapshot{&from: &a, &to: &b} {
		id, err := r.find(ctx, is, *at)
		if err != nil {
			return nil, nil, err
		}
		if *s, err = r.open(ctx, id); err != nil {
			return nil, nil, err
		}
	}
	return a, b, nil
}

// logsBetween returns the IDs of the transaction logs from a snapshot to a later one, or
// nil if the first does not lead to the other.
func (r *Repository) logsBetween(ctx context.Context, is *state, from, to ID) ([]ID, error) {
	list := []ID{}
	for c, err := range r.ancestors(ctx, is, to) {
		if err != nil {
			return nil, err
		}
		if c.ID == from {
			return list, nil
		}
		list = append(list, c.ID)
		if is.Repository != nil {
			i, _ := is.FindSnapshot(c.ID) // it is one of the repository
			list = append(list, is.Snapshots[i].Pruned...)
		}
	}
	return nil, nil
}

// diff is a comparison.
type diff struct {
	Diff
	a, b   *Snapshot
	nodesA map[format.NodeID]*format.Node
	nodesB map[format.NodeID]*format.Node
	chunks map[format.NodeID]map[string][]uint32
}

func newDiff(a, b *Snapshot) *diff {
	d := &diff{a: a, b: b, nodesA: map[format.NodeID]*format.Node{}, nodesB: map[format.NodeID]*format.Node{}, chunks: map[format.NodeID]map[string][]uint32{}}
	d.Diff = Diff{From: a.ID(), To: b.ID(), Chunks: map[string][][]uint32{}, Documents: map[string][2][]byte{}}
	for i := range a.content.Nodes {
		d.nodesA[a.content.Nodes[i].ID] = &a.content.Nodes[i]
	}
	for i := range b.content.Nodes {
		d.nodesB[b.content.Nodes[i].ID] = &b.content.Nodes[i]
	}
	return d
}

// add adds what transaction logs say. As with the reference, nodes that are in neither
// snapshot are left out, and others have their later paths.
func (d *diff) add(ctx context.Context, r *Repository, ids []ID) error {
	for _, id := range ids {
		l, err := r.transactions(ctx, id)
		if err != nil {
			return err
		}
		for list, nodes := range map[*[]string][]format.NodeID{
			&d.NewGroups: l.NewGroups, &d.NewArrays: l.NewArrays, &d.DeletedGroups: l.DeletedGroups,
			&d.DeletedArrays: l.DeletedArrays, &d.UpdatedGroups: l.UpdatedGroups, &d.UpdatedArrays: l.UpdatedArrays,
		} {
			for _, id := range nodes {
				if n := d.node(id); n != nil {
					*list = append(*list, pathOf(n))
				}
			}
		}
		for _, c := range l.Chunks {
			for _, index := range c.Indices {
				d.change(c.Node, index)
			}
		}
		for _, m := range l.Moves {
			d.Moved = append(d.Moved, Moved{strings.TrimPrefix(m.From, "/"), strings.TrimPrefix(m.To, "/")})
		}
	}
	return nil
}

// node returns a node of the later snapshot, or else of the other one, or nil.
func (d *diff) node(id format.NodeID) *format.Node {
	if n := d.nodesB[id]; n != nil {
		return n
	}
	return d.nodesA[id]
}

func pathOf(n *format.Node) string { return strings.TrimPrefix(n.Path, "/") }

// change notes a chunk.
func (d *diff) change(id format.NodeID, index []uint32) {
	if d.chunks[id] == nil {
		d.chunks[id] = map[string][]uint32{}
	}
	d.chunks[id][chunkName(index)] = index
}

// compare compares nodes and references.
func (d *diff) compare(ctx context.Context) error {
	for id, n := range d.nodesA {
		if d.nodesB[id] == nil {
			list := &d.DeletedGroups
			if n.IsArray {
				list = &d.DeletedArrays
			}
			*list = append(*list, pathOf(n))
		}
	}
	for id, n := range d.nodesB {
		was := d.nodesA[id]
		list := &d.UpdatedGroups
		switch {
		case was == nil && n.IsArray:
			list = &d.NewArrays
		case was == nil:
			list = &d.NewGroups
		case n.IsArray:
			list = &d.UpdatedArrays
		}
		if was == nil || !bytes.Equal(was.Document, n.Document) {
			*list = append(*list, pathOf(n))
		}
		if was != nil && was.Path != n.Path {
			d.Moved = append(d.Moved, Moved{pathOf(was), pathOf(n)})
		}
		if err := d.compareChunks(ctx, was, n); err != nil {
			return fmt.Errorf("%s: %w", pathOf(n), err)
		}
	}
	return nil
}

// compareChunks compares the references of an array. Manifests that both snapshots have
// need no look.
func (d *diff) compareChunks(ctx context.Context, was, is *format.Node) error {
	var old []format.ManifestRef
	var shape []format.Dimension
	if was != nil {
		old, shape = was.Manifests, was.Shape
	}
	same := slices.Equal(shape, is.Shape)
	without := func(list, others []format.ManifestRef) []format.ManifestRef {
		return slices.DeleteFunc(slices.Clone(list), func(m format.ManifestRef) bool {
			return same && slices.ContainsFunc(others, func(o format.ManifestRef) bool { return o.ID == m.ID && slices.Equal(o.Extents, m.Extents) })
		})
	}
	before := map[string]format.ChunkRef{}
	if was != nil {
		n := *was
		n.Manifests = without(old, is.Manifests)
		for ref, err := range d.a.references(ctx, &n) {
			if err != nil {
				return err
			}
			ref.Index = slices.Clone(ref.Index)
			before[chunkName(ref.Index)] = ref
		}
	}
	n := *is
	n.Manifests = without(is.Manifests, old)
	for ref, err := range d.b.references(ctx, &n) {
		if err != nil {
			return err
		}
		name := chunkName(ref.Index)
		if o, ok := before[name]; !ok || !isSame(o, ref) {
			d.change(is.ID, slices.Clone(ref.Index))
		}
		delete(before, name)
	}
	for _, ref := range before {
		d.change(is.ID, ref.Index)
	}
	return nil
}

// finish sorts the lists.
func (d *diff) finish() {
	for _, list := range []*[]string{&d.NewGroups, &d.NewArrays, &d.DeletedGroups, &d.DeletedArrays, &d.UpdatedGroups, &d.UpdatedArrays} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	for id, chunks := range d.chunks {
		// An array may have been deleted, and another one be at its path.
		if n := d.node(id); n != nil {
			both := append(d.Chunks[pathOf(n)], slices.Collect(maps.Values(chunks))...)
			slices.SortFunc(both, slices.Compare)
			d.Chunks[pathOf(n)] = slices.CompactFunc(both, slices.Equal)
		}
	}
	for id, n := range d.nodesB {
		if was := d.nodesA[id]; was != nil && !bytes.Equal(was.Document, n.Document) {
			d.Documents[pathOf(n)] = [2][]byte{was.Document, n.Document}
		}
	}
	sort.Slice(d.Moved, func(i, j int) bool { return d.Moved[i].To < d.Moved[j].To })
}
