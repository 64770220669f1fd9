// SPDX-License-Identifier: Apache-2.0

package job

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/internal/sharing"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// Copy is the request of a copy: the node at Work.Target becomes equal to that at
// Work.Node, as [transfer.Sync] makes it. A task copies some of the values. The
// publication copies the values that are missing or have changed since, and writes the
// documents. The members are those of [transfer.SyncOptions].
type Copy struct {
	Checksum  bool      `json:"checksum,omitempty"`
	NewerThan time.Time `json:"newer_than,omitzero"`
	Nodes     string    `json:"nodes,omitempty"`
	Delete    bool      `json:"delete,omitempty"`
	Verify    bool      `json:"verify,omitempty"`
}

// NewCopy returns the request of the copy that opt describes.
func NewCopy(opt *transfer.SyncOptions) Copy {
	return Copy{
		Checksum: opt.Checksum, NewerThan: opt.NewerThan, Nodes: opt.Nodes, Delete: opt.Delete, Verify: opt.Verify,
	}
}

// Options returns what c says of a copy. Access to stores is not part of it.
func (c Copy) Options() *transfer.SyncOptions {
	return &transfer.SyncOptions{
		Checksum: c.Checksum, NewerThan: c.NewerThan, Nodes: c.Nodes, Delete: c.Delete, Verify: c.Verify,
	}
}

// Conversion is the request of a conversion to another format, as [convert.ConvertTo]
// makes it: from Work.Node to Work.Target.
type Conversion struct {
	Format  int  `json:"zarr_format"`
	FillAll bool `json:"fill_all,omitempty"`
}

// copying executes a copy or a conversion.
type copying struct {
	*Work
	copy    *Copy
	convert *Conversion
}

func newCopying(w *Work) (operation, error) {
	c := &copying{Work: w, copy: new(Copy)}
	if w.Target == nil {
		return nil, errors.New("there is no target")
	}
	return c, w.decode(c.copy)
}

func newConverting(w *Work) (operation, error) {
	c := &copying{Work: w, convert: new(Conversion)}
	if w.Target == nil {
		return nil, errors.New("there is no target")
	}
	if err := w.decode(c.convert); err != nil {
		return nil, err
	}
	if f := c.convert.Format; f != 2 && f != 3 {
		return nil, fmt.Errorf("zarr_format is %d, want 2 or 3", f)
	}
	return c, nil
}

// open opens the places of the node and of the copy.
func (c *copying) open(ctx context.Context, w *Worker) (src, dst *zarr.Location, close func() error, err error) {
	if src, err = w.locate(ctx, c.Node, store.ReadOnly); err != nil {
		return nil, nil, nil, err
	}
	if dst, err = w.locate(ctx, *c.Target, store.Create); err != nil {
		return nil, nil, nil, errors.Join(err, store.Close(src.Store()))
	}
	return src, dst, func() error { return errors.Join(store.Close(dst.Store()), store.Close(src.Store())) }, nil
}

func (c *copying) do(ctx context.Context, w *Worker, t Task, _ *Record) error {
	_, err := c.run(ctx, w, &transfer.Share{Task: t.Number, Of: t.Of})
	return err
}

// run copies or converts a share, or publishes.
func (c *copying) run(ctx context.Context, w *Worker, share *transfer.Share) (r *Result, err error) {
	src, dst, end, err := c.open(ctx, w)
	if err != nil {
		return nil, c.fail(err)
	}
	defer func() { err = c.fail(errors.Join(err, end())) }()
	access := w.opt.Access
	access.SingleWriter = w.opt.SingleWriter
	if c.convert != nil {
		done, err := convert.ConvertTo(ctx, src, dst, c.convert.Format, &convert.Options{
			Options: access, FillAll: c.convert.FillAll, Resume: share == nil, Share: share,
		})
		return &Result{Conversion: &done}, err
	}
	opt := c.copy.Options()
	opt.Options, opt.Share = access, share
	opt.Verify = opt.Verify && share == nil // the publication compares all values once
	done, err := transfer.Sync(ctx, src, dst, opt)
	return &Result{Copy: &done}, err
}

func (c *copying) leave() error { return nil }
func (c *copying) Close() error { return nil }

func (c *copying) publish(ctx context.Context, w *Worker, whole bool) (*Result, error) {
	if !whole {
		if err := c.checkDone(ctx, w); err != nil {
			return nil, c.fail(err)
		}
	}
	return c.run(ctx, w, nil)
}

// checkDone returns an error unless all tasks are done, or the copy is published already.
func (c *copying) checkDone(ctx context.Context, w *Worker) error {
	err := w.checkDone(ctx)
	if !errors.Is(err, sharing.ErrUnfinished) {
		return err
	}
	// After the publication there may be no records any more.
	published, lookErr := c.isPublished(ctx)
	if lookErr != nil || !published {
		return err
	}
	return nil
}

// isPublished reports whether the copy can be opened and no process has begun to change
// it.
func (c *copying) isPublished(ctx context.Context) (bool, error) {
	dst, err := zarr.Locate(ctx, *c.Target, store.ReadOnly)
	if err != nil {
		return false, err
	}
	begun, err := transfer.Unfinished(ctx, dst)
	if err == nil && !begun {
		_, err = dst.Metadata(ctx, nil)
	}
	err = errors.Join(err, store.Close(dst.Store()))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && !begun, err
}
