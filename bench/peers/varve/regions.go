// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/selection"
)

// regions reads the boxes of a request.
func regions(r protocol.Request) ([]selection.Box, error) {
	rows, err := protocol.Numbers(r.Regions, 2*r.Rank)
	if err != nil {
		return nil, err
	}
	boxes := make([]selection.Box, len(rows))
	for i, row := range rows {
		for k := range r.Rank {
			boxes[i] = append(boxes[i], [2]int64{row[k], row[r.Rank+k]})
		}
	}
	return boxes, nil
}

// each calls f for every box, n calls at a time, with a buffer for its elements. It
// reuses buffers.
func each(boxes []selection.Box, size, n int, f func(i int, buffer []byte) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	var free buffers
	errs := make([]error, max(n, 1))
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(boxes) {
					return
				}
				buffer := free.take(bytesOf(boxes[i], size))
				errs[w] = f(i, buffer)
				free.put(buffer)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// bytesOf returns the size of the elements of a box in bytes.
func bytesOf(box selection.Box, size int) int {
	n := int64(size)
	for _, side := range box {
		n *= side[1] - side[0]
	}
	return int(n)
}

// buffers pools memory, the longest buffer last. Regions differ in size, so one call may
// use what another one has grown.
type buffers struct {
	mu   sync.Mutex
	free [][]byte
}

// take returns n bytes from the shortest buffer that is long enough. Otherwise it
// replaces the longest one.
func (b *buffers) take(n int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k, buffer := range b.free {
		if cap(buffer) >= n {
			b.free = slices.Delete(b.free, k, k+1)
			return buffer[:n]
		}
	}
	b.free = b.free[:max(0, len(b.free)-1)]
	return make([]byte, n)
}

func (b *buffers) put(buffer []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, buffer)
	slices.SortFunc(b.free, func(a, b []byte) int { return cap(a) - cap(b) })
}

// overhead is what the process needs beside elements and chunks, in bytes.
const overhead = 16 << 20

// rechunkArray gives the array in Target other chunks.
func rechunkArray(ctx context.Context, r protocol.Request) (answer protocol.Answer, err error) {
	// The command does the same for --memory.
	if m := r.Rechunking.Memory; m > 0 {
		debug.SetMemoryLimit(m + overhead)
	}
	t := protocol.Start()
	a, err := zarr.OpenArray(ctx, r.Target, writing(r))
	if err != nil {
		return answer, err
	}
	report, err := rechunk.Do(ctx, a, wanted(r.Rechunking), &rechunk.Options{Memory: r.Rechunking.Memory})
	answer.Seconds, answer.CPU = t.Stop()
	if err != nil {
		return answer, err
	}
	answer.Bytes = int64(a.Type().Size())
	for _, n := range a.Shape() {
		answer.Bytes *= n
	}
	answer.Moved, answer.Linked, answer.Decoded = report.Staged.BytesCopied, report.Staged.BytesLinked, report.Staged.BytesDecoded
	return answer, nil
}

func wanted(r *protocol.Rechunking) rechunk.Request {
	if r.UpTo > 0 {
		return rechunk.Compaction{UpTo: r.UpTo}
	}
	return rechunk.Rechunking{Chunks: cuts(r.Chunks), Inner: cuts(r.Inner)}
}

func cuts(lengths []int64) (all rechunk.Cuts) {
	for _, n := range lengths {
		all = append(all, grid.Every(n))
	}
	return all
}
