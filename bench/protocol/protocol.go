// SPDX-License-Identifier: Apache-2.0

// Package protocol defines the messages between the driver of the benchmarks and the
// programs that it measures. A program gets one [Request] as JSON, its only argument, and
// prints one [Answer] as a line of JSON. Programs in other languages use the same
// messages. It also has the figures that all benchmarks print.
package protocol

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"sync/atomic"
	"time"
)

// The kinds of work.
const (
	ReadAll     = "read-all"     // the array at once
	ReadRegions = "read-regions" // the boxes of a file, one by one, Concurrency of them at once
	ReadPoints  = "read-points"  // the elements of a file, in one call if the library has one
	Copy        = "copy"         // decode the array and encode it again into Target, which has a document and no chunks
	Append      = "append"       // append Count planes along the first axis, one by one, to Target
	Open        = "open"         // open the array and read its last element, repeatedly for Least seconds
	Members     = "members"      // open a group and all its arrays, in the same way
	Rechunk     = "rechunk"      // give the array other chunks: in place in Target, or from Store into Target
	Files       = "files"        // copy the files of Store into Target
	Link        = "link"         // the same with hard links
	Pack        = "pack"         // write the bytes of the files of Store into Count files in Target
)

// Least is the number of seconds for which short work is repeated. The mean is reported.
const Least = 0.2

// Request is the work of a program. Stores are folders or URLs; other paths are those of
// files.
type Request struct {
	Work   string `json:"work"`
	Store  string `json:"store,omitempty"`
	Target string `json:"target,omitempty"`
	// Regions and Points are files of 64-bit integers in little endian. A box has the
	// first element of every axis and then the end of every axis, a point its index
	// along every axis.
	Regions string `json:"regions,omitempty"`
	Points  string `json:"points,omitempty"`
	Rank    int    `json:"rank,omitempty"`
	// Concurrency is the number of concurrent regions, or without regions that of
	// concurrent requests. 0 means the default of the program.
	Concurrency int `json:"concurrency,omitempty"`
	Count       int `json:"count,omitempty"`
	// Check is the number of bytes of every region that enter the checksum. 0 means
	// all.
	Check int64 `json:"check,omitempty"`
	// Sync asks for durable writes. A program whose library cannot do that syncs all
	// files itself.
	Sync bool `json:"sync,omitempty"`
	// Client is the library by which a program reads an object store, if it has several.
	Client string `json:"client,omitempty"`
	// Files is a folder with the same store, whose names and lengths a program may use.
	Files string `json:"files,omitempty"`
	// Budget, IndexCache and Gap are only for Varve: see [varve.dev/zarr.Options] and
	// [varve.dev/zarr.Shards].
	Budget     int64 `json:"budget,omitempty"`
	IndexCache int64 `json:"index_cache,omitempty"`
	Gap        int64 `json:"gap,omitempty"`
	// Rechunking is the goal of [Rechunk].
	Rechunking *Rechunking `json:"rechunking,omitempty"`
	// Pipeline is only for zarr-python: "fused" is its other codec pipeline.
	Pipeline string `json:"pipeline,omitempty"`
}

// Rechunking says what chunks an array gets.
type Rechunking struct {
	// UpTo merges chunks along the first axis, up to that many elements. Otherwise the
	// array is cut into Chunks and, if there are any, Inner chunks.
	UpTo   int64   `json:"up_to,omitempty"`
	Chunks []int64 `json:"chunks,omitempty"`
	Inner  []int64 `json:"inner,omitempty"`
	Memory int64   `json:"memory,omitempty"` // bytes that may be held
}

