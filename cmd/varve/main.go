package main

import (
	"context"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that has seen enough, as head has, is no reason to die of a signal: the
	// write fails, and that is quiet.
	signal.Ignore(syscall.SIGPIPE)
	// Package net/http tells of odd answers by package log, beyond what the command says
	// itself.
	log.SetOutput(io.Discard)
	ctx := untilSignal(context.Background())
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
