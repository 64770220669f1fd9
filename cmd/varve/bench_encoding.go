// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/element"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/trial"
	"varve.dev/zarr/store/memstore"
)

// encoding encodes stored chunks again for the time of one round, one on each processor,
// and keeps the result in memory. It returns nil for elements of variable length, and if
// no chunk is stored.
func (t *readTrial) encoding(ctx context.Context) (*trial.EncodingRound, error) {
	s, err := t.open(ctx, t.options)
	if err != nil || s.Stored.Variable() {
		return nil, err
	}
	chunks, err := samples(ctx, s, runtime.GOMAXPROCS(0))
	if err != nil || len(chunks) == 0 {
		return nil, err
	}
	into, err := zarr.At(memstore.New(), "a").CreateArray(ctx, s.Array.Spec(), &zarr.CreateOptions{Options: t.options})
	if err != nil {
		return nil, err
	}
	r := &trial.EncodingRound{Processors: len(chunks)}
	var mu sync.Mutex // guards r and err
	var all sync.WaitGroup
	start := time.Now()
	for _, c := range chunks {
		all.Go(func() {
			for n := int64(1); ; n++ {
				failed := into.WriteChunk(ctx, c.index, c.data)
				if failed == nil && time.Since(start) < t.share {
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				r.Chunks, r.Bytes = r.Chunks+n, r.Bytes+n*int64(len(c.data))
				if failed != nil {
					err = failed
				}
				return
			}
		})
	}
	all.Wait()
	r.Seconds = time.Since(start).Seconds()
	r.Rate = trial.Rate(r.Bytes, r.Seconds)
	return r, err
}

// sample is a decoded chunk.
type sample struct {
	index []int64
	data  []byte
}

// samples returns stored chunks, at most most of them and mostSlab bytes.
func samples(ctx context.Context, s *source.Source, most int) (list []sample, err error) {
	left := int64(mostSlab)
	longest := source.LongestChunk(s.Array.Grid(), element.Width(s.Stored))
	for index, err := range s.Array.StoredChunks(ctx) {
		if err != nil {
			return nil, err
		}
		if left -= longest; left < 0 || len(list) == most {
			break
		}
		data, err := s.Array.ReadChunk(ctx, index)
		if err != nil {
			return nil, err
		}
		list = append(list, sample{append([]int64{}, index...), data})
	}
	return list, nil
}
