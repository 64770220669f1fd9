// SPDX-License-Identifier: Apache-2.0

// Package staging makes the chunks of a new grid of an array from those of its present
// one. Nobody sees them before a document describes them.
//
// A [Job] relates the two grids. It says which chunks of the source a chunk of the target
// takes its elements from, and whether these can be copied as they are encoded:
//
//   - cloned, if a source chunk has the same elements in the same shape and codecs. Then
//     the store links or copies the value.
//   - arranged, if the target chunk consists of whole encoded units of the source: inner
//     chunks of shards, or chunks that become inner chunks, or the other way round. Then
//     the store assembles the value from ranges of others.
//   - decoded and encoded again, everywhere else.
//
// Writers of the array go on meanwhile. So every staged chunk has a [Record]: a digest of
// the versions of all source chunks that it was made from, as they were read. It is valid
// as long as these chunks have the same versions, however often the extent and the
// attributes have changed since. [Job.Stale] finds the chunks whose records are no longer
// valid, or missing.
package staging
