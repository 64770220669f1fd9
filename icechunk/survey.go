// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/icechunk/internal/format"
)

// survey visits snapshots and the manifests that they name, each of them once. Its
// functions are called one at a time.
type survey struct {
	*Repository
	onSnapshot func(*format.Snapshot)
	onManifest func(*format.Manifest) error
	// failed is told of an object that cannot be read, and returns an error to end the
	// survey.
	failed   func(name string, err error) error
	progress func(done string, n int64)

	snapshots, manifests map[ID]bool // that were visited

	mu sync.Mutex // is held while a function is called
}

// newSurvey returns a survey that ends with the first error.
func (r *Repository) newSurvey(progress func(done string, n int64)) *survey {
	if progress == nil {
		progress = func(string, int64) {}
	}
	return &survey{
		Repository: r, progress: progress, snapshots: map[ID]bool{}, manifests: map[ID]bool{},
		onSnapshot: func(*format.Snapshot) {}, onManifest: func(*format.Manifest) error { return nil },
		failed: func(_ string, err error) error { return err },
	}
}

// Numbers of objects that are read at once. They bound the memory of a survey: a manifest
// of 10^6 references takes 60 MB.
const (
	snapshotsAtOnce = 16
	manifestsAtOnce = 4
)

// visit visits snapshots, and then their manifests.
func (s *survey) visit(ctx context.Context, ids []ID) error {
	var files []ID
	named := map[ID]bool{}
	err := s.each(ctx, ids, s.snapshots, snapshotsAtOnce, func(ctx context.Context, id ID) error {
		is, err := s.parsed(ctx, id)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.progress("snapshots", int64(len(s.snapshots))); err != nil {
			return s.failed(snapshotName(id), err)
		}
		name := func(id ID) {
			if !named[id] {
				files, named[id] = append(files, id), true
			}
		}
		for _, f := range is.Files {
			name(f.ID)
		}
		// Readers find manifests by the nodes. Both lists have to name the same.
		for _, n := range is.Nodes {
			for _, m := range n.Manifests {
				name(m.ID)
			}
		}
		s.onSnapshot(is)
		return nil
	})
	if err != nil {
		return err
	}
	return s.each(ctx, files, s.manifests, manifestsAtOnce, func(ctx context.Context, id ID) error {
		m, err := s.readManifest(ctx, id)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.progress("manifests", int64(len(s.manifests))); err == nil {
			err = s.onManifest(m)
		}
		if err != nil {
			return s.failed(manifestName(id), err)
		}
		return nil
	})
}

// each calls do for those that were not visited. Those for which it fails are not
// visited afterwards.
func (s *survey) each(ctx context.Context, ids []ID, visited map[ID]bool, atOnce int, do func(context.Context, ID) error) error {
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, id := range ids {
		if within.Err() != nil {
			break
		}
		s.mu.Lock()
		again := visited[id]
		visited[id] = true
		s.mu.Unlock()
		if again {
			continue
		}
		g.Go(func() error {
			err := do(within, id)
			if err != nil {
				s.mu.Lock()
				delete(visited, id)
				s.mu.Unlock()
			}
			return err
		})
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

// live returns the snapshots to which branches and tags lead.
func (r *Repository) live(ctx context.Context, is *state) (ids []ID, err error) {
	if is.Repository != nil {
		for i, reached := range is.Reachable() {
			if reached {
				ids = append(ids, is.Snapshots[i].ID)
			}
		}
		return ids, nil
	}
	seen := map[ID]bool{}
	for _, ref := range slices.Concat(is.branches, is.tags) {
		for c, err := range r.ancestors(ctx, is, ref.Snapshot) {
			if err != nil {
				return nil, err
			}
			if seen[c.ID] {
				break
			}
			seen[c.ID], ids = true, append(ids, c.ID)
		}
	}
	return ids, nil
}
