// SPDX-License-Identifier: Apache-2.0

package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"varve.dev/zarr/internal/racing"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/store/storetest"
)

// reader is a store without any power.
type reader struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (r *reader) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if err := ctx.Err(); err != nil {
		return nil, store.Info{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	value, ok := r.values[key.String()]
	if !ok {
		return nil, store.Info{}, fs.ErrNotExist
	}
	off, n, err := q.Resolve(int64(len(value)))
	if err != nil {
		return nil, store.Info{}, err
	}
	return append(dst, value[off:off+n]...), store.Info{Size: int64(len(value))}, nil
}

// writer is a reader that can write, but has no versions.
type writer struct{ reader }

func (w *writer) Can(op store.Op) bool { return op == store.OpPut }

func (w *writer) Write(ctx context.Context, c store.Change, _ store.Durability) (store.Written, error) {
	if err := ctx.Err(); err != nil {
		return store.Written{}, err
	}
	if !w.Can(c.Op) {
		return store.Written{}, store.ErrUnsupported
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.values[c.Key.String()] = bytes.Clone(c.Value)
	return store.Written{}, nil
}

func TestReader(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return &reader{values: storetest.Fixture()} })
}

func TestWriter(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return &writer{reader{values: map[string][]byte{}}} })
}

// broken breaks one property of a good store. The suite must find it.
type broken struct {
	memtest.Store
	get func(out, dst []byte, info *store.Info, err error) ([]byte, error)
	put func(s memtest.Store, key store.Key, value []byte) (store.Version, error)
	del func(s memtest.Store, key store.Key, v store.Version) error // in place of DeleteIf
	in  func(b store.Batch) store.Batch
	spl func(s memtest.Store, key store.Key, from store.Version, fragments []store.Part) (store.Version, error)
	pat func(s memtest.Store, key store.Key, from store.Version, patches []store.Patch) (store.Version, error)
	cln func(s memtest.Store, key, source store.Key, from store.Version) (store.Written, error)
	asm func(s memtest.Store, key store.Key, parts []store.Part) (store.Version, error)
	gat func(s memtest.Store, key store.Key, from store.Store, parts []store.Part) (store.Version, error)
	lst func(e *store.Entry)
}

func (b broken) Can(op store.Op) bool { return op == store.OpGather || b.Store.Can(op) }

func (b broken) Write(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	if ctx.Err() != nil {
		return b.Store.Write(ctx, c, d)
	}
	from := c.If.Version()
	switch c.Op {
	case store.OpPut, store.OpPutIf: // forgets the condition
		if b.put != nil {
			made.Version, err = b.put(b.Store, c.Key, c.Value)
			return made, err
		}
	case store.OpDeleteIf:
		if b.del != nil {
			return made, b.del(b.Store, c.Key, from)
		}
	case store.OpSplice:
		if b.spl != nil {
			made.Version, err = b.spl(b.Store, c.Key, from, c.Parts)
			return made, err
		}
	case store.OpPatch:
		if b.pat != nil {
			made.Version, err = b.pat(b.Store, c.Key, from, c.Patches)
			return made, err
		}
	case store.OpClone:
		if b.cln != nil {
			return b.cln(b.Store, c.Key, c.Source, c.SourceVersion)
		}
	case store.OpAssemble:
		if b.asm != nil {
			made.Version, err = b.asm(b.Store, c.Key, c.Parts)
			return made, err
		}
	case store.OpGather:
		return b.gather(ctx, c, d)
	}
	return b.Store.Write(ctx, c, d)
}

func (b broken) gather(ctx context.Context, c store.Change, d store.Durability) (made store.Written, err error) {
	if b.gat != nil {
		made.Version, err = b.gat(b.Store, c.Key, c.From, c.Parts)
		return made, err
	}
	var value bytes.Buffer
	if err := store.WriteParts(ctx, &value, c.From, c.Parts); err != nil {
		return made, err
	}
	return b.Store.Write(ctx, store.Put(c.Key, value.Bytes()), d)
}

// gatherSome publishes what was written before an error.
func gatherSome(s memtest.Store, key store.Key, from store.Store, parts []store.Part) (store.Version, error) {
	var value bytes.Buffer
	err := store.WriteParts(context.Background(), &value, from, parts)
	v, putErr := put(s, key, value.Bytes())
	return v, errors.Join(err, putErr)
}

