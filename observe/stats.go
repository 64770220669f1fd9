// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"time"
)

// Stats are sums of events. To measure some work, take the Stats before and after it, and
// subtract them with [Stats.Sub].
type Stats struct {
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

// Requests returns the sum of all requests to stores. Its Duration is the time in I/O.
// Its Bytes include those that were read, written and copied.
func (s Stats) Requests() Sum { return s.total(Op.IsRequest) }

// Read returns the sum of all operations that read bytes from stores.
func (s Stats) Read() Sum { return s.total(Op.Reads) }

// Written returns the sum of all operations that wrote bytes to stores. Bytes that a
// store copied by itself are not included.
func (s Stats) Written() Sum { return s.total(Op.Writes) }

// Copied returns the sum of all operations that copied bytes without moving them through
// this program.
func (s Stats) Copied() Sum { return s.total(Op.Copies) }

// Codecs returns the sum of the work of codecs. Its Bytes are the sizes of decoded
// elements.
func (s Stats) Codecs() Sum { return s.total(Op.IsCodec) }

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
	all := s.Requests()
	d := document{
		Requests: map[string]int64{}, Absent: all.Absent, Failed: all.Failed,
		BytesRead: s.Read().Bytes, BytesWritten: s.Written().Bytes, BytesCopied: s.Copied().Bytes,
		RangesMerged: s.Of(Coalesce).Count, MergedInto: s.Of(Coalesce).Times,
		IndexHits: s.Of(IndexHit).Times, IndexMisses: s.Of(IndexMiss).Times,
		ChunksDecoded: s.Of(Decode).Times, BytesDecoded: s.Of(Decode).Bytes,
		ChunksEncoded: s.Of(Encode).Times, BytesEncoded: s.Of(Encode).Bytes,
		SecondsInIO: all.Duration.Seconds(), SecondsInCodec: s.Codecs().Duration.Seconds(),
	}
	for o := range ops {
		if n := s.sums[o].Times; n > 0 && o.IsRequest() {
			d.Requests[o.String()] = n
		}
	}
	return json.Marshal(d)
}
