package engine

import (
	"context"
	"runtime"

	"varve.dev/zarr/store"
)

// Default concurrency. A far store answers slowly, but many requests at once.
const (
	farRequests = 32 // at least
	nearChunks  = 8  // at least
)

// InFlight returns how many requests to a far store one operation has in flight, or on
// how many chunks of a near store it works at once. It is asked, or if that is 0 a
// default.
func InFlight(s store.Store, asked, processors int) int {
	switch {
	case asked > 0:
		return asked
	case near(s):
		return max(nearChunks, 2*processors)
	}
	return max(farRequests, 2*processors)
}

// near reports whether a request to the store costs next to nothing.
func near(s store.Store) bool {
	_, ok := store.As[store.Opener](s)
	return ok
}

func (a *Array) near() bool { return near(a.Store) }

func (a *Array) concurrency() int { return InFlight(a.Store, a.Concurrency, runtime.GOMAXPROCS(0)) }

// requests limits how many requests to a far store one operation has in flight. A worker
// may hold bytes and cores while it waits here, because requests in flight wait for
// nothing but the store. A nil value sets no limit.
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

// leave ends a request.
func (q requests) leave() {
	if q != nil {
		<-q
	}
}
