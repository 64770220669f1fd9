// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"varve.dev/zarr/store"
)

// splice is one way to splice.
type splice func(key store.Key, from store.Version, fragments []store.Part) error

// splice is Splice without its version.
func (p *probe) splice(key store.Key, from store.Version, fragments []store.Part) error {
	_, err := store.Write(p.ctx, p.s, store.Splice(key, from, fragments), store.Flush)
	return err
}

// cannotSplice checks that a store without the power says so in err, and reports whether
// it lacks the power.
func (p *probe) cannotSplice(err error) bool {
	splices := store.Can(p.s, store.OpSplice)
	conditions := store.Can(p.s, store.OpPutIf)
	return p.lacks(splices || conditions, err, "Splice")
}

// kept returns the fragment of n old bytes from offset off on.
func kept(off, n int64) store.Part { return store.Part{Off: off, N: n} }

// fresh returns a fragment of new bytes.
func fresh(text string) store.Part { return store.Part{Data: []byte(text)} }

// spliced returns what fragments make of value, in the simplest way.
func spliced(value []byte, fragments []store.Part) []byte {
	out := []byte{}
	for _, p := range fragments {
		if p.Data != nil {
			out = append(out, p.Data...)
		} else {
			out = append(out, value[p.Off:p.Off+p.N]...)
		}
	}
	return out
}

func checkSplice(p *probe) {
	key := store.MustKey("a/k")
	p.put("a/k", []byte("one"))
	if p.cannotSplice(p.splice(key, p.version("a/k"), []store.Part{fresh("x")})) {
		return
	}
	p.put("a/k", []byte("0123456789"))
	made, err := store.Write(p.ctx, p.s, store.Splice(key, p.version("a/k"), []store.Part{fresh("new "), kept(3, 4)}), store.Sync)
	p.is(err, nil, "Splice")
	if v := made.Version; v.IsZero() || v != p.version("a/k") {
		p.errorf("Splice says version %v, Stat says %v", v, p.version("a/k"))
	}
	p.holds("a/k", []byte("new 3456"))
	p.splices(p.splice)
	p.randomSplices(p.splice)
	if store.Can(p.s, store.OpDelete) {
		v := p.version("a/k")
		p.is(p.change(store.Delete(key)), nil, "Delete")
		p.is(p.splice(key, v, []store.Part{fresh("x")}), store.ErrConflict, "Splice of what was deleted")
		p.is(p.splice(key, v, []store.Part{kept(0, 1)}), store.ErrConflict, "Splice of what was deleted")
		p.absent("a/k")
	}
}

// splices checks one way to splice.
func (p *probe) splices(splice splice) {
	const old = "0123456789"
	key := store.MustKey("a/k")
	for i, fragments := range [][]store.Part{
		nil, {}, {fresh("")}, {fresh("all is new")}, {kept(0, 10)}, {kept(0, 0)}, {kept(10, 0)}, {kept(3, 4)},
		{kept(0, 5), fresh("|"), kept(5, 5)}, {kept(5, 5), kept(0, 5)}, {fresh("a"), fresh("b"), kept(9, 1)},
		{kept(8, 2), fresh("longer than what there was before"), kept(0, 1), kept(1, 1), kept(4, 2)},
		{kept(0, 9), fresh("x")}, {kept(0, 2), kept(0, 2), kept(0, 2)},
	} {
		p.put("a/k", []byte(old))
		p.is(splice(key, p.version("a/k"), fragments), nil, "Splice %d", i)
		p.holds("a/k", spliced([]byte(old), fragments))
	}
	p.put("a/k", []byte(old))
	before := p.version("a/k")
	p.again("a/k", []byte(old)) // an equal value has another version
	text := []byte("kept by nobody")
	for _, fragments := range [][]store.Part{{kept(0, 10)}, {fresh("x")}, nil, {kept(0, 11)}, {kept(0, 1), fresh("x"), kept(9, 1)}} {
		p.is(splice(key, before, fragments), store.ErrConflict, "Splice of an old version")
		p.is(splice(key, store.Version{}, fragments), store.ErrConflict, "Splice of no version")
		p.is(splice(store.MustKey("none/k"), before, fragments), store.ErrConflict, "Splice of nothing")
		p.holds("a/k", []byte(old))
	}
	p.badPieces(splice)
	p.is(splice(key, p.version("a/k"), []store.Part{kept(0, 1), {Data: text}}), nil, "Splice")
	copy(text, "XXXXX") // the driver must not keep it
	p.holds("a/k", []byte("0kept by nobody"))
}

