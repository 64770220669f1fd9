// SPDX-License-Identifier: Apache-2.0

package otel_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/observe/otel"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// world holds the spans and metrics of an observer, as the SDK exports them.
type world struct {
	observe.Observer
	tracers *sdktrace.TracerProvider
	spans   *tracetest.InMemoryExporter
	metrics *metric.ManualReader
}

func newWorld(t *testing.T, chunks bool) *world {
	t.Helper()
	w := &world{spans: tracetest.NewInMemoryExporter(), metrics: metric.NewManualReader()}
	w.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(w.spans))
	o, err := otel.New(&otel.Options{Tracers: w.tracers, Meters: metric.NewMeterProvider(metric.WithReader(w.metrics)), Chunks: chunks})
	if err != nil {
		t.Fatal(err)
	}
	w.Observer = o
	return w
}

// sums returns the metrics as lines: name, attributes, and the sum or the count.
func (w *world) sums(t *testing.T) []string {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := w.metrics.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	var lines []string
	add := func(name string, set attribute.Set, n any) {
		lines = append(lines, strings.TrimSpace(fmt.Sprint(name, " ", set.Encoded(attribute.DefaultEncoder()), " ", n)))
	}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add(m.Name+" "+m.Unit, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add(m.Name+" "+m.Unit, p.Attributes, fmt.Sprint(p.Count, " times ", p.Sum))
				}
			default:
				t.Errorf("%s is %T", m.Name, data)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

var key = store.MustKey("a/c/0")

func TestMetrics(t *testing.T) {
	w := newWorld(t, false)
	for _, e := range []observe.Event{
		{Op: observe.Get, Key: key, Bytes: 100, Duration: time.Second},
		{Op: observe.Read, Key: key, Bytes: 20, Duration: time.Second},
		{Op: observe.Get, Key: key, Err: fs.ErrNotExist, Duration: 2 * time.Second},
		{Op: observe.PutIf, Key: key, Bytes: 7, Duration: time.Second},
		{Op: observe.PutIf, Key: key, Err: store.ErrConflict, Duration: time.Second},
		{Op: observe.Copy, Key: key, Bytes: 5, Duration: time.Second},
		{Op: observe.Decode, Key: key, Bytes: 400, Duration: 3 * time.Second},
		{Op: observe.Encode, Key: key, Bytes: 40, Duration: 3 * time.Second},
		{Op: observe.Coalesce, Key: key, Count: 12, Bytes: 9},
		{Op: observe.IndexHit, Key: key}, {Op: observe.IndexMiss, Key: key}, {Op: observe.IndexHit, Key: key},
		{Op: 200},
	} {
		w.Observe(t.Context(), e)
	}
	want := []string{
		"zarr.codec.duration s zarr.operation=decode,zarr.outcome=ok 1 times 3",
		"zarr.codec.duration s zarr.operation=encode,zarr.outcome=ok 1 times 3",
		"zarr.codec.io By zarr.operation=decode 400",
		"zarr.codec.io By zarr.operation=encode 40",
		"zarr.shard.coalesced {range}  12",
		"zarr.shard.index {lookup} zarr.cache=hit 2",
		"zarr.shard.index {lookup} zarr.cache=miss 1",
		"zarr.store.duration s zarr.operation=copy,zarr.outcome=ok 1 times 1",
		"zarr.store.duration s zarr.operation=get,zarr.outcome=absent 1 times 2",
		"zarr.store.duration s zarr.operation=get,zarr.outcome=ok 1 times 1",
		"zarr.store.duration s zarr.operation=put_if,zarr.outcome=conflict 1 times 1",
		"zarr.store.duration s zarr.operation=put_if,zarr.outcome=ok 1 times 1",
		"zarr.store.duration s zarr.operation=read,zarr.outcome=ok 1 times 1",
		"zarr.store.io By zarr.direction=copy 5",
		"zarr.store.io By zarr.direction=read 120",
		"zarr.store.io By zarr.direction=write 7",
	}
	if got := w.sums(t); !slices.Equal(got, want) {
		t.Errorf("the metrics are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := w.spans.GetSpans(); len(got) != 0 {
		t.Errorf("there are spans without a trace: %v", got)
	}
}

func TestSpans(t *testing.T) {
	start, failure := time.Now().Add(-time.Minute), errors.New("the disk is on fire")
	for _, chunks := range []bool{false, true} {
		w := newWorld(t, chunks)
		ctx, parent := w.tracers.Tracer("test").Start(t.Context(), "mine")
		w.Observe(ctx, observe.Event{Op: observe.Get, Key: key, Bytes: 100, Start: start, Duration: time.Second})
		w.Observe(ctx, observe.Event{Op: observe.Get, Key: key, Err: fs.ErrNotExist, Start: start})
		w.Observe(ctx, observe.Event{Op: observe.Put, Key: key, Err: failure, Start: start})
		w.Observe(ctx, observe.Event{Op: observe.Coalesce, Key: key, Count: 3})
		w.Observe(ctx, observe.Event{Op: observe.Decode, Key: key, Bytes: 400, Start: start, Duration: time.Second})
		parent.End()
		spans := w.spans.GetSpans()
		want := []string{"zarr.get", "zarr.get", "zarr.put", "zarr.decode", "mine"}
		if !chunks {
			want = slices.Delete(want, 3, 4)
		}
		var names []string
		for _, s := range spans {
			names = append(names, s.Name)
			if s.Name != "mine" && s.Parent.SpanID() != parent.SpanContext().SpanID() {
				t.Errorf("%s is not below the span of its context", s.Name)
			}
		}
		if !slices.Equal(names, want) {
			t.Fatalf("the spans are %q, want %q", names, want)
		}
		first, absent, failed := spans[0], spans[1], spans[2]
		if !first.StartTime.Equal(start) || first.EndTime.Sub(first.StartTime) != time.Second || first.Status.Code != codes.Unset ||
			!slices.Contains(first.Attributes, attribute.String("zarr.key", "a/c/0")) || !slices.Contains(first.Attributes, attribute.Int64("zarr.bytes", 100)) {
			t.Errorf("the span is %+v", first)
		}
		if absent.Status.Code != codes.Unset || !slices.Contains(absent.Attributes, attribute.String("zarr.outcome", "absent")) {
			t.Errorf("the span of what is absent is %+v", absent)
		}
		if failed.Status.Code != codes.Error || len(failed.Events) != 1 {
			t.Errorf("the span of a failure is %+v", failed)
		}
	}
}

// TestArray checks the exported spans and metrics of library calls.
func TestArray(t *testing.T) {
	w := newWorld(t, true)
	ctx, parent := w.tracers.Tracer("test").Start(t.Context(), "mine")
	a, err := zarr.At(memstore.New(), "").CreateArray(ctx, zarr.Spec{
		Shape: []int64{6}, Type: dtype.Float64, Chunks: []grid.Cut{grid.Edges(1, 2, 3)},
	}, &zarr.CreateOptions{Options: zarr.Options{Write: true, Observer: w}})
	if err != nil {
		t.Fatal(err)
	}
	if err := zarr.Write(ctx, a, nil, []float64{1, 2, 3, 4, 5, 6}); err != nil {
		t.Fatal(err)
	}
	parent.End()
	counts := map[string]int{}
	for _, s := range w.spans.GetSpans() {
		counts[s.Name]++
		if s.Name != "mine" && s.SpanContext.TraceID() != parent.SpanContext().TraceID() {
			t.Errorf("%s is of another trace", s.Name)
		}
	}
	if counts["zarr.encode"] != 3 || counts["zarr.put"] != 3 || counts["zarr.put_if"] != 1 {
		t.Errorf("the spans are %v", counts)
	}
	if lines := w.sums(t); !slices.Contains(lines, "zarr.codec.io By zarr.operation=encode 48") {
		t.Errorf("the metrics are %q", lines)
	}
}

// TestNoMemory checks that an event without a trace allocates nothing if metrics are
// discarded.
func TestNoMemory(t *testing.T) {
	o, err := otel.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	e := observe.Event{Op: observe.Get, Key: key, Bytes: 1}
	if n := testing.AllocsPerRun(100, func() { o.Observe(context.Background(), e) }); n > 0 {
		t.Errorf("%v allocations an event", n)
	}
}

func Example() {
	o, err := otel.New(nil) // spans and metrics go where the process sends them
	if err != nil {
		panic(err)
	}
	_, err = zarr.OpenArray(context.Background(), "era5.zarr/t2m", &zarr.Options{Observer: o})
	fmt.Println(err != nil)
	// Output: true
}
