// Package zarr reads, writes and grows Zarr arrays whose chunks follow the data.
//
// A Zarr array is a large block of elements, cut into chunks that are stored one by one,
// compressed, as files or objects. The chunks of a regular grid all have one size; those
// of a rectilinear grid have a list of sizes for every axis, as the months of a year
// have. This package treats both as one thing (package [varve.dev/zarr/grid]).
//
//	a, err := zarr.OpenArray(ctx, "era5.zarr/t2m", nil)
//	if err != nil {
//		return err
//	}
//	week, err := zarr.Read[float32](ctx, a, selection.Box{{0, 168}, {0, 721}, {0, 1440}})
//
// # Nodes
//
// A store holds a tree of nodes: a [Group] has other nodes below it, an [Array] holds
// elements. Nodes are opened by their location ([Open], [OpenArray], [OpenGroup]), or by
// their path in a store that the program has ([At]). They are opened for reading unless
// [Options.Write] is set. [CreateArray] and [CreateGroup] make new ones.
//
// # Elements
//
// [Read] returns a new [Block], [ReadInto] fills a slice of the caller's, [Write] and
// [Append] take one: always just the selected elements in C order, of the Go type of the
// array's data type. [Array.ReadBytes] and its like do the same for types that Go does
// not have, as bytes in the order of the host. Text, byte strings, moments and durations
// are []string, [][]byte, []time.Time and []time.Duration. [ReadStructs] and
// [WriteStructs] match the fields of structs by tags; [ReadAs] and [WriteAs] convert
// numbers, which nothing else does. What is written is read back bit for bit, NaN
// payloads and -0.0 included. A selection is a [varve.dev/zarr/selection.Box], anything
// else of that package, or nil for the whole array.
//
// Besides boxes there are slices in either direction ([varve.dev/zarr/selection.Basic]),
// lists along axes, points, masks, whole chunks, names of axes, and fields of structs.
// Points and lists are grouped by what decodes by itself, so that each chunk, or inner
// chunk of a shard, is read once and none is read that holds nothing of them. Where an
// element is written several times the last value stays.
//
// [Array.View] makes a selection something to select from, to read and to write: views of
// views are worked out from indices alone. [ReadStrided] and [WriteStrided] take memory
// of any layout. [Pieces] works through a selection chunk by chunk, [Array.Slabs] in C
// order.
//
// A chunk that is not stored is the fill value. A chunk that is damaged is an error,
// never the fill value.
//
// # Growth
//
// [Append] and [Array.Resize] change the extents. Chunks are written first and the
// metadata document last, in one step, so a reader finds the old array or the new one,
// whole, and so does whoever comes after a crash. An append to listed edges writes the
// new chunk and the document and reads no chunk, however large the array is. Which edges
// it gets is told by a policy ([AppendOptions.Grow]: [grid.Fixed], [grid.Pattern],
// [grid.ByBoundaries] with package calendar …), which edges go by another
// ([ResizeOptions.Shrink]).
//
// [Array.MakeRectilinear] makes a regular array grow like that. [Array.Reserve] lets several
// writers fill what will be seen at once; [Group.Append] makes several arrays grow
// together, and [Group.Consolidate] tells readers of all of them at once.
//
// # Guarantees
//
// With [varve.dev/zarr/store.Sync], the default, what a call wrote survives a power cut
// once the call has returned. A call that fails, is cancelled or is killed leaves every
// chunk old or new. Memory stays within a budget ([Options.Budget]), and whatever a
// stranger's store says stays within [Limits].
//
// # Errors
//
// Errors are of type [*Error], which says where: operation, node, key, chunk, axis and
// codec. What to do about them is told by the sentinels of this package, through
// [errors.Is].
package zarr
