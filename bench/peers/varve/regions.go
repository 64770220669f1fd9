package main

import (
	"sync"
	"sync/atomic"

	"varve.dev/zarr/bench/protocol"
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

// each calls f for every box, n calls at a time, with the buffer that the last call of the same goroutine returned.
func each(boxes []selection.Box, n int, f func(i int, buffer []byte) ([]byte, error)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, max(n, 1))
	for w := range errs {
		wg.Go(func() {
			var buffer []byte
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(boxes) {
					return
				}
				buffer, errs[w] = f(i, buffer)
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

// room returns a slice for the elements of a box, in the given one where that is long enough.
func room(buffer []byte, box selection.Box, size int) []byte {
	n := int64(size)
	for _, side := range box {
		n *= side[1] - side[0]
	}
	if int64(cap(buffer)) < n {
		return make([]byte, n)
	}
	return buffer[:n]
}
