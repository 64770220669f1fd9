// SPDX-License-Identifier: Apache-2.0

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

// The cost of a request, in bytes that could be read in the same time. A near store,
// whose values can be opened, answers almost at once. A far store takes about as long as
// for farCost bytes (20 ms at 200 MB/s), but answers many requests at once.
const (
	farCost  = 4 << 20
	mostGap  = 1 << 20
	leastGap = 64 << 10
	nearGap  = 16 << 10
	farSmall = 1 << 20
	farGuess = 64 << 10
	span     = 16 << 20

	fewShards  = 12        // so many shards share the budget, however long they are
	leastRange = 512 << 10 // bytes that each of them gets, at least

	// nearBlock is how many bytes are read and moved at a time: they fit into the L2
	// cache of a core.
	nearBlock = 256 << 10
)
