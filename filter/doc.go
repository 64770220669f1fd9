// SPDX-License-Identifier: Apache-2.0

// Package filter keeps the rows of a table that a condition selects. A table is a group
// whose arrays share a dimension, such as measurements and their times, or one array.
//
//	where, err := filter.Parse(`time >= 2020-01-01 and station == "K12"`)
//	report, err := filter.Do(ctx, src, dst, filter.Request{Where: where}, nil)
//
// The result is a new node. Each of its chunks holds what one chunk of the source keeps,
// so along the axis the chunks have listed lengths: this is what rectilinear grids are
// for. Chunks of which nothing is kept are left out, and chunks that are kept whole are
// copied as they are encoded. Only the others are decoded.
//
// Two kinds of arrays cannot have chunks of any length. Shards consist of whole inner
// chunks, so elements that fill no inner chunk move to the next shard. Format 2 has
// chunks of one length. Such chunks are copied as long as they stay where they are, and
// encoded anew otherwise.
//
// Rows may have elements of their own, as in the sets of package [ragged]: the arrays
// along the sample dimension of lengths that are filtered, and indices and data of a
// sparse matrix, keep the elements of the kept rows. The offsets and the attribute shape
// of a sparse matrix are made anew.
//
// # Protocol
//
//  1. Open the arrays. Each is read as this document describes it, also if it grows.
//  2. List their chunks with their versions. Evaluate the condition, chunk by chunk, and
//     count what each chunk keeps.
//  3. Copy the node as [convert.Derive] does: a note, then all chunks, then the documents
//     from the innermost to that of the node itself, which makes the result visible.
//
// A crash leaves nothing that is read as a node. The note identifies the result: the
// place and the documents of the source, the kept rows, and the documents to be written.
// When some hundred chunks are durable, a record of them is stored: from which versions
// of chunks of the source each was made, and its own version. Another call for the same
// result keeps the chunks whose records agree with both nodes, deletes everything else,
// and makes the rest. A call for another result deletes all of it, and says so. So does
// every call if the source cannot be listed or its store has no strong versions. The
// records are deleted before the last document is stored. Values of arrays without the
// dimension have no records: they are copied again.
package filter
