// SPDX-License-Identifier: Apache-2.0

package zarr

import (
	"context"
	"sync/atomic"

	"varve.dev/zarr/internal/access"
	"varve.dev/zarr/internal/dimension"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/publish"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/tree"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

func init() {
	access.Of = func(array any) *access.Array { return array.(*Array).access() }
	access.CheckShared = func(ctx context.Context, op string, arrays []any, after []func([]int64) []int64) error {
		list, changes := make([]*Array, len(arrays)), make([]dimension.Change, len(arrays))
		for i, a := range arrays {
			list[i] = a.(*Array)
			changes[i] = list[i].reshaping(after[i])
		}
		return checkShared(ctx, op, list, changes)
	}
	access.DeleteIf = func(ctx context.Context, location, options any, check func(context.Context) error) error {
		return location.(*Location).deleteIf(ctx, options.(*Options), check)
	}
	access.DeleteAt = func(ctx context.Context, location string, options any, check func(context.Context) error) error {
		return deleteIf(ctx, location, options.(*Options), check)
	}
	access.UpdateConsolidated = func(ctx context.Context, location, options any) error {
		return location.(*Location).updateConsolidated(ctx, options.(*Options))
	}
	access.Shadowed = func(ctx context.Context, n any) ([]string, error) { return n.(Node).base().shadowed(ctx) }
	access.Misread = func(array any) []string { return array.(*Array).misread() }
	access.Respell = func(ctx context.Context, array any) error { return array.(*Array).respell(ctx) }
	access.CheckDimensions = func(ctx context.Context, array any, shape []int64) error {
		return array.(*Array).checkDimensions(ctx, shape)
	}
	access.Observe = func(location any, o observe.Observer) any { return location.(*Location).observed(o) }
	access.Place = func(location any) (tree.Node, error) { return location.(*Location).newPlace() }
}

// newPlace returns the place of an array that does not exist yet.
func (l *Location) newPlace() (tree.Node, error) {
	h, o, err := l.creating(nil)
	if err != nil {
		return tree.Node{}, err
	}
	n := node{hierarchy: h, path: l.path, options: o.Options}
	return n.place(), nil
}

// access returns the inner side of the array, for packages such as rechunk that change
// arrays as a whole.
func (a *Array) access() *access.Array {
	opened := a.state.Load()
	var latest atomic.Pointer[snapshot.Array]
	latest.Store(opened)
	fresh := func(ctx context.Context) (*snapshot.Array, error) {
		now, err := a.look(ctx, latest.Load())
		if err == nil {
			latest.Store(now)
		}
		return now, err
	}
	return &access.Array{
		Node: a.place(), Lock: a.lock(), Writable: a.writable, Update: a.updateAs, Fail: a.fail, Finish: a.finishOthers, SetAttributes: a.updateAttributesV2,
		Join: func(ctx context.Context, plan func(*snapshot.Array) (*publish.Change, *snapshot.Array, error)) publish.Participant {
			return publish.Participant{Node: a.publisher(), Plan: a.planned(ctx, plan)}
		},
		Fresh: fresh,
		Unmoved: func(ctx context.Context) (*snapshot.Array, error) {
			now, err := fresh(ctx)
			if err == nil && now.Numbering != opened.Numbering {
				err = movedSince(opened)
			}
			return now, err
		},
		Bind: a.binder(false), BindAdapting: a.binder(true), Compared: a.compared(),
	}
}

// binder returns a function that describes the array by another document.
func (a *Array) binder(adapt bool) func(doc *metadata.Array, change func(*engine.Array)) (*snapshot.Array, error) {
	return func(doc *metadata.Array, change func(*engine.Array)) (*snapshot.Array, error) {
		b := a.binding()
		if adapt && !b.Codecs.Adapt {
			b.Codecs.Adapt, b.Present = true, nil // the codecs of the present state do not adapt
		}
		if change != nil {
			change(b.Engine)
		}
		return b.Bind(doc, nil, store.Version{})
	}
}
