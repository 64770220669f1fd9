package zarr

import (
	"context"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
)

// recover completes what a crashed writer has left: it rolls a transaction over several
// arrays forward or back, and moves chunks that are set aside to their keys.
func (a *Array) recover(ctx context.Context) error {
	if err := retry(ctx, func() error { return a.finishOthers(ctx) }); err != nil {
		return err
	}
	left := false
	for _, err := range a.state.Load().Engine.Aside(ctx) {
		if err != nil {
			return err
		}
		left = true
		break
	}
	if !left {
		return nil
	}
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.moveAside(ctx)
}

// moveAside moves the chunks that are set aside to their keys. The caller holds the
// exclusive lock of the node.
func (a *Array) moveAside(ctx context.Context) error {
	return a.update(ctx, func(s *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Reclaim: s.FetchAside, Tidy: s.TidyAside}, s, nil
	})
}
