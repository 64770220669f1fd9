// SPDX-License-Identifier: Apache-2.0

// Package memstore is a store in memory. It makes every change of package store but
// copies from other stores, so it is also the reference for drivers.
//
// A write replaces the value, and open objects keep reading the old one. Only
// [store.OpPatch] changes a value in place, under a lock of that value; open objects then
// fail with [store.ErrConflict]. Clones share their bytes until one of them is patched.
//
// The end of the process loses all values, regardless of the requested durability.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/store"
)

// memory is the store.
type memory struct {
	mu     sync.RWMutex
	values map[store.Key]value
	dirs   index
	writes int64

	locks locks
}

// value is one version of a value. It can be read while its storage has the same version.
type value struct {
	*storage
	version  store.Version
	modified time.Time
}

// storage holds the bytes of a value and of its patched versions. Its lock is taken
// before that of the store, never after it.
type storage struct {
	data []byte // never replaced; patches change the bytes

	mu      sync.RWMutex
	current store.Version
	shared  bool // another storage may have the same data, which no patch may change
}

func (v value) info() store.Info {
	return store.Info{Size: int64(len(v.data)), Version: v.version, Modified: v.modified}
}

// New returns an empty store, which is safe for concurrent use. It has the powers
// [store.Writer], [store.Batcher], [store.Stater], [store.Lister], [store.Opener] and
// [store.Locker]; ask for them with [store.As].
func New() store.Store {
	return &memory{values: map[store.Key]value{}, dirs: index{}, locks: locks{held: map[store.Path]chan struct{}{}}}
}

// lookup returns the value at key, or fs.ErrNotExist.
func (s *memory) lookup(ctx context.Context, key store.Key) (value, error) {
	if err := ctx.Err(); err != nil {
		return value{}, err
	}
	s.mu.RLock()
	v, ok := s.values[key]
	s.mu.RUnlock()
	if !ok {
		return value{}, fmt.Errorf("memory: %s: %w", key, fs.ErrNotExist)
	}
	return v, nil
}

// Get implements [store.Store].
func (s *memory) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	for {
		v, err := s.lookup(ctx, key)
		if err != nil {
			return nil, store.Info{}, err
		}
		out, err := v.read(key, q, dst)
		switch {
		case err == nil:
			return out, v.info(), nil
		// A concurrent patch changed the value after the lookup. Look up the new version.
		case !errors.Is(err, store.ErrConflict):
			return nil, store.Info{}, err
		}
	}
}

// read appends the bytes that q selects to dst. If the value was patched, the error is
// [store.ErrConflict].
func (v value) read(key store.Key, q store.Request, dst []byte) ([]byte, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.current != v.version {
		return nil, conflict(key)
	}
	off, n, err := q.Resolve(int64(len(v.data)))
	if err != nil {
		return nil, fmt.Errorf("memory: %s: %w", key, err)
	}
	return append(dst, v.data[off:off+n]...), nil
}

// Stat implements [store.Stater].
func (s *memory) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	v, err := s.lookup(ctx, key)
	if err != nil {
		return store.Info{}, err
	}
	return v.info(), nil
}

// conflict is the error of a value that has changed.
func conflict(key store.Key) error { return fmt.Errorf("memory: %s: %w", key, store.ErrConflict) }

// Open implements [store.Opener]. The object stays readable until the value is patched.
func (s *memory) Open(ctx context.Context, key store.Key) (store.Object, error) {
	for {
		v, err := s.lookup(ctx, key)
		if err != nil {
			return nil, err
		}
		if v.isCurrent() {
			return object{key, v}, nil
		}
	}
}

// isCurrent reports whether the value has not been patched. It waits until a running
// patch has ended, so that an object is not opened for a version about to disappear.
func (v value) isCurrent() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.current == v.version
}

type object struct {
	key store.Key
	v   value
}

func (o object) Info() store.Info { return o.v.info() }
func (o object) Close() error     { return nil }

func (o object) Read(ctx context.Context, q store.Request, dst []byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return o.v.read(o.key, q, dst)
}

// may decides whether to write or delete, from the present value of the key.
type may func(v value, exists bool) bool

