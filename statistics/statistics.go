// SPDX-License-Identifier: Apache-2.0

// Package statistics keeps beside an array what each of its stored chunks holds: the
// least and the largest number, and how many elements are missing or equal the fill
// value. Of an array with shards, each inner chunk has an entry. Where package filter
// finds entries, it reads only the chunks that can match.
//
//	report, err := statistics.Make(ctx, a, nil)
//	if err != nil {
//		return err
//	}
//	log.Printf("%d of %d chunks were read", report.Read, report.Chunks)
//
// An entry names the version of the chunk, its place, and the meaning of its bytes. Once
// any program has written the chunk, changed the grid or made other elements missing, the
// entry counts no more: it is unknown, and never wrong. [Make] reads such chunks again,
// and no others.
//
// A program that imports this package keeps entries in step: calls that store chunks of
// an array that has entries, or for which [Make] was called before it had chunks, note
// what these hold. Entries are stored at the end of each call, after the chunks, and no
// call fails because they cannot be.
//
// The entries are an array of Zarr in the directory of the array, which no reader of the
// array looks at. docs/statistics.md describes them for other programs.
package statistics

import (
	"context"
	"iter"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/staging"
	kept "varve.dev/zarr/internal/statistics"
)

// Options are the options of [Make]. A nil *Options is the zero value.
type Options struct {
	// DryRun reads entries only, and counts the chunks that would be read.
	DryRun bool
	// Discard keeps nothing. The report has the numbers all the same, so the array need
	// not be open for writing.
	Discard bool
	// Memory bounds the bytes of elements that are held at once. A single chunk may need
	// more. 0 is 512 MiB, or a quarter of the memory limit of the process if that is
	// less.
	Memory int64
	// Progress, if not nil, is called after chunks were read, one call at a time.
	Progress func(done, total int64)
}

// Summary says what some elements have in common.
type Summary struct {
	// Elements is the number of elements.
	Elements int64
	// Minimum and Maximum are stored elements, before scale and offset, in host byte
	// order. They are nil if all elements are missing.
	Minimum, Maximum []byte
	// Missing counts elements that are NaN, NaT or, by the attributes of the array,
	// missing for xarray. Fill counts those that equal the fill value.
	Missing, Fill int64
}

// Report says what [Make] has found and done.
type Report struct {
	Chunks  int64 // that are stored
	Read    int64 // of these, because their entries were absent or did not count any more
	Changed int64 // of these, written meanwhile: they stay unknown until the next call
	Cells   int64 // of the stored chunks: chunks, or inner chunks of shards
	Known   int64 // of these
	// Summary is that of the known cells, and of the elements that are not stored. If
	// Known is Cells, it is that of the array.
	Summary Summary
}

// Make brings the entries of an array up to date. It stores them from time to time, so a
// call after an interrupted one reads the rest. Several calls may run at once.
//
// The array must be open for writing unless DryRun or Discard is set. If its elements
// have no order, or are text, or if its store does not tell versions that change with
// every write, the error wraps [zarr.ErrUnsupported].
func Make(ctx context.Context, a *zarr.Array, opt *Options) (*Report, error) {
	if opt == nil {
		opt = &Options{}
	}
	r, err := kept.Make(ctx, a, &kept.Options{DryRun: opt.DryRun, Discard: opt.Discard, Memory: opt.Memory, Progress: opt.Progress})
	return &Report{r.Chunks, r.Read, r.Changed, r.Cells, r.Known, summaryOf(r.Elements, r.Summary)}, err
}

func summaryOf(n int64, s cf.Summary) Summary {
	return Summary{n, s.Minimum, s.Maximum, s.Missing, s.Fill}
}

// Drop deletes the entries of an array, which must be open for writing. It reports
// whether there were any.
func Drop(ctx context.Context, a *zarr.Array) (found bool, err error) { return kept.Drop(ctx, a) }

// mostBytes bounds the entries that [Known] holds.
const mostBytes = 1 << 30

// Known returns what is known of the chunks, or inner chunks, of an array, by their
// index. It reads no chunk, but lists them. Chunks that are not stored have the fill
// value only, and are not among those that are known. Without entries, or if they take
// more than 1 GiB, nothing is known.
func Known(ctx context.Context, a *zarr.Array) (iter.Seq2[[]int64, Summary], error) {
	e, err := load(ctx, a)
	if err != nil {
		return nil, failure.On(a, "read statistics", err)
	}
	return func(yield func([]int64, Summary) bool) {
		if e == nil {
			return
		}
		for cell := range e.Cells() {
			if s, n, ok := e.Known(cell); ok && !yield(cell, summaryOf(n, s)) {
				return
			}
		}
	}, nil
}

// load reads the entries of the present document. It returns nil if there are none.
func load(ctx context.Context, a *zarr.Array) (*kept.Entries, error) {
	s, err := a.Core().Newest(ctx)
	if err != nil {
		return nil, err
	}
	c, err := cf.ComparerOf(ctx, a)
	if err != nil {
		return nil, err
	}
	listed, err := staging.List(ctx, s)
	if err != nil {
		return nil, err
	}
	return kept.Load(ctx, a, s, c, listed, mostBytes)
}
