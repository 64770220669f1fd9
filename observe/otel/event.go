// SPDX-License-Identifier: Apache-2.0

package otel

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"varve.dev/zarr/observe"
)

// span records the span of a finished event.
func (o *observer) span(ctx context.Context, e *observe.Event) {
	kind := trace.SpanKindClient
	// Requests leave this program. Codecs run within it.
	if isCodec(e.Op) {
		kind = trace.SpanKindInternal
	}
	// The work is over when it is reported, so the span gets its times from the event.
	_, span := o.tracer.Start(ctx, "zarr."+e.Op.String(), trace.WithTimestamp(e.Start), trace.WithSpanKind(kind), trace.WithAttributes(
		attribute.String("zarr.key", e.Key.String()),
		attribute.Int64("zarr.bytes", e.Bytes),
	))
	switch outcome := e.Outcome(); outcome {
	case observe.OK:
	case observe.Failed, observe.Conflict:
		span.RecordError(e.Err)
		span.SetStatus(codes.Error, outcome.String())
	default: // not an error: chunks with only fill values are absent
		span.SetAttributes(attribute.String("zarr.outcome", outcome.String()))
	}
	span.End(trace.WithTimestamp(e.Start.Add(e.Duration)))
}

// measure adds an event to the metrics.
func (o *observer) measure(ctx context.Context, e *observe.Event) {
	how := &o.requests[e.Op][e.Outcome()]
	switch {
	case e.Op.IsRequest():
		o.storeTime.Record(ctx, e.Duration.Seconds(), how.record...)
		o.transferred(ctx, e)
	case isCodec(e.Op):
		o.codecTime.Record(ctx, e.Duration.Seconds(), how.record...)
		direction := &o.decoded
		if e.Op == observe.Encode {
			direction = &o.encoded
		}
		o.codecBytes.Add(ctx, e.Bytes, direction.add...)
	case e.Op == observe.Coalesce:
		o.coalesced.Add(ctx, e.Count)
	case e.Op == observe.IndexHit:
		o.index.Add(ctx, 1, o.hit.add...)
	case e.Op == observe.IndexMiss:
		o.index.Add(ctx, 1, o.miss.add...)
	}
}

// transferred adds the bytes of a request.
func (o *observer) transferred(ctx context.Context, e *observe.Event) {
	// Adding zero would only create an empty time series.
	if e.Bytes == 0 {
		return
	}
	var direction *attributes
	switch e.Op {
	case observe.Get, observe.Read:
		direction = &o.read
	case observe.Put, observe.PutIf, observe.Splice, observe.Assemble, observe.Patch:
		direction = &o.written
	case observe.Copy, observe.Clone:
		direction = &o.copied
	// Listings, deletions and the like move no values.
	default:
		return
	}
	o.storeBytes.Add(ctx, e.Bytes, direction.add...)
}
