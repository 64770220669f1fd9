// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime/debug"

	"varve.dev/zarr"
	"varve.dev/zarr/bench/protocol"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/rechunk"
)

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
