// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/place"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/source"
	"varve.dev/zarr/cmd/varve/internal/trial"
	"varve.dev/zarr/cmd/varve/internal/usage"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/observe"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

func newBenchCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "bench NODE",
		Short: "Measure how fast an array is read on this machine, and name the bottleneck",
		Long: `Measure how fast an array is read on this machine, and name the bottleneck.

The beginning of the array, or of --select, is read repeatedly, as much of it as fits the time of a round. The first
rounds have 1, 2, 4 and more chunks in flight on as many processors; the last round has the settings of all other
commands. The elements are read in slabs of at most 128 MiB or one chunk. The same requests are also repeated without
decoding ("raw"), which gives the speed of the store, and some chunks are encoded again in memory ("encoding"). A first
round is not counted, so files that fit into the page cache are read from there.

With --json in a file, the commands that write plans say how long a plan takes, such as varve rechunk --measured.

Times in I/O and in codecs are sums over all goroutines, so they can exceed the elapsed time.`,
		Example: `  varve bench era5.zarr/t2m
  varve bench https://example.org/era5.zarr/t2m --select time=0:24 --seconds 20 --json`,
		Args:              usage.Arguments("NODE"),
		ValidArgsFunction: node.Complete,
	}
	sel := source.SelectionFlag(c)
	seconds := c.Flags().Float64("seconds", 5, "measure for about `N` seconds; every round reads at least one slab")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if !(*seconds > 0 && *seconds <= 3600) {
			return failure.BadUsage("--seconds must be more than 0 and at most 3600")
		}
		return bench(cmd, args[0], *sel, time.Duration(*seconds*float64(time.Second)))
	}
	return c
}

// readTrial measures repeated reads of a part of an array.
type readTrial struct {
	hierarchy *zarr.Location // on the store noted
	noted     *trial.Recorder
	path      string
	sel       string
	options   zarr.Options

	share time.Duration // the time of one round
	slabs []slab
	shape []int64
	typ   string
}

// slab is what one call reads.
type slab struct {
	part   *selection.Resolved
	chunks int64 // chunks that it touches
}

func bench(cmd *cobra.Command, location, sel string, all time.Duration) (err error) {
	ctx := cmd.Context()
	at, err := zarr.Locate(ctx, location, store.ReadOnly)
	if err != nil {
		return err
	}
	defer node.Close(at)
	noted := &trial.Recorder{Store: at.Store()}
	t := &readTrial{hierarchy: zarr.At(noted, ""), noted: noted, path: at.Path(), sel: sel, options: *session.Reading(cmd)}
	t.options.Observer = nil // the observer of --stats would slow the reads down
	// A round changes GOMAXPROCS, so read it before the first one.
	levels := levelsOf(runtime.GOMAXPROCS(0))
	// One share for each level, and one each for the warm-up, the raw round and encoding.
	t.share = all / time.Duration(len(levels)+3)
	r, err := t.run(ctx, levels)
	if err != nil {
		return place.Named(cmd.Name(), location, at, err)
	}
	r.Path = location
	if session.WantsJSON(cmd) {
		return session.PrintJSON(cmd, r)
	}
	return session.Print(cmd, r.Print)
}

// run measures all levels.
func (t *readTrial) run(ctx context.Context, levels []level) (*trial.Measured, error) {
	// The warm-up fills the page cache, so that all measured rounds start alike.
	if err := t.warm(ctx); err != nil {
		return nil, err
	}
	r := &trial.Measured{Shape: t.shape, DataType: t.typ, Slabs: len(t.slabs)}
	for _, s := range t.slabs {
		r.Elements += s.part.Len()
		r.Chunks += s.chunks
	}
	var err error
	if r.Raw, err = t.raw(ctx); err != nil {
		return nil, err
	}
	for _, l := range levels {
		one, err := t.round(ctx, l)
		if err != nil {
			return nil, err
		}
		r.Rounds = append(r.Rounds, one)
	}
	r.Bound, r.Reason = r.Judge()
	r.Encoding, err = t.encoding(ctx)
	return r, err
}

// level is the concurrency of a round.
type level struct {
	inFlight   int // chunks; 0 is the default of the library
	processors int
}

// levelsOf returns the levels to measure on a machine with a number of processors: the
// powers of two below it, all processors, and the defaults of the library.
func levelsOf(processors int) []level {
	var levels []level
	for n := 1; n < processors; n *= 2 {
		levels = append(levels, level{n, n})
	}
	return append(levels, level{processors, processors}, level{0, processors})
}

// inFlight returns the default number of requests or chunks in flight
// (zarr.Options.Concurrency).
func (t *readTrial) inFlight(processors int) int {
	return engine.DefaultConcurrency(t.noted.Store, processors)
}

// open opens the array again, without what an earlier round cached, and binds the
// selection.
func (t *readTrial) open(ctx context.Context, opt zarr.Options) (*export.Source, error) {
	a, err := t.hierarchy.At(t.path).OpenArray(ctx, &opt)
	if err != nil {
		return nil, err
	}
	return source.New(ctx, a, t.sel, false)
}

// warm reads slabs for the time of one round. It records the slabs and their requests.
func (t *readTrial) warm(ctx context.Context) error {
	s, err := t.open(ctx, t.options)
	if err != nil {
		return err
	}
	t.shape, t.typ = s.Shape, s.Type.String()
	slabs, err := s.Array.Slabs(s.Selection, slabFor(s))
	if err != nil {
		return err
	}
	t.noted.Begin()
	defer t.noted.End()
	r, start := s.Reader(), time.Now()
	r.Crowded = true
	for sel := range slabs {
		part, err := s.Array.Select(sel)
		if err != nil {
			return err
		}
		one := slab{part, subset.NewPlan((*subset.Elements)(part), s.Array.Grid()).Chunks()}
		if _, err := r.Read(ctx, part); err != nil {
			return err
		}
		if t.slabs = append(t.slabs, one); time.Since(start) >= t.share || len(t.slabs) == mostSlabs {
			break
		}
	}
	if len(t.slabs) == 0 {
		return failure.BadArgument("there are no elements to read")
	}
	return nil
}

