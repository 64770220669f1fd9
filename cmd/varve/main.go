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

func main() {
	// A reader that has seen enough, as head has, is no reason to die of a signal: the
	// write fails, and that is quiet.
	signal.Ignore(syscall.SIGPIPE)
	// Package net/http tells of odd answers by package log, beyond what the command says
	// itself.
	log.SetOutput(io.Discard)
	ctx := console.UntilSignal(context.Background())
	os.Exit(run(ctx, os.Args[1:], console.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
