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

// allShardCases returns the cases of every strategy. Unless all is set, the unusual
// strategies have only writes and an append.
func allShardCases(all bool) []crashCase {
	var cases []crashCase
	for name, how := range fixture.Strategies {
		list := shardCases(name, how)
		if how != codec.Rewrite && !all {
			list = list[:8]
		}
		cases = append(cases, list...)
	}
	return cases
}

// largeShardCases change shards that are long enough for stores to copy unchanged
// ranges.
func largeShardCases() []crashCase {
	const n = 1 << 18
	var cases []crashCase
	for name, how := range fixture.Strategies {
		cases = append(cases, crashCase{
			name: name + ": large", spec: shards(fixture.Raw(fixture.Every(n, n)), n/4), run: inShards(how, putting(n/4, n/2, 100), putting(10, 20, 7)),
			expect: func(old fixture.State) []fixture.State {
				some := old.Put(n/4, n/2, 100)
				return []fixture.State{some, some.Put(10, 20, 7)}
			}})
	}
	return cases
}
