// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// hashed is an object store whose versions are hashes of the values, as ETags may be.
// Equal bytes have equal versions.
type hashed struct {
	memtest.Store
	mu *sync.Mutex // makes check and write one step
}

// drafts is a hashed store with drafts. As in S3, the new ones of a key are known only to
// who made them, and each can be published once.
type drafts struct {
	hashed
	open map[store.Key][]*draft
}

func newDrafts() drafts { return drafts{newHashed(), map[store.Key][]*draft{}} }

type draft struct {
	s     drafts
	key   store.Key
	value []byte
	over  bool // published or revoked
}

func (s drafts) Draft(_ context.Context, key store.Key, value []byte, _ store.Durability) (store.Draft, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &draft{s: s, key: key, value: bytes.Clone(value)}
	s.open[key] = append(s.open[key], d)
	return d, nil
}

func (s drafts) Revoke(_ context.Context, key store.Key, keep store.Draft) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.open[key] {
		d.over = d.over || store.Draft(d) != keep
	}
	return nil
}

func (d *draft) Publish(ctx context.Context, cond store.Condition) (store.Version, error) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	err := d.s.holds(ctx, d.key, cond)
	if d.over {
		err = fmt.Errorf("%s: %w: the draft was revoked or published", d.key, store.ErrConflict)
	}
	if err != nil {
		return store.Version{}, err
	}
	d.over = true
	w, err := d.s.Write(ctx, store.Put(d.key, d.value), store.Flush)
	return w.Version, err
}

func (d *draft) Discard(context.Context) {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	d.over = true
}

func newHashed() hashed { return hashed{memtest.New(), new(sync.Mutex)} }

func hashOf(value []byte) store.Version {
	sum := sha256.Sum256(value)
	return store.MakeVersion(hex.EncodeToString(sum[:8]))
}

func (h hashed) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	whole, info, err := h.Store.Get(ctx, key, store.Request{}, nil)
	if err != nil {
		return nil, info, err
	}
	out, _, err := h.Store.Get(ctx, key, q, dst)
	info.Version = hashOf(whole)
	return out, info, err
}

func (h hashed) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	_, info, err := h.Get(ctx, key, store.Request{}, nil)
	return info, err
}

func (h hashed) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	if c.Op == store.OpPutIf || c.Op == store.OpDeleteIf {
		h.mu.Lock()
		defer h.mu.Unlock()
		if err := h.holds(ctx, c.Key, c.If); err != nil {
			return made, err
		}
		if c.Op == store.OpPutIf {
			c = store.Put(c.Key, c.Value)
		} else {
			c = store.Delete(c.Key)
		}
	}
	made, err = h.Store.Write(ctx, c, d)
	if c.Op == store.OpPut {
		made.Version = hashOf(c.Value)
	}
	return made, err
}

func (h hashed) holds(ctx context.Context, key store.Key, c store.Condition) error {
	info, err := h.Stat(ctx, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !c.Holds(info.Version, err == nil) {
		return fmt.Errorf("%s: %w", key, store.ErrConflict)
	}
	return nil
}
