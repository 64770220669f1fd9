// SPDX-License-Identifier: Apache-2.0

package job

import (
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/virtual"
)

// Result is what a plan has made. Which member is set depends on the operation.
type Result struct {
	// Arrays are the reports of rechunks, in the order of [Plan.Arrays]. They are nil
	// for arrays that have the wanted grid already.
	Arrays []*rechunk.Report
	// Copy, Conversion and Check are the reports of these operations.
	Copy       *rewrite.SyncReport
	Conversion *rewrite.Conversion
	Check      *Checked
	// Manifest is that of a scan.
	Manifest *Manifest
}

// Manifest is a manifest that was made, and what was found in the files.
type Manifest struct {
	*virtual.Manifest
	// Files is the number of files that were added, and Kept is how many of them tasks
	// have scanned.
	Files, Kept int
	// Refused are what was left out, by files.
	Refused []RefusedPart
	// Notes say what users should know. Summary is shorter ([virtual.Joined.Summary]).
	Notes, Summary []string
}

// RefusedPart is an array, or another part of a file, that was left out.
type RefusedPart struct {
	File, Path string
	Err        error
	Array      bool // as in [virtual.Refusal]
}
