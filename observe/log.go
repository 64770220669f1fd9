package observe

import (
	"context"
	"log/slog"
)

// Log returns an observer that writes every event to a logger: as [slog.LevelDebug] what went well, found nothing or was given up, as
// [slog.LevelWarn] conflicts and failures. The message is the operation; the attributes are "key", "bytes" (or "count"), "duration",
// "outcome" and, after a failure, "error". What the handler does not want costs a question to it.
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
	attrs := [5]slog.Attr{ // as many as a record holds without memory of its own
		slog.String("key", e.Key.String()), much, slog.Duration("duration", e.Duration), slog.String("outcome", outcome.String()),
	}
	n := 4
	if outcome != OK && outcome != Absent {
		attrs[n] = slog.String("error", e.Err.Error())
		n++
	}
	l.LogAttrs(ctx, level, e.Op.String(), attrs[:n]...)
}
