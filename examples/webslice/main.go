// SPDX-License-Identifier: Apache-2.0

// Webslice reads the last elements along the first axis of an array on a web server. It
// prints their mean, and the requests and bytes that this took.
//
//	webslice https://example.org/era5.zarr/t2m 24
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"varve.dev/zarr"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: webslice URL COUNT")
	}
	count, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return err
	}
	var sent observe.Counter
	a, err := zarr.OpenArray(ctx, args[0], &zarr.Options{Observer: &sent})
	if err != nil {
		return err
	}
	defer a.Close()
	// Axes that are not in the selection are read in full.
	b, err := zarr.ReadAs[float64](ctx, a, selection.Basic{selection.Span(-count, selection.Open)})
	if err != nil {
		return err
	}
	sum := 0.0
	for _, v := range b.Data {
		sum += v
	}
	fmt.Fprintf(out, "mean of %v: %.2f\n%d requests, %d bytes\n", b.Shape, sum/float64(len(b.Data)), sent.Stats().Requests.Times, sent.Stats().Read.Bytes)
	return nil
}
