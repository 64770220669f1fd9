package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// interrupt is the signal that ended a command. It is the cause of the command's context.
type interrupt struct{ signal os.Signal }

func (i *interrupt) Error() string { return "interrupted: " + i.signal.String() }

// status returns the exit status that shells expect: 128 and the number of the signal.
func (i *interrupt) status() int {
	if s, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 1
}

// untilSignal returns a context that ends with the first signal that asks the program to
// end. The second one ends the program at once. A signal that whoever started the program
// ignores, as nohup does with SIGHUP, stays ignored.
func untilSignal(ctx context.Context) context.Context {
	var ends []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			ends = append(ends, s)
		}
	}
	if len(ends) == 0 {
		return ctx // without a list Notify would ask for every signal
	}
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 1)
	signal.Notify(came, ends...)
	go func() {
		s := <-came
		signal.Stop(came)
		cancel(&interrupt{s})
		time.Sleep(interruptDelay)
		// What is published is finished, and what cannot be finished is taken back.
		_, _ = fmt.Fprintln(os.Stderr, "varve: interrupted, and finishing what was begun; Ctrl-C again ends it at once")
	}()
	return ctx
}

// interruptDelay is how long a command that was asked to end may take before it says why
// it goes on.
const interruptDelay = time.Second

// isInterrupted reports whether err says that the command was asked to end. An error is
// no interrupt because something else that failed was cancelled: then the command's own
// context goes on.
func isInterrupted(ctx context.Context, err error) bool {
	return ctx != nil && ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded))
}

// statusOf returns the exit status of a command that failed.
func statusOf(ctx context.Context, err error) int {
	if i := (*interrupt)(nil); isInterrupted(ctx, err) && errors.As(context.Cause(ctx), &i) {
		return i.status()
	}
	return 1
}

// leftBy says what a command that was stopped has left, where all that it may have begun
// leaves the same; "" where there is nothing to say.
func leftBy(cmd *cobra.Command) string {
	if isDryRun(cmd) {
		return "nothing was changed"
	}
	if f := cmd.Flags().Lookup("overwrite"); f != nil && f.Changed {
		return "" // what was there may be gone
	}
	switch cmd.Name() {
	case "append", "resize", "unlock", "attrs", "consolidate":
		return "nothing was changed"
	case "convert":
		if cmd.Flags().NArg() == 1 {
			return "no document was changed"
		}
		return "nothing was copied"
	case "copy":
		return "nothing was copied"
	case "write":
		return "every chunk has its old elements or the new ones: repeat the command to write all of them"
	case "compact":
		return "every shard is as it was or in order: repeat the command for the others"
	}
	return ""
}