// gatherAnyway gathers any versions.
func gatherAnyway(s memtest.Store, key store.Key, from store.Store, parts []store.Part) (store.Version, error) {
	parts = slices.Clone(parts)
	for i := range parts {
		parts[i].Version = store.Version{}
	}
	w, err := broken{Store: s}.Write(context.Background(), store.Gather(key, from, parts), store.Flush)
	return w.Version, err
}

func (b broken) List(ctx context.Context, dir store.Path, how store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for e, err := range b.Store.List(ctx, dir, how) {
			if b.lst != nil && how&store.WithVersions != 0 {
				b.lst(&e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// cloneAnyway clones any version.
func cloneAnyway(s memtest.Store, key, source store.Key, _ store.Version) (store.Written, error) {
	return s.Write(context.Background(), store.Clone(key, source, store.Version{}), store.Flush)
}

// cloneLate checks the version, and clones later.
func cloneLate(s memtest.Store, key, source store.Key, from store.Version) (store.Written, error) {
	info, err := s.Stat(context.Background(), source)
	if err == nil && !from.IsZero() && info.Version != from {
		return store.Written{}, store.ErrConflict
	}
	awaitWriter(s, source, info.Version)
	return cloneAnyway(s, key, source, from)
}

// assembleAnyway assembles any versions, and not even one of each value.
func assembleAnyway(s memtest.Store, key store.Key, parts []store.Part) (v store.Version, err error) {
	var value []byte
	for _, p := range parts {
		if value = append(value, p.Data...); p.Data == nil {
			q := store.Request{Range: store.Span(p.Off, p.N)}
			var info store.Info
			if value, info, err = s.Get(context.Background(), p.Key, q, value); err != nil {
				return v, err
			}
			awaitWriter(s, p.Key, info.Version)
		}
	}
	return put(s, key, value)
}

// awaitWriter waits until another writer has replaced version v at key, for at most two
// milliseconds: a store with a gap between two looks, at the worst moment.
func awaitWriter(s memtest.Store, key store.Key, v store.Version) {
	for end := time.Now().Add(2 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Microsecond) {
		if info, err := s.Stat(context.Background(), key); err != nil || info.Version != v {
			return
		}
	}
}

// assembleEach checks the version of each part, but a value may change in between.
func assembleEach(s memtest.Store, key store.Key, parts []store.Part) (v store.Version, err error) {
	if _, err := store.Assemble(key, parts).Size(0); err != nil {
		return v, err
	}
	for _, p := range parts {
		info, err := s.Stat(context.Background(), p.Key)
		if p.Data == nil && !p.Version.IsZero() && (err != nil || info.Version != p.Version) {
			return v, store.ErrConflict
		}
	}
	return assembleAnyway(s, key, parts)
}

// patchAnyway patches any version.
func patchAnyway(s memtest.Store, key store.Key, _ store.Version, patches []store.Patch) (store.Version, error) {
	info, err := s.Stat(context.Background(), key)
	if err != nil {
		return store.Version{}, store.ErrConflict
	}
	w, err := s.Write(context.Background(), store.PatchValue(key, info.Version, patches), store.Flush)
	return w.Version, err
}

// patchOneByOne lets readers see some patches without the others.
func patchOneByOne(s memtest.Store, key store.Key, from store.Version, patches []store.Patch) (store.Version, error) {
	made, err := s.Write(context.Background(), store.PatchValue(key, from, nil), store.Flush)
	for _, p := range patches {
		if err == nil {
			made, err = s.Write(context.Background(), store.PatchValue(key, made.Version, []store.Patch{p}), store.Flush)
			time.Sleep(100 * time.Microsecond)
		}
	}
	return made.Version, err
}

// spliceAnyway splices any version.
func spliceAnyway(s memtest.Store, key store.Key, _ store.Version, fragments []store.Part) (store.Version, error) {
	info, err := s.Stat(context.Background(), key)
	if err != nil {
		return store.Version{}, store.ErrConflict
	}
	w, err := s.Write(context.Background(), store.Splice(key, info.Version, fragments), store.Flush)
	return w.Version, err
}

// spliceOver leaves the tail of a longer old value after the new one.
func spliceOver(s memtest.Store, key store.Key, from store.Version, fragments []store.Part) (store.Version, error) {
	old, _, _ := s.Get(context.Background(), key, store.Request{}, nil)
	v, err := s.Write(context.Background(), store.Splice(key, from, fragments), store.Flush)
	if err != nil {
		return store.Version{}, err
	}
	now, _, _ := s.Get(context.Background(), key, store.Request{}, nil)
	if len(now) >= len(old) {
		return v.Version, nil
	}
	return put(s, key, append(now, old[len(now):]...))
}

// spliceTwice reads and writes without a condition.
func spliceTwice(s memtest.Store, key store.Key, from store.Version, fragments []store.Part) (store.Version, error) {
	if info, err := s.Stat(context.Background(), key); err != nil || info.Version != from {
		return store.Version{}, store.ErrConflict
	}
	awaitWriter(s, key, from)
	return spliceAnyway(s, key, from, fragments)
}

func (b broken) Batch(ctx context.Context, d store.Durability) (store.Batch, error) {
	batch, err := b.Store.Batch(ctx, d)
	if b.in != nil {
		batch = b.in(batch)
	}
	return batch, err
}

// hasty is a batch that forgets conditions.
type hasty struct {
	store.Batch
	putIf, deleteIf bool
}

func (h hasty) Write(ctx context.Context, c store.Change) (store.Written, error) {
	switch {
	case c.Op == store.OpPutIf && h.putIf:
		c = store.Put(c.Key, c.Value)
	case c.Op == store.OpDeleteIf && h.deleteIf:
		c = store.Delete(c.Key)
	}
	return h.Batch.Write(ctx, c)
}

// lookFirst deletes on a condition in two steps, so a write in between is lost.
func lookFirst(s memtest.Store, key store.Key, v store.Version) error {
	info, err := s.Stat(context.Background(), key)
	if err != nil || info.Version != v {
		return store.ErrConflict
	}
	awaitWriter(s, key, v)
	_, err = s.Write(context.Background(), store.Delete(key), store.Sync)
	return err
}

func (b broken) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := b.Store.Get(ctx, key, q, dst)
	if b.get != nil {
		out, err = b.get(out, dst, &info, err)
	}
	return out, info, err
}

func TestFindsFaults(t *testing.T) {
	racing.Skip(t)
	var mu sync.Mutex
	last := []byte(nil)
	var suites sync.WaitGroup // at once, because most of them wait most of the time
	for name, c := range map[string]struct {
		broken
		check string
	}{
		"forgets dst": {broken{get: func(out, dst []byte, _ *store.Info, err error) ([]byte, error) {
			return out[min(len(dst), len(out)):], err
		}}, "Append"},
		"writes beyond": {broken{get: func(out, _ []byte, _ *store.Info, err error) ([]byte, error) {
			if cap(out) > len(out) {
				out[:len(out)+1][len(out)] = 1
			}
			return out, err
		}}, "Append"},
		"wrong size":   {broken{get: func(out, _ []byte, i *store.Info, err error) ([]byte, error) { i.Size++; return out, err }}, "Basic"},
		"other error":  {broken{get: func(out, _ []byte, _ *store.Info, err error) ([]byte, error) { return out, opaque(err) }}, "Missing"},
		"cut range":    {broken{get: func(out, _ []byte, _ *store.Info, err error) ([]byte, error) { return out[:len(out)/2], err }}, "Ranges"},
		"one version":  {broken{get: func(out, _ []byte, i *store.Info, err error) ([]byte, error) { i.Version = one; return out, err }}, "Versions"},
		"wrong clock":  {broken{get: func(out, _ []byte, i *store.Info, err error) ([]byte, error) { i.Modified = long; return out, err }}, "Stat"},
		"no condition": {broken{put: func(s memtest.Store, k store.Key, v []byte) (store.Version, error) { return put(s, k, v) }}, "Conditional"},
		"deletes blindly": {broken{del: func(s memtest.Store, k store.Key, _ store.Version) error {
			_, err := s.Write(context.Background(), store.Delete(k), store.Sync)
			return err
		}}, "DeleteIf"},
		"looks first":        {broken{del: lookFirst}, "ConditionalRaces"},
		"hasty writes":       {broken{in: func(b store.Batch) store.Batch { return hasty{b, true, false} }}, "ConditionalBatch"},
		"hasty deletion":     {broken{in: func(b store.Batch) store.Batch { return hasty{b, false, true} }}, "ConditionalBatch"},
		"patches anyway":     {broken{pat: patchAnyway}, "Patch"},
		"patches one by one": {broken{pat: patchOneByOne}, "Patch"},
		"clones anyway":      {broken{cln: cloneAnyway}, "Clone"},
		"clones too late":    {broken{cln: cloneLate}, "CloneRaces"},
		"gathers some":       {broken{gat: gatherSome}, "Gather"},
		"gathers anyway":     {broken{gat: gatherAnyway}, "Gather"},
		"assembles anyway":   {broken{asm: assembleAnyway}, "Assemble"},
		"mixes versions":     {broken{asm: assembleEach}, "AssembleRaces"},
		"lists old versions": {broken{lst: func(e *store.Entry) { e.Version = store.MakeVersion("old " + e.Version.String()) }}, "ListVersions"},
		"lists one version":  {broken{lst: func(e *store.Entry) { e.Version = one }}, "ChangedVersions"},
		"lists wrong sizes":  {broken{lst: func(e *store.Entry) { e.Size++ }}, "ListVersions"},
		"splices anyway":     {broken{spl: spliceAnyway}, "Splice"},
		"leaves a tail":      {broken{spl: spliceOver}, "Splice"},
		"splices, then asks": {broken{spl: spliceTwice}, "SpliceRaces"},
		"writes nothing":     {broken{put: func(memtest.Store, store.Key, []byte) (store.Version, error) { return store.Version{}, nil }}, "Put"},
		"writes the last value": {broken{put: func(s memtest.Store, k store.Key, v []byte) (store.Version, error) {
			mu.Lock()
			defer mu.Unlock()
			v, last = last, bytes.Clone(v)
			return put(s, k, v)
		}}, "Put"},
	} {
		suites.Go(func() {
			err := storetest.Test(func() (store.Store, error) {
				b := c.broken
				b.Store = memtest.New()
				return b, nil
			})
			if err == nil || !strings.Contains(err.Error(), "storetest: "+c.check) {
				t.Errorf("%s: the suite says %v, want a failure of %s", name, err, c.check)
			}
		})
	}
	suites.Wait()
}

var (
	one  = store.MakeVersion("one")
	long = time.Unix(1, 0)
)

func put(s memtest.Store, key store.Key, value []byte) (store.Version, error) {
	w, err := s.Write(context.Background(), store.Put(key, value), store.Flush)
	return w.Version, err
}

// opaque hides what an error wraps.
func opaque(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(err.Error())
}

func TestOpenFails(t *testing.T) {
	fault := errors.New("fault")
	if err := storetest.Test(func() (store.Store, error) { return nil, fault }); !errors.Is(err, fault) {
		t.Errorf("error is %v, want %v", err, fault)
	}
}

// ExampleTest checks a store outside of a test, as a command does for a user's store.
func ExampleTest() {
	err := storetest.Test(func() (store.Store, error) { return memstore.New(), nil })
	fmt.Println(err)
	// Output: <nil>
}

// shifted is a store in memory whose clock is wrong.
type shifted struct {
	store.Store
	store.Writer
	by func(writes int) time.Duration
	n  *atomic.Int64
}

func (s shifted) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	out, info, err := s.Store.Get(ctx, key, q, dst)
	info.Modified = info.Modified.Add(s.by(int(s.n.Add(1))))
	return out, info, err
}

func TestFindsWrongClock(t *testing.T) {
	for name, by := range map[string]func(int) time.Duration{
		"ahead":   func(int) time.Duration { return 2 * time.Minute },
		"behind":  func(int) time.Duration { return -2 * time.Minute },
		"falling": func(n int) time.Duration { return time.Duration(-n) * 2 * time.Second },
	} {
		err := storetest.Test(func() (store.Store, error) {
			m := memtest.New()
			return shifted{m, m, by, new(atomic.Int64)}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "storetest: Modified") {
			t.Errorf("%s: the suite says %v, want a failure of Modified", name, err)
		}
	}
}
