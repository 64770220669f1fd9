// Package otel tells OpenTelemetry what the library does: an observer (package observe of
// the core) that makes spans and metrics.
//
// # Spans
//
// Every request to a store is a span below the one of its context, where that is
// recorded; elsewhere there is none, so that a program without traces does not begin
// thousands. It is named as the operation, as "zarr.get", is of kind client, and has the
// attributes "zarr.key" and "zarr.bytes". [Options.Chunks] adds spans of kind internal
// for chunks that are decoded and encoded.
//
// # Metrics
//
//	zarr.store.duration  histogram, s        requests, by zarr.operation and zarr.outcome
//	zarr.store.io        counter, By         bytes of values, by zarr.direction: read, write or copy
//	zarr.codec.duration  histogram, s        chunks, by zarr.operation (decode or encode) and zarr.outcome
//	zarr.codec.io        counter, By         bytes of their elements, by zarr.operation
//	zarr.shard.coalesced counter, {range}    ranges of shards that were read together with others
//	zarr.shard.index     counter, {lookup}   indexes of shards that were wanted, by zarr.cache: hit or miss
//
// Outcomes are those of observe.Outcome: ok, absent, conflict, canceled and failed.
package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"varve.dev/zarr/observe"
)

// scope is the name of the instrumentation.
const scope = "varve.dev/zarr/otel"

// Options says where spans and metrics go. A nil *Options means the zero Options.
type Options struct {
	// Tracers and Meters stand for those of the process where they are nil.
	Tracers trace.TracerProvider
	Meters  metric.MeterProvider
	// Chunks makes spans for chunks that are decoded and encoded, too. Of an array of
	// small chunks these are many.
	Chunks bool
}

// observer tells OpenTelemetry of events.
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

// New returns an observer for zarr.Options.Observer. An error is one of the meter that it
// is given.
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
		return // one of a later version
	}
	if o.traced(e.Op) && trace.SpanFromContext(ctx).IsRecording() {
		o.span(ctx, &e)
	}
	o.measure(ctx, &e)
}

// traced reports whether there are spans of an operation.
func (o *observer) traced(op observe.Op) bool { return op.IsRequest() || o.chunks && op.IsCodec() }

// attributes are made once, so that an event takes no memory for them.
type attributes struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func attributesOf(list ...attribute.KeyValue) attributes {
	set := metric.WithAttributeSet(attribute.NewSet(list...))
	return attributes{[]metric.RecordOption{set}, []metric.AddOption{set}}
}

// instruments are those of the package's comment.
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