// anyway permits an unconditional write.
func anyway(value, bool) bool { return true }

// onlyIf returns the decision of a write on a condition.
func onlyIf(cond store.Condition) may {
	return func(v value, exists bool) bool { return cond.Holds(v.version, exists) }
}

// Can implements [store.Writer].
func (s *memory) Can(op store.Op) bool {
	switch op {
	case store.OpPut, store.OpPutIf, store.OpDelete, store.OpDeleteIf, store.OpSplice, store.OpPatch, store.OpAssemble, store.OpClone:
		return true
	}
	return false
}

// Write implements [store.Writer].
func (s *memory) Write(ctx context.Context, c store.Change, _ store.Durability) (made store.Written, err error) {
	switch c.Op {
	case store.OpPut:
		made.Version, err = s.set(ctx, c.Key, &storage{data: clone(c.Value)}, anyway)
	case store.OpPutIf:
		made.Version, err = s.set(ctx, c.Key, &storage{data: clone(c.Value)}, onlyIf(c.If))
	case store.OpDelete:
		err = s.remove(ctx, c.Key, anyway)
	case store.OpDeleteIf:
		err = s.remove(ctx, c.Key, onlyIf(c.If))
	case store.OpSplice:
		made.Version, err = s.splice(ctx, c)
	case store.OpPatch:
		made.Version, err = s.patch(ctx, c)
	case store.OpAssemble:
		made.Version, err = s.assemble(ctx, c)
	case store.OpClone:
		made, err = s.clone(ctx, c.Key, c.Source, c.SourceVersion)
	default:
		err = fmt.Errorf("memory: %s: %w", c.Key, store.ErrUnsupported)
	}
	return made, err
}

// clone returns a copy without spare capacity.
func clone(data []byte) []byte { return append(make([]byte, 0, len(data)), data...) }

// set stores new storage if may agrees. It sets the version of the storage.
func (s *memory) set(ctx context.Context, key store.Key, fresh *storage, may may) (store.Version, error) {
	if err := ctx.Err(); err != nil {
		return store.Version{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return store.Version{}, conflict(key)
	}
	fresh.current = s.next()
	s.values[key] = value{fresh, fresh.current, time.Now()}
	if !exists {
		s.dirs.add(key)
	}
	return fresh.current, nil
}

// next returns the version of a write. The caller holds the lock of the store.
func (s *memory) next() store.Version {
	s.writes++
	return store.MakeVersion(strconv.FormatInt(s.writes, 10))
}

// remove removes the value at key if may agrees.
func (s *memory) remove(ctx context.Context, key store.Key, may may) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.values[key]
	if !may(old, exists) {
		return conflict(key)
	}
	if exists {
		delete(s.values, key)
		s.dirs.remove(key)
	}
	return nil
}

// index counts the keys at and below every child of every directory, so that a listing
// costs only its entries. The name of a child that is a directory ends in a slash.
type index map[string]map[string]int

func (x index) add(key store.Key)    { x.count(key.String(), 1) }
func (x index) remove(key store.Key) { x.count(key.String(), -1) }

// count adds by to each child on the way to name.
func (x index) count(name string, by int) {
	for dir, rest := "", name; rest != ""; {
		child, below, isDir := strings.Cut(rest, "/")
		if isDir {
			// Keep the slash, which marks a directory.
			child = rest[:len(child)+1]
		}
		x.bump(dir, child, by)
		dir, rest = name[:len(name)-len(below)], below
	}
}

// bump adds by to one child of dir, and deletes a child without keys.
func (x index) bump(dir, child string, by int) {
	children := x[dir]
	if children == nil {
		children = map[string]int{}
		x[dir] = children
	}
	if children[child] += by; children[child] == 0 {
		delete(children, child)
	}
	if len(children) == 0 {
		delete(x, dir)
	}
}

// List implements [store.Lister], with versions in any case. Each directory is listed as
// of the moment when the sequence reaches it.
func (s *memory) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	top := dir.String()
	if top != "" {
		top += "/"
	}
	return func(yield func(store.Entry, error) bool) { s.list(ctx, top, "", how&store.Deep != 0, yield) }
}

