// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// Assemble writes the value that parts of a store make.
func (w *writing) Assemble(ctx context.Context, from store.Store, parts []store.Part) (store.Version, error) {
	size, err := store.Assemble(w.key, parts).Size(0)
	var r *driver.PartReader
	if err == nil {
		r, err = driver.NewPartReader(ctx, from, parts)
	}
	var value []byte
	if err == nil && size <= piece {
		value, err = r.AppendPiece(ctx, nil, size)
	}
	switch {
	case err != nil:
		return store.Version{}, w.Fail("assemble", err)
	case size <= piece:
		return w.Put(ctx, value)
	}
	other := w.s.copies(from)
	var blocks []block
	if other != nil {
		blocks = cut(r.Parts())
	}
	if len(blocks) > 0 {
		v, err := w.inBlocks(ctx, func(ctx context.Context) ([]string, error) { return w.sendBlocks(ctx, other, blocks, r) })
		refused := (*notCopied)(nil)
		if !errors.As(err, &refused) {
			return v, err
		}
		v, err = w.upload(ctx, r)
		if err == nil && !driver.IsMissing(refused) {
			w.s.uploads.Store(true) // what the service does not copy could be read
		}
		return v, err
	}
	return w.upload(ctx, r)
}

// upload reads all parts, and uploads them.
func (w *writing) upload(ctx context.Context, r *driver.PartReader) (store.Version, error) {
	held := make([]byte, 0, piece)
	next := func(ctx context.Context, n int) (_ []byte, err error) {
		if n == 0 {
			r.Rewind()
		}
		held, err = r.AppendPiece(ctx, held[:0], piece)
		return held, err
	}
	return w.inBlocks(ctx, func(ctx context.Context) ([]string, error) { return w.sendEach(ctx, next) })
}

// block is a block of n bytes of a value that is assembled. The service copies it from
// one source, or the program reads and uploads it.
type block struct {
	source *store.Part // nil for bytes that are uploaded
	n      int64
}

const (
	// leastCopy is the smallest range that the service copies. Shorter ones are joined:
	// a request for each of them would take longer.
	leastCopy = 1 << 20
	// mostCopy is the largest range that is copied by one request, which waits for it.
	mostCopy = 64 << 20
	// mostBlocks is the largest number of blocks of a blob.
	mostBlocks = 50_000
)

// cut cuts parts, which have versions, into blocks. It returns none if the service would
// copy nothing, or if there would be too many.
func cut(parts []store.Part) (blocks []block) {
	open, copied := int64(0), false
	end := func() {
		for ; open > 0; open -= min(open, piece) {
			blocks = append(blocks, block{n: min(open, piece)})
		}
	}
	for i := 0; i < len(parts); i++ {
		p := parts[i]
		if p.Data != nil {
			open += int64(len(p.Data))
			continue
		}
		for i+1 < len(parts) && driver.Continues(parts[i+1], p) {
			p.N += parts[i+1].N
			i++
		}
		if p.N < leastCopy {
			open += p.N
			continue
		}
		end()
		for copied = true; p.N > 0; {
			part := p
			part.N = min(p.N, mostCopy)
			blocks = append(blocks, block{&part, part.N})
			p.Off, p.N = p.Off+part.N, p.N-part.N
		}
	}
	if end(); !copied || len(blocks) > mostBlocks {
		return nil
	}
	return blocks
}

// copies returns the driver below a store if the service can copy ranges of its blobs
// into blocks.
func (s *Store) copies(from store.Store) *Store {
	other, ok := store.Driver(from).(*Store)
	if !ok || !s.sees(other) || s.uploads.Load() {
		return nil
	}
	// Over plain http, others could read the signature of a source, and use it.
	if s.endpoint.Scheme != "https" && !driver.IsLoopback(s.endpoint.Hostname()) {
		return nil
	}
	return other
}

// sendBlocks makes the blocks of a value, several at a time, and returns their IDs. It
// reads what is uploaded from r.
func (w *writing) sendBlocks(ctx context.Context, other *Store, blocks []block, r *driver.PartReader) ([]string, error) {
	r.Rewind()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	ids, held := make([]string, len(blocks)), []byte(nil)
	for n, b := range blocks {
		ids[n] = w.blockID(n)
		if b.source != nil {
			r.Skip(b.n)
			group.Go(func() error { return w.copyBlock(ctx, ids[n], other, *b.source) })
			continue
		}
		var err error
		if held, err = r.AppendPiece(ctx, held[:0], b.n); err == nil {
			err = w.send(ctx, ids[n], held)
		}
		if err != nil {
			group.Go(func() error { return err })
			break
		}
	}
	return ids, group.Wait()
}

// copyBlock lets the service copy a range of a blob into a block.
func (w *writing) copyBlock(ctx context.Context, id string, other *Store, p store.Part) error {
	u := other.url(other.blob(p.Key), nil)
	h, err := w.s.transport.source(ctx, u, other.container, other.blob(p.Key))
	if err != nil {
		return err
	}
	h.Set("X-Ms-Copy-Source", u.String())
	h.Set("X-Ms-Source-Range", fmt.Sprintf("bytes=%d-%d", p.Off, p.Off+p.N-1))
	h.Set("X-Ms-Source-If-Match", p.Version.String())
	if w.scope != "" {
		h.Set(scopeHeader, w.scope)
	}
	c := call{method: http.MethodPut, blob: w.s.blob(w.key), query: url.Values{"comp": {"block"}, "blockid": {id}}, header: h}
	_, err = w.s.do(ctx, c)
	if f := (*driver.Fault)(nil); errors.As(err, &f) && !driver.IsConflict(err) && !driver.IsTemporary(err) {
		err = &notCopied{err}
	}
	return err
}

// notCopied is the error of a service that refuses to copy a range. It may be read and
// uploaded all the same.
type notCopied struct{ error }

func (e *notCopied) Unwrap() error { return e.error }
