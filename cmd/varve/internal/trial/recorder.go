// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/store"
)

// Recorder is a store that records reads, so that they can be replayed alone.
type Recorder struct {
	store.Store

	mu     sync.Mutex
	noting bool
	left   int // requests that may still be recorded
	visits []*visit
}

// visit is the read of one value: at once, or in parts after it was opened.
type visit struct {
	key    store.Key
	opened bool
	reads  []store.Request
}

// mostNoted bounds the recorded requests.
const mostNoted = 1 << 16

// Begin starts recording.
func (r *Recorder) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noting, r.left = true, mostNoted
}

// End stops recording.
func (r *Recorder) End() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noting = false
}

// note records a request, for an open visit or a new one.
func (r *Recorder) note(v *visit, q store.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.noting || r.left == 0 {
		return
	}
	// A value joins the list with its first read. Some are opened and never read.
	if r.left--; len(v.reads) == 0 {
		r.visits = append(r.visits, v)
	}
	v.reads = append(v.reads, q)
}

// Unwrap implements [store.Wrapper].
func (r *Recorder) Unwrap() store.Store { return r.Store }

// Get implements [store.Store].
func (r *Recorder) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	r.note(&visit{key: key}, q)
	return r.Store.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (r *Recorder) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	return store.Stat(ctx, r.Store, key)
}

// List implements [store.Lister].
func (r *Recorder) List(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return store.List(ctx, r.Store, dir, deep)
}

// ListVersions implements [store.VersionLister].
func (r *Recorder) ListVersions(ctx context.Context, dir store.Path, deep bool) iter.Seq2[store.Entry, error] {
	return store.ListVersions(ctx, r.Store, dir, deep)
}

// Open implements [store.Opener].
func (r *Recorder) Open(ctx context.Context, key store.Key) (store.Object, error) {
	o, err := store.Open(ctx, r.Store, key)
	if err != nil {
		return nil, err
	}
	return &noted{o, r, &visit{key: key, opened: true}}, nil
}

// noted is an open value whose reads are recorded.
type noted struct {
	store.Object
	r *Recorder
	v *visit
}

// Read implements [store.Object].
func (o *noted) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	o.r.note(o.v, q)
	return o.Object.Read(ctx, q, dst)
}

// Replay repeats the recorded requests, those of several values at a time. It returns
// their number and their bytes.
func (r *Recorder) Replay(ctx context.Context, workers int) (requests, bytes int64, err error) {
	var next, times, sum atomic.Int64
	group, within := errgroup.WithContext(ctx)
	for range min(workers, len(r.visits)) {
		group.Go(func() error {
			var buf []byte
			for i := next.Add(1) - 1; i < int64(len(r.visits)); i = next.Add(1) - 1 {
				v := r.visits[i]
				n, err := v.repeat(within, r.Store, &buf)
				if err != nil {
					return err
				}
				times.Add(int64(len(v.reads)))
				sum.Add(n)
			}
			return nil
		})
	}
	err = cmp.Or(group.Wait(), ctx.Err())
	return times.Load(), sum.Load(), err
}

// repeat repeats the reads of the visit into a buffer, which it may grow, and returns the
// bytes. A missing value is no error.
func (v *visit) repeat(ctx context.Context, s store.Store, buf *[]byte) (n int64, err error) {
	read := func(q store.Request) (out []byte, err error) {
		out, _, err = s.Get(ctx, v.key, q, (*buf)[:0])
		return out, err
	}
	if v.opened {
		o, err := store.Open(ctx, s, v.key)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		defer o.Close()
		read = func(q store.Request) ([]byte, error) { return o.Read(ctx, q, (*buf)[:0]) }
	}
	for _, q := range v.reads {
		out, err := read(q)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, err
		}
		n += int64(len(out))
		// Keep the larger buffer for the next read, so that memory is allocated once.
		if cap(out) > cap(*buf) {
			*buf = out
		}
	}
	return n, nil
}

// Close closes the store below.
func (r *Recorder) Close() error {
	if c, ok := store.As[io.Closer](r.Store); ok {
		return c.Close()
	}
	return nil
}