// Answer is the result of a program.
type Answer struct {
	Seconds  float64 `json:"seconds"`            // of the work, from opening the store
	CPU      float64 `json:"cpu"`                // seconds of all cores in that time
	Bytes    int64   `json:"bytes"`              // of elements that were read or written
	Checksum string  `json:"checksum,omitempty"` // [Sum] of what was read
	Checking float64 `json:"checking,omitempty"` // seconds for the checksum after the work
	// Moved, Linked and Decoded are the bytes that a rechunk copied as they are
	// encoded, shared with the old chunks, and decoded. Only Varve tells them.
	Moved   int64 `json:"moved,omitempty"`
	Linked  int64 `json:"linked,omitempty"`
	Decoded int64 `json:"decoded,omitempty"`
	// Unsupported says why this program cannot do the work. Nothing else is set then.
	Unsupported string `json:"unsupported,omitempty"`
}

// Parse returns the request with which a program was started.
func Parse(args []string) (r Request, err error) {
	if len(args) != 2 {
		return r, fmt.Errorf("protocol: %d arguments, want one: a request as JSON", len(args)-1)
	}
	if err := json.Unmarshal([]byte(args[1]), &r); err != nil {
		return r, fmt.Errorf("protocol: request: %w", err)
	}
	return r, nil
}

// Print writes the answer as a line.
func (a Answer) Print(w io.Writer) error { return json.NewEncoder(w).Encode(a) }

// Numbers reads a file of rows of 64-bit integers.
func Numbers(name string, width int) ([][]int64, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("protocol: %w", err)
	}
	if width <= 0 || len(data)%(8*width) != 0 {
		return nil, fmt.Errorf("protocol: %s has %d bytes, which is not a whole number of rows of %d integers", name, len(data), width)
	}
	all := make([]int64, len(data)/8)
	for i := range all {
		all[i] = int64(binary.LittleEndian.Uint64(data[8*i:]))
	}
	rows := make([][]int64, len(all)/width)
	for i := range rows {
		rows[i] = all[i*width : (i+1)*width]
	}
	return rows, nil
}

// WriteNumbers writes such a file.
func WriteNumbers(name string, rows [][]int64) error {
	var data []byte
	for _, row := range rows {
		for _, n := range row {
			data = binary.LittleEndian.AppendUint64(data, uint64(n))
		}
	}
	if err := os.WriteFile(name, data, 0o666); err != nil {
		return fmt.Errorf("protocol: %w", err)
	}
	return nil
}

// Sum is the checksum of items that arrive in any order: the sum of (2i+1) times the
// CRC-32 (as in zip) of item i, modulo 2^64. It detects wrong and misplaced items, and
// every language has CRC-32.
type Sum struct {
	Limit int64 // bytes of every item that count; 0 means all
	total atomic.Uint64
	bytes atomic.Int64
}

// Add adds item i. It may be called concurrently.
func (s *Sum) Add(i int, data []byte) {
	s.bytes.Add(int64(len(data)))
	if s.Limit > 0 && int64(len(data)) > s.Limit {
		data = data[:s.Limit]
	}
	s.total.Add(uint64(crc32.ChecksumIEEE(data)) * (2*uint64(i) + 1))
}

// Bytes returns the total size of all items.
func (s *Sum) Bytes() int64 { return s.bytes.Load() }

// String returns the sum as 16 hexadecimal digits.
func (s *Sum) String() string { return fmt.Sprintf("%016x", s.total.Load()) }

// Timer measures the work of a program written in Go.
type Timer struct {
	begin time.Time
	cpu   float64
}

// Start starts the measurement.
func Start() Timer { return Timer{time.Now(), processor()} }

// Stop returns the seconds since Start, and the processor time in seconds.
func (t Timer) Stop() (seconds, cpu float64) {
	return time.Since(t.begin).Seconds(), processor() - t.cpu
}

// Repeat calls a function until [Least] seconds have passed, at least once, and returns
// the mean of both times.
func Repeat(f func() error) (seconds, cpu float64, err error) {
	t := Start()
	for n := 1.0; ; n++ {
		if err := f(); err != nil {
			return 0, 0, err
		}
		if seconds, cpu = t.Stop(); seconds >= Least {
			return seconds / n, cpu / n, nil
		}
	}
}
