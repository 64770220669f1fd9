package observe

import (
	"encoding/json"
	"time"
)

// Stats are sums of events. They are a value: to know what some work took, subtract those from before it.
type Stats struct {
	sums [ops]Sum
}

// Sum is what one operation came to.
type Sum struct {
	Times    int64         // how often
	Absent   int64         // of these, how often the key had no value
	Failed   int64         // and how often it ended in another error
	Bytes    int64         // of [Event.Bytes]
	Count    int64         // of [Event.Count]
	Duration time.Duration // of [Event.Duration], over all goroutines: several at a time take more than passes on the clock
}

// Of returns the sum of one operation.
func (s Stats) Of(o Op) Sum {
	if o >= ops {
		return Sum{}
	}
	return s.sums[o]
}

// Sub returns what happened since earlier.
func (s Stats) Sub(earlier Stats) Stats {
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

// total adds up the operations of a kind.
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

// Requests is what was asked of stores. Its Duration is the time in input and output; its Bytes add up reading, writing and copying.
func (s Stats) Requests() Sum { return s.total(Op.IsRequest) }

// Read is what was read from stores.
func (s Stats) Read() Sum { return s.total(Op.Reads) }

// Written is what was written to stores. Bytes that a store took over from an older version or from elsewhere are not in it.
func (s Stats) Written() Sum { return s.total(Op.Writes) }

// Codecs is the work of codecs: its Duration is the time in them, its Bytes are those of decoded elements.
func (s Stats) Codecs() Sum { return s.total(Op.IsCodec) }

// document is how Stats look in JSON.
type document struct {
	Requests       map[string]int64 `json:"requests"` // by operation; those that did not happen are left out
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

// MarshalJSON returns an object with the members requests (a number for each operation that happened), requests_absent,
// requests_failed, bytes_read, bytes_written, bytes_copied, ranges_coalesced and ranges_coalesced_into, index_cache_hits and
// index_cache_misses, chunks_decoded, bytes_decoded, chunks_encoded, bytes_encoded (both of elements), seconds_io and seconds_codecs.
func (s Stats) MarshalJSON() ([]byte, error) {
	all := s.Requests()
	d := document{
		Requests: map[string]int64{}, Absent: all.Absent, Failed: all.Failed,
		BytesRead: s.Read().Bytes, BytesWritten: s.Written().Bytes, BytesCopied: s.Of(Copy).Bytes,
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
