// SPDX-License-Identifier: Apache-2.0

// Package check looks for damage in whole stores, and repairs what it can without losing
// data.
//
// [Run] checks an array, or all arrays below a group:
//
//	n, err := zarr.Open(ctx, "era5.zarr", nil)
//	if err != nil {
//		return err
//	}
//	defer n.Close()
//	report, err := check.Run(ctx, n, nil)
//	if err != nil {
//		return err
//	}
//	for _, f := range report.Findings {
//		log.Print(f)
//	}
//
// Every stored chunk is read and decoded. In a shard, every inner chunk must lie within
// the shard, must share no bytes with another one, and must decode. These are findings,
// too: consolidated metadata that another program has left stale, dimensions along which
// the arrays of a group differ in length, times that run backwards or repeat, changes of
// several arrays that a crashed writer has left, and documents that another program has
// put back after a rechunk.
//
// Several processes can check one store: [RunPart] reads a share of the chunks.
//
// Run changes nothing. [Repair] does, where that cannot lose data. Without a checksum in
// the codecs, wrong values may go unnoticed.
package check

import (
	"context"
	"fmt"

	"varve.dev/zarr"
)

// Options are the options of [Run] and [RunPart]. A nil *Options is the zero value.
type Options struct {
	// Fast checks only sizes and the indexes of shards; see
	// [zarr.CheckOptions.IndexOnly].
	Fast bool
	// Sample is the part of the stored chunks that is checked, chosen at random: 0.01 for
	// one of a hundred. 0 means all.
	Sample float64
	// Complete makes every chunk that is not stored a finding. It is for arrays whose
	// chunks are all stored. Usually chunks that hold only the fill value are not.
	Complete bool
	// MostFaults bounds the faults that are listed for each array. All are counted. 0 is
	// 1,000.
	MostFaults int
	// Parts, if there are any, are the results of all parts that [RunPart] has checked,
	// in any order. [Run] takes from them what they have found in the chunks. It does the
	// rest of the check, which reads only the chunks of coordinates. Of two results of
	// one part the last one counts. Run checks an array whole if its document has changed
	// since a part was made, or if a part has not seen it. Fast and Complete must be
	// those of the parts, and Sample 0.
	Parts []*Part
	// Progress, if not nil, is called when the check of an array begins, with done 0, and
	// after each of its chunks, one call at a time. The path is relative to the checked
	// node. total is the number of chunks that the array may have, or of those of a
	// sample; fewer may be stored.
	// [Run] calls it only at the beginning for an array that it takes from Parts. In
	// [RunPart], total is the number of chunks in the share.
	Progress func(path string, done, total int64)

	parts parts
}

// orDefault returns the options with their defaults.
func (o *Options) orDefault() Options {
	if o == nil {
		o = &Options{}
	}
	all := *o
	if all.MostFaults <= 0 {
		all.MostFaults = mostFaults
	}
	if all.Progress == nil {
		all.Progress = func(string, int64, int64) {}
	}
	return all
}

// mostFaults is the default of [Options.MostFaults].
const mostFaults = 1000

// Run looks for damage in an array, or in all arrays below a group, including those that
// stale consolidated metadata does not list.
//
// Damage is part of the report, not an error. Chunks and coordinates that cannot be read
// are findings; after more than 100 such chunks in a row the check of an array ends. An
// array that cannot be checked is an error if it is n itself, and a finding below a
// group. If a group cannot be listed completely, Run returns both a report on the rest
// and an error. If the context ends, there is no report. If n is nil, or if
// [Options.Parts] are not all parts of one check, the error wraps
// [zarr.ErrInvalidArgument] and names a part that is missing.
func Run(ctx context.Context, n zarr.Node, opt *Options) (*Report, error) {
	o := opt.orDefault()
	if err := o.gather(); err != nil {
		return nil, err
	}
	var report *Report
	var err error
	switch n := n.(type) {
	case *zarr.Array:
		report, err = o.runArray(ctx, n)
	case *zarr.Group:
		report, err = o.runGroup(ctx, n)
	default:
		err = noNode(n)
	}
	if report == nil {
		return nil, err
	}
	report.sum()
	return report, err
}

// noNode is the error for a node that is neither an array nor a group.
func noNode(n zarr.Node) error {
	return fmt.Errorf("%w: %T is neither an array nor a group that is open", zarr.ErrInvalidArgument, n)
}

// runArray checks one array.
func (o *Options) runArray(ctx context.Context, a *zarr.Array) (*Report, error) {
	found, err := o.array(ctx, "", a)
	if err != nil {
		return nil, err
	}
	report := &Report{Arrays: []*Array{found}}
	report.Temporary, err = Temporary(ctx, a)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report, err
}
