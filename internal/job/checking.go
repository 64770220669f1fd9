// SPDX-License-Identifier: Apache-2.0

package job

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"varve.dev/zarr"
	"varve.dev/zarr/check"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/store"
	"varve.dev/zarr/transfer"
)

// Check is the request of a check of a node. A task reads some of the chunks, and stores
// its findings beside the plan. The publication puts the findings together.
type Check struct {
	// Fast and Complete are those of [check.Options].
	Fast     bool `json:"fast,omitempty"`
	Complete bool `json:"complete,omitempty"`
	// Checksums also computes the SHA-256 of all stored values.
	Checksums bool `json:"checksums,omitempty"`
	// DANDI also computes the digest of the DANDI archive.
	DANDI bool `json:"dandi,omitempty"`
	// List is the file to which the program that publishes writes the checksums, under
	// the former name of --write-checksums. Tasks do not need it.
	List string `json:"write_manifest,omitempty"`
}

// Checked is the result of a check.
type Checked struct {
	*check.Report
	// Incomplete is the reason if a group could not be listed completely, or nil.
	Incomplete error
	// Sums writes the checksums of all values, as [checksums.Write] does. It is nil
	// unless they were asked for. It may be called until the worker is closed, and before
	// [Worker.Forget].
	Sums func(ctx context.Context, to io.Writer) (checksums.Report, error)
}

// sumsDir is the directory, beside the plan, of the checksums that tasks have found.
const sumsDir = "sums"

// mostFound bounds the stored findings of a task, in bytes.
const mostFound = 256 << 20

// checking executes a check.
type checking struct {
	*Work
	Check
	node zarr.Node // nil if it is not open
}

func newChecking(w *Work) (operation, error) {
	c := &checking{Work: w}
	return c, w.decode(&c.Check)
}

// options returns the options of the check.
func (c *checking) options(w *Worker) *check.Options {
	o := &check.Options{Fast: c.Fast, Complete: c.Complete}
	if w.opt.Progress != nil {
		o.Progress = func(_ string, done, total int64) { w.progress(done, total) }
	}
	return o
}

// open opens the node, unless it is open.
func (c *checking) open(ctx context.Context, w *Worker) error {
	if c.node != nil {
		return nil
	}
	access := w.opt.Access
	access.Write = false
	n, err := zarr.Open(ctx, c.Node, &access)
	if err == nil {
		c.node = n
	}
	return err
}

func (c *checking) do(ctx context.Context, w *Worker, t Task, _ *Record) error {
	if err := w.folder.open(ctx); err != nil {
		return err
	}
	if err := c.open(ctx, w); err != nil {
		return err
	}
	// An engine offers a task again after a failure, even if it has succeeded.
	done, err := c.isFound(ctx, w, t)
	if done || err != nil {
		return c.fail(err)
	}
	// What is found must be stored before the record that the task is done.
	found, err := check.RunPart(ctx, c.node, transfer.Share{Task: t.Number, Of: t.Of}, c.options(w))
	if found == nil {
		return c.fail(err)
	}
	_, err = store.Write(ctx, w.folder.store, store.Put(w.folder.key(resultsDir, t), found), store.Flush)
	if err != nil || !c.sums() {
		return c.fail(err)
	}
	return c.fail(c.sum(ctx, w, t))
}

// isFound reports whether all findings of a task are stored. After the publication the
// stored findings do not count: a task that is executed again begins another check.
func (c *checking) isFound(ctx context.Context, w *Worker, t Task) (bool, error) {
	keys := []store.Key{w.folder.key(resultsDir, t)}
	if c.sums() {
		keys = append(keys, w.folder.key(sumsDir, t))
	}
	for _, key := range keys {
		if found, err := store.Exists(ctx, w.folder.store, key); !found || err != nil {
			return false, err
		}
	}
	published, err := store.Exists(ctx, w.folder.store, w.folder.published())
	return !published, err
}

// sums reports whether checksums were asked for.
func (c *checking) sums() bool { return c.Checksums || c.DANDI }

// sum stores the checksums of some of the values.
func (c *checking) sum(ctx context.Context, w *Worker, t Task) error {
	var text bytes.Buffer
	_, err := checksums.WritePart(ctx, c.node.Location(), transfer.Share{Task: t.Number, Of: t.Of}, &text, &checksums.Options{DANDI: c.DANDI})
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, w.folder.store, store.Put(w.folder.key(sumsDir, t), text.Bytes()), store.Flush)
	return err
}

func (c *checking) leave() error { return nil }

// Close closes the node.
func (c *checking) Close() error {
	if c.node == nil {
		return nil
	}
	n := c.node
	c.node = nil
	return n.Close()
}

func (c *checking) publish(ctx context.Context, w *Worker, whole bool) (*Result, error) {
	if err := c.open(ctx, w); err != nil {
		return nil, err
	}
	opt, of := c.options(w), int64(0)
	if !whole {
		var err error
		if of, err = w.division(ctx, 0); err != nil {
			return nil, c.fail(err)
		}
		if opt.Parts, err = c.parts(ctx, w, of); err != nil {
			return nil, c.fail(err)
		}
	}
	report, err := check.Run(ctx, c.node, opt)
	if report == nil {
		return nil, c.fail(err)
	}
	all := &Checked{Report: report, Incomplete: err}
	if !whole {
		if _, err := store.Write(ctx, w.folder.store, store.Put(w.folder.published(), []byte("{}")), store.Flush); err != nil {
			return nil, c.fail(err)
		}
	}
	if c.sums() {
		all.Sums = func(ctx context.Context, to io.Writer) (checksums.Report, error) { return c.merge(ctx, w, of, to) }
	}
	return &Result{Check: all}, nil
}

// parts reads what the tasks have found.
func (c *checking) parts(ctx context.Context, w *Worker, of int64) ([][]byte, error) {
	parts := make([][]byte, of)
	return parts, each(ctx, tasksOf(of), func(ctx context.Context, i int, t Task) (err error) {
		parts[i], _, err = w.folder.store.Get(ctx, w.folder.key(resultsDir, t), store.Request{Limit: mostFound}, nil)
		if err != nil {
			err = fmt.Errorf("what %v has found: %w", t, err)
		}
		return err
	})
}

// tasksOf returns all tasks of the first stage.
func tasksOf(of int64) []listed {
	tasks := make([]listed, of)
	for k := range tasks {
		tasks[k].Task = Task{Number: int64(k), Of: of}
	}
	return tasks
}

// merge writes the checksums that the tasks have found, or reads all values if of is 0.
func (c *checking) merge(ctx context.Context, w *Worker, of int64, to io.Writer) (checksums.Report, error) {
	opt := &checksums.Options{DANDI: c.DANDI, Parts: make([]io.Reader, of)}
	for i, t := range tasksOf(of) {
		opt.Parts[i] = &lateReader{open: func() ([]byte, error) {
			data, _, err := w.folder.store.Get(ctx, w.folder.key(sumsDir, t.Task), store.Request{Limit: mostFound}, nil)
			return data, err
		}}
	}
	return checksums.Write(ctx, c.node.Location(), to, opt)
}

// lateReader reads a value when it is asked for the first byte, and forgets it at its
// end.
type lateReader struct {
	open func() ([]byte, error)
	data *bytes.Reader
}

// Read implements [io.Reader].
func (r *lateReader) Read(p []byte) (int, error) {
	if r.data == nil {
		data, err := r.open()
		if err != nil {
			return 0, err
		}
		r.data = bytes.NewReader(data)
	}
	n, err := r.data.Read(p)
	if err == io.EOF {
		r.data = bytes.NewReader(nil)
	}
	return n, err
}
