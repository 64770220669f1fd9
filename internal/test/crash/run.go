// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/store/storetest"
)

// Run interrupts changes of arrays and of shards at every step-th operation, in empty
// object stores that open returns: the writer crashes before or after the operation,
// loses its answer, or gets an error. With steps from 16 on, each change is interrupted
// in one way only. Readers must find the old array or the new one, whole, and the next
// writer must be able to grow it. It returns the number of interruptions.
func Run(t *testing.T, open func() storetest.ObjectStore, step int64) (points int) {
	t.Helper()
	points = interruptAll(t, crashCases, open, step)
	return points + interruptAll(t, shardCases("rewrite", codec.Rewrite), open, step)
}
