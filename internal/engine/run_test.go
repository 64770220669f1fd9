// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
)

// TestListingFails ends an operation with the error of its listing, also if other workers
// ask for chunks after that.
func TestListingFails(t *testing.T) {
	fault := errors.New("the listing fails")
	indices := func(yield func([]int64, error) bool) {
		if yield([]int64{0}, nil) {
			yield(nil, fault)
		}
	}
	for workers := 1; workers < 6; workers++ {
		done := make(chan bool, 1)
		err := eachIndex(t.Context(), workers, indices,
			func(*int, []int64) bool { return true },
			func() *int { return new(int) },
			func(context.Context, *int) error { done <- true; return nil })
		if !errors.Is(err, fault) || len(done) != 1 {
			t.Errorf("%d workers: error is %v, %d chunks", workers, err, len(done))
		}
	}
}
