// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"errors"
	"io/fs"

	"varve.dev/zarr/store"
)

// checkCopy copies values within the store, alone and in batches. A store without the
// power must say so.
func checkCopy(p *probe) {
	value := bytes.Repeat([]byte("0123456789"), 10_000)
	p.put("a/k", value)
	p.put("b/old", []byte("old"))
	from, none := store.MustKey("a/k"), store.MustKey("a/none")
	for i, to := range []string{"a/copy", "b/new/copy", "b/old"} {
		made, err := store.Write(p.ctx, p.s, store.Copy(store.MustKey(to), p.s, from), store.Sync)
		p.is(err, nil, "Copy to %q", to)
		p.holds(to, value)
		if made.Size != int64(len(value)) {
			p.errorf("copy %d has %d bytes, want %d", i, made.Size, len(value))
		}
		if v := made.Version; !v.IsZero() && v != p.version(to) {
			p.errorf("Copy says version %v, Stat says %v", v, p.version(to))
		}
	}
	_, err := store.Write(p.ctx, p.s, store.Copy(store.MustKey("b/none"), p.s, none), store.Flush)
	p.is(err, fs.ErrNotExist, "Copy of nothing")
	p.absent("b/none")
	p.put("a/k", []byte("changed")) // a copy does not follow its source
	p.holds("a/copy", value)
	p.batchCopy(from, none)
}

// batchCopy is checkCopy in a batch.
func (p *probe) batchCopy(from, none store.Key) {
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	p.is(err, nil, "NewBatch")
	made, err := b.Write(p.ctx, store.Copy(store.MustKey("c/d/copy"), p.s, from))
	if copies := store.Can(p.s, store.OpCopy); !copies && errors.Is(err, store.ErrUnsupported) {
		b.Discard()
		return
	}
	p.is(err, nil, "Copy in a batch")
	if made.Size != 7 {
		p.errorf("Copy in a batch: %d bytes, want 7", made.Size)
	}
	_, err = b.Write(p.ctx, store.Copy(store.MustKey("c/none"), p.s, none))
	p.is(err, fs.ErrNotExist, "Copy in a batch of nothing")
	p.is(b.Commit(p.ctx), nil, "Commit")
	p.holds("c/d/copy", []byte("changed"))
	p.absent("c/none")
}
