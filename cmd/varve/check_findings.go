// SPDX-License-Identifier: Apache-2.0

package main

import (
	"varve.dev/zarr/check"
	"varve.dev/zarr/cmd/varve/internal/failure"
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

// findingsOf describes findings about nodes below a location. unproven has the reasons
// why shards were not repaired, by their keys.
func findingsOf(location string, found []check.Finding, unproven map[string]string) []finding {
	list := make([]finding, len(found)) // programs read a list, never null
	for i, f := range found {
		list[i] = finding{
			Kind: string(f.Kind), Path: pathBelow(location, f.Path), Key: output.Present(f.Key), Chunk: f.Chunk,
			Message: failure.Remedied(f.Message), Repair: failure.Remedied(f.Repair),
		}
		if f.Kind == differ { // the text names the group
			list[i].Path, list[i].Message = location, failure.Remedied(f.String())
		}
		if f.Err != nil {
			list[i].Message = failure.OneLine(f.Err)
		}
		if why, tried := unproven[f.Key]; tried {
			list[i].Repair = why + "; restore the value from a copy, or write the elements of the chunk again"
		}
	}
	return list
}

// checkedCounts counts what a check looked at.
type checkedCounts struct {
	Arrays int64 `json:"arrays"`
	Chunks int64 `json:"chunks"`
	Inner  int64 `json:"inner_chunks"`
	Bytes  int64 `json:"bytes"`
}

func newCheckedCounts(c check.Counts) *checkedCounts {
	return &checkedCounts{c.Arrays, c.Chunks, c.Inner, c.Bytes}
}
