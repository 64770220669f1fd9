// SPDX-License-Identifier: Apache-2.0

// Package cost says what a plan takes: memory, space, time, and money for requests.
package cost

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime/debug"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/localfile"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/trial"
	"varve.dev/zarr/rechunk"
)

// Expected has the flags that ask how long a plan takes.
type Expected struct {
	workers  int
	from     string          // the file of --measured
	measured *trial.Measured // nil if nothing is asked
}

// Flags adds the flags --measured and --workers.
func (e *Expected) Flags(c *cobra.Command) {
	c.Flags().StringVar(&e.from, "measured", "", "say how long the plan takes, given a `FILE` of varve bench")
	c.Flags().IntVar(&e.workers, "workers", 1, "with --measured, `N` machines such as the measured one share the tasks")
}

// Read reads the file of --measured, if it is given.
func (e *Expected) Read(cmd *cobra.Command) error {
	switch {
	case e.from == "" && cmd.Flags().Changed("workers"):
		return failure.BadUsage("--workers needs --measured: varve bench --json measures how fast a machine is")
	case e.from == "":
		return nil
	case e.workers < 1:
		return failure.BadUsage("--workers %d: want at least 1", e.workers)
	}
	raw, err := localfile.ReadAll(cmd, e.from)
	if err != nil {
		return err
	}
	m := new(trial.Measured)
	if err := json.Unmarshal(raw, m); err != nil {
		return failure.BadArgument("--measured %s is no result of varve bench --json: %w", e.from, err)
	}
	if len(m.Rounds) == 0 || m.Raw.Rate <= 0 || m.Rounds[len(m.Rounds)-1].Rate <= 0 {
		return failure.BadArgument("--measured %s is no result of varve bench --json", e.from)
	}
	e.measured = m
	return nil
}

// Estimate is how long the tasks of a plan take. The seconds of its parts are those of
// all workers together.
type Estimate struct {
	Workers int     `json:"workers"`
	Seconds float64 `json:"seconds"`
	Read    float64 `json:"seconds_read"`   // reading and decoding
	Encode  float64 `json:"seconds_encode"` // encoding; 0 if it was not measured
	Copy    float64 `json:"seconds_copy"`   // encoded chunks and scratch, at the rate of raw reads
}

// Of returns how long a plan takes, or nil if nobody asked. Workers are taken to be busy
// all the time and not to slow each other down. Scratch is written and read.
func (e *Expected) Of(plan *rechunk.Plan) *Estimate {
	m := e.measured
	if m == nil {
		return nil
	}
	t := &Estimate{Workers: e.workers}
	t.Read = float64(plan.BytesDecoded) / m.Rounds[len(m.Rounds)-1].Rate
	if m.Encoding != nil && m.Encoding.Rate > 0 {
		t.Encode = float64(plan.BytesEncoded) / m.Encoding.Rate
	}
	t.Copy = float64(2*plan.BytesCopied+2*plan.BytesScratch) / m.Raw.Rate
	// At most as many workers are busy as the largest stage has tasks.
	most := int64(1)
	for _, s := range plan.Stages {
		most = max(most, s.Tasks)
	}
	t.Seconds = (t.Read + t.Encode + t.Copy) / float64(min(int64(e.workers), most))
	return t
}

// Print prints how long a plan takes.
func (t *Estimate) Print(cmd *cobra.Command) error {
	if t == nil || session.WantsJSON(cmd) {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "  time: at least %s with %d busy workers like the measured one (%s of reading and decoding, %s of encoding, %s of copying)\n",
		phrase.Seconds(t.Seconds), t.Workers, phrase.Seconds(t.Read), phrase.Seconds(t.Encode), phrase.Seconds(t.Copy))
	return err
}

// SpaceOf adds the space that several plans take in one store.
func SpaceOf(plans ...*rechunk.Plan) (all rechunk.Space) {
	for _, p := range plans {
		all.Least, all.Likely, all.Free = all.Least+p.Space.Least, all.Likely+p.Space.Likely, p.Space.Free
	}
	return all
}

// WarnOfSpace tells if a store has probably too little room. The library refuses what
// certainly does not fit.
func WarnOfSpace(cmd *cobra.Command, location string, s rechunk.Space) {
	if s.Free < 0 || s.Likely <= s.Free {
		return
	}
	session.Note(cmd, location, fmt.Sprintf("about %s are needed, and only %s are free: varve vacuum may free some", phrase.Bytes(s.Likely), phrase.Bytes(s.Free)))
}

// PrintSpace prints what a plan takes.
func PrintSpace(w io.Writer, s rechunk.Space) (err error) {
	switch {
	case s.Free >= 0:
		_, err = fmt.Fprintf(w, "  about %s to store, %s free\n", phrase.Bytes(s.Likely), phrase.Bytes(s.Free))
	default:
		_, err = fmt.Fprintf(w, "  about %s to store\n", phrase.Bytes(s.Likely))
	}
	return err
}

// Overhead is what a process needs beside elements and chunks, in bytes: the program, its
// stacks, and what is neither.
const Overhead = 16 << 20

// Least is the smallest bound that [LimitHeap] uses.
const Least = 64 << 20

// LimitHeap makes the garbage collector keep the process near a bound on elements and
// chunks, where it would else let the heap grow to twice what is in use. A limit from the
// environment (GOMEMLIMIT) stays. The caller calls restore at the end.
func LimitHeap(memory int64) (restore func()) {
	was := debug.SetMemoryLimit(-1)
	if was != math.MaxInt64 || memory > math.MaxInt64-Overhead {
		return func() {}
	}
	debug.SetMemoryLimit(max(Least, memory) + Overhead)
	return func() { debug.SetMemoryLimit(was) }
}
