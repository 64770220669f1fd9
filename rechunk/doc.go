// SPDX-License-Identifier: Apache-2.0

// Package rechunk gives a living array another chunk grid. Readers and writers use the
// array meanwhile, and never see a part of the change.
//
//	report, err := rechunk.Do(ctx, a, rechunk.Compaction{Axis: 0, UpTo: 365}, nil)
//
// A [Request] says what is wanted: a [Compaction] merges neighbouring chunks, a
// [Regularization] gives all chunks one shape, and a [Rechunking] cuts the array in any
// other way. A [Removal] and an [Insertion] take planes out and put planes in. [NewPlan]
// predicts what a request does and costs, without changing anything. [Do] executes a
// request, and [DoAll] executes those of several arrays in one transaction.
//
// # Protocol
//
// Chunk keys are positions in a grid, so a new grid gives old keys new meanings. But the
// core specification has several encodings of keys, which have no key in common. A
// rechunk stores the new chunks under another encoding, and overwrites no stored chunk:
//
//  1. Claim the array, with a key encoding that no chunk uses ([ErrClaimed] tells of
//     another rechunk).
//  2. Stage: store all chunks of the new grid under their keys. Chunks that do not change
//     are linked or copied by the store, and shards are put together from encoded inner
//     chunks. All others are decoded and encoded again. Each staged chunk has a record
//     of the versions that it was made from.
//  3. Take the lock of the array, or raise the fence in a store without locks, and give
//     the document a new version, which warns writers. Compare the records with what is
//     stored now, and stage again what has changed. If the array has grown or shrunk
//     meanwhile, the new grid is computed again from the request.
//  4. Publish the new grid and its key encoding by one conditional write of the document.
//  5. Refresh consolidated metadata, and note when the old grid was superseded.
//
// A crash before step 4 leaves the old array; another call with the same request resumes
// the work. After step 4 the array has the new grid. Readers that opened it before read
// the old chunks, which [Vacuum] deletes when their grace is over.
// Until then [Revert] publishes the old grid again.
//
// Writers of a region take no lock. They look at the document when they have stored their
// chunks. If it was rechunked meanwhile they write again, to the new grid; if they see
// the warning of step 3 they wait for the lock, or make step 4 fail.
//
// Where a new chunk takes parts of many old ones, step 2 has stages: each writes scratch
// objects that the next one reads, and the last one writes the chunks. Several processes
// can execute parts of the stages, and one of them takes the other steps. The programs
// varve and varve-beam do so.
//
// With [Options.Into] the result is a new array, and the old one stays.
package rechunk
