// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"

	"varve.dev/zarr/cmd/varve/internal/console"
)

// Beside what the library has, the command opens locations of object stores, and
// references in Parquet files. It has the codecs that need more libraries, too: LZMA, and
// writing bzip2. Package session has repositories of Icechunk.
import (
	_ "varve.dev/zarr/codec/extra"
	_ "varve.dev/zarr/store/azure"
	_ "varve.dev/zarr/store/gcs"
	_ "varve.dev/zarr/store/s3"
	_ "varve.dev/zarr/virtual/parquet"
)

func main() {
	// If a reader such as head closes the pipe early, the signal would kill the program
	// at once. Without it the write fails with EPIPE, and the command ends in order.
	signal.Ignore(syscall.SIGPIPE)
	// Package net/http logs unexpected responses. The command reports its own errors.
	log.SetOutput(io.Discard)
	ctx := console.UntilSignal(context.Background())
	os.Exit(run(ctx, os.Args[1:], console.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