// badPieces takes bytes that do not exist, and some twice. Nothing may change.
func (p *probe) badPieces(splice splice) {
	key, old := store.MustKey("a/bad"), []byte("0123456789")
	p.put("a/bad", old)
	v := p.version("a/bad")
	for _, fragments := range [][]store.Part{
		{kept(0, 11)}, {kept(10, 1)}, {kept(11, 0)}, {kept(-1, 1)}, {kept(0, -1)}, {kept(math.MaxInt64, math.MaxInt64)},
		{kept(1, math.MaxInt64)}, {kept(0, 1), fresh("x"), kept(9, 2)}, {kept(9, 1), kept(0, 1), kept(1<<50, 0)},
	} {
		p.is(splice(key, v, fragments), io.ErrUnexpectedEOF, "Splice of %+v", fragments)
	}
	for _, fragments := range [][]store.Part{
		{kept(0, 10), kept(3, 1)}, {kept(0, 6), fresh("x"), kept(4, 6)}, slices.Repeat([]store.Part{kept(5, 5)}, 100),
	} {
		p.is(splice(key, v, fragments), store.ErrTooLarge, "Splice of %+v", fragments)
	}
	p.holds("a/bad", old)
	if v != p.version("a/bad") {
		p.errorf("Splice of fragments that are not there: a new version")
	}
}

// randomSplices builds long values from fragments of others, far apart and close
// together, and compares them.
func (p *probe) randomSplices(splice splice) {
	r := rand.New(rand.NewPCG(4, 2))
	value := make([]byte, 3<<20)
	for i := range value {
		value[i] = byte(i * 7 >> 3)
	}
	p.put("a/k", value)
	for i := range 4 {
		fragments := randomPieces(r, int64(len(value)), i%2 == 0)
		p.is(splice(store.MustKey("a/k"), p.version("a/k"), fragments), nil, "Splice of random fragments")
		value = spliced(value, fragments)
		p.holds("a/k", value)
	}
}

// randomPieces returns fragments of a value of size bytes, in order or not.
func randomPieces(r *rand.Rand, size int64, ordered bool) []store.Part {
	var fragments []store.Part
	for at := int64(0); at < size; {
		n := min(1+r.Int64N(1<<(8+r.IntN(13))), size-at)
		if r.IntN(3) > 0 {
			fragments = append(fragments, kept(at, n))
		}
		if r.IntN(3) == 0 {
			fragments = append(fragments, store.Part{Data: bytes.Repeat([]byte{byte(n)}, int(min(n, 5000)))})
		}
		at += n
	}
	if !ordered {
		r.Shuffle(len(fragments), func(i, j int) { fragments[i], fragments[j] = fragments[j], fragments[i] })
	}
	return fragments
}

// checkSpliceBatch splices in batches.
func checkSpliceBatch(p *probe) {
	for _, d := range []store.Durability{store.Sync, store.Flush} {
		b, err := store.NewBatch(p.ctx, p.s, d)
		if err != nil {
			p.errorf("NewBatch: %w", err)
			return
		}
		way := func(key store.Key, from store.Version, fragments []store.Part) error {
			_, err := b.Write(p.ctx, store.Splice(key, from, fragments))
			return err
		}
		p.put("a/k", []byte("one"))
		if p.cannotSplice(way(store.MustKey("a/k"), p.version("a/k"), nil)) {
			b.Discard()
			return
		}
		p.splices(way)
		p.is(b.Commit(p.ctx), nil, "Commit")
		b.Discard()
		p.holds("a/k", []byte("0kept by nobody"))
	}
}

// checkSpliceRaces counts by splices, and checks that readers see every value whole
// meanwhile.
func checkSpliceRaces(p *probe) {
	p.put("k", []byte("one"))
	if p.cannotSplice(p.splice(store.MustKey("k"), p.version("k"), nil)) {
		return
	}
	count := func(splice splice) func(store.Key, []byte, store.Condition) error {
		return func(key store.Key, value []byte, cond store.Condition) error {
			return splice(key, cond.Version(), []store.Part{{Data: value[:4]}, kept(4, 4)})
		}
	}
	p.increments("count", count(p.splice))
	p.inBatch(store.Flush, func(b store.Batch) {
		p.increments("batch/count", count(func(key store.Key, from store.Version, fragments []store.Part) error {
			return errOf(b.Write(p.ctx, store.Splice(key, from, fragments)))
		}))
	})
	p.readWhileSpliced()
}

// readWhileSpliced rotates a long value repeatedly.
func (p *probe) readWhileSpliced() {
	const half = 50_000
	a, b := bytes.Repeat([]byte("a"), half), bytes.Repeat([]byte("b"), half)
	values := [][]byte{append(bytes.Clone(a), b...), append(bytes.Clone(b), a...)}
	p.put("k", values[0])
	o, err := store.Open(p.ctx, p.s, store.MustKey("k"))
	if err != nil {
		p.errorf("Open: %w", err)
		return
	}
	defer o.Close()
	done, errs := make(chan struct{}), make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = p.readUntil(done, "k", values) })
	}
	for range 31 {
		err := p.splice(store.MustKey("k"), p.version("k"), []store.Part{kept(half, half), kept(0, half)})
		p.is(err, nil, "Splice while others read")
	}
	close(done)
	wg.Wait()
	p.is(errors.Join(errs...), nil, "reading while another splices")
	got, err := o.Read(p.ctx, store.Request{}, nil)
	if !errors.Is(err, store.ErrConflict) && (err != nil || !bytes.Equal(got, values[0])) {
		p.errorf("Read of what was spliced: %s and error %v, want the old value or %v", brief(got), err, store.ErrConflict)
	}
	p.holds("k", values[1])
}
