// SPDX-License-Identifier: Apache-2.0

// Package icechunk opens repositories of Icechunk: arrays with branches, tags and a
// history of commits, as the Icechunk specification, versions 1 and 2, describes them.
// Importing it lets every function that opens a location read them:
//
//	import _ "varve.dev/zarr/icechunk"
//
//	a, err := zarr.OpenArray(ctx, "icechunk+s3://bucket/repo@main/t2m", nil)
//
// # Locations
//
// A location is that of the repository with "icechunk+" before it, then @ with what to
// open, then the path of the node:
//
//	icechunk+s3://bucket/repo@main/t2m      the branch main as it is now
//	icechunk+file:///data/repo@tag:v1/t2m   the tag v1
//	icechunk+gs://bucket/repo@1CECHNKREP0F1RSTCMT0
//	icechunk+s3://bucket/repo@2026-01-01T12:00:00Z?endpoint=http://127.0.0.1:9000
//	icechunk+https://data.example/repo      the branch main
//
// The first @ of the path divides it. An @ in the path of the repository is written %40.
// What follows is a branch, a snapshot, or a time in UTC: then it is the last snapshot of
// the branch main that is not younger. Where a name could be several of these, write what
// it is: branch:NAME, tag:NAME, snapshot:ID or time:TIME. Names are percent-encoded: a
// branch a/b is @a%2Fb. Options of the store, such as an endpoint, come at the end.
//
// # Snapshots
//
// A [Snapshot] is a store that never changes: its keys are zarr.json and the chunks of
// each node. A [Repository] lists branches, tags and commits.
package icechunk
