// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/consolidation"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/store"
)

// RepairOptions are the options of [Repair]. A nil *RepairOptions is the zero value.
type RepairOptions struct {
	// Open are the options for opening nodes. Write and Finish are set where they are
	// needed.
	Open *zarr.Options
	// Shards also restores damaged indexes of shards, where the shard itself proves what
	// its index was ([zarr.Array.RepairShard]). A shard whose index is not proven stays
	// as it is. All indexes are read for that.
	Shards bool
}

// Repaired is one thing that was repaired, or that could not be.
type Repaired struct {
	// Path is the path of the node, relative to the repaired one; "" is that itself.
	Path string
	// Key is the key of the shard in the store, and Chunk its index in the array. They
	// are "" and nil unless the index of a shard was repaired, or could not be.
	Key   string
	Chunk []int64
	// Message says what was done, in one line. It is "" if Err is set.
	Message string
	// Err is the reason why it was not repaired, or nil. It stays a finding.
	Err error
}

// String returns the path, and what was done or why it could not be done.
func (r Repaired) String() string {
	text := r.Message
	if r.Err != nil {
		text = "not repaired: " + r.Err.Error()
	}
	if r.Path == "" {
		return text
	}
	return r.Path + ": " + text
}

// Repair does what cannot lose data, at a node and at all nodes below it: it finishes
// what crashed writers left, which are decided changes of several arrays and cut chunks
// that were not yet moved to their keys, writes documents again from which other programs
// read wrong values ([Array.Misread]), and updates stale consolidated metadata. That
// changes nothing where a writer may still be running, and does not overwrite
// consolidated metadata that has the last copy of a document. With [RepairOptions.Shards]
// it also restores damaged indexes of shards; a writer may be running then, because each
// shard is replaced only on the condition that it has not changed. A store that is
// read-only does not change.
//
// It returns what it has repaired, one entry for each array, document or shard. The error
// is about the node itself, or is that of the context, or the first one that prevented
// Repair from finding all nodes below; it has gone on with the others then. A node that
// is open already does not see all of the repair: open it again, and [Run] the check.
func Repair(ctx context.Context, at *zarr.Location, opt *RepairOptions) ([]Repaired, error) {
	if opt == nil {
		opt = &RepairOptions{}
	}
	r := &repair{at: at}
	if opt.Open != nil {
		r.open = *opt.Open
	}
	if err := r.finish(ctx); err != nil {
		return nil, err
	}
	n, err := at.Open(ctx, &r.open)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	if opt.Shards {
		r.shards(ctx, n)
	}
	r.respell(ctx, n)
	if g, ok := n.(*zarr.Group); ok {
		r.consolidate(ctx, g)
	}
	if err := ctx.Err(); err != nil {
		return r.done, err
	}
	return r.done, r.unlisted
}

// repair is one call of [Repair].
type repair struct {
	at   *zarr.Location
	open zarr.Options // for reading
	done []Repaired

	unlisted error // the first reason why there may be more nodes, or nil
}

// below yields what is below a group, by its documents. A store that cannot list has no
// more than consolidated metadata.
func (r *repair) below(ctx context.Context, g *zarr.Group) iter.Seq[zarr.Member] {
	return r.listed(func(yield func(zarr.Member, error) bool) {
		for m, err := range g.Unconsolidated().Members(ctx, true) {
			if errors.Is(err, store.ErrUnsupported) {
				g.Members(ctx, true)(yield)
				return
			}
			if !yield(m, err) {
				return
			}
		}
	})
}

// listed yields members without the errors of listing them, which it notes.
func (r *repair) listed(all iter.Seq2[zarr.Member, error]) iter.Seq[zarr.Member] {
	return func(yield func(zarr.Member) bool) {
		for m, err := range all {
			if err != nil {
				r.unlisted = cmp.Or(r.unlisted, err)
			} else if !yield(m) {
				return
			}
		}
	}
}

// finish completes interrupted changes of an array, or of all arrays below a group, as
// far as possible.
func (r *repair) finish(ctx context.Context) error {
	// Opening finishes a change without a report, so look before and afterwards.
	left, err := r.left(ctx)
	if err != nil {
		return err
	}
	if err := r.openFinishing(ctx); err != nil || len(left) == 0 {
		return err
	}
	still, err := r.left(ctx)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(left)) {
		if still[path] == "" {
			r.done = append(r.done, Repaired{Path: path, Message: left[path]})
		}
	}
	return nil
}

// openFinishing opens an array, or all arrays below a group, so that what crashed writers
// left is finished.
func (r *repair) openFinishing(ctx context.Context) error {
	opt := r.open
	// Opening then completes a change whose writer has crashed. It does not wait for a
	// lock.
	opt.Finish = true
	n, err := r.at.Open(ctx, &opt)
	if err != nil {
		return err
	}
	defer n.Close()
	g, ok := n.(*zarr.Group)
	if !ok {
		return nil
	}
	for m := range r.listed(g.Members(ctx, true)) {
		if _, isArray := m.Node.(*zarr.Array); isArray {
			// Opening completes the change. A check reports arrays that do not open.
			if a, err := g.At(m.Path).OpenArray(ctx, nil); err == nil {
				_ = a.Close()
			}
		}
	}
	return nil
}

