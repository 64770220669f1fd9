// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"testing"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/internal/test/fixture"
)

// TestCrashShards is [TestCrash] with sharded arrays.
func TestCrashShards(t *testing.T) {
	fixture.Sequential(t)
	points, images := crashAll(t, allShardCases(false))
	t.Logf("%d points, %d images", points, images)
	morePoints, moreImages := crashAll(t, largeShardCases())
	t.Logf("large shards: %d points, %d images", morePoints, moreImages)
	if points < least(1600) || images < least(fixture.LeastImages(19_000)) || morePoints < least(150) {
		t.Errorf("only %d points and %d images were tried", points, images)
	}
}

// TestFaultsShards is [TestFaults] with sharded arrays.
func TestFaultsShards(t *testing.T) {
	fixture.Sequential(t)
	cases := allShardCases(true)
	if !fixture.Long() {
		cases = shardCases("rewrite", codec.Rewrite)
	}
	faults := faultAll(t, cases)
	t.Logf("%d faults", faults)
	if faults < least(3000) {
		t.Errorf("only %d faults were tried", faults)
	}
}

// TestCrashConditionalShards is [TestCrashConditional] with sharded arrays.
func TestCrashConditionalShards(t *testing.T) {
	fixture.Sequential(t)
	points := interruptAll(t, allShardCases(true), inMemory, stride)
	t.Logf("%d points", points)
	if points < least(2700) {
		t.Errorf("only %d points were tried", points)
	}
}
