// Package protocol is what the driver of the benchmarks and the programs that it measures
// say to each other. A program is given one [Request] as JSON, its only argument, and
// prints one [Answer] as a line of JSON. The programs of other languages do the same.
package protocol

import (
	"encoding/json"
	"fmt"
	"io"
)

// The kinds of work.
const (
	ReadAll     = "read-all"     // the array at once
	ReadRegions = "read-regions" // the boxes of a file, one by one, Concurrency of them at a time
	ReadPoints  = "read-points"  // the elements of a file, in one call where there is such a call
	Copy        = "copy"         // the array, decoded and encoded anew, into Target, which has a document and no chunks
	Append      = "append"       // Count planes along the first axis, one by one, to Target
	Open        = "open"         // opening the array and reading its last element, again and again for Least seconds
	Members     = "members"      // opening a group and all of its arrays, in the same way
)

// Least is how many seconds work that is short is repeated for; what is reported is the
// mean.
const Least = 0.2

// Request is the work of a program. Stores are folders or URLs, the other names those of
// files.
type Request struct {
	Work   string `json:"work"`
	Store  string `json:"store,omitempty"`
	Target string `json:"target,omitempty"`
	// Regions and Points are files of 64-bit integers in little endian: for a box the
	// first element of every axis and then the one behind the last, for a point its index
	// along every axis.
	Regions string `json:"regions,omitempty"`
	Points  string `json:"points,omitempty"`
	Rank    int    `json:"rank,omitempty"`
	// Concurrency is how many regions are worked on at a time, and for work without
	// regions how many requests there may be; 0 leaves it to the program.
	Concurrency int `json:"concurrency,omitempty"`
	Count       int `json:"count,omitempty"`
	// Check is how many bytes of every region are added to the checksum; 0 is all of
	// them.
	Check int64 `json:"check,omitempty"`
	// Sync asks that everything is durable when the work is done: a program whose library
	// cannot do it syncs all files itself.
	Sync bool `json:"sync,omitempty"`
	// Budget, IndexCache and Gap are for Varve alone: [varve.dev/zarr.Options] and
	// [varve.dev/zarr.Shards].
	Budget     int64 `json:"budget,omitempty"`
	IndexCache int64 `json:"index_cache,omitempty"`
	Gap        int64 `json:"gap,omitempty"`
	// Pipeline is for zarr-python alone: "fused" is its other pipeline of codecs.
	Pipeline string `json:"pipeline,omitempty"`
}

// Answer is what a program found.
type Answer struct {
	Seconds  float64 `json:"seconds"`            // of the work, from opening the store
	CPU      float64 `json:"cpu"`                // seconds of all cores in that time
	Bytes    int64   `json:"bytes"`              // of elements that were read or written
	Checksum string  `json:"checksum,omitempty"` // [Sum] of what was read
	Checking float64 `json:"checking,omitempty"` // seconds that the checksum took behind the work
	// Unsupported says why this program cannot do the work at all; nothing else is set
	// then.
	Unsupported string `json:"unsupported,omitempty"`
}

// Parse reads the request that a program was started with.
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
