package engine

import (
	"context"
	"runtime"

	"varve.dev/zarr/store"
)

// What is in flight at one time where nobody says how much. Requests to a far store wait
// for the way and hardly for this machine.
const (
	farRequests = 32
	nearChunks  = 8 // at least
)

// InFlight returns how many requests to a far store one operation has under way, or how
// many chunks of one that is near it works on: as many as are asked for, or where that is
// 0 what the store and the processors suggest.
func InFlight(s store.Store, asked, processors int) int {
	switch {
	case asked > 0:
		return asked
	case near(s):
		return max(nearChunks, 2*processors)
	}
	return max(farRequests, 2*processors)
}

// near reports whether requests cost next to nothing.
func near(s store.Store) bool {
	_, ok := store.As[store.Opener](s)
	return ok
}

func (a *Array) near() bool { return near(a.Store) }

func (a *Array) concurrency() int { return InFlight(a.Store, a.Concurrency, runtime.GOMAXPROCS(0)) }

// requests is how many requests to a far store one operation has under way. Who waits for
// one may hold bytes and cores, for those that are under way wait for nothing but the
// store. Nil requests are not counted.
type requests chan struct{}

// enter waits until another request may be made.
func (q requests) enter(ctx context.Context) error {
	if q == nil {
		return nil
	}
	select {
	case q <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave says that a request has its answer.
func (q requests) leave() {
	if q != nil {
		<-q
	}
}
