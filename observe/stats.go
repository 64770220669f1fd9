// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"varve.dev/zarr/internal/quantity"
)

// Stats are sums of events. To measure some work, take the Stats before and after it, and
// subtract them with [Stats.Sub].
type Stats struct {
	// Requests is the sum of all requests to stores. Its Duration is the time in I/O. Its
	// Bytes include those that were read, written and copied.
	Requests Sum
	// Read, Written and Copied are the sums of the requests that read bytes from stores,
	// that wrote bytes to stores, and that let a store copy bytes without moving them
	// through this program.
	Read, Written, Copied Sum
	// Codecs is the sum of the work of codecs. Its Bytes are the sizes of decoded
	// elements.
	Codecs Sum

	sums [ops]Sum
}

// Sum is the sum of events of one operation.
type Sum struct {
	Times  int64 // number of events
	Absent int64 // events whose key had no value
	Failed int64 // events with any other error
	Bytes  int64 // sum of [Event.Bytes]
	Count  int64 // sum of [Event.Count]
	// Duration is the sum of [Event.Duration] over all goroutines. It exceeds the elapsed
	// time if operations run concurrently.
	Duration time.Duration
}

// Of returns the sum of one operation.
func (s Stats) Of(o Op) Sum {
	if o >= ops {
		return Sum{}
	}
	return s.sums[o]
}

// Sub returns the sums of the events since earlier.
func (s Stats) Sub(earlier Stats) Stats {
	// s is a copy, so the caller's value does not change.
	for i, e := range earlier.sums {
		n := &s.sums[i]
		n.Times -= e.Times
		n.Absent -= e.Absent
		n.Failed -= e.Failed
		n.Bytes -= e.Bytes
		n.Count -= e.Count
		n.Duration -= e.Duration
	}
	s.add()
	return s
}

// total adds up the operations for which of is true.
func (s *Stats) total(of func(Op) bool) (t Sum) {
	for i, n := range s.sums {
		if !of(Op(i)) {
			continue
		}
		t.Times += n.Times
		t.Absent += n.Absent
		t.Failed += n.Failed
		t.Bytes += n.Bytes
		t.Duration += n.Duration
	}
	return t
}

// add sets the sums over several operations.
func (s *Stats) add() {
	s.Requests, s.Codecs = s.total(Op.IsRequest), s.total(Op.isCodec)
	s.Read, s.Written, s.Copied = s.total(Op.reads), s.total(Op.writes), s.total(Op.copies)
}

// document is the form of Stats in JSON.
type document struct {
	// Requests has the number of events by operation, if there were any.
	Requests       map[string]int64 `json:"requests"`
	Absent         int64            `json:"requests_absent"`
	Failed         int64            `json:"requests_failed"`
	BytesRead      int64            `json:"bytes_read"`
	BytesWritten   int64            `json:"bytes_written"`
	BytesCopied    int64            `json:"bytes_copied"`
	RangesMerged   int64            `json:"ranges_coalesced"`
	MergedInto     int64            `json:"ranges_coalesced_into"`
	IndexHits      int64            `json:"index_cache_hits"`
	IndexMisses    int64            `json:"index_cache_misses"`
	ChunksDecoded  int64            `json:"chunks_decoded"`
	BytesDecoded   int64            `json:"bytes_decoded"`
	ChunksEncoded  int64            `json:"chunks_encoded"`
	BytesEncoded   int64            `json:"bytes_encoded"`
	SecondsInIO    float64          `json:"seconds_io"`
	SecondsInCodec float64          `json:"seconds_codecs"`
}

// MarshalJSON returns an object with these members: requests, an object with the number
// of events of each operation that occurred; requests_absent and requests_failed;
// bytes_read, bytes_written and bytes_copied; ranges_coalesced and ranges_coalesced_into;
// index_cache_hits and index_cache_misses; chunks_decoded, bytes_decoded, chunks_encoded
// and bytes_encoded, with bytes of decoded elements; seconds_io and seconds_codecs.
func (s Stats) MarshalJSON() ([]byte, error) {
	all := s.Requests
	d := document{
		Requests: map[string]int64{}, Absent: all.Absent, Failed: all.Failed,
		BytesRead: s.Read.Bytes, BytesWritten: s.Written.Bytes, BytesCopied: s.Copied.Bytes,
		RangesMerged: s.Of(Coalesce).Count, MergedInto: s.Of(Coalesce).Times,
		IndexHits: s.Of(IndexHit).Times, IndexMisses: s.Of(IndexMiss).Times,
		ChunksDecoded: s.Of(Decode).Times, BytesDecoded: s.Of(Decode).Bytes,
		ChunksEncoded: s.Of(Encode).Times, BytesEncoded: s.Of(Encode).Bytes,
		SecondsInIO: all.Duration.Seconds(), SecondsInCodec: s.Codecs.Duration.Seconds(),
	}
	for o := range ops {
		if n := s.sums[o].Times; n > 0 && o.IsRequest() {
			d.Requests[o.String()] = n
		}
	}
	return json.Marshal(d)
}