// list yields the entries below top+rel, and reports whether to continue.
func (s *memory) list(ctx context.Context, top, rel string, deep bool, yield func(store.Entry, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield(store.Entry{}, err)
		return false
	}
	for _, e := range s.children(top, rel) {
		switch {
		case !e.Dir || !deep:
			if !yield(e, nil) {
				return false
			}
		case !s.list(ctx, top, e.Name+"/", deep, yield):
			return false
		}
	}
	return true
}

// children returns the entries one level below top+rel, with names relative to top.
func (s *memory) children(top, rel string) []store.Entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	children := s.dirs[top+rel]
	entries := make([]store.Entry, 0, len(children))
	for child := range children {
		if name, isDir := strings.CutSuffix(child, "/"); isDir {
			entries = append(entries, store.Entry{Name: rel + name, Dir: true, Size: -1})
			continue
		}
		info := s.values[store.Path{}.MustKey(top+rel+child)].info()
		entries = append(entries, store.Entry{Name: rel + child, Size: info.Size, Version: info.Version, Modified: info.Modified})
	}
	return entries
}

// locks are the locked directories, each with a channel that is closed on release.
type locks struct {
	mu   sync.Mutex
	held map[store.Path]chan struct{}
}

// Lock implements [store.Locker]. It does not exclude PutIf, which is atomic by itself.
func (s *memory) Lock(ctx context.Context, dir store.Path) (unlock func() error, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		free := s.locks.take(dir)
		if free == nil {
			return sync.OnceValue(func() error { return s.locks.release(dir) }), nil
		}
		select {
		case <-free:
		case <-ctx.Done():
		}
	}
}

// LockHolder implements [store.Locker]. Only this process can hold the lock.
func (s *memory) LockHolder(store.Path) store.Holder { return store.Holder{} }

// take locks dir and returns nil, or returns a channel that is closed when its holder
// releases it.
func (l *locks) take(dir store.Path) (busy <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if free, held := l.held[dir]; held {
		return free
	}
	l.held[dir] = make(chan struct{})
	return nil
}

func (l *locks) release(dir store.Path) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held[dir])
	delete(l.held, dir)
	return nil
}

// assemble builds the new value without holding the lock of the store.
func (s *memory) assemble(ctx context.Context, c store.Change) (store.Version, error) {
	var data []byte
	n, err := c.Size(0)
	if err == nil {
		var sources map[store.Key]value
		if sources, err = s.sources(ctx, c.Parts); err == nil {
			data, err = build(n, c.Parts, sources)
		}
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("memory: %s: %w", c.Key, err)
	}
	return s.set(ctx, c.Key, &storage{data: data}, anyway)
}

// sources returns the values that parts take bytes from, one version of each.
func (s *memory) sources(ctx context.Context, parts []store.Part) (map[store.Key]value, error) {
	sources := map[store.Key]value{}
	for _, p := range parts {
		if p.Data != nil {
			continue
		}
		v, seen := sources[p.Key]
		if !seen {
			var err error
			if v, err = s.source(ctx, p.Key, p.Version); err != nil {
				return nil, err
			}
			sources[p.Key] = v
		}
		if !p.Version.IsZero() && p.Version != v.version {
			return nil, conflict(p.Key)
		}
		if err := p.Within(int64(len(v.data))); err != nil {
			return nil, err
		}
	}
	return sources, nil
}

