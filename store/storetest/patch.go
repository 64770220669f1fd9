// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"varve.dev/zarr/store"
)

// patch is one way to patch.
type patch func(key store.Key, from store.Version, patches []store.Patch) error

// patch is PatchValue without its version.
func (p *probe) patch(key store.Key, from store.Version, patches []store.Patch) error {
	_, err := store.Write(p.ctx, p.s, store.PatchValue(key, from, patches), store.Flush)
	return err
}

// over returns the patch that writes text at offset off.
func over(off int64, text string) store.Patch { return store.Patch{Off: off, Data: []byte(text)} }

func checkPatch(p *probe) {
	key := store.MustKey("a/k")
	p.put("a/k", []byte("0123456789"))
	v, err := store.Write(p.ctx, p.s, store.PatchValue(key, p.version("a/k"), []store.Patch{over(3, "abc")}), store.Sync)
	ok := store.Can(p.s, store.OpPatch)
	if p.lacks(ok, err, "PatchValue") {
		return
	}
	p.is(err, nil, "PatchValue")
	if v.Version.IsZero() || v.Version != p.version("a/k") {
		p.errorf("PatchValue says version %v, Stat says %v", v.Version, p.version("a/k"))
	}
	p.holds("a/k", []byte("012abc6789"))
	p.patches(p.patch)
	for _, d := range durabilities {
		p.inBatch(d, func(b store.Batch) {
			p.patches(func(key store.Key, from store.Version, patches []store.Patch) error {
				return errOf(b.Write(p.ctx, store.PatchValue(key, from, patches)))
			})
		})
	}
	p.pinnedPatch()
}

// patches checks one way to patch.
func (p *probe) patches(patch patch) {
	const old = "0123456789"
	key := store.MustKey("a/k")
	for i, patches := range [][]store.Patch{
		nil, {over(0, "")}, {over(10, "")}, {over(0, "abcdefghij")}, {over(9, "x")}, {over(1, "a"), over(8, "bc")},
		{over(5, "first"), over(4, "2nd")}, {{Off: 3}},
	} {
		want := []byte(old)
		for _, q := range patches {
			copy(want[q.Off:], q.Data)
		}
		p.put("a/k", []byte(old))
		before := p.version("a/k")
		p.is(patch(key, before, patches), nil, "Patch %d", i)
		p.holds("a/k", want)
		if now := p.version("a/k"); now == before {
			p.errorf("Patch %d: the version stays %v", i, now)
		}
		p.is(patch(key, before, patches), store.ErrConflict, "Patch of an old version")
		p.is(patch(key, store.Version{}, patches), store.ErrConflict, "Patch of no version")
		p.is(patch(store.MustKey("none/k"), before, patches), store.ErrConflict, "Patch of nothing")
	}
	p.put("a/k", []byte(old))
	now := p.version("a/k")
	for _, bad := range [][]store.Patch{
		{over(10, "x")}, {over(11, "")}, {over(-1, "x")}, {over(0, "x"), over(5, "too long")}, {over(math.MaxInt64, "x")},
	} {
		p.is(patch(key, now, bad), io.ErrUnexpectedEOF, "Patch of %+v", bad)
	}
	p.holds("a/k", []byte(old))
	text := []byte("kept")
	p.is(patch(key, now, []store.Patch{{Off: 2, Data: text}}), nil, "Patch")
	copy(text, "XXXX") // the driver must not keep it
	p.holds("a/k", []byte("01kept6789"))
}

// pinnedPatch checks that an object opened before a patch returns the old value or
// ErrConflict.
func (p *probe) pinnedPatch() {
	p.put("pinned", []byte("old old"))
	o, err := store.Open(p.ctx, p.s, store.MustKey("pinned"))
	if err != nil {
		p.errorf("Open: %w", err)
		return
	}
	defer o.Close()
	p.is(p.patch(store.MustKey("pinned"), p.version("pinned"), []store.Patch{over(4, "new")}), nil, "Patch")
	got, err := o.Read(p.ctx, store.Request{Range: store.Span(0, 4)}, nil)
	if !errors.Is(err, store.ErrConflict) && (err != nil || string(got) != "old ") {
		p.errorf("Read after a patch: %q and error %v, want the old value or %v", got, err, store.ErrConflict)
	}
}

// checkPatchRaces counts by patches, lets patches race with other conditional writes, and
// checks that readers see every value whole meanwhile.
func checkPatchRaces(p *probe) {
	if !store.Can(p.s, store.OpPatch) {
		return
	}
	p.increments("count", func(key store.Key, value []byte, cond store.Condition) error {
		return p.patch(key, cond.Version(), []store.Patch{{Data: value}})
	})
	p.inBatch(store.Flush, func(b store.Batch) {
		p.increments("batch/count", func(key store.Key, value []byte, cond store.Condition) error {
			return errOf(b.Write(p.ctx, store.PatchValue(key, cond.Version(), []store.Patch{{Data: value}})))
		})
	})
	for round := range 20 {
		p.patchOrWrite(round)
	}
	p.readWhilePatched()
}

// patchOrWrite lets patches, splices and writes of one version race. Only one may
// succeed.
func (p *probe) patchOrWrite(round int) {
	p.put("r/k", []byte("0 is the old value"))
	old, key := p.version("r/k"), store.MustKey("r/k")
	errs := p.race(func(i int) error {
		digit := []byte{byte('1' + i)}
		switch (i + round) % 3 {
		case 0:
			return p.patch(key, old, []store.Patch{{Data: digit}})
		case 1:
			return p.splice(key, old, []store.Part{{Data: digit}, kept(1, 17)})
		}
		_, err := p.putIf("r/k", string(digit)+" is the old value", store.IfVersion(old))
		return err
	})
	if winner := p.winner(errs, "r/k"); winner >= 0 {
		p.holds("r/k", fmt.Appendf(nil, "%d is the old value", winner+1))
	}
}

// readWhilePatched patches both ends of a long value, and replaces it now and then.
func (p *probe) readWhilePatched() {
	const size = 100_000
	values := [][]byte{bytes.Repeat([]byte("-"), size), bytes.Repeat([]byte("-"), size)}
	values[1][0], values[1][size-1] = '+', '+'
	p.put("k", values[0])
	done, errs := make(chan struct{}), make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = p.readUntil(done, "k", values) })
	}
	for i := range 100 {
		end := values[1-i%2][:1]
		patches := []store.Patch{{Off: 0, Data: end}, {Off: size - 1, Data: end}}
		p.is(p.patch(store.MustKey("k"), p.version("k"), patches), nil, "Patch while others read")
		if i%10 == 9 {
			p.put("k", values[0])
		}
	}
	close(done)
	wg.Wait()
	p.is(errors.Join(errs...), nil, "reading while another patches")
}
