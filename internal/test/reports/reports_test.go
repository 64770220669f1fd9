// SPDX-License-Identifier: Apache-2.0

// Package reports tests what reports say of themselves.
package reports

import (
	"errors"
	"fmt"
	"testing"

	"varve.dev/zarr/check"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/check/diff"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/filter"
	"varve.dev/zarr/pyramid"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/transfer"
)

// TestReports checks the texts of reports with and without content.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		report fmt.Stringer
		want   string
	}{
		{&rechunk.Report{}, "nothing has changed: the array has the wanted chunks"},
		{&rechunk.Report{Changed: true}, "only the metadata has changed"},
		{
			&rechunk.Report{Changed: true, Policy: "it keeps its policy", Staged: rechunk.Counts{Cloned: 1, Encoded: 1200, BytesCopied: 5, BytesDecoded: 2048}},
			"1 chunk copied, 1,200 chunks encoded, 5 bytes copied, 2.0 KiB decoded; it keeps its policy",
		},
		{&rechunk.Plan{Operation: "compact"}, "compact: nothing to do: the array has the wanted chunks"},
		{&rechunk.Plan{Operation: "drop", Changes: true, Policy: "it keeps its policy"}, "drop: only the metadata changes; it keeps its policy"},
		{&rechunk.Plan{Operation: "rechunk", Changes: true, Counts: rechunk.Counts{Encoded: 2, BytesDecoded: 3}}, "rechunk: 2 chunks encoded, 3 bytes decoded"},
		{&rechunk.Inspection{}, "no superseded grids"},
		{&rechunk.Inspection{Superseded: 2, Unfinished: "a compact was stopped"}, "2 superseded grids; a compact was stopped"},
		{&rechunk.VacuumReport{}, "nothing to delete"},
		{&rechunk.VacuumReport{Items: []rechunk.VacuumItem{{Values: 2, Bytes: 10}, {Values: 1, Kept: "its grace runs"}}}, "2 values deleted, 10 bytes freed, 1 value kept"},
		{transfer.Report{Arrays: 1, Groups: 2, Values: 3, Bytes: 1536}, "1 array, 2 groups, 3 values, 1.5 KiB"},
		{transfer.SyncReport{Arrays: 1}, "1 array, 0 groups: nothing to do"},
		{transfer.SyncReport{Arrays: 2, Groups: 1, New: 3, Bytes: 7, Kept: 1, Documents: 2}, "2 arrays, 1 group: 3 new values copied, 7 bytes copied, 1 value kept, 2 documents written"},
		{transfer.Share{Task: 1, Of: 4}, "part 1 of 4"},
		{convert.Conversion{Nodes: make([]convert.Converted, 2), Values: 3, Kept: 1}, "2 nodes, 3 values, 1 value kept"},
		{&check.Report{Checked: check.Counts{Arrays: 1, Chunks: 4, Bytes: 9}}, "no damage in 1 array with 4 stored chunks (9 bytes)"},
		{
			&check.Report{Findings: []check.Finding{{Path: "t", Message: "it is gone"}}, Checked: check.Counts{Arrays: 1, Chunks: 4, Bytes: 9}},
			"1 finding in 1 array with 4 stored chunks (9 bytes)\nt: it is gone",
		},
		{check.Repaired{Path: "t", Message: "a change was finished"}, "t: a change was finished"},
		{check.Repaired{Err: errors.New("no permission")}, "not repaired: no permission"},
		{checksums.Report{Values: 2, Bytes: 3, DANDI: "d-1"}, "2 values, 3 bytes; digest of the DANDI archive: d-1"},
		{checksums.Comparison{Values: 2, Bytes: 3}, "2 values, 3 bytes: all are as listed"},
		{checksums.Comparison{Values: 2, Bytes: 3, Findings: []checksums.Finding{{Key: "c/0", Change: "missing"}}}, "2 values, 3 bytes: 1 difference\nc/0: missing"},
		{&diff.Report{Arrays: 1, Elements: 1000}, "equal: 1 array, 1,000 elements compared"},
		{&diff.Report{Arrays: 1, Differences: []diff.Difference{{Path: "t", Kind: "only-in-a", A: "array"}}}, "1 difference: 1 array, 0 elements compared\nt: only in A: an array"},
		{&filter.Report{Rows: 1000, Kept: 10, Counts: filter.Counts{Copied: 1, Dropped: 2}}, "10 of 1,000 rows kept: 1 chunk copied, 2 chunks left out"},
		{&filter.Plan{Rows: 5, Kept: 1}, "1 of 5 rows kept: no chunks"},
		{&pyramid.Plan{Array: "image", Method: pyramid.Mean, Levels: []pyramid.Level{{Made: 2}, {Made: 1}}, BytesRead: 4}, "2 levels of image (mean): 3 tiles made, 4 bytes read"},
	} {
		if got := c.report.String(); got != c.want {
			t.Errorf("%T says %q, want %q", c.report, got, c.want)
		}
	}
}
