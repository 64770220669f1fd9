// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"varve.dev/zarr/store"
)

func checkPut(p *probe) {
	value := []byte("first")
	p.put("a/b/c", value)
	copy(value, "XXXXX") // the driver must not keep it
	p.holds("a/b/c", []byte("first"))
	for _, d := range []store.Durability{store.Sync, store.Flush} {
		for _, text := range []string{"longer than before", "s", ""} {
			_, err := store.Write(p.ctx, p.s, store.Put(store.MustKey("a/b/c"), []byte(text)), d)
			p.is(err, nil, "Put again")
			p.holds("a/b/c", []byte(text))
		}
	}
	p.absent("a/b")
}

// checkCan makes each change that the store says it cannot make. Nothing may change.
func checkCan(p *probe) {
	p.put("k", []byte("old"))
	w, ok := p.s.(store.Writer)
	if !ok {
		p.errorf("a store that can be written to is no Writer")
		return
	}
	key, now, parts := store.MustKey("k"), p.version("k"), []store.Part{added("x")}
	for _, c := range []store.Change{
		{Key: key}, store.PutIf(key, nil, store.IfVersion(now)), store.Delete(key), store.DeleteIf(key, now),
		store.Splice(key, now, parts), store.PatchValue(key, now, []store.Patch{over(0, "x")}), store.Assemble(key, parts),
		store.Gather(key, p.s, parts), store.Copy(key, p.s, key), store.Clone(key, key, now), {Op: store.OpClone + 1, Key: key},
	} {
		if known := c.Op > 0 && c.Op <= store.OpClone; !known || !w.Can(c.Op) {
			_, err := w.Write(p.ctx, c, store.Flush)
			p.is(err, store.ErrUnsupported, "change %d, which the store cannot make", c.Op)
		}
	}
	p.holds("k", []byte("old"))
}

// checkWeirdKeys writes unusual legal keys. A store may refuse some, but must not confuse
// them.
func checkWeirdKeys(p *probe) {
	held := map[string][]byte{}
	for i, name := range weirdKeys() {
		value := fmt.Appendf(nil, "value %d", i)
		_, err := store.Write(p.ctx, p.s, store.Put(store.MustKey(name), value), store.Flush)
		if errors.Is(err, store.ErrInvalidKey) {
			p.absentOrInvalid(name)
			continue
		}
		p.is(err, nil, "Put %q", name)
		held[name] = value
	}
	for name, value := range held {
		p.holds(name, value)
	}
	if _, ok := store.As[store.Lister](p.s); !ok {
		return
	}
	for e, err := range store.List(p.ctx, p.s, store.Path{}, store.Deep) {
		if errors.Is(err, store.ErrUnusable) {
			// A service that answers in XML may not be able to say some names.
			maps.DeleteFunc(held, func(name string, _ []byte) bool { return strings.Contains(name, "\x1b") })
			break
		}
		p.is(err, nil, "List")
		delete(held, e.Name)
	}
	for name := range held {
		p.errorf("List leaves out %q", name)
	}
}

func weirdKeys() []string {
	return []string{
		"...", "a...", ".hidden", "..a", "-", "--", "~", "a~", " ", " a", "a ", "a  b", "%", "%2F", "%2e%2e", "a%00b",
		"#", "?", "*", "[a]", "{a}", "(a)", "a'b", "a\"b", "a`b", "$HOME", "a&b", "a;b", "a|b", "a<b", "a>b", "ab:c", "a=b",
		"a+b", "a,b", "a@b", "a!b", "a^b", "é", "ñ", "日本語", "☃", "𝄞", "\u202e", "\ufeff", "\u00a0", "con", "NUL", "com1.txt",
		"lpt9", "aux", "desktop.ini", "zarr.json.tmp", "c.0.1", "0", "-1", "__x", "__", "_", strings.Repeat("n", 200),
		strings.Repeat("d/", 100) + "f", "dir.with.dots/x", "dir with spaces/x", "1e3", "null", "tmp", "x.lock", "__tmp", "__varve",
		// Other programs write these where they can.
		"T:2m", "C:", `back\slash`, `..\a`, "ta\tb", "line\nbreak", "ret\rurn", "\x1b[31m", "\x7f", "\u0085", "\xff", "a\xc3",
		"É", "e\u0301", strings.Repeat("long/", 300) + "k",
	}
}

func (p *probe) absentOrInvalid(name string) {
	_, _, err := p.get(name)
	if errors.Is(err, store.ErrInvalidKey) {
		return
	}
	p.absent(name)
}

