// SPDX-License-Identifier: Apache-2.0

package check

import (
	"varve.dev/zarr/check/consolidation"
	"varve.dev/zarr/store/filestore"
)

// Report is the result of a check.
type Report struct {
	// Findings are what should be acted upon, one by one. If there are none, no damage
	// was found.
	Findings []Finding
	// Checked are sums over all arrays.
	Checked Counts
	// Arrays are the results for the single arrays, in the order of their paths.
	Arrays []*Array
	// Stale are the groups with stale consolidated metadata. Each is a finding.
	Stale []Stale
	// Temporary are the temporary files at and below the node. They belong to a write in
	// progress or to a crashed writer, and are no damage.
	Temporary []filestore.Temporary

	lengths []lengths
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
	Damaged int64 // stored chunks with faults
	Missing int64 // chunks that are not stored, with [Options.Complete]
	// Unchecked are the arrays that cannot be opened or read.
	Unchecked int64
}

// Stale is a group with stale consolidated metadata.
type Stale struct {
	Path string // of the group, relative to the checked node
	*consolidation.Drift
}

// sum fills in the findings and the counts.
func (r *Report) sum() {
	for _, a := range r.Arrays {
		r.Findings = append(r.Findings, a.Findings()...)
		r.Checked.add(a.Counts)
	}
	for _, l := range r.lengths {
		r.Findings = append(r.Findings, Finding{Kind: Dimensions, Path: l.path, Message: l.text, Repair: repairLengths})
	}
	for _, s := range r.Stale {
		r.Findings = append(r.Findings, s.finding())
	}
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
	c.Missing += of.Missing
	c.Unchecked += of.Unchecked
}
