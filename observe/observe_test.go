// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// some are the events of reading a shard.
var some = []observe.Event{
	{Op: observe.Open, Key: store.MustKey("a/c/0"), Duration: 2 * time.Millisecond},
	{Op: observe.Read, Key: store.MustKey("a/c/0"), Bytes: 1 << 20, Duration: 30 * time.Millisecond},
	{Op: observe.IndexMiss, Key: store.MustKey("a/c/0")},
	{Op: observe.Coalesce, Key: store.MustKey("a/c/0"), Bytes: 3 << 19, Count: 1200},
	{Op: observe.Decode, Key: store.MustKey("a/c/0"), Bytes: 4 << 20, Duration: 1234567 * time.Microsecond},
	{Op: observe.Get, Key: store.MustKey("a/c/1"), Err: fmt.Errorf("%w: a", fs.ErrNotExist), Duration: time.Millisecond},
	{Op: observe.Put, Key: store.MustKey("a/c/2"), Bytes: 10, Duration: time.Millisecond},
	{Op: observe.PutIf, Key: store.MustKey("a/c/2"), Err: store.ErrConflict, Duration: time.Millisecond},
	{Op: observe.Copy, Key: store.MustKey("a/c/3"), Bytes: 1},
}

func TestCounter(t *testing.T) {
	var c observe.Counter
	for _, e := range some {
		c.Observe(t.Context(), e)
	}
	c.Observe(t.Context(), observe.Event{Op: 200}) // an operation of a later version
	s := c.Stats()
	const text = `requests     6: 1 get, 1 open, 1 read, 1 put, 1 put-if, 1 copy; 1 found nothing; 1 failed
read         1.0 MiB
written      10 bytes
copied       1 byte
coalesced    1,200 ranges into 1
index cache  0 hits, 1 miss
decoded      1 chunk of 4.0 MiB
time         35ms in I/O, 1.23s in codecs`
	if s.String() != text {
		t.Errorf("the table is\n%s\nwant\n%s", s, text)
	}
	const document = `{"requests":{"copy":1,"get":1,"open":1,"put":1,"put_if":1,"read":1},"requests_absent":1,"requests_failed":1,` +
		`"bytes_read":1048576,"bytes_written":10,"bytes_copied":1,"ranges_coalesced":1200,"ranges_coalesced_into":1,` +
		`"index_cache_hits":0,"index_cache_misses":1,"chunks_decoded":1,"bytes_decoded":4194304,"chunks_encoded":0,"bytes_encoded":0,` +
		`"seconds_io":0.035,"seconds_codecs":1.234567}`
	if b, err := json.Marshal(s); err != nil || string(b) != document {
		t.Errorf("the document is\n%s\nwant\n%s (%v)", b, document, err)
	}
	c.Observe(t.Context(), some[0])
	if d := c.Stats().Sub(s); d.Requests != (observe.Sum{Times: 1, Duration: 2 * time.Millisecond}) || d.Of(observe.Open).Times != 1 {
		t.Errorf("the difference is %v", d)
	}
	if empty := (observe.Stats{}).String(); empty != "requests     0\ntime         0s in I/O, 0s in codecs" {
		t.Errorf("nothing is %q", empty)
	}
}

// TestCounterIsExact checks that no event of concurrent goroutines is lost.
func TestCounterIsExact(t *testing.T) {
	var c observe.Counter
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1000 {
				c.Observe(t.Context(), observe.Event{Op: observe.Get, Bytes: 3, Duration: 5})
			}
		})
	}
	group.Wait()
	if got := c.Stats().Of(observe.Get); got != (observe.Sum{Times: 8000, Bytes: 24000, Duration: 40000}) {
		t.Errorf("the sum is %+v", got)
	}
}

func TestOutcomes(t *testing.T) {
	for want, err := range map[string]error{
		"ok": nil, "absent": &fs.PathError{Err: fs.ErrNotExist}, "conflict": fmt.Errorf("%w: b", store.ErrConflict),
		"canceled": context.Canceled, "failed": errors.New("x"),
	} {
		if got := (&observe.Event{Err: err}).Outcome().String(); got != want {
			t.Errorf("%v is %s, want %s", err, got, want)
		}
	}
}

// TestOps checks that every operation has a unique name and is of at most one kind.
func TestOps(t *testing.T) {
	seen := map[string]bool{}
	for o := range observe.IndexMiss + 1 {
		if seen[o.String()] || o.String() == "" || o.IsRequest() && o.IsCodec() || (o.Reads() || o.Writes()) && !o.IsRequest() {
			t.Errorf("operation %d is %q", o, o)
		}
		seen[o.String()] = true
	}
	if observe.Op(200).String() != "unknown" || (observe.Stats{}).Of(200) != (observe.Sum{}) {
		t.Error("what is unknown is not said to be")
	}
}

func TestAll(t *testing.T) {
	var a, b observe.Counter
	o := observe.All(nil, &a, nil, &b)
	o.Observe(t.Context(), some[0])
	if a.Stats() != b.Stats() || a.Stats().Of(observe.Open).Times != 1 {
		t.Error("not all were told")
	}
	if observe.All(nil) != nil || observe.All(nil, &a) != observe.Observer(&a) {
		t.Error("none or one is wrapped")
	}
}

func TestLog(t *testing.T) {
	var out bytes.Buffer
	opt := &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	o := observe.Log(slog.New(slog.NewTextHandler(&out, opt)))
	for _, i := range []int{1, 3, 5, 7} {
		o.Observe(t.Context(), some[i])
	}
	want := []string{
		"level=DEBUG msg=read key=a/c/0 bytes=1048576 duration=30ms outcome=ok",
		"level=DEBUG msg=coalesce key=a/c/0 count=1200 duration=0s outcome=ok",
		"level=DEBUG msg=get key=a/c/1 bytes=0 duration=1ms outcome=absent",
		`level=WARN msg=put_if key=a/c/2 bytes=0 duration=1ms outcome=conflict error="changed by another writer"`,
	}
	if got := strings.Split(strings.TrimSpace(out.String()), "\n"); !slices.Equal(got, want) {
		t.Errorf("the log is %q, want %q", got, want)
	}
}

// TestObserversTakeNoMemory checks that Counter and Log allocate no memory per event,
// whether the log is enabled or not.
func TestObserversTakeNoMemory(t *testing.T) {
	racing.Skip(t)
	quiet := slog.New(slog.NewTextHandler(new(bytes.Buffer), nil))
	for name, o := range map[string]observe.Observer{
		"counter": new(observe.Counter), "both": observe.All(new(observe.Counter), new(observe.Counter)),
		"log": observe.Log(slog.New(nowhere{})), "quiet log": observe.Log(quiet),
	} {
		if n := testing.AllocsPerRun(100, func() { o.Observe(context.Background(), some[1]) }); n > 0 {
			t.Errorf("%s: %v allocations an event", name, n)
		}
	}
}

// nowhere is a handler that drops every record.
type nowhere struct{}

func (nowhere) Enabled(context.Context, slog.Level) bool { return true }

func (nowhere) Handle(context.Context, slog.Record) error { return nil }

func (n nowhere) WithAttrs([]slog.Attr) slog.Handler { return n }

func (n nowhere) WithGroup(string) slog.Handler { return n }

func BenchmarkObserve(b *testing.B) {
	for name, o := range map[string]observe.Observer{"counter": new(observe.Counter), "log": observe.Log(slog.New(nowhere{}))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				o.Observe(b.Context(), some[1])
			}
		})
	}
}
