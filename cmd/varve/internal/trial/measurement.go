// SPDX-License-Identifier: Apache-2.0

// Package trial measures how fast the selected part of an array is read, for varve bench.
package trial

import (
	"bufio"
	"fmt"
	"time"

	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/observe"
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
	Because  string         `json:"because"`
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
	m.Rate, m.Stored = Rate(m.Bytes, m.Seconds), Rate(m.Stats.Read().Bytes, m.Seconds)
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
	requests, codecs := r.Stats.Requests(), r.Stats.Codecs().Duration.Seconds()
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
		io, codecs := r.Stats.Requests(), r.Stats.Codecs()
		fmt.Fprintf(w, "%-10s %10d %14s %12s %14s %14s %14s\n", name, r.Processors, phrase.Bytes(int64(r.Rate))+"/s", duration(r.PerChunk),
			phrase.Count(int64(Rate(io.Times, r.Seconds)))+"/s", each(io.Duration, r.pieces()), each(codecs.Duration, r.pieces()))
	}
	if e := m.Encoding; e != nil {
		fmt.Fprintf(w, "%-10s %10d %14s\n", "encoding", e.Processors, phrase.Bytes(int64(e.Rate))+"/s")
	}
	fmt.Fprintf(w, "%-10s %10s %14s %12s %14s\n\n", "raw", "", phrase.Bytes(int64(m.Raw.Rate))+"/s", "", phrase.Count(int64(Rate(m.Raw.Requests, m.Raw.Seconds)))+"/s")
	_, err := fmt.Fprintf(w, "Bound by %s: %s.\n", m.Bound, m.Because)
	return err
}
