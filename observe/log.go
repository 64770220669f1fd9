// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"log/slog"
)

// Log returns an observer that writes every event to a logger. Conflicts and failures
// have the level [slog.LevelWarn], all other events [slog.LevelDebug]. The message is the
// operation. The attributes are "key", "bytes" (for Coalesce "count"), "duration",
// "outcome" and, unless the operation succeeded or found no value, "error". If a level is
// not enabled, an event costs only that check.
func Log(l *slog.Logger) Observer { return logger{l} }

type logger struct{ *slog.Logger }

// Observe implements [Observer].
func (l logger) Observe(ctx context.Context, e Event) {
	level, outcome := slog.LevelDebug, e.Outcome()
	if outcome == Conflict || outcome == Failed {
		level = slog.LevelWarn
	}
	if !l.Enabled(ctx, level) {
		return
	}
	much := slog.Int64("bytes", e.Bytes)
	if e.Op == Coalesce {
		much = slog.Int64("count", e.Count)
	}
	// As many attributes as a record holds without an allocation.
	attrs := [5]slog.Attr{
		slog.String("key", e.Key.String()), much, slog.Duration("duration", e.Duration), slog.String("outcome", outcome.String()),
	}
	n := 4
	if outcome != OK && outcome != Absent {
		attrs[n] = slog.String("error", e.Err.Error())
		n++
	}
	l.LogAttrs(ctx, level, e.Op.String(), attrs[:n]...)
}
