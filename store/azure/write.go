// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/sync/errgroup"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// markHeader is the metadata by which a store knows its own writes.
const markHeader = "X-Ms-Meta-Varve_write"

// writing is one write in progress: its condition and its mark.
type writing struct {
	s    *Store
	key  store.Key
	cond store.Condition
	mark string
	// scope is the encryption scope, "" for the default of the container. Blocks and the
	// list of them have the same.
	scope string
	// blocks begins the IDs of blocks. Each attempt to make the value has its own: a
	// request that was given up may still make a block, when others are uploaded.
	blocks string
}

// scopeHeader is the header of requests and answers with the encryption scope of a blob.
const scopeHeader = "X-Ms-Encryption-Scope"

// begin begins a write. A change without a condition permits anything.
func (s *Store) begin(c store.Change) (*writing, error) {
	w := &writing{s: s, key: c.Key, cond: c.If, mark: rand.Text(), scope: s.options.EncryptionScope}
	if driver.HasNoCondition(c) {
		return nil, w.Fail("write", driver.NoVersion(c.If.Version(), noun))
	}
	if err := s.mayWrite(c.Key); err != nil {
		return nil, driver.Refused(err)
	}
	if v := c.If.Version(); !v.IsZero() && !isTag(v) {
		return nil, w.Fail("write", driver.NoVersion(v, noun))
	}
	return w, nil
}

// Fail implements [driver.Maker].
func (w *writing) Fail(what string, err error) error { return w.s.fail(what, w.key, err) }

// Can implements [store.Writer]. The service does not change an object in place.
func (s *Store) Can(op store.Op) bool {
	return op >= store.OpPut && op <= store.OpClone && op != store.OpPatch
}

// Write implements [store.Writer]. The service makes every change durable.
//
// In a value above 16 MiB, Assemble, Gather and Splice let it copy long ranges of blobs
// of the same account into blocks (Put Block From URL). Shorter ones, and those of
// other stores, are read and uploaded in blocks of 16 MiB. Copy is for sources in the
// same account that are read with the same credentials. The service copies the bytes,
// unless there is an encryption scope and the blob has at most 16 MiB. Clone is a copy
// on the condition that the source is of its version.
func (s *Store) Write(ctx context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	switch c.Op {
	case store.OpPut, store.OpPutIf, store.OpSplice, store.OpAssemble, store.OpGather:
		made.Version, err = s.make(ctx, c)
	case store.OpDelete:
		err = s.delete(ctx, c.Key)
	case store.OpDeleteIf:
		err = s.deleteIf(ctx, c.Key, c.If.Version())
	case store.OpCopy:
		return s.copyFrom(ctx, c)
	case store.OpClone:
		return s.cloneValue(ctx, c)
	default:
		err = s.fail("change", c.Key, store.ErrUnsupported)
	}
	return made, err
}

// make makes a value of new bytes, or of parts.
func (s *Store) make(ctx context.Context, c store.Change) (store.Version, error) {
	w, err := s.begin(c)
	if err != nil {
		return store.Version{}, err
	}
	return driver.Make(ctx, s, c, w)
}

// Put writes a value, in one request unless it is large.
func (w *writing) Put(ctx context.Context, value []byte) (store.Version, error) {
	if len(value) <= piece {
		c := call{method: http.MethodPut, blob: w.s.blob(w.key), header: w.header(""), body: value}
		c.header.Set("X-Ms-Blob-Type", "BlockBlob")
		return w.repeat(ctx, c)
	}
	return w.inBlocks(ctx, func(ctx context.Context) ([]string, error) { return w.sendAll(ctx, value) })
}

// header returns the headers of the request that makes the blob visible: its condition,
// its mark and its kind. about is "Blob-" in a list of blocks.
func (w *writing) header(about string) http.Header {
	kind := "application/octet-stream"
	if strings.HasSuffix(w.key.String(), ".json") {
		kind = "application/json"
	}
	h := http.Header{markHeader: {w.mark}}
	if h.Set("X-Ms-Blob-Content-Type", kind); about == "" {
		h.Set("Content-Type", kind)
	}
	if w.s.options.AccessTier != "" {
		h.Set("X-Ms-Access-Tier", w.s.options.AccessTier)
	}
	if w.scope != "" {
		h.Set(scopeHeader, w.scope)
	}
	switch {
	case w.cond.Absent():
		h.Set("If-None-Match", "*")
	case !w.cond.Version().IsZero():
		h.Set("If-Match", w.cond.Version().String())
	}
	return h
}