// left returns what crashed writers left, by the paths of the arrays, in the words that
// say that it is finished.
func (r *repair) left(ctx context.Context) (map[string]string, error) {
	opt := r.open
	opt.Finish, opt.Write = false, false
	n, err := r.at.Open(ctx, &opt)
	if err != nil {
		return nil, err
	}
	defer n.Close()
	left := map[string]string{}
	look := func(path string, a *zarr.Array) {
		p, err := a.PendingChange(ctx)
		switch {
		case err == nil && p.Decided:
			left[path] = "a change of several arrays, which a crashed writer had decided, is finished"
		case err == nil:
			left[path] = "a change of several arrays, which a crashed writer had begun, is undone"
		case errors.Is(err, fs.ErrNotExist):
			aside, err := a.Core().State().SetAside(ctx)
			if r.unlisted = cmp.Or(r.unlisted, err); aside {
				left[path] = "cut chunks, which a crashed writer had set aside, are under their keys"
			}
		} // A check reports a pointer or journal that cannot be read.
	}
	g, ok := n.(*zarr.Group)
	if !ok {
		look("", n.(*zarr.Array))
		return left, nil
	}
	for m := range r.listed(g.Members(ctx, true)) {
		if a, isArray := m.Node.(*zarr.Array); isArray {
			look(m.Path, a)
		}
	}
	return left, nil
}

// respell writes the documents again that other programs misread.
func (r *repair) respell(ctx context.Context, n zarr.Node) {
	one := func(a *zarr.Array, path string) {
		why := a.Core().Misread()
		if len(why) == 0 {
			return
		}
		r.note(Repaired{Path: path, Message: "the document is written as other programs read it: " + strings.Join(why, "; ")}, r.respellAt(ctx, path))
	}
	if a, ok := n.(*zarr.Array); ok {
		one(a, "")
		return
	}
	for m := range r.below(ctx, n.(*zarr.Group)) {
		if a, ok := m.Node.(*zarr.Array); ok && m.Err == nil {
			one(a, m.Path)
		}
	}
}

// respellAt writes the document of one array again.
func (r *repair) respellAt(ctx context.Context, path string) error {
	opt := r.open
	opt.Write = true
	a, err := r.at.At(path).OpenArray(ctx, &opt)
	if err != nil {
		return err
	}
	defer a.Close()
	return failure.On(a, "respell", a.Core().Respell(ctx))
}

// consolidate updates the consolidated metadata of a group and of those below it, where
// it differs from the nodes. A check reports what cannot be read.
func (r *repair) consolidate(ctx context.Context, g *zarr.Group) {
	var stale []string
	look := func(at *zarr.Group, path string) {
		d, err := consolidation.Stale(ctx, at.Location(), nil, nil)
		// Where the document of a node is gone, the copy may be the last one.
		if d != nil && err == nil && len(d.Gone) == 0 {
			stale = append(stale, path)
		}
		r.unlisted = cmp.Or(r.unlisted, err)
	}
	look(g, "")
	for m := range r.below(ctx, g) {
		if below, isGroup := m.Node.(*zarr.Group); isGroup {
			look(below, m.Path)
		}
	}
	for _, path := range stale {
		r.note(Repaired{Path: path, Message: "consolidated metadata is up to date again"}, r.consolidateAt(ctx, path))
	}
}

// consolidateAt updates the consolidated metadata of one group.
func (r *repair) consolidateAt(ctx context.Context, path string) error {
	opt := r.open
	opt.Write = true
	g, err := r.at.At(path).OpenGroup(ctx, &opt)
	if err != nil {
		return err
	}
	defer g.Close()
	return g.Consolidate(ctx)
}

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
			r.note(Repaired{Path: path}, err)
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
		r.note(Repaired{Path: path}, err)
		return
	}
	defer w.Close()
	for _, f := range found {
		changed, err := w.RepairShard(ctx, f.Shard)
		if !changed && err == nil {
			continue // another writer has replaced the shard
		}
		r.note(Repaired{Path: path, Key: f.Key, Chunk: f.Shard, Message: "the index of the shard " + f.Key + " is restored"}, err)
	}
}

// note adds what was repaired, or the error that prevented it.
func (r *repair) note(done Repaired, err error) {
	if err != nil {
		done.Message, done.Err = "", fmt.Errorf("not repaired: %w", err)
	}
	r.done = append(r.done, done)
}

// isIndexFault reports whether the index of a shard is damaged as a whole.
func isIndexFault(f zarr.ShardFault) bool {
	return len(f.Inner) == 0 && !f.Shared && errors.Is(f.Err, zarr.ErrCorrupt)
}
