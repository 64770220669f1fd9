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
// With [Options.Conventions], so is what breaks the conventions by which other programs
// read documents, such as CF and OME-Zarr.
//
// Several processes can check one store: [RunPart] reads a share of the chunks.
//
// Run changes nothing. [Repair] does, where that cannot lose data. Without a checksum in
// the codecs, wrong values may go unnoticed.
package check

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/conventions"
	"varve.dev/zarr/internal/copying"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/transfer"
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
	Parts [][]byte
	// Conventions are names of conventions, of which the report says what breaks them:
	// "cf", "ome", "geozarr" and "anndata". Elements are read for that unless Fast is
	// set, but only those of coordinates and of the codes of categories.
	Conventions []string
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
// group, as a folder that may not be read is. If a group cannot be listed completely, Run
// returns both a report on the rest and an error. If the context ends, there is no
// report. If n is nil, or if [Options.Parts] are not all parts of one check, the error
// wraps [zarr.ErrInvalidArgument] and names a part that is missing.
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
	t, err := conventions.New(o.Conventions, a, !o.Fast)
	if err != nil {
		return nil, err
	}
	found, err := o.array(ctx, "", a)
	if err != nil {
		return nil, err
	}
	t.Add("", a, found.Disorder)
	report := &Report{Arrays: []*Array{found}}
	err = errors.Join(report.findTemporary(ctx, a), report.addConventions(ctx, t))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return report, err
}

// Report is the result of a check.
type Report struct {
	// Findings are what should be acted upon, one by one. If there are none, no damage
	// was found.
	Findings []Finding
	// Advice are what conventions recommend and the nodes have not. They are no damage.
	Advice []Finding
	// Checked are sums over all arrays.
	Checked Counts
	// Arrays are the results for the single arrays, in the order of their paths.
	Arrays []*Array
	// Stale are the groups with stale consolidated metadata. Each is a finding.
	Stale []Stale
	// Temporary are the temporary files at and below the node. They belong to a write in
	// progress or to a crashed writer, and are no damage.
	Temporary []Temporary
	// Remnants are folders with chunks or nodes that no document describes. They are no
	// findings, because some commands store documents last.
	Remnants []Remnant

	lengths []lengths
	broken  []Finding // what breaks conventions
}

// String says how much was checked, and has each finding in a line of its own.
func (r *Report) String() string {
	var b strings.Builder
	found := "no damage"
	if n := len(r.Findings); n > 0 {
		found = quantity.Of(int64(n), "finding")
	}
	fmt.Fprintf(&b, "%s in %s with %s (%s)", found, quantity.Of(r.Checked.Arrays, "array"), quantity.Of(r.Checked.Chunks, "stored chunk"), quantity.Bytes(r.Checked.Bytes))
	for _, f := range r.Findings {
		b.WriteString("\n" + f.String())
	}
	return b.String()
}

// Temporary is a temporary file. Its writer is either writing it or has crashed.
type Temporary struct {
	Name     string // in the store, with '/' on every platform
	Size     int64  // bytes
	Modified time.Time
	Left     bool // its writer is known to have ended, so the next writer removes it
}

// lengths says in what dimension the arrays directly below a group differ.
type lengths struct{ path, text string }

// Counts are numbers of what was checked.
type Counts struct {
	Arrays int64
	Chunks int64 // stored chunks, or shards
	Inner  int64 // stored inner chunks
	Bytes  int64 // of stored chunks
	Dead   int64 // bytes of shards that belong to no inner chunk
	// Faults are damaged chunks, inner chunks and indexes, and missing chunks.
	Faults  int64
	Damaged int64 // stored chunks with faults that are damage
	// Unread are stored chunks that could not be checked, and count as no fault: the
	// reader has no permission, or the chunk exceeds a limit.
	Unread  int64
	Missing int64 // chunks that are not stored, with [Options.Complete]
	// Unchecked are the arrays that cannot be opened or read.
	Unchecked int64
}

// Stale is a group with stale consolidated metadata.
type Stale struct {
	Path string // of the group, relative to the checked node
	// Nodes is the number of nodes below the group. New are the paths of those that the
	// metadata lacks, Changed of those that it describes otherwise, and Gone of those
	// that only the metadata has. Paths are relative to the group.
	Nodes              int
	New, Changed, Gone []string
}

// drift returns the difference.
func (s *Stale) drift() *consolidation.Drift {
	return &consolidation.Drift{Consolidated: true, Nodes: s.Nodes, New: s.New, Changed: s.Changed, Gone: s.Gone}
}

// sum fills in the findings and the counts.
func (r *Report) sum() {
	for _, a := range r.Arrays {
		r.Findings = append(r.Findings, a.Findings()...)
		r.Checked.add(a.Counts)
	}
	for _, l := range r.lengths {
		r.Findings = append(r.Findings, Finding{Kind: kindDimensions, Path: l.path, Message: l.text, Repair: repairLengths})
	}
	for _, s := range r.Stale {
		r.Findings = append(r.Findings, s.finding())
	}
	r.Findings = append(r.Findings, r.broken...)
}

// add adds the counts of another array.
func (c *Counts) add(of Counts) {
	c.Arrays += of.Arrays
	c.Chunks += of.Chunks
	c.Inner += of.Inner
	c.Bytes += of.Bytes
	c.Dead += of.Dead
	c.Faults += of.Faults
	c.Damaged += of.Damaged
	c.Unread += of.Unread
	c.Missing += of.Missing
	c.Unchecked += of.Unchecked
}

// share is a part of the chunks.
//
// Which part gets the first range of an array depends on the path of the array, so that
// many small arrays spread over the parts.
type share transfer.Share

// valid returns an error unless the share is one of its parts.
func (s share) valid() error { return copying.CheckShare(s.Task, s.Of) }

// portion is the range of the chunks of one array that belongs to a share.
type portion struct {
	from, to int64 // numbers of chunks; both are 0 for all chunks
	size     int64 // number of chunks
	all      int64 // number of chunks of the array
}

// of returns the portion of an array. path is relative to the checked node.
func (s share) of(path string, g *grid.Grid) portion {
	n, numbered := g.NumChunks()
	if !numbered {
		n = 1 // one range has all chunks, because they have no numbers
	}
	p := portion{all: n}
	place := s.place(path)
	p.from, p.to = bound(n, place, s.Of), bound(n, place+1, s.Of)
	if p.size = p.to - p.from; !numbered {
		p.from, p.to = 0, 0
	}
	return p
}

// place returns which of the ranges of an array belongs to the share.
func (s share) place(path string) int64 {
	sum := sha256.Sum256([]byte(path))
	turn := int64(binary.BigEndian.Uint64(sum[:8]) % uint64(s.Of))
	if s.Task < turn {
		return s.Task + (s.Of - turn)
	}
	return s.Task - turn
}

// bound returns n*k/of, rounded up. k is at most of.
func bound(n, k, of int64) int64 {
	hi, lo := bits.Mul64(uint64(n), uint64(k))
	lo, carry := bits.Add64(lo, uint64(of)-1, 0)
	q, _ := bits.Div64(hi+carry, lo, uint64(of))
	return int64(q)
}