func checkLargeValue(p *probe) {
	value := make([]byte, 8<<20)
	for i := range value {
		value[i] = byte(i * 7 >> 3)
	}
	p.put("large", value)
	p.holds("large", value)
	got, _, err := p.s.Get(p.ctx, store.MustKey("large"), store.Request{Range: store.Suffix(1000)}, nil)
	p.is(err, nil, "Get the end")
	if !bytes.Equal(got, value[len(value)-1000:]) {
		p.errorf("Get the end: wrong bytes")
	}
	_, _, err = p.s.Get(p.ctx, store.MustKey("large"), store.Request{Limit: 1 << 20}, nil)
	p.is(err, store.ErrTooLarge, "Get with a limit")
}

// checkVersions checks that every write has a version of its own, even if writes of equal
// length follow quickly.
func checkVersions(p *probe) {
	seen := map[store.Version]int{}
	for i := range 100 {
		v := p.put("v", fmt.Appendf(nil, "%03d", i))
		_, info, err := p.get("v")
		p.is(err, nil, "Get")
		if !v.IsZero() && v != info.Version {
			p.errorf("write %d: Put says version %v, Get says %v", i, v, info.Version)
		}
		if old, again := seen[info.Version]; again && !info.Version.IsZero() {
			p.errorf("write %d has the version of write %d", i, old)
		}
		seen[info.Version] = i
	}
}

// checkPinned checks that an object returns its own version or ErrConflict, never another
// version.
func checkPinned(p *probe) {
	p.put("pinned", []byte("old old"))
	o, err := store.Open(p.ctx, p.s, store.MustKey("pinned"))
	if err != nil {
		p.errorf("Open: %w", err)
		return
	}
	defer o.Close()
	p.put("pinned", []byte("new"))
	got, err := o.Read(p.ctx, store.Request{}, nil)
	if !errors.Is(err, store.ErrConflict) && (err != nil || string(got) != "old old") {
		p.errorf("Read after a write: %q and error %v, want the old value or %v", got, err, store.ErrConflict)
	}
	if o.Info().Size != 7 {
		p.errorf("Info after a write: size is %d, want 7", o.Info().Size)
	}
}

// checkBatch writes from several goroutines in one batch.
func checkBatch(p *probe) {
	for _, d := range durabilities {
		errs := make([]error, 16)
		p.inBatch(d, func(b store.Batch) {
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { _, errs[i] = b.Write(p.ctx, store.Put(batchKey(i), fmt.Append(nil, d, i))) })
			}
			wg.Wait()
			p.is(errors.Join(errs...), nil, "Put in a batch")
		})
		for i := range errs {
			p.holds(batchKey(i).String(), fmt.Append(nil, d, i))
		}
	}
	p.batchDelete()
	p.discard()
}

func batchKey(i int) store.Key { return store.MustKey(fmt.Sprintf("c/%d/%d", i/4, i%4)) }

func (p *probe) batchDelete() {
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	p.is(err, nil, "NewBatch")
	ok := store.Can(p.s, store.OpDelete)
	if _, batcher := store.As[store.Batcher](p.s); p.lacks(ok || batcher, errOf(b.Write(p.ctx, store.Delete(batchKey(0)))), "Delete in a batch") {
		b.Discard()
		return
	}
	p.is(errOf(b.Write(p.ctx, store.Delete(store.MustKey("none")))), nil, "Delete of nothing in a batch")
	p.is(b.Commit(p.ctx), nil, "Commit")
	p.absent(batchKey(0).String())
}

// discard checks that a value of a discarded batch is whole or absent.
func (p *probe) discard() {
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	p.is(err, nil, "NewBatch")
	p.is(errOf(b.Write(p.ctx, store.Put(store.MustKey("discarded"), []byte("value")))), nil, "Put in a batch")
	b.Discard()
	if got, _, err := p.get("discarded"); err == nil && string(got) != "value" {
		p.errorf("discarded value is %q", got)
	}
}

func checkDelete(p *probe) {
	p.put("a/b/c", []byte("x"))
	p.put("a/d", []byte("y"))
	ok := store.Can(p.s, store.OpDelete)
	if p.lacks(ok, p.change(store.Delete(store.MustKey("a/b/c"))), "Delete") {
		return
	}
	p.absent("a/b/c")
	p.holds("a/d", []byte("y"))
	for _, name := range []string{"a/b/c", "none", "none/none", "a", "a/d/below"} {
		p.is(p.change(store.Delete(store.MustKey(name))), nil, "Delete of nothing at %q", name)
	}
	p.holds("a/d", []byte("y"))
	p.is(p.change(store.Delete(store.MustKey("a/d"))), nil, "Delete")
	if _, ok := store.As[store.Lister](p.s); ok {
		p.lists("", store.Flat, nil)
	}
	p.put("a/b/c", []byte("again"))
	p.holds("a/b/c", []byte("again"))
}

