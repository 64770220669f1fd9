// SPDX-License-Identifier: Apache-2.0

// Package trial measures how fast the selected part of an array is read, for varve bench.
package trial

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/store"
)

// Measured is the result of measuring an array, in JSON.
type Measured struct {
	Path     string   `json:"path"`
	Shape    []int64  `json:"shape"`
	DataType string   `json:"data_type"`
	Slabs    int      `json:"slabs"`    // read repeatedly
	Elements int64    `json:"elements"` // of the slabs
	Chunks   int64    `json:"chunks"`
	Raw      RawRound `json:"raw"`
	Rounds   []Round  `json:"rounds"`
	// Encoding is null if the elements differ in length, or no chunk is stored.
	Encoding *EncodingRound `json:"encoding"`
	Bound    string         `json:"bound_by"`
	Reason   string         `json:"because"`
}

// RawRound is the speed of the store for the same requests, without decoding.
type RawRound struct {
	Requests int64   `json:"requests"`
	Bytes    int64   `json:"bytes"` // stored bytes
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"bytes_per_second"`
}

// EncodingRound is the speed of encoding stored chunks again on all processors, without
// storing them.
type EncodingRound struct {
	Processors int     `json:"processors"`
	Chunks     int64   `json:"chunks"`
	Bytes      int64   `json:"bytes"` // of elements
	Seconds    float64 `json:"seconds"`
	Rate       float64 `json:"bytes_per_second"`
}

// Round is the result of one level of concurrency.
type Round struct {
	InFlight   int           `json:"in_flight"`
	Processors int           `json:"processors"`
	Usual      bool          `json:"usual"` // the level at which other commands read
	Slabs      int64         `json:"slabs"`
	Chunks     int64         `json:"chunks"` // touched chunks, or shards
	Bytes      int64         `json:"bytes"`  // of elements
	Seconds    float64       `json:"seconds"`
	Rate       float64       `json:"bytes_per_second"`
	PerChunk   float64       `json:"seconds_per_chunk"` // per decoded chunk, or per touched chunk if none was decoded
	Stored     float64       `json:"stored_bytes_per_second"`
	Stats      observe.Stats `json:"stats"`
}

// Rate returns n per second.
func Rate(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// Finish computes the derived fields.
func (m *Round) Finish() {
	m.Rate, m.Stored = Rate(m.Bytes, m.Seconds), Rate(m.Stats.Read.Bytes, m.Seconds)
	m.PerChunk = m.Seconds / float64(max(1, m.pieces()))
}

// pieces returns the number of decoded chunks, or of decoded inner chunks.
func (m *Round) pieces() int64 {
	if n := m.Stats.Of(observe.Decode).Times; n > 0 {
		return n
	}
	return m.Chunks
}

// The values of "bound_by" in JSON.
const (
	byCodecs  = "codecs"
	byStore   = "store"
	byWaiting = "waiting"
	byChunks  = "chunks"
	byMemory  = "memory"
)

// Thresholds that decide what bounds reading.
const (
	most       = 0.7      // a resource with at least this load is exhausted
	idle       = 0.3      // a resource with less than this load is idle
	smallChunk = 64 << 10 // bytes; the fixed cost of smaller chunks dominates
)

// Judge returns what bounds the round at the usual level, as a word and as a sentence.
func (m *Measured) Judge() (what, why string) {
	r := &m.Rounds[len(m.Rounds)-1]
	requests, codecs := r.Stats.Requests, r.Stats.Codecs.Duration.Seconds()
	busy := codecs / max(1e-9, r.Seconds*float64(r.Processors))
	waiting := requests.Duration.Seconds() / max(1e-9, r.Seconds*float64(r.InFlight))
	size := r.Bytes / max(1, r.pieces())
	switch {
	case busy >= most:
		return byCodecs, fmt.Sprintf("decoding takes %s of the time of %s", percent(busy), phrase.Plural(int64(r.Processors), "processor"))
	case m.Raw.Rate > 0 && r.Stored >= most*m.Raw.Rate:
		return byStore, fmt.Sprintf("it delivers %s per second without decoding, and %s here", phrase.Bytes(int64(m.Raw.Rate)), phrase.Bytes(int64(r.Stored)))
	case waiting >= most:
		return byWaiting, fmt.Sprintf("%s are in flight all the time and each takes %s, so more chunks in flight would read faster",
			phrase.Plural(int64(r.InFlight), "request"), each(requests.Duration, requests.Times))
	case size < smallChunk:
		return byChunks, fmt.Sprintf("chunks have %s each, and of the %s for a chunk codecs take %s; larger chunks cost less",
			phrase.Bytes(size), duration(r.PerChunk*float64(r.Processors)), duration(codecs/float64(max(1, r.pieces()))))
	case busy < idle && requests.Duration.Seconds() >= most*r.Seconds:
		return byWaiting, fmt.Sprintf("a request takes %s, %.1f are in flight on average, and the processors decode for %s of the time",
			each(requests.Duration, requests.Times), requests.Duration.Seconds()/r.Seconds, percent(busy))
	}
	return byMemory, fmt.Sprintf("neither the codecs (%s of the processors' time) nor the store (%s of its rate) is exhausted; the rest of the time goes into copying elements to their places",
		percent(busy), percent(r.Stored/max(1, m.Raw.Rate)))
}

// each returns the mean duration.
func each(sum time.Duration, times int64) string {
	return duration(sum.Seconds() / float64(max(1, times)))
}

func percent(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }

// duration returns seconds with two or three digits.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	for _, unit := range []time.Duration{time.Second, time.Millisecond, time.Microsecond} {
		if d >= 100*unit {
			return d.Round(unit).String()
		}
		if d >= unit {
			return d.Round(unit / 10).String()
		}
	}
	return d.String()
}

// Print writes a table for people.
func (m *Measured) Print(w *bufio.Writer) error {
	fmt.Fprintf(w, "%s  %s %s, read repeatedly: %s in %s, %s\n\n", phrase.Printable(m.Path), phrase.Shape(m.Shape), m.DataType,
		phrase.Plural(m.Elements, "element"), phrase.Plural(m.Chunks, "chunk"), phrase.Plural(int64(m.Slabs), "slab"))
	fmt.Fprintf(w, "%-10s %10s %14s %12s %14s %14s %14s\n", "in flight", "processors", "elements", "a chunk", "requests", "I/O a chunk", "codecs a chunk")
	for i := range m.Rounds {
		r := &m.Rounds[i]
		name := phrase.Count(int64(r.InFlight))
		if r.Usual {
			name += " usual"
		}
		io, codecs := r.Stats.Requests, r.Stats.Codecs
		fmt.Fprintf(w, "%-10s %10d %14s %12s %14s %14s %14s\n", name, r.Processors, phrase.Bytes(int64(r.Rate))+"/s", duration(r.PerChunk),
			phrase.Count(int64(Rate(io.Times, r.Seconds)))+"/s", each(io.Duration, r.pieces()), each(codecs.Duration, r.pieces()))
	}
	if e := m.Encoding; e != nil {
		fmt.Fprintf(w, "%-10s %10d %14s\n", "encoding", e.Processors, phrase.Bytes(int64(e.Rate))+"/s")
	}
	fmt.Fprintf(w, "%-10s %10s %14s %12s %14s\n\n", "raw", "", phrase.Bytes(int64(m.Raw.Rate))+"/s", "", phrase.Count(int64(Rate(m.Raw.Requests, m.Raw.Seconds)))+"/s")
	_, err := fmt.Fprintf(w, "Bound by %s: %s.\n", m.Bound, m.Reason)
	return err
}

// Recorder is a store that records reads, so that they can be replayed alone.
type Recorder struct {
	store.Store

	mu          sync.Mutex
	isRecording bool
	remaining   int // requests that may still be recorded
	visits      []*visit
}

// visit is the read of one value: at once, or in parts after it was opened.
type visit struct {
	key    store.Key
	opened bool
	reads  []store.Request
}

// mostNoted bounds the recorded requests.
const mostNoted = 1 << 16

// Begin starts recording.
func (r *Recorder) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isRecording, r.remaining = true, mostNoted
}

// End stops recording.
func (r *Recorder) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isRecording = false
}

// note records a request, for an open visit or a new one.
func (r *Recorder) note(v *visit, q store.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isRecording || r.remaining == 0 {
		return
	}
	// A value joins the list with its first read. Some are opened and never read.
	if r.remaining--; len(v.reads) == 0 {
		r.visits = append(r.visits, v)
	}
	v.reads = append(v.reads, q)
}

// Unwrap implements [store.Wrapper].
func (r *Recorder) Unwrap() store.Store { return r.Store }

// Get implements [store.Store].
func (r *Recorder) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	r.note(&visit{key: key}, q)
	return r.Store.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (r *Recorder) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, r.Store, key)
}

// List implements [store.Lister].
func (r *Recorder) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return store.List(ctx, r.Store, dir, how)
}

// Open implements [store.Opener].
func (r *Recorder) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := store.Open(ctx, r.Store, key)
	if err != nil {
		return nil, err
	}
	return &recordedObject{o, r, &visit{key: key, opened: true}}, nil
}

// recordedObject is an open value whose reads are recorded.
type recordedObject struct {
	store.Object
	r *Recorder
	v *visit
}

// Read implements [store.Object].
func (o *recordedObject) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	o.r.note(o.v, q)
	return o.Object.Read(ctx, q, dst)
}

// Replay repeats the recorded requests, those of several values at a time. It returns
// their number and their bytes.
func (r *Recorder) Replay(ctx context.Context, workers int) (requests, bytes int64, err error) {
	var next, times, sum atomic.Int64
	group, within := errgroup.WithContext(ctx)
	for range min(workers, len(r.visits)) {
		group.Go(func() error {
			var buf []byte
			for i := next.Add(1) - 1; i < int64(len(r.visits)); i = next.Add(1) - 1 {
				v := r.visits[i]
				n, err := v.repeat(within, r.Store, &buf)
				if err != nil {
					return err
				}
				times.Add(int64(len(v.reads)))
				sum.Add(n)
			}
			return nil
		})
	}
	err = cmp.Or(group.Wait(), ctx.Err())
	return times.Load(), sum.Load(), err
}

// repeat repeats the reads of the visit into a buffer, which it may grow, and returns the
// bytes. A missing value is no error.
func (v *visit) repeat(ctx context.Context, s store.Store, buf *[]byte) (n int64, err error) {
	read := func(q store.Request) (out []byte, err error) {
		out, _, err = s.Get(ctx, v.key, q, (*buf)[:0])
		return out, err
	}
	if v.opened {
		o, err := store.Open(ctx, s, v.key)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		defer o.Close()
		read = func(q store.Request) ([]byte, error) { return o.Read(ctx, q, (*buf)[:0]) }
	}
	for _, q := range v.reads {
		out, err := read(q)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, err
		}
		n += int64(len(out))
		// Keep the larger buffer for the next read, so that memory is allocated once.
		if cap(out) > cap(*buf) {
			*buf = out
		}
	}
	return n, nil
}

// Close closes the store below.
func (r *Recorder) Close() error { return store.Close(r.Store) }
