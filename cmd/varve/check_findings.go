// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"varve.dev/zarr/cmd/varve/internal/output"
)

// finding is one finding of a check, whatever it is about.
type finding struct {
	Kind    string  `json:"kind"`
	Path    string  `json:"path"` // of the node, as a location
	Key     *string `json:"key"`  // in the store; null unless the finding is about one value
	Chunk   []int64 `json:"chunk"`
	Message string  `json:"message"`
	Repair  string  `json:"repair"`
}

// checkedCounts counts what a check looked at.
type checkedCounts struct {
	Arrays int64 `json:"arrays"`
	Chunks int64 `json:"chunks"`
	Inner  int64 `json:"inner_chunks"`
	Bytes  int64 `json:"bytes"`
}

// What to do about findings.
const (
	repairMissing = "write the elements of the chunk, or leave it if they are the fill value"
	repairDamage  = "restore the value from a copy, or write the elements of the chunk again"
	repairShared  = "write the elements of the chunk again; varve export reads those that are sound"
	repairNode    = "restore the document from a copy"
	repairTimes   = "varve drop takes a repeated range out of all arrays of the group"
	repairLengths = "append to the shorter arrays, or resize the longer ones"
	repairPending = "varve check --repair finishes the change"
	repairStale   = "varve check --repair, or varve consolidate"
	repairGone    = "restore the documents of the nodes that are gone from the copy, or let varve consolidate forget them"
)

// list returns the findings about an array, one for each that changes the status.
func (c *findings) list() []finding {
	list := []finding{} // programs read a list, never null
	if c.Error != nil {
		list = append(list, finding{Kind: "unreadable", Path: c.Path, Message: *c.Error, Repair: repairNode})
	}
	for _, f := range c.Found {
		list = append(list, f.finding(c.Path))
	}
	if more := c.Faults - int64(len(c.Found)); more > 0 {
		list = append(list, finding{Kind: "corrupt", Path: c.Path, Message: fmt.Sprintf("%d more faults", more), Repair: repairDamage})
	}
	if c.times {
		list = append(list, finding{Kind: "unordered", Path: c.Path, Message: *c.Order, Repair: repairTimes})
	}
	if c.Pending.IsFinding() {
		list = append(list, finding{Kind: "unfinished", Path: c.Path, Message: c.Pending.Text(), Repair: repairPending})
	}
	return append(list, c.replaced...)
}

// finding returns a fault as a finding about the node at a location.
func (f faultFact) finding(location string) finding {
	one := finding{Path: location, Key: output.Present(f.Key), Chunk: f.Chunk, Message: f.Message, Repair: repairDamage}
	switch {
	case f.Kind == nil:
		one.Kind, one.Repair = "shared", repairShared
	case *f.Kind == "not-found":
		one.Kind, one.Repair = "missing", repairMissing
	default:
		one.Kind = *f.Kind
	}
	return one
}

// list returns the findings about a group and all nodes below it.
func (g *groupFindings) list() []finding {
	list := []finding{}
	for _, c := range g.Arrays {
		list = append(list, c.list()...)
	}
	for _, text := range g.Differ {
		list = append(list, finding{Kind: "dimensions", Path: g.Path, Message: text, Repair: repairLengths})
	}
	for _, f := range g.Stale {
		stale := finding{Kind: "stale", Path: f.Path, Message: f.StaleText(), Repair: repairStale}
		if len(f.Gone) > 0 {
			stale.Repair = repairGone
		}
		list = append(list, stale)
	}
	return list
}
