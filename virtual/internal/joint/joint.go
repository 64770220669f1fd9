// SPDX-License-Identifier: Apache-2.0

// Package joint makes one request of reads of one file that are asked for at the same
// time and lie close to each other: chunks of an array follow each other in most files.
// In a far store a request costs more than the bytes in between.
package joint

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// Reads joins reads of files. Its zero value is ready for use.
type Reads struct {
	mu      sync.Mutex
	pending map[string][]*piecewise // by the location of the file
	alone   chan struct{}           // see slots
}

// Get reads n bytes of a file from an offset on, and appends them to dst.
func (j *Reads) Get(ctx context.Context, f File, off, n int64, dst []byte) ([]byte, store.Info, error) {
	paced := store.TraitsOf(f.From).Requests > 0
	// A far store without a limit of its own: bound the requests here.
	if _, near := store.As[store.Opener](f.From); !paced && !near {
		return j.getAlone(ctx, f, off, n, dst)
	}
	// Local files have no requests to save, and a long read gains nothing from others.
	if !paced || n >= mostSpan {
		return f.From.Get(ctx, f.Key, store.Request{Range: store.Span(off, n)}, dst)
	}
	w := &piecewise{ctx: ctx, off: off, n: n, dst: dst, done: make(chan struct{})}
	j.mu.Lock()
	if j.pending == nil {
		j.pending = map[string][]*piecewise{}
	}
	first := len(j.pending[f.Location]) == 0
	j.pending[f.Location] = append(j.pending[f.Location], w)
	j.mu.Unlock()
	if first {
		time.Sleep(wait)
		j.mu.Lock()
		all := j.pending[f.Location]
		delete(j.pending, f.Location)
		j.mu.Unlock()
		if len(all) == 1 { // no other caller shares the request: read into place
			return f.From.Get(ctx, f.Key, store.Request{Range: store.Span(off, n)}, dst)
		}
		go f.serve(all) // this caller may give up before the others
	}
	select {
	case <-w.done:
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		w.gone = true
		return nil, store.Info{}, ctx.Err()
	}
	if w.isOfAnother() && ctx.Err() == nil {
		return f.From.Get(ctx, f.Key, store.Request{Range: store.Span(off, n)}, dst)
	}
	return w.out, w.info, w.err
}

// getAlone reads n bytes of a file of a store that does not limit its requests.
func (j *Reads) getAlone(ctx context.Context, f File, off, n int64, dst []byte) ([]byte, store.Info, error) {
	select {
	case j.slots() <- struct{}{}:
		defer func() { <-j.slots() }()
	case <-ctx.Done():
		return nil, store.Info{}, ctx.Err()
	}
	return f.From.Get(ctx, f.Key, store.Request{Range: store.Span(off, n)}, dst)
}

// slots has an entry for each request to stores that do not limit them.
func (j *Reads) slots() chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.alone == nil {
		j.alone = make(chan struct{}, mostAlone)
	}
	return j.alone
}

// File is a value of a store. Files of one location are the same: a store may be of a
// type that is no key of a map.
type File struct {
	Location string
	From     store.Store
	Key      store.Key
}

// serve makes the requests for reads of one file.
func (f File) serve(all []*piecewise) {
	slices.SortFunc(all, func(a, b *piecewise) int { return int(min(max(a.off-b.off, -1), 1)) })
	var requests sync.WaitGroup
	for len(all) > 0 {
		end, k := all[0].off+all[0].n, 1
		for k < len(all) && all[k].off-end <= mostGap && max(end, all[k].off+all[k].n)-all[0].off <= mostSpan {
			end = max(end, all[k].off+all[k].n)
			k++
		}
		group := all[:k]
		all = all[k:]
		if len(all) == 0 {
			// Mostly there is one group. It needs no goroutine of its own.
			f.read(group, end)
			break
		}
		requests.Go(func() { f.read(group, end) })
	}
	requests.Wait()
}

// read makes one request for a group of reads that ends at an offset.
func (f File) read(group []*piecewise, end int64) {
	first := group[0]
	if len(group) == 1 {
		first.out, first.info, first.err = f.From.Get(first.ctx, f.Key, store.Request{Range: store.Span(first.off, first.n)}, nil)
		first.finish(first.out)
		return
	}
	data, info, err := f.From.Get(first.ctx, f.Key, store.Request{Range: store.Span(first.off, end-first.off)}, nil)
	for _, w := range group {
		w.info, w.err = info, err
		if err != nil {
			w.finish(nil)
			continue
		}
		w.finish(data[w.off-first.off:][:w.n])
	}
}

// piecewise is one read that waits. Its fields are under the lock.
type piecewise struct {
	ctx    context.Context // of the caller
	off, n int64
	dst    []byte // the n bytes go behind it
	out    []byte
	info   store.Info
	err    error
	mu     sync.Mutex
	gone   bool // the caller has given up, and dst is no longer ours
	done   chan struct{}
}

// isOfAnother reports whether the error of a shared request may be that of another read:
// its caller has given up, or the file does not have its bytes.
func (w *piecewise) isOfAnother() bool {
	return errors.Is(w.err, context.Canceled) || errors.Is(w.err, context.DeadlineExceeded) || errors.Is(w.err, io.ErrUnexpectedEOF)
}

// finish gives the caller its bytes.
func (w *piecewise) finish(data []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out = nil; w.err == nil && !w.gone {
		w.out = append(w.dst, data...)
	}
	close(w.done)
}

const (
	// wait is how long the first read waits for others. It is short compared with a
	// request to a far store.
	wait = 500 * time.Microsecond
	// mostGap is the largest number of bytes between two reads of a request.
	mostGap = 64 << 10
	// mostSpan bounds the bytes of a request that has several reads.
	mostSpan = 4 << 20
	// Requests is how many reads may have begun at the same time. They become fewer
	// requests, and those of a far store are limited by itself.
	Requests = 256
	// mostAlone is the number of requests at the same time to stores that do not.
	mostAlone = 32
)