const (
	mostSlabs = 1 << 12
	leastSlab = 16 << 20 // bytes
	mostSlab  = 1 << 30  // bytes, of one chunk

	// mostRequested bounds the chunks of a slab. Every round reads at least one slab,
	// and millions of short or missing chunks would take minutes.
	mostRequested = 1 << 12
)

// slabFor returns the size of a slab in bytes: enough for all processors, but no more
// than other commands read at once, unless one chunk is longer.
func slabFor(s *export.Source) int64 {
	chunk := export.LongestChunk(s.Array.Core().State().Finest(), export.Width(s.Stored))
	most := export.SlabOf(s.Stored)
	// A chunk is decoded whole, so a shorter slab would decode it several times.
	if chunk >= most {
		return min(chunk, mostSlab)
	}
	n := max(leastSlab*most/export.SlabBytes, min(most, 4*int64(runtime.GOMAXPROCS(0))*chunk))
	if outer := export.LongestChunk(s.Array.Grid(), export.Width(s.Stored)); outer < n/mostRequested {
		return outer * mostRequested
	}
	return n
}

// raw repeats the recorded requests for the time of one round, and decodes nothing.
func (t *readTrial) raw(ctx context.Context) (trial.RawRound, error) {
	start := time.Now()
	var r trial.RawRound
	for {
		requests, bytes, err := t.noted.Replay(ctx, t.inFlight(runtime.GOMAXPROCS(0)))
		if err != nil {
			return r, err
		}
		r.Requests += requests
		r.Bytes += bytes
		if r.Seconds = time.Since(start).Seconds(); r.Seconds >= t.share.Seconds() || requests == 0 {
			break
		}
	}
	r.Rate = trial.Rate(r.Bytes, r.Seconds)
	return r, nil
}

// round reads the slabs repeatedly at one level, for the time of one round.
func (t *readTrial) round(ctx context.Context, l level) (trial.Round, error) {
	// The inner call sets the number and returns the old one, which the deferred call
	// restores.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(l.processors))
	counter, opt := new(observe.Counter), t.options
	opt.Concurrency, opt.Observer = l.inFlight, observe.All(counter, t.options.Observer)
	s, err := t.open(ctx, opt)
	if err != nil {
		return trial.Round{}, err
	}
	m := trial.Round{InFlight: l.inFlight, Processors: l.processors, Usual: l.inFlight == 0}
	if m.Usual {
		m.InFlight = t.inFlight(l.processors)
	}
	r, before, start := s.Reader(), counter.Stats(), time.Now()
	r.Crowded = true
	// Read at least one slab, even if that takes longer than the share.
	for i := 0; m.Slabs == 0 || time.Since(start) < t.share; i = (i + 1) % len(t.slabs) {
		one := t.slabs[i]
		e, err := r.Read(ctx, one.part)
		if err != nil {
			return trial.Round{}, err
		}
		m.Slabs++
		m.Bytes += e.Bytes()
		m.Chunks += one.chunks
	}
	m.Seconds = time.Since(start).Seconds()
	m.Stats = counter.Stats().Sub(before)
	m.Finish()
	return m, nil
}

// encoding encodes stored chunks again for the time of one round, one on each processor,
// and keeps the result in memory. It returns nil for elements of variable length, and if
// no chunk is stored.
func (t *readTrial) encoding(ctx context.Context) (*trial.EncodingRound, error) {
	s, err := t.open(ctx, t.options)
	if err != nil || s.Stored.Variable() {
		return nil, err
	}
	chunks, err := samples(ctx, s, runtime.GOMAXPROCS(0))
	if err != nil || len(chunks) == 0 {
		return nil, err
	}
	into, err := zarr.At(memstore.New(), "a").CreateArray(ctx, s.Array.Spec(), &zarr.CreateOptions{Options: t.options})
	if err != nil {
		return nil, err
	}
	r := &trial.EncodingRound{Processors: len(chunks)}
	var mu sync.Mutex // guards r and err
	var all sync.WaitGroup
	start := time.Now()
	for _, c := range chunks {
		all.Go(func() {
			for n := int64(1); ; n++ {
				failed := into.WriteChunk(ctx, c.index, c.data)
				if failed == nil && time.Since(start) < t.share {
					continue
				}
				mu.Lock()
				defer mu.Unlock()
				r.Chunks, r.Bytes = r.Chunks+n, r.Bytes+n*int64(len(c.data))
				if failed != nil {
					err = failed
				}
				return
			}
		})
	}
	all.Wait()
	r.Seconds = time.Since(start).Seconds()
	r.Rate = trial.Rate(r.Bytes, r.Seconds)
	return r, err
}

// sample is a decoded chunk.
type sample struct {
	index []int64
	data  []byte
}

// samples returns stored chunks, at most most of them and mostSlab bytes.
func samples(ctx context.Context, s *export.Source, most int) (list []sample, err error) {
	left := int64(mostSlab)
	longest := export.LongestChunk(s.Array.Grid(), export.Width(s.Stored))
	for index, err := range s.Array.StoredChunks(ctx) {
		if err != nil {
			return nil, err
		}
		if left -= longest; left < 0 || len(list) == most {
			break
		}
		data, err := s.Array.ReadChunk(ctx, index)
		if err != nil {
			return nil, err
		}
		list = append(list, sample{append([]int64{}, index...), data})
	}
	return list, nil
}
