// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Interrupt is the signal that ended a command. It is the cause of the command's context.
type Interrupt struct{ Signal os.Signal }

// Error implements error.
func (i *Interrupt) Error() string { return "interrupted: " + i.Signal.String() }

// status returns the exit status that shells expect: 128 and the number of the signal.
func (i *Interrupt) status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// UntilSignal returns a context that ends with the first SIGINT, SIGTERM or SIGHUP. The
// second signal ends the program at once. A signal that the parent process ignores,
// such as SIGHUP under nohup, stays ignored.
func UntilSignal(ctx context.Context) context.Context {
	var ends []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			ends = append(ends, s)
		}
	}
	if len(ends) == 0 {
		return ctx // Notify without a list asks for every signal
	}
	ctx, cancel := context.WithCancelCause(ctx)
	// Package signal never blocks. Without a buffer it could drop the signal.
	came := make(chan os.Signal, 1)
	signal.Notify(came, ends...)
	go func() {
		s := <-came
		// From now on a signal has its default effect, which ends the program.
		signal.Stop(came)
		cancel(&Interrupt{s})
		time.Sleep(interruptDelay)
		// The command still completes a published change, and undoes an unpublished
		// one.
		_, _ = fmt.Fprintln(os.Stderr, "varve: interrupted, finishing or undoing the current change; Ctrl-C again ends it at once")
	}()
	return ctx
}

// interruptDelay is the time after which an interrupted command explains why it still
// runs.
const interruptDelay = time.Second

// IsInterrupted reports whether err comes from an interrupt of the command. A
// cancellation after another failure does not, because the command's own context is not
// cancelled.
func IsInterrupted(ctx context.Context, err error) bool {
	return ctx != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// StatusOf returns the exit status of a command that failed.
func StatusOf(ctx context.Context, err error) int {
	if i := (*Interrupt)(nil); IsInterrupted(ctx, err) && errors.As(context.Cause(ctx), &i) {
		return i.status()
	}
	return 1
}
