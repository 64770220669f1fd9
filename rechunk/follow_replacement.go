// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"

	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// replace stores all chunks under other keys: those that stay are linked or copied, and
// what has changed is read. Then it publishes the keys.
func (u *update) replace(ctx context.Context) error {
	if err := u.occupy(ctx); err != nil {
		return err
	}
	w, err := u.stage(ctx)
	if err != nil {
		return err
	}
	raw, err := w.next.Doc.Marshal(u.f.Node.Limits)
	if err != nil {
		return err
	}
	stage := func(ctx context.Context, _ store.Batch) error {
		if err := u.f.checkClaim(ctx); err != nil {
			return err
		}
		u.next = w.next // its document is the one that the origin names
		if err := u.settle(ctx); err != nil {
			return err
		}
		return w.putLineage(ctx, u.now.Doc)
	}
	err = u.publish(ctx, func(*snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Document: raw, Warn: true, Stage: stage}, w.next, nil
	})
	if err != nil {
		return err
	}
	return u.f.finish(ctx)
}

// occupy claims the array, with free keys, or resumes what another call has begun.
func (u *update) occupy(ctx context.Context) error {
	if err := u.f.begin(ctx, u.now); err != nil {
		if errors.Is(err, ErrNoKeys) && u.now.Doc.Format() == 2 && u.now.Grid.Rank() < 2 {
			err = errUnfollowed("elements have changed, and the chunks of an array of format 2 with less than two axes have no other keys")
		}
		return err
	}
	if sameKeys(u.f.claim.Keys, u.now.Engine.Keys, u.now.Grid.Rank()) {
		return errTaken
	}
	return nil
}

// stage stores all chunks under the claimed keys, and returns the array as it will be.
func (u *update) stage(ctx context.Context) (*work, error) {
	keys := u.f.claim.Keys
	w, err := u.keep(ctx, keys)
	if err != nil {
		return nil, err
	}
	next, err := u.f.Bind(u.next.Doc.WithKeyEncoding(keys), u.bounded)
	if err != nil {
		return nil, err
	}
	err = publish.Batch(ctx, u.f.at.Store, u.f.Node.Durability, func(ctx context.Context, b store.Batch) error {
		return u.overwrite(ctx, next, b)
	})
	if err != nil {
		return nil, err
	}
	w.next = next
	w.targets, err = staging.List(ctx, next)
	return w, err
}

// keep links or copies all chunks of the part that stays.
func (u *update) keep(ctx context.Context, keys metadata.KeyEncoding) (*work, error) {
	g, err := u.now.Grid.Shrunk(commonShape(u.now.Grid, u.next.Grid))
	if err != nil {
		return nil, err
	}
	doc := u.now.Document().Resized(g.Shape(), snapshot.GridExtension(g, 0))
	source, err := u.f.Bind(doc, func(e *engine.Array) {
		e.Store, e.Budget, e.RequireChunks = staging.Witness{Store: e.Store}, u.f.engine(), false
	})
	if err != nil {
		return nil, err
	}
	into, err := u.f.Bind(doc.WithKeyEncoding(keys), u.bounded)
	if err != nil {
		return nil, err
	}
	job, err := staging.NewJob(source, into, staging.Move{})
	if err != nil {
		return nil, err
	}
	w := &work{session: u.f.session, Job: job, old: u.now, next: into}
	if err := w.stage(ctx); err != nil {
		return nil, err
	}
	// What a stopped call has left must not be taken for elements.
	if err := w.list(ctx); err != nil {
		return nil, err
	}
	return w, w.clear(ctx)
}

// overwrite stores what has changed over the chunks that were kept. Those that have
// another shape now cannot be read for it.
func (u *update) overwrite(ctx context.Context, next *snapshot.Array, b store.Batch) error {
	for _, box := range u.recut {
		chunks, err := next.Grid.Touched(box)
		if err == nil {
			err = next.Engine.Delete(ctx, chunks, b)
		}
		if err != nil {
			return err
		}
	}
	for _, r := range u.regions {
		if err := u.write(ctx, next, r.box, engine.Writing{Batch: b, Valid: r.valid}); err != nil {
			return err
		}
	}
	return nil
}
