// SPDX-License-Identifier: Apache-2.0

package shards_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/store"
)

// paired is an object store that returns the first range of a shard only once a second
// range is requested.
type paired struct {
	far
	ranges  atomic.Int64
	second  chan struct{}
	waiting *testing.T
}

func (p *paired) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if key.Base() != "zarr.json" && asked(q) != "whole" && strings.HasPrefix(asked(q), "bytes [") {
		switch p.ranges.Add(1) {
		case 1:
			select {
			case <-p.second:
			case <-time.After(20 * time.Second):
				p.waiting.Error("no second range was requested while the first was read")
			}
		case 2:
			close(p.second)
		}
	}
	return p.far.Get(ctx, key, q, dst)
}

// TestRangesOverlap checks that one range of a shard larger than the budget is read
// while another one is decoded.
func TestRangesOverlap(t *testing.T) {
	ctx := context.Background()
	p := &paired{far: newFar(), second: make(chan struct{}), waiting: t}
	a, err := zarr.At(p, "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{1 << 20}, Type: dtype.Uint8, Chunks: grid.Chunks(1 << 20), InnerChunks: grid.Chunks(4 << 10), Codecs: fixture.Plain(),
	}, &zarr.CreateOptions{Options: zarr.Options{Budget: 64 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]uint8, 1<<20)
	for i := range data {
		data[i] = uint8(i%251) + 1
	}
	if err := zarr.Write(ctx, a, nil, data); err != nil {
		t.Fatal(err)
	}
	got, err := zarr.Read[uint8](ctx, a, nil)
	if err != nil || !slices.Equal(got.Data, data) {
		t.Errorf("the elements differ from those written (%v)", err)
	}
}
