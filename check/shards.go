// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"

	"varve.dev/zarr"
)

// shards restores damaged indexes of shards, of an array or of all arrays below a group.
// A check reports arrays that do not open.
func (r *repair) shards(ctx context.Context, n zarr.Node) {
	g, ok := n.(*zarr.Group)
	if !ok {
		r.shardsOf(ctx, "", n.(*zarr.Array))
		return
	}
	for m := range r.below(ctx, g) {
		if a, isArray := m.Node.(*zarr.Array); m.Err == nil && isArray {
			r.shardsOf(ctx, m.Path, a)
		}
	}
}

// shardsOf restores the damaged indexes of the shards of one array. Only damage opens it
// for writing.
func (r *repair) shardsOf(ctx context.Context, path string, a *zarr.Array) {
	if a.Inner() == nil {
		return
	}
	var found []zarr.ShardFault
	for f, err := range a.CheckShards(ctx, &zarr.CheckOptions{IndexOnly: true, KeepGoing: true}) {
		if err != nil {
			r.done = append(r.done, Repaired{Path: path, Err: notRepaired(err)})
			break // repair what was found so far
		}
		if isIndexFault(f) {
			found = append(found, f)
		}
	}
	if len(found) == 0 {
		return
	}
	opt := r.open
	opt.Write = true
	w, err := r.at.At(path).OpenArray(ctx, &opt)
	if err != nil {
		r.done = append(r.done, Repaired{Path: path, Err: notRepaired(err)})
		return
	}
	defer w.Close()
	for _, f := range found {
		one := Repaired{Path: path, Key: f.Key, Chunk: f.Shard, Message: "the index of the shard " + f.Key + " is restored"}
		if changed, err := w.RepairShard(ctx, f.Shard); err != nil {
			one.Message, one.Err = "", notRepaired(err)
		} else if !changed {
			continue // another writer has replaced the shard
		}
		r.done = append(r.done, one)
	}
}

// notRepaired says that an error prevented a repair.
func notRepaired(err error) error { return fmt.Errorf("not repaired: %w", err) }

// isIndexFault reports whether the index of a shard is damaged as a whole.
func isIndexFault(f zarr.ShardFault) bool {
	return len(f.Inner) == 0 && !f.Shared && errors.Is(f.Err, zarr.ErrCorrupt)
}
