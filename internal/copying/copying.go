// SPDX-License-Identifier: Apache-2.0

// Package copying has what copies, mirrors and conversions of nodes share: the two places
// and whether they overlap, the note that a copy has begun, the values that are copied,
// and what the documents of an array say about keys.
package copying

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
)

// Slack is how much later than its source a copy must have been written to be taken for
// equal. It covers differences between the clocks of two stores.
const Slack = time.Minute

// Options configure a copy.
type Options struct {
	zarr.Options
	Overwrite bool // remove a node at the destination first
	DryRun    bool // change nothing
}

// Place is the place of a node in a store.
type Place struct {
	Location *zarr.Location
	Store    store.Store
	Path     store.Path
}

// String returns the place of the store, if the store knows it, and the path.
func (p Place) String() string { return join(store.TraitsOf(p.Store).Place, p.Path.String()) }

// Copy is one copy of a node to another place.
type Copy struct {
	Options
	Source, Target Place
	Format         int  // of the node
	Restarted      bool // leftovers of an unfinished copy were deleted first

	// Note says that this copy has begun. A copy that finds an equal note at its
	// destination may use the values beside it.
	Note []byte
	// Keep, unless nil, returns which of the values beside an equal note stay, given
	// their names below the destination. If it returns nil, none does.
	Keep func(ctx context.Context) (func(name string) bool, error)

	parents []store.Identity // of the destination and the directories above it, if known
	names   spellings        // at the destination
}

// New returns a copy of the node at src to dst. It refuses places that overlap. Except in
// a dry run, it removes temporary files of crashed writers from the store of dst.
func New(ctx context.Context, src, dst *zarr.Location, o Options) (*Copy, error) {
	c := &Copy{Options: o, Note: []byte("{}")}
	var err error
	if c.Source, err = PlaceOf(src); err != nil {
		return c, err
	}
	if c.Target, err = PlaceOf(dst); err != nil {
		return c, err
	}
	if c.Overwrite {
		// A link is another name of its target, which other programs may know by
		// its own name. Replace the target only if the caller names it directly.
		if err := c.Target.CheckDirect("the destination"); err != nil {
			return c, err
		}
	}
	if err := c.checkApart(ctx); err != nil {
		return c, err
	}
	if !c.DryRun && c.Rehearsal == nil {
		store.DirectoriesOf(c.Target.Store).Sweep(ctx)
	}
	return c, nil
}

// PlaceOf returns the place of a location.
func PlaceOf(at *zarr.Location) (p Place, err error) {
	p = Place{Location: at, Store: at.Store()}
	p.Path, err = store.ParsePath(at.Path())
	return p, err
}

// CheckDirect refuses a path that contains a symbolic link, and names the resolved path.
func (p Place) CheckDirect(what string) error {
	plain, err := store.DirectoriesOf(p.Store).Resolve(p.Path)
	if err == nil && plain != p.Path {
		err = fmt.Errorf("%w: %s leads through a symbolic link; name %q, or remove the link", zarr.ErrInvalidArgument, what, "/"+plain.String())
	}
	return err
}

// CheckName returns an error if the destination cannot hold a value because of its name.
// Records of Varve are not copied.
func (c *Copy) CheckName(rel string) error {
	if _, isOwn := Record(rel); isOwn {
		return nil
	}
	key, err := c.Target.Path.Key(rel)
	if err == nil {
		err = store.CheckKey(c.Target.Store, key)
	}
	if err != nil {
		return fmt.Errorf("the destination cannot hold %.200q, and nothing was copied: %w", rel, err)
	}
	return nil
}

// Reading returns the options to open nodes of the source.
func (c *Copy) Reading() *zarr.Options {
	o := c.Options.Options
	o.Write = false
	return &o
}

// Writing returns the options to change nodes.
func (c *Copy) Writing() *zarr.Options {
	o := c.Options.Options
	o.Write = true
	return &o
}

// UpdateAbove updates the consolidated metadata of the groups above a node. The node is
// visible already, so a failure here does not undo that.
func UpdateAbove(ctx context.Context, at *zarr.Location, o zarr.Options) error {
	o.Write = true
	if err := at.UpdateConsolidated(ctx, &o); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the consolidated metadata of the groups above is not up to date: %w", zarr.ErrIncomplete, err)
	}
	return nil
}

// Workers returns the number of values that are copied concurrently.
func Workers(o *zarr.Options) int {
	if o.Concurrency > 0 {
		return o.Concurrency
	}
	return max(8, 2*runtime.GOMAXPROCS(0))
}

// Wrap returns err as a [*zarr.Error], with the key of a [ReadError].
func Wrap(op, path string, err error) error {
	var e *zarr.Error
	if errors.As(err, &e) {
		return err
	}
	e = &zarr.Error{Op: op, Path: path, Axis: -1, Err: err}
	if read := (*ReadError)(nil); errors.As(err, &read) {
		e.Key = read.Key.String()
	}
	return e
}

// CheckShare returns an error if there is no part with a number, counted from 0, among
// the parts. No parts count as one.
func CheckShare(task, of int64) error {
	if of < 0 || task < 0 || task >= max(1, of) {
		return fmt.Errorf("%w: part %d of %d; parts count from 0", zarr.ErrInvalidArgument, task, of)
	}
	return nil
}

// InShare reports whether a value with a key belongs to a part.
func InShare(key string, task, of int64) bool {
	return of <= 1 || int64(spread(key)%uint64(of)) == task
}

// spread returns a hash of a key, which must never change. It is FNV-1a with the last
// steps of MurmurHash3: the low bits of FNV-1a alone depend on little of a key.
func spread(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
