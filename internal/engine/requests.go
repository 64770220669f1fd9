package engine

import (
	"context"
	"runtime"

	"varve.dev/zarr/store"
)

// What is in flight at one time where nobody says how much. Requests to a far store wait for the way and hardly for this machine.
const (
	farRequests = 32
	nearChunks  = 8 // at least
)

// near reports whether requests cost next to nothing.
func (a *Array) near() bool {
	_, ok := store.As[store.Opener](a.Store)
	return ok
}

// concurrency returns how many requests to a far store one operation has in flight, or how many chunks of one that is near.
func (a *Array) concurrency() int {
	switch {
	case a.Concurrency > 0:
		return a.Concurrency
	case a.near():
		return max(nearChunks, 2*runtime.GOMAXPROCS(0))
	}
	return max(farRequests, 2*runtime.GOMAXPROCS(0))
}

// requests is how many requests to a far store one operation has under way. Who waits for one may hold bytes and cores, for those that
// are under way wait for nothing but the store. Nil requests are not counted.
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
