// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr/store"
)

// Fixture returns the values that a read-only store must hold for [Run] and [Test].
func Fixture() map[string][]byte {
	return map[string][]byte{
		"zarr.json":     []byte(`{"zarr_format":3,"node_type":"group"}`),
		"ab":            []byte("sibling of a directory"),
		"a/b":           []byte("below a directory"),
		"a/zarr.json":   []byte("{}"),
		"a/c/0/0":       bytes.Repeat([]byte("0123456789"), 40),
		"a/c/0/1":       {0},
		"a/c/1/0":       {},
		"a.b/c":         []byte("a dot sorts before a slash"),
		"deep/1/2/3/4":  []byte("deep"),
		"space in/a ü☃": []byte("words"),
	}
}

// probe is one check in progress: a store and the failures so far.
type probe struct {
	ctx    context.Context
	s      store.Store
	hashed bool // see [HashedVersions]
	errs   []error
}

func (p *probe) errorf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// is records a failure unless err wraps want. A nil want means no error.
func (p *probe) is(err, want error, format string, args ...any) {
	if !errors.Is(err, want) {
		p.errorf("%s: error is %v, want %v", fmt.Sprintf(format, args...), err, want)
	}
}

// canWrite tries a write that cannot happen, because its context has ended.
func (p *probe) canWrite() bool {
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := store.Put(ctx, p.s, store.MustKey("probe"), nil, store.Flush)
	return !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, fs.ErrPermission)
}

// refusesWrites checks that a read-only store refuses every kind of write.
func (p *probe) refusesWrites() {
	key := store.MustKey("probe")
	_, err := store.Put(p.ctx, p.s, key, nil, store.Sync)
	p.refused(err, "Put")
	_, err = store.PutIf(p.ctx, p.s, key, nil, store.IfAbsent(), store.Sync)
	p.refused(err, "PutIf")
	_, err = store.Splice(p.ctx, p.s, key, store.Version{}, nil, store.Sync)
	p.refused(err, "Splice")
	_, err = store.PatchValue(p.ctx, p.s, key, store.Version{}, nil, store.Sync)
	p.refused(err, "PatchValue")
	_, err = store.Clone(p.ctx, p.s, key, store.MustKey(longKey), store.Version{}, 0, store.Sync)
	p.refused(err, "Clone")
	_, err = store.Assemble(p.ctx, p.s, key, []store.Part{added("x")}, 0, store.Sync)
	p.refused(err, "Assemble")
	_, err = store.Gather(p.ctx, p.s, key, elsewhere{}, []store.Part{added("x")}, store.Sync)
	p.refused(err, "Gather")
	p.refused(store.Delete(p.ctx, p.s, key), "Delete")
	p.refused(store.DeleteIf(p.ctx, p.s, key, store.Version{}), "DeleteIf")
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	if err == nil {
		err = b.Put(p.ctx, key, nil)
		b.Discard()
	}
	p.refused(err, "NewBatch")
	if b, err = store.NewBatch(p.ctx, p.s, store.Sync); err == nil {
		p.refused(store.BatchPutIf(p.ctx, b, key, nil, store.IfAbsent()), "PutIf in a batch")
		p.refused(store.BatchSplice(p.ctx, b, key, store.Version{}, nil), "Splice in a batch")
		p.refused(store.BatchPatch(p.ctx, b, key, store.Version{}, nil), "Patch in a batch")
		_, err = store.BatchClone(p.ctx, b, key, store.MustKey(longKey), store.Version{})
		p.refused(err, "Clone in a batch")
		p.refused(store.BatchAssemble(p.ctx, b, key, []store.Part{added("x")}), "Assemble in a batch")
		p.refused(store.BatchGather(p.ctx, b, key, elsewhere{}, []store.Part{added("x")}), "Gather in a batch")
		b.Discard()
	}
	if _, err := store.Stat(p.ctx, p.s, key); !errors.Is(err, fs.ErrNotExist) {
		p.errorf("after refused writes: error is %v, want %v", err, fs.ErrNotExist)
	}
}

func (p *probe) refused(err error, what string) {
	if !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		p.errorf("%s: error is %v, want %v or %v", what, err, store.ErrUnsupported, fs.ErrPermission)
	}
}

// lacks reports whether the store lacks the named power. If so, it checks that err,
// from a function of package store, is [store.ErrUnsupported].
func (p *probe) lacks(ok bool, err error, power string) bool {
	if !ok {
		p.is(err, store.ErrUnsupported, "%s", power)
	}
	return !ok
}

// put writes a value with Flush, which keeps the suite fast. Sync has checks of its own.
func (p *probe) put(name string, value []byte) store.Version {
	v, err := store.Put(p.ctx, p.s, store.MustKey(name), value, store.Flush)
	p.is(err, nil, "Put %q", name)
	return v
}

// again writes the value that name has, so that only the version changes.
func (p *probe) again(name string, value []byte) {
	if !p.hashed {
		p.put(name, value)
		return
	}
	before := p.version(name)
	v, err := p.putIf(name, string(value), store.IfVersion(before))
	p.is(err, nil, "PutIf of the same bytes at %q", name)
	if now := p.version(name); v == before || now != v {
		p.errorf("PutIf of the same bytes at %q says version %v, Stat says %v, and before it was %v", name, v, now, before)
	}
}

// get reads a whole value.
func (p *probe) get(name string) ([]byte, store.Info, error) {
	return p.s.Get(p.ctx, store.MustKey(name), store.Request{}, nil)
}

// holds checks the value at name.
func (p *probe) holds(name string, want []byte) {
	got, info, err := p.get(name)
	switch {
	case err != nil:
		p.errorf("Get %q: %w", name, err)
	case !bytes.Equal(got, want):
		p.errorf("Get %q: %s, want %s", name, brief(got), brief(want))
	case info.Size != int64(len(want)):
		p.errorf("Get %q: size is %d, want %d", name, info.Size, len(want))
	}
}

// absent checks that name has no value.
func (p *probe) absent(name string) {
	got, _, err := p.get(name)
	p.is(err, fs.ErrNotExist, "Get %q", name)
	if got != nil {
		p.errorf("Get %q: bytes along with an error", name)
	}
	exists, err := store.Exists(p.ctx, p.s, store.MustKey(name))
	p.is(err, nil, "Exists %q", name)
	if exists {
		p.errorf("Exists %q: true, want false", name)
	}
}

// brief describes bytes in a message.
func brief(b []byte) string {
	if len(b) <= 40 {
		return fmt.Sprintf("%q", b)
	}
	return fmt.Sprintf("%q… (%d bytes)", b[:40], len(b))
}
