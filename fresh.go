package zarr

import (
	"context"
	"hash/maphash"

	"golang.org/x/sync/semaphore"

	"varve.dev/zarr/store"
)

// An array that grows or shrinks gives chunks at its border another meaning. Within this process, changes of the extent and
// calls that work on one extent take turns: any number of writes, or one change. Arrays share a few turnstiles by their path.
const allTurns = 1 << 30

var (
	turnstiles    [64]*semaphore.Weighted
	turnstileSeed = maphash.MakeSeed()
)

func init() {
	for i := range turnstiles {
		turnstiles[i] = semaphore.NewWeighted(allTurns)
	}
}

// enter waits for n of all turns at the array, and returns the function that gives them back.
func (a *Array) enter(ctx context.Context, n int64) (leave func(), err error) {
	t := turnstiles[maphash.String(turnstileSeed, a.path.String())%uint64(len(turnstiles))]
	if err := t.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { t.Release(n) }, nil
}

// Refresh reads the document again, so that later calls see what other programs published since.
func (a *Array) Refresh(ctx context.Context) error {
	leave, err := a.enter(ctx, allTurns)
	if err != nil {
		return a.fail("refresh", err)
	}
	defer leave()
	_, err = a.reload(ctx, a.state.Load())
	return a.fail("refresh", err)
}

// reload reads the document again and returns the newest state: that of the document, or one that was published in this
// process while it was read.
func (a *Array) reload(ctx context.Context, s *state) (*state, error) {
	data, info, err := a.hierarchy.store.Get(ctx, a.path.Key(documentName), store.Request{Limit: a.options.Limits.document()}, nil)
	if err != nil {
		return nil, err
	}
	next, err := a.parse(data, info.Version)
	if err != nil {
		return nil, err
	}
	if !a.state.CompareAndSwap(s, next) {
		next = a.state.Load()
	}
	return next, nil
}

// fresh returns the state s, or a newer one where the document was replaced since s was read.
// A store that knows no versions cannot tell.
func (a *Array) fresh(ctx context.Context, s *state) (*state, error) {
	info, err := store.Stat(ctx, a.hierarchy.store, a.path.Key(documentName))
	if err != nil || info.Version == s.version {
		return s, err
	}
	return a.reload(ctx, s)
}
