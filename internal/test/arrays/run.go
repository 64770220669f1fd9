// SPDX-License-Identifier: Apache-2.0

// Package arrays is a test suite of arrays on an object store. It tests what the suite of
// drivers, package store/storetest, cannot: that the protocols of package zarr and of
// package rechunk hold on a real service.
package arrays

import (
	"fmt"
	"sync/atomic"
	"testing"

	"varve.dev/zarr/internal/test/crash"
	"varve.dev/zarr/internal/test/fence"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/rechunk"
	"varve.dev/zarr/store/storetest"
)

// Run runs the suite. open returns the store below a prefix; Run passes each prefix once,
// from several goroutines. Concurrent programs append, resize, write at borders and
// change groups in random orders, with faults; changes of arrays, shards, streams and
// rechunks are interrupted at some operations, or at all of them with VARVE_LONG=1.
func Run(t *testing.T, open func(prefix string) storetest.ObjectStore) {
	var n atomic.Int64
	next := func() storetest.ObjectStore { return open(fmt.Sprintf("%d.zarr", n.Add(1))) }
	step, times := 16, 1
	if fixture.Long() {
		step, times = 8, 20
	}
	t.Run("fence", func(t *testing.T) { fence.Run(t, next, 2*times) })
	t.Run("crash", func(t *testing.T) { t.Logf("%d interruptions", crash.Run(t, next, int64(step))) })
	t.Run("rechunk", func(t *testing.T) {
		stops, orders := rechunk.Run(t, next, step, times)
		t.Logf("%d stops, %d orders", stops, orders)
		if orders == 0 {
			t.Error("no order was played to its end")
		}
	})
}
