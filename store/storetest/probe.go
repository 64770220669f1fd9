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
	_, err := store.Write(ctx, p.s, store.Put(store.MustKey("probe"), nil), store.Flush)
	return !errors.Is(err, store.ErrUnsupported) && !errors.Is(err, fs.ErrPermission)
}

// refusesWrites checks that a read-only store refuses every kind of change.
func (p *probe) refusesWrites() {
	key, parts := store.MustKey("probe"), []store.Part{added("x")}
	changes := map[string]store.Change{
		"Put": store.Put(key, nil), "PutIf": store.PutIf(key, nil, store.IfAbsent()),
		"Delete": store.Delete(key), "DeleteIf": store.DeleteIf(key, store.Version{}),
		"Splice": store.Splice(key, store.Version{}, nil), "PatchValue": store.PatchValue(key, store.Version{}, nil),
		"Clone": store.Clone(key, store.MustKey(longKey), store.Version{}), "Copy": store.Copy(key, p.s, store.MustKey(longKey)),
		"Assemble": store.Assemble(key, parts), "Gather": store.Gather(key, foreignStore{}, parts),
	}
	for name, c := range changes {
		p.refused(p.change(c), name)
		b, err := store.NewBatch(p.ctx, p.s, store.Sync)
		if err == nil {
			_, err = b.Write(p.ctx, c)
			b.Discard()
		}
		p.refused(err, name+" in a batch")
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

// durabilities are those that batches begin with.
var durabilities = []store.Durability{store.Sync, store.Flush}

// inBatch calls check with a batch, and commits it.
func (p *probe) inBatch(d store.Durability, check func(b store.Batch)) {
	b, err := store.NewBatch(p.ctx, p.s, d)
	if err != nil {
		p.errorf("NewBatch: %w", err)
		return
	}
	check(b)
	p.is(b.Commit(p.ctx), nil, "Commit")
	b.Discard() // no effect after Commit
}

// errOf returns the error of a change.
func errOf(_ store.Written, err error) error { return err }

// change makes a change with Sync.
func (p *probe) change(c store.Change) error { return errOf(store.Write(p.ctx, p.s, c, store.Sync)) }

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
	v, err := store.Write(p.ctx, p.s, store.Put(store.MustKey(name), value), store.Flush)
	p.is(err, nil, "Put %q", name)
	return v.Version
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
