// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/console"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store/cached"
)

// counterKey is the context key of the counter of --stats.
type counterKey struct{}

// WithStats adds the flag --stats to a command.
func WithStats(c *cobra.Command) *cobra.Command {
	on := c.Flags().Bool("stats", false, "print requests, bytes, chunks and times to standard error")
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*on {
			return work(cmd, args)
		}
		counter := cmp.Or(watchedBy(cmd.Context()), new(observe.Counter))
		cmd.SetContext(context.WithValue(cmd.Context(), counterKey{}, counter))
		err := work(cmd, args)
		var v failure.Verdict
		// A verdict is a result, too. With --json the counts are a member of the
		// document.
		if err == nil && !WantsJSON(cmd) || errors.As(err, &v) && !WantsJSON(cmd) {
			sayLater(cmd, fmt.Sprintln(counter.Stats()))
			if c := cacheOf(cmd.Context()); c != nil {
				sayLater(cmd, fmt.Sprintln(cacheText(c.Stats())))
			}
		}
		return err
	}
	return c
}

// counterOf returns the counter of --stats, or nil.
func counterOf(ctx context.Context) *observe.Counter {
	c, _ := ctx.Value(counterKey{}).(*observe.Counter)
	return c
}

// ObserverOf returns the counter of a dry run, of --stats or of the line of progress, or
// nil.
func ObserverOf(ctx context.Context) observe.Observer {
	if d := RehearsalOf(ctx); d != nil {
		return d.Counter
	}
	if c := counterOf(ctx); c != nil {
		return c
	}
	if c := watchedBy(ctx); c != nil {
		return c
	}
	return nil
}

// StatsMember returns the member stats, after a comma, or nil without --stats.
func StatsMember(cmd *cobra.Command) ([]byte, error) {
	c := counterOf(cmd.Context())
	if c == nil {
		return nil, nil
	}
	text, err := json.Marshal(statsFacts{c, cacheOf(cmd.Context())})
	return append([]byte(`, "stats": `), text...), err
}

// statsFacts are the counts of a command in JSON. They are taken when they are written,
// because the command may read stores until then.
type statsFacts struct {
	counter *observe.Counter
	cache   *cached.Cache // nil without --cache
}

// MarshalJSON implements [json.Marshaler]. It repeats the bytes written as
// bytes_written_estimate, the name that plans have for them.
func (s statsFacts) MarshalJSON() ([]byte, error) {
	stats := s.counter.Stats()
	text, err := json.Marshal(stats)
	if err != nil {
		return nil, err
	}
	text = fmt.Appendf(text[:len(text)-1], `,"bytes_written_estimate":%d`, stats.Written.Bytes)
	if s.cache != nil {
		kept, err := json.Marshal(s.cache.Stats())
		if err != nil {
			return nil, err
		}
		text = append(append(text, `,"cache":`...), kept...)
	}
	return append(text, '}'), nil
}

// watchedKey is the context key of the counter for the line of progress.
type watchedKey struct{}

// Watch makes a command count its requests if its standard error is a terminal.
func Watch(cmd *cobra.Command) {
	if console.IsTerminal(cmd.ErrOrStderr()) && !WantsJSON(cmd) {
		cmd.SetContext(context.WithValue(cmd.Context(), watchedKey{}, new(observe.Counter)))
	}
}

// watchedBy returns that counter, or nil.
func watchedBy(ctx context.Context) *observe.Counter {
	c, _ := ctx.Value(watchedKey{}).(*observe.Counter)
	return c
}