func checkCancelledWrite(p *probe) {
	p.put("k", []byte("old"))
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	key := store.MustKey("k")
	_, err := store.Write(ctx, p.s, store.Put(key, []byte("new")), store.Sync)
	p.is(err, context.Canceled, "Put")
	now := p.version("k")
	for _, c := range []store.Change{
		store.PutIf(key, []byte("new"), store.IfAbsent()), store.Delete(key), store.DeleteIf(key, now),
		store.Splice(key, now, []store.Part{kept(0, 1)}), store.PatchValue(key, now, nil),
	} {
		if _, err := store.Write(ctx, p.s, c, store.Sync); !errors.Is(err, store.ErrUnsupported) {
			p.is(err, context.Canceled, "change %d", c.Op)
		}
	}
	p.cancelledBatch(ctx, key, now)
	p.holds("k", []byte("old"))
}

// cancelledBatch writes in a batch whose context has ended.
func (p *probe) cancelledBatch(ctx context.Context, key store.Key, now store.Version) {
	b, err := store.NewBatch(p.ctx, p.s, store.Sync)
	p.is(err, nil, "NewBatch")
	defer b.Discard()
	p.is(errOf(b.Write(ctx, store.Put(key, []byte("new")))), context.Canceled, "Put in a batch")
	for _, c := range []store.Change{
		store.PutIf(key, []byte("new"), store.IfVersion(now)), store.DeleteIf(key, now),
		store.Splice(key, now, []store.Part{kept(0, 1)}), store.PatchValue(key, now, nil),
	} {
		if _, err := b.Write(ctx, c); !errors.Is(err, store.ErrUnsupported) {
			p.is(err, context.Canceled, "a conditional write in a batch")
		}
	}
}

// checkConcurrentReadWrite checks that readers see every value whole while it is
// replaced.
func checkConcurrentReadWrite(p *probe) {
	values := [][]byte{bytes.Repeat([]byte("a"), 70_000), bytes.Repeat([]byte("b"), 3), bytes.Repeat([]byte("c"), 20_000)}
	p.put("k", values[0])
	done := make(chan struct{})
	errs := make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = p.readUntil(done, "k", values) })
	}
	for i := range 60 {
		p.put("k", values[i%3])
	}
	close(done)
	wg.Wait()
	p.is(errors.Join(errs...), nil, "reading while another writes")
}

func (p *probe) readUntil(done <-chan struct{}, name string, values [][]byte) error {
	for {
		select {
		case <-done:
			return nil
		default:
		}
		got, info, err := p.get(name)
		switch {
		case err != nil:
			return err
		case !slices.ContainsFunc(values, func(v []byte) bool { return bytes.Equal(v, got) }):
			return fmt.Errorf("%s is not a value that was written", brief(got))
		case info.Size != int64(len(got)):
			return fmt.Errorf("%d bytes with size %d", len(got), info.Size)
		}
	}
}

// checkDeleteTree deletes a directory, and checks that a similar name beside it stays.
func checkDeleteTree(p *probe) {
	dir, err := store.ParsePath("a/b")
	if err != nil {
		p.errorf("%w", err)
		return
	}
	order := store.TreeOrder{First: []string{"k", "zarr.json"}, Last: "note"}
	deletes := store.Can(p.s, store.OpDelete)
	_, lists := store.As[store.Lister](p.s)
	if !deletes || !lists {
		p.is(store.DeleteTree(p.ctx, p.s, dir, order, store.Flush), store.ErrUnsupported, "DeleteTree")
		return
	}
	p.is(store.DeleteTree(p.ctx, p.s, dir, order, store.Flush), nil, "DeleteTree of nothing")
	for _, name := range []string{"a/k", "a/bc", "a/b.c/k", "a/b/zarr.json", "a/b/note", "a/b/d/zarr.json", "a/b/d/note", "a/b/c/0/1"} {
		p.put(name, []byte(name))
	}
	for range 2 {
		p.is(store.DeleteTree(p.ctx, p.s, dir, order, store.Sync), nil, "DeleteTree")
		p.lists("", store.Deep, []string{"a/b.c/k", "a/bc", "a/k"})
	}
}
