// SPDX-License-Identifier: Apache-2.0

// Monthlymean computes the mean over the first axis within each chunk of an array. If
// chunks are months, that is the mean field of each month. Several goroutines each read
// a chunk and write a chunk of the result.
//
//	monthlymean era5.zarr/t2m means.zarr
package main

import (
	"context"
	"log"
	"os"
	"runtime"
	"sync"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: monthlymean ARRAY RESULT")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, source, result string) error {
	a, err := zarr.OpenArray(ctx, source, nil)
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := create(ctx, result, a)
	if err != nil {
		return err
	}
	defer b.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	chunks := make(chan zarr.Chunk)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range chunks {
				if err := mean(ctx, a, b, c); err != nil {
					cancel(err) // only the first error becomes the cause
				}
			}
		})
	}
	for c := range a.Chunks() {
		// After an error the workers continue receiving, and their calls fail at once.
		chunks <- c
	}
	close(chunks)
	workers.Wait()
	return context.Cause(ctx)
}

// create creates the result. It has one element along the first axis for each chunk of
// a, and the chunks of a along the other axes. So every chunk of a has its own chunk of
// the result.
func create(ctx context.Context, result string, a *zarr.Array) (*zarr.Array, error) {
	spec := zarr.Spec{Shape: a.Shape(), Type: dtype.Float32, Chunks: grid.Chunks(1)}
	spec.Shape[0] = a.Grid().Axis(0).Chunks()
	for axis := 1; axis < a.Rank(); axis++ {
		spec.Chunks = append(spec.Chunks, grid.Runs(a.Grid().Axis(axis).Sizes()...))
	}
	return zarr.CreateArray(ctx, result, spec, nil)
}

// mean reads a chunk of a and writes its mean over the first axis to b.
func mean(ctx context.Context, a, b *zarr.Array, c zarr.Chunk) error {
	box := c.Box()
	in, err := zarr.ReadAs[float64](ctx, a, selection.BoxOf(box))
	if err != nil {
		return err
	}
	days := in.Shape[0]
	means := make([]float32, int64(len(in.Data))/days)
	for i := range means {
		sum := 0.0
		for k := i; k < len(in.Data); k += len(means) {
			sum += in.Data[k]
		}
		means[i] = float32(sum / float64(days))
	}
	box[0] = grid.Interval{Start: c.Index[0], Stop: c.Index[0] + 1}
	return zarr.Write(ctx, b, selection.BoxOf(box), means)
}
