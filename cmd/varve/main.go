package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that has seen enough, as head has, is no reason to die of a signal: the write fails, and that is quiet.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	os.Exit(status)
}
