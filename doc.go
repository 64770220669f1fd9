// SPDX-License-Identifier: Apache-2.0

// Package zarr reads, writes and grows Zarr arrays whose chunks follow the data.
//
// A Zarr array is a large block of elements, cut into chunks that are stored one by one,
// compressed, as files or objects. In a regular grid all chunks have one size. In a
// rectilinear grid every axis has a list of sizes, such as the lengths of months. This
// package handles both in the same way (package [grid]).
//
//	a, err := zarr.OpenArray(ctx, "era5.zarr/t2m", nil)
//	if err != nil {
//		return err
//	}
//	week, err := zarr.Read[float32](ctx, a, selection.Box{{0, 168}, {0, 721}, {0, 1440}})
//
// # Nodes
//
// A store holds a tree of nodes. An [Array] has elements; a [Group] has nodes below it. A
// [Location] is a place for a node: a store and a path in it. [Open], [OpenArray],
// [OpenGroup], [CreateArray], [CreateGroup] and [Delete] take a location as a string;
// [At] and [Locate] make one for programs that have a store of their own. Nodes are
// opened for reading unless [Options.Write] is set.
//
// # Reading and writing
//
// A selection is a [selection.Box], another type of package selection, or nil for the
// whole array. There are slices with any step, lists along axes, points, masks, chunks,
// names of axes, and fields of structs. Each chunk that a selection touches is read and
// decoded once, and so is each inner chunk of a shard.
//
// [Read] returns the selected elements as a new [Block] in C order, and [ReadInto] fills
// a slice of the caller. [Write] stores a slice, and [Fill] one value. The type of the Go
// values must be that of the array; []string, [][]byte, []time.Time and []time.Duration
// stand for text, bytes, times and durations. [ReadAs] and [WriteAs] convert numbers.
// [ReadStructs] and [WriteStructs] match fields by their tags. [ReadStrided] and
// [WriteStrided] take memory of any layout. [Array.ReadBytes] and [Array.WriteBytes]
// serve every data type of fixed size. Every value is read back bit for bit, including
// -0.0 and the payloads of NaN.
//
// [Array.View] is a selection to select from, without reading anything. [Pieces] walks
// over a selection chunk by chunk, [Array.Slabs] in C order.
//
// A chunk that is not stored reads as the fill value. A chunk that is damaged is an
// error, never the fill value.
//
// # Growing
//
// [Append] and [Array.Resize] change the extents. They write chunks first and the
// metadata document last, in one step. A reader sees the old array or the new one, never
// half a change, and a crash leaves one of the two. An append to listed edges writes the
// new chunks and the document and reads no chunk, whatever the size of the array. A
// policy chooses the new edges ([AppendOptions.Grow]): [grid.Fixed], [grid.Pattern],
// [grid.ByBoundaries] with package calendar, and others.
//
// [Array.MakeRectilinear] turns a regular array into one that grows like that.
// [Array.Stream] takes planes as they arrive. [Array.Reserve] lets several writers fill a
// region that becomes visible at once. [Group.Append] lets several arrays grow in one
// transaction. [Group.Consolidate] stores the metadata of all members with the group.
//
// # Guarantees
//
// With [store.Sync], the default, what a call wrote survives a power cut once the call
// has returned. After a call that failed, was cancelled or was killed, every chunk holds
// its old or its new elements. Memory stays within a budget ([Options.Budget]), and
// [Limits] bound what a document or chunk of a store can cost.
//
// # Errors
//
// Errors are of type [*Error], which names the operation, node, key, chunk, axis and
// codec. [errors.Is] finds the sentinels below, and [KindOf] returns a [Kind] to branch
// on.
package zarr
