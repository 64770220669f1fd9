package zarr

import (
	"context"

	"varve.dev/zarr/internal/publish"
)

// change publishes a change that plan makes of the newest state. Where another writer
// publishes first, it plans again.
func (a *Array) change(ctx context.Context, plan func(*state) (*growth, error)) error {
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.update(ctx, func(old *state) (*publish.Change, *state, error) { return a.grow(old, plan) })
}

// grow returns the change that plan makes of a state, and the state that it leads to.
func (a *Array) grow(old *state, plan func(*state) (*growth, error)) (*publish.Change, *state, error) {
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	b := a.binding()
	next, err := b.resized(old, g.grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := old.stage(next, g, b.limits)
	return c, next, err
}