// Counter is an [Observer] that adds up events. The zero Counter is ready for use. It is
// safe for concurrent use.
type Counter struct {
	sums [ops]counted
}

// counted holds the sums of one operation. It fills a cache line, so that processors that
// count different operations do not contend.
type counted struct {
	times, absent, failed, bytes, number, nanos atomic.Int64

	_ [16]byte
}

// Observe implements [Observer].
func (c *Counter) Observe(_ context.Context, e Event) {
	// Ignore operations of a later version.
	if e.Op >= ops {
		return
	}
	s := &c.sums[e.Op]
	s.times.Add(1)
	s.nanos.Add(int64(e.Duration))
	// Atomic additions are slow under contention, so leave out those of 0.
	if e.Bytes != 0 {
		s.bytes.Add(e.Bytes)
	}
	if e.Count != 0 {
		s.number.Add(e.Count)
	}
	switch e.Outcome() {
	case OK:
	case Absent:
		s.absent.Add(1)
	default:
		s.failed.Add(1)
	}
}

// Stats returns the sums so far.
func (c *Counter) Stats() Stats {
	var s Stats
	for i := range c.sums {
		n := &c.sums[i]
		s.sums[i] = Sum{
			Times: n.times.Load(), Absent: n.absent.Load(), Failed: n.failed.Load(),
			Bytes: n.bytes.Load(), Count: n.number.Load(), Duration: time.Duration(n.nanos.Load()),
		}
	}
	s.add()
	return s
}

// String returns a table as text, with lines for requests, bytes, ranges, indexes, chunks
// and time. Lines without content are omitted.
func (s Stats) String() string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-12s "+format, append([]any{name}, args...)...)
	}
	all := s.Requests
	line("requests", "%s", s.requests(all))
	for _, n := range []struct {
		name  string
		bytes int64
	}{{"read", s.Read.Bytes}, {"written", s.Written.Bytes}, {"copied", s.Of(Copy).Bytes}} {
		if n.bytes > 0 {
			line(n.name, "%s", quantity.Bytes(n.bytes))
		}
	}
	if c := s.Of(Coalesce); c.Times > 0 {
		line("coalesced", "%s ranges into %s", quantity.Number(c.Count), quantity.Number(c.Times))
	}
	if hits, misses := s.Of(IndexHit).Times, s.Of(IndexMiss).Times; hits+misses > 0 {
		line("index cache", "%s, %s", quantity.Of(hits, "hit"), quantity.Of(misses, "miss"))
	}
	for _, o := range []Op{Decode, Encode} {
		if c := s.Of(o); c.Times > 0 {
			line(o.String()+"d", "%s of %s", quantity.Of(c.Times, "chunk"), quantity.Bytes(c.Bytes))
		}
	}
	line("time", "%s in I/O, %s in codecs", short(all.Duration), short(s.Codecs.Duration))
	return b.String()
}

// requests returns the numbers of requests by operation and by outcome.
func (s *Stats) requests(all Sum) string {
	var kinds []string
	for o := range ops {
		if n := s.sums[o].Times; n > 0 && o.IsRequest() {
			kinds = append(kinds, quantity.Number(n)+" "+strings.ReplaceAll(o.String(), "_", "-"))
		}
	}
	text := quantity.Number(all.Times)
	if len(kinds) > 0 {
		text += ": " + strings.Join(kinds, ", ")
	}
	if all.Absent > 0 {
		text += "; " + quantity.Number(all.Absent) + " found nothing"
	}
	if all.Failed > 0 {
		text += "; " + quantity.Number(all.Failed) + " failed"
	}
	return text
}

// short returns a duration with about three digits.
func short(d time.Duration) string {
	for unit := time.Second; unit > time.Nanosecond; unit /= 1000 {
		switch {
		case d >= 100*unit:
			return d.Round(unit).String()
		case d >= 10*unit:
			return d.Round(unit / 10).String()
		case d >= unit:
			return d.Round(unit / 100).String()
		}
	}
	return d.String()
}

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
