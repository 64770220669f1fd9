package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/observe"
)

// counterKey is the key of the counter in the context of a command.
type counterKey struct{}

// withStats gives a command that moves data the flag --stats.
func withStats(c *cobra.Command) *cobra.Command {
	on := c.Flags().Bool("stats", false, "print requests, bytes, chunks and the time in I/O and in codecs to standard error")
	work := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !*on {
			return work(cmd, args)
		}
		counter := cmp.Or(watchedBy(cmd.Context()), new(observe.Counter))
		cmd.SetContext(context.WithValue(cmd.Context(), counterKey{}, counter))
		err := work(cmd, args)
		var v failure.Verdict
		if err == nil && !wantsJSON(cmd) || errors.As(err, &v) && !wantsJSON(cmd) {
			_, failed := fmt.Fprintln(cmd.ErrOrStderr(), counter.Stats())
			err = errors.Join(err, failed)
		}
		return err
	}
	return c
}

// counterOf returns the counter of a command with --stats, else nil.
func counterOf(ctx context.Context) *observe.Counter {
	c, _ := ctx.Value(counterKey{}).(*observe.Counter)
	return c
}

// observerOf returns that counter as an observer, nil where there is none.
func observerOf(ctx context.Context) observe.Observer {
	if d, ok := ctx.Value(rehearsalKey{}).(*dryRun); ok {
		return d.counter
	}
	if c := counterOf(ctx); c != nil {
		return c
	}
	if c := watchedBy(ctx); c != nil {
		return c
	}
	return nil
}

// printDocument prints v to a stream as the JSON document of a command, with the members
// notes where there are remarks, and stats where --stats asks for it.
func printDocument(cmd *cobra.Command, w io.Writer, v any) error {
	var more []jsonMember
	if notes := takeRemarks(cmd); len(notes) > 0 {
		more = append(more, jsonMember{"notes", notes})
	}
	if c := counterOf(cmd.Context()); c != nil {
		more = append(more, jsonMember{"stats", statsFacts{c}})
	}
	return writeJSON(w, v, more...)
}

// statsMember returns the member stats with the comma before it, nil without --stats.
func statsMember(cmd *cobra.Command) ([]byte, error) {
	c := counterOf(cmd.Context())
	if c == nil {
		return nil, nil
	}
	text, err := json.Marshal(statsFacts{c})
	return append([]byte(`, "stats": `), text...), err
}

// statsFacts are the figures of a command as programs read them. They are taken when they
// are written: the document before them may have been read from a store meanwhile.
type statsFacts struct{ counter *observe.Counter }

// MarshalJSON implements [json.Marshaler]. Plans have bytes_written_estimate, and scripts
// find what was written by that name, too.
func (s statsFacts) MarshalJSON() ([]byte, error) {
	stats := s.counter.Stats()
	text, err := json.Marshal(stats)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(text[:len(text)-1], `,"bytes_written_estimate":%d}`, stats.Written().Bytes), nil
}
