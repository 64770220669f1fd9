// SPDX-License-Identifier: Apache-2.0

// Package zarr reads, writes and grows Zarr arrays whose chunks follow the data: regular
// grids, and rectilinear ones with a list of chunk lengths for every axis.
//
//	a, err := zarr.OpenArray(ctx, "era5.zarr/t2m", &zarr.Options{Write: true})
//	week, err := zarr.Read[float32](ctx, a, selection.Box{{0, 168}, {0, 721}, {0, 1440}})
//	err = zarr.Append(ctx, a, 0, day, nil)
//
// Nodes are an [Array] with elements or a [Group] of nodes. [Open], [OpenArray],
// [CreateArray], [CreateGroup] and [Delete] take a location as a string; [At] and
// [Locate] make a [Location], for programs that have a store of their own.
//
// [Read], [ReadInto], [Write] and [Fill] take a selection, or nil for the whole array. A
// chunk that is not stored reads as the fill value; one that is damaged is an error.
// [Append], [Array.Resize], [Array.Stream], [Array.Reserve] and [Group.Append] change the
// extents in one step: a crash leaves the old array or the new one. With [store.Sync],
// the default, what a call wrote survives a power cut once the call has returned.
//
// Errors are of type [*Error]. [errors.Is] finds the sentinels below, and [KindOf]
// returns a [Kind] to branch on. docs/guide.md in the repository has the rest.
package zarr
