// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"runtime"

	"varve.dev/zarr/store"
)

// The smallest default concurrency. A far store answers slowly, but can answer many
// requests at once.
const (
	farRequests = 32
	nearChunks  = 8
)

// InFlight returns the concurrency of one operation: the number of requests in flight to
// a far store, or of chunks of a near store in work. It returns asked unless that is 0. A
// store that limits its own requests ([store.Pacer]) gets as many as it may ever send.
func InFlight(s store.Store, asked, processors int) int {
	switch {
	case asked > 0:
		return asked
	case Near(s):
		return max(nearChunks, 2*processors)
	}
	return max(farRequests, store.RequestsOf(s), 2*processors)
}

// RequestBytes returns how many bytes a store transfers in the time of one request, which
// plans weigh against each other. A far store answers in 10 to 20 ms; a near one in less
// than a tenth of a millisecond.
func RequestBytes(s store.Store) int64 {
	if Near(s) {
		return 64 << 10
	}
	return 1 << 20
}

// Near reports whether a request to the store takes almost no time.
func Near(s store.Store) bool {
	_, ok := store.As[store.Opener](s)
	return ok
}

func (a *Array) near() bool { return Near(a.Store) }

func (a *Array) concurrency() int { return InFlight(a.Store, a.Concurrency, runtime.GOMAXPROCS(0)) }

// requests limits the number of requests to a far store that one operation has in flight.
// A worker may hold bytes and cores while it waits here without a deadlock, because
// requests in flight wait only for the store. A nil value sets no limit.
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

// Sizes in bytes that decide how to join ranges. farCost is the cost of a request to a
// far store: the bytes that could be read in the same time (20 ms at 200 MB/s).
const (
	farCost  = 4 << 20
	mostGap  = 1 << 20
	leastGap = 64 << 10
	nearGap  = 16 << 10
	farSmall = 1 << 20
	farGuess = 64 << 10
	span     = 16 << 20

	fewShards  = 12        // shards that share the budget
	leastRange = 512 << 10 // smallest share of a shard

	// nearBlock is the number of bytes that are read and moved at a time. They fit into
	// the L2 cache of a core.
	nearBlock = 256 << 10
)
