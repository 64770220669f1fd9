// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"

	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
)

// change publishes the change that plan makes of the newest state. If another writer
// publishes first, it plans again. Other calls of this process on the array wait.
func (a *Array) change(ctx context.Context, plan func(*snapshot.Array) (*snapshot.Reshape, error)) error {
	lock, err := a.lock().Exclude(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	return a.update(ctx, func(old *snapshot.Array) (*publish.Change, *snapshot.Array, error) { return a.grow(old, plan) })
}

// grow returns the change that plan makes of old, and the state that it leads to.
func (a *Array) grow(old *snapshot.Array, plan func(*snapshot.Array) (*snapshot.Reshape, error)) (*publish.Change, *snapshot.Array, error) {
	g, err := plan(old)
	if err != nil || g == nil {
		return nil, nil, err
	}
	b := a.binding()
	next, err := b.Resized(old, g.Grid)
	if err != nil {
		return nil, nil, err
	}
	c, err := old.Stage(next, g, b.Limits)
	return c, next, err
}
