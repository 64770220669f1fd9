package zarr

import (
	"context"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
)

// recover finishes, or undoes, what a writer that died has left: a change of several
// arrays, and chunks that it put aside.
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

// moveAside moves the chunks that are put aside to their places. The caller has all
// turns.
func (a *Array) moveAside(ctx context.Context) error {
	return a.update(ctx, func(s *snapshot.Array) (*publish.Change, *snapshot.Array, error) {
		return &publish.Change{Reclaim: s.FetchAside, Tidy: s.TidyAside}, s, nil
	})
}
