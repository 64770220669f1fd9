// SPDX-License-Identifier: Apache-2.0

// Package otel reports operations of the library to OpenTelemetry. [New] returns an
// observer (package observe of the core) that creates spans and metrics.
//
// # Spans
//
// Every request to a store becomes a child of the span in its context, if that one is
// recorded. Otherwise there is no span, so that a program without tracing does not
// create thousands of root spans. A span is named after the operation, such as
// "zarr.get". It has kind client and the attributes "zarr.key" and "zarr.bytes".
// [Options.Chunks] adds spans of kind internal for chunks that are decoded or encoded.
//
// # Metrics
//
//	zarr.store.duration  histogram, s        requests, by zarr.operation and zarr.outcome
//	zarr.store.io        counter, By         bytes of values, by zarr.direction: read, write or copy
//	zarr.codec.duration  histogram, s        chunks, by zarr.operation (decode or encode) and zarr.outcome
//	zarr.codec.io        counter, By         bytes of their elements, by zarr.operation
//	zarr.shard.coalesced counter, {range}    ranges of shards that were merged into others
//	zarr.shard.index     counter, {lookup}   look-ups of shard indexes, by zarr.cache: hit or miss
//
// Outcomes are those of observe.Outcome: ok, absent, conflict, canceled and failed.
package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"varve.dev/zarr/observe"
)

// scope is the name of the instrumentation.
const scope = "varve.dev/zarr/observe/otel"

// Options configures the destinations of spans and metrics. A nil *Options means the
// zero Options.
type Options struct {
	// Tracers and Meters are the providers to use. Nil means the global ones.
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
	// Chunks adds spans for chunks that are decoded or encoded. An array with small
	// chunks has many of them.
	Chunks bool
}

// observer reports events to OpenTelemetry.
type observer struct {
	tracer trace.Tracer
	chunks bool
	instruments

	requests [ops][outcomes]attributes // by operation and outcome
}

const (
	ops      = observe.IndexMiss + 1
	outcomes = observe.Failed + 1
)

// New returns an observer for zarr.Options.Observer. An error comes from the meter
// provider.
func New(opt *Options) (observe.Observer, error) {
	if opt == nil {
		opt = new(Options)
	}
	tracers, meters := opt.Tracers, opt.Meters
	if tracers == nil {
		tracers = otel.GetTracerProvider()
	}
	if meters == nil {
		meters = otel.GetMeterProvider()
	}
	o := &observer{tracer: tracers.Tracer(scope), chunks: opt.Chunks}
	if err := o.make(meters.Meter(scope)); err != nil {
		return nil, err
	}
	for op := range ops {
		for end := range outcomes {
			o.requests[op][end] = attributesOf(
				attribute.String("zarr.operation", op.String()), attribute.String("zarr.outcome", end.String()))
		}
	}
	return o, nil
}

// Observe implements [observe.Observer].
func (o *observer) Observe(ctx context.Context, e observe.Event) {
	if e.Op >= ops {
		return // an operation of a newer version of the core
	}
	if o.traced(e.Op) && trace.SpanFromContext(ctx).IsRecording() {
		o.span(ctx, &e)
	}
	o.measure(ctx, &e)
}

// traced reports whether an operation has spans.
func (o *observer) traced(op observe.Op) bool { return op.IsRequest() || o.chunks && isCodec(op) }

// isCodec reports whether an operation is the work of codecs.
func isCodec(op observe.Op) bool { return op == observe.Decode || op == observe.Encode }

// attributes are built once, so that events do not allocate them.
type attributes struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func attributesOf(list ...attribute.KeyValue) attributes {
	set := metric.WithAttributeSet(attribute.NewSet(list...))
	return attributes{[]metric.RecordOption{set}, []metric.AddOption{set}}
}

// instruments are the metrics listed in the package comment.
type instruments struct {
	storeTime, codecTime  metric.Float64Histogram
	storeBytes            metric.Int64Counter
	codecBytes            metric.Int64Counter
	coalesced, index      metric.Int64Counter
	read, written, copied attributes
	decoded, encoded      attributes
	hit, miss             attributes
}

func (i *instruments) make(m metric.Meter) error {
	var errs [6]error
	i.storeTime, errs[0] = m.Float64Histogram("zarr.store.duration", metric.WithUnit("s"), metric.WithDescription("Time of requests to stores"))
	i.storeBytes, errs[1] = m.Int64Counter("zarr.store.io", metric.WithUnit("By"), metric.WithDescription("Bytes of values read, written and copied"))
	i.codecTime, errs[2] = m.Float64Histogram("zarr.codec.duration", metric.WithUnit("s"), metric.WithDescription("Time of decoding and encoding chunks"))
	i.codecBytes, errs[3] = m.Int64Counter("zarr.codec.io", metric.WithUnit("By"), metric.WithDescription("Bytes of elements decoded and encoded"))
	i.coalesced, errs[4] = m.Int64Counter("zarr.shard.coalesced", metric.WithUnit("{range}"), metric.WithDescription("Ranges of shards read together with others"))
	i.index, errs[5] = m.Int64Counter("zarr.shard.index", metric.WithUnit("{lookup}"), metric.WithDescription("Indexes of shards that were wanted"))
	for name, to := range map[string]*attributes{"read": &i.read, "write": &i.written, "copy": &i.copied} {
		*to = attributesOf(attribute.String("zarr.direction", name))
	}
	for name, to := range map[string]*attributes{"decode": &i.decoded, "encode": &i.encoded} {
		*to = attributesOf(attribute.String("zarr.operation", name))
	}
	for name, to := range map[string]*attributes{"hit": &i.hit, "miss": &i.miss} {
		*to = attributesOf(attribute.String("zarr.cache", name))
	}
	return errors.Join(errs[:]...)
}

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