// repeat makes attempts of the call that writes the value, and returns its version.
func (w *writing) repeat(ctx context.Context, c call) (store.Version, error) {
	var h http.Header
	doubt, err := driver.Attempts(w.s.reads.Do).Change(ctx, func(ctx context.Context) (err error) {
		h, err = w.s.send(ctx, c, nil)
		return err
	})
	tag, err := driver.Write{Look: w.look, Noun: noun, HasVersion: !w.cond.Version().IsZero()}.Settle(ctx, h.Get("ETag"), err, doubt)
	if err != nil {
		return store.Version{}, w.Fail("write", err)
	}
	return store.MakeVersion(tag), nil
}

// look returns the ETag of the blob, and whether this write made it.
func (w *writing) look(ctx context.Context) (string, bool, error) {
	h, err := w.s.do(ctx, call{method: http.MethodHead, blob: w.s.blob(w.key)})
	return h.Get("ETag"), h.Get(markHeader) == w.mark, err
}

// piece is the size of a block, and that of the largest value that is written in one
// request.
const piece = 16 << 20

// mostUploads is how often a write without a condition starts again because another
// writer has discarded its blocks.
const mostUploads = 5

// inBlocks uploads a value in blocks. send uploads them and returns their IDs.
func (w *writing) inBlocks(ctx context.Context, send func(ctx context.Context) ([]string, error)) (store.Version, error) {
	for tries := 1; ; tries++ {
		w.blocks = rand.Text()
		ids, err := send(ctx)
		if driver.IsRefusal(err) {
			err = driver.Refused(err) // blocks alone are no value
		}
		if err != nil {
			return store.Version{}, w.Fail("write", err)
		}
		v, err := w.commit(ctx, ids)
		discarded := hasCode(err, "InvalidBlockList")
		if !discarded || tries == mostUploads || w.cond.Absent() || !w.cond.Version().IsZero() {
			return v, err
		}
	}
}

// atOnce is the number of blocks of a value in memory that are sent at a time: one
// connection may be slower than the network.
const atOnce = 4

// sendAll uploads a value that is in memory.
func (w *writing) sendAll(ctx context.Context, value []byte) ([]string, error) {
	ids := make([]string, (len(value)+piece-1)/piece)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for n := range ids {
		ids[n] = w.blockID(n)
		group.Go(func() error { return w.send(ctx, ids[n], value[n*piece:min((n+1)*piece, len(value))]) })
	}
	return ids, group.Wait()
}

// sendEach uploads blocks one after the other. next returns the bytes of block n, none at
// the end.
func (w *writing) sendEach(ctx context.Context, next func(ctx context.Context, n int) ([]byte, error)) (ids []string, err error) {
	for {
		bytes, err := next(ctx, len(ids))
		if err != nil || len(bytes) == 0 {
			return ids, err
		}
		id := w.blockID(len(ids))
		if err := w.send(ctx, id, bytes); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
}

// blockID returns the ID of block n. All have the same length, as the service asks for.
func (w *writing) blockID(n int) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%06d", w.blocks, n))
}

// send uploads a block. Blocks that are not committed take no name and are deleted by the
// service after a week.
func (w *writing) send(ctx context.Context, id string, bytes []byte) error {
	c := call{method: http.MethodPut, blob: w.s.blob(w.key), query: url.Values{"comp": {"block"}, "blockid": {id}}, body: bytes}
	if w.scope != "" {
		c.header = http.Header{scopeHeader: {w.scope}}
	}
	_, err := w.s.do(ctx, c)
	return err
}

// commit makes the blob of its blocks.
func (w *writing) commit(ctx context.Context, ids []string) (store.Version, error) {
	var list strings.Builder
	list.WriteString(`<?xml version="1.0" encoding="utf-8"?><BlockList>`)
	for _, id := range ids {
		list.WriteString("<Latest>" + id + "</Latest>")
	}
	list.WriteString("</BlockList>")
	return w.repeat(ctx, call{
		method: http.MethodPut, blob: w.s.blob(w.key), query: url.Values{"comp": {"blocklist"}}, header: w.header("Blob-"), body: []byte(list.String()),
	})
}
