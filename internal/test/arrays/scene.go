// SPDX-License-Identifier: Apache-2.0

package arrays

import "context"

// Scene is what the programs of a crowd share.
type Scene struct {
	name   string
	create func(ctx context.Context, location string) error
	cast   []part
	// final lets one more program change what is there, and returns what it finds then.
	final func(ctx context.Context, location string) (*found, error)
}

// part is some programs of one kind, of which the first ones are killed.
type part struct {
	kind     string
	programs int
	killed   int
	steps    int // of a program that ends by itself, in a short run
}

var (
	// Edges is an array whose chunks have listed edges.
	Edges = &Scene{"edges", rowsOf(listedRows), rowCast, finalRows}
	// Regular is an array whose chunks have one length.
	Regular = &Scene{"regular", rowsOf(regularRows), rowCast, finalRows}
	// Shards is an array of shards of one length. Programs append to its last shard and
	// write to it, and others unpack it and pack it.
	Shards = &Scene{"shards", rowsOf(regularShards), shardCast, finalRows}
	// ShardEdges is the same with listed edges.
	ShardEdges = &Scene{"shard-edges", rowsOf(listedShards), shardCast, finalRows}
	// Group is a group of three arrays that share the axis of time. It has consolidated
	// metadata.
	Group = &Scene{"group", createGroup, groupCast, finalGroup}
)

var rowCast = []part{
	{appends, 8, 3, 3}, {writes, 4, 1, 6}, {rechunks, 2, 1, 3}, {reads, 2, 0, 0},
}

var shardCast = []part{
	{appends, 5, 2, 3}, {streams, 3, 1, 3}, {writes, 4, 1, 6}, {packs, 2, 1, 3}, {reads, 2, 0, 0},
}

// Fewer programs, because each append to a group waits for all others.
var groupCast = []part{{joins, 5, 2, 2}, {looks, 3, 0, 0}}