// build returns the n bytes of parts, which lie within their sources.
func build(n int64, parts []store.Part, sources map[store.Key]value) (data []byte, err error) {
	if n > math.MaxInt {
		return nil, fmt.Errorf("%w: %s", store.ErrTooLarge, quantity.Count(n, "bytes"))
	}
	data = make([]byte, 0, n)
	for _, p := range parts {
		if p.Data != nil {
			data = append(data, p.Data...)
		} else if data, err = sources[p.Key].read(p.Key, store.Request{Range: store.Span(p.Off, p.N)}, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// Batch implements [store.Batcher]. Writes take effect immediately, and Commit does
// nothing.
func (s *memory) Batch(ctx context.Context, _ store.Durability) (store.Batch, error) {
	return batch{s}, ctx.Err()
}

type batch struct{ *memory }

func (b batch) Write(ctx context.Context, c store.Change) (store.Written, error) {
	return b.memory.Write(ctx, c, store.Flush)
}

func (b batch) Commit(ctx context.Context) error { return ctx.Err() }
func (b batch) Discard()                         {}

// clone stores the value of source at key as well. The values share their bytes until one
// is patched.
func (s *memory) clone(ctx context.Context, key, source store.Key, from store.Version) (store.Written, error) {
	for {
		v, err := s.source(ctx, source, from)
		if err != nil {
			return store.Written{}, err
		}
		if !v.share() {
			// A concurrent patch changed the value after the lookup. Look it up again.
			continue
		}
		made, err := s.set(ctx, key, &storage{data: v.data, shared: true}, anyway)
		if err != nil {
			return store.Written{}, err
		}
		// Not the present version: a concurrent writer may have patched the source.
		of := v.version
		if key == source {
			of = made
		}
		return store.Written{Version: made, Source: of, Size: int64(len(v.data))}, nil
	}
}

// source returns the value at key, which must be of version from. A zero from permits
// any.
func (s *memory) source(ctx context.Context, key store.Key, from store.Version) (value, error) {
	if from.IsZero() {
		return s.lookup(ctx, key)
	}
	return s.present(ctx, key, from)
}

// share marks the bytes of the value as shared, and reports whether it has not been
// patched.
func (v value) share() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.current != v.version {
		return false
	}
	v.shared = true
	return true
}

// patch copies only the bytes of the patches, unless a clone shares those of the value.
// It waits for the readers of the value, and later readers wait for it; other values
// are not blocked.
func (s *memory) patch(ctx context.Context, c store.Change) (store.Version, error) {
	v, err := s.present(ctx, c.Key, c.If.Version())
	if err != nil {
		return store.Version{}, err
	}
	if _, err := c.Size(int64(len(v.data))); err != nil {
		return store.Version{}, fmt.Errorf("memory: %s: %w", c.Key, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shared {
		// A clone has the same bytes, so change a copy.
		fresh := &storage{data: clone(v.data)}
		fresh.apply(c.Patches)
		return s.set(ctx, c.Key, fresh, onlyIf(c.If))
	}
	if !s.renew(c.Key, v) {
		return store.Version{}, conflict(c.Key)
	}
	// Readers of the new version wait for the lock that is held here.
	v.apply(c.Patches)
	return v.current, nil
}

// apply overwrites bytes. The caller holds the lock of the storage.
func (s *storage) apply(patches []store.Patch) {
	for _, p := range patches {
		copy(s.data[p.Off:], p.Data)
	}
}

// renew gives the value at key a new version if it still is v. From then on no concurrent
// write finds the old version. Readers of the new version wait for the lock of the
// storage, which the caller holds, and so see all patches.
func (s *memory) renew(key store.Key, v value) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.values[key]; now.storage != v.storage || now.version != v.version {
		return false
	}
	v.current = s.next()
	s.values[key] = value{v.storage, v.current, time.Now()}
	return true
}

// splice builds the new value without holding the lock of the store.
func (s *memory) splice(ctx context.Context, c store.Change) (store.Version, error) {
	v, err := s.present(ctx, c.Key, c.If.Version())
	if err != nil {
		return store.Version{}, err
	}
	var data []byte
	n, err := c.Size(int64(len(v.data)))
	if err == nil {
		data, err = build(n, c.Parts, map[store.Key]value{c.Key: v})
	}
	if err != nil {
		return store.Version{}, fmt.Errorf("memory: %s: %w", c.Key, err)
	}
	return s.set(ctx, c.Key, &storage{data: data}, onlyIf(c.If))
}

// present returns the value at key, which must be of version from.
func (s *memory) present(ctx context.Context, key store.Key, from store.Version) (value, error) {
	v, err := s.lookup(ctx, key)
	if errors.Is(err, fs.ErrNotExist) || err == nil && v.version != from {
		return value{}, conflict(key)
	}
	return v, err
}
