// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"varve.dev/zarr/store"
)

// putIf is PutIf with fewer arguments.
func (p *probe) putIf(name, value string, cond store.Condition) (store.Version, error) {
	w, err := store.Write(p.ctx, p.s, store.PutIf(store.MustKey(name), []byte(value), cond), store.Flush)
	return w.Version, err
}

func checkConditional(p *probe) {
	ok := store.Can(p.s, store.OpPutIf)
	first, err := p.putIf("a/k", "one", store.IfAbsent())
	if p.lacks(ok, err, "PutIf") {
		return
	}
	p.is(err, nil, "PutIf absent")
	_, info, err := p.get("a/k")
	p.is(err, nil, "Get")
	if first.IsZero() || first != info.Version {
		p.errorf("PutIf says version %v, Get says %v", first, info.Version)
	}
	_, err = p.putIf("a/k", "two", store.IfAbsent())
	p.is(err, store.ErrConflict, "PutIf absent of what exists")
	second, err := p.putIf("a/k", "two", store.IfVersion(first))
	p.is(err, nil, "PutIf version")
	_, err = p.putIf("a/k", "three", store.IfVersion(first))
	p.is(err, store.ErrConflict, "PutIf of an old version")
	p.holds("a/k", []byte("two"))
	for _, name := range []string{"a/none", "none/none"} {
		_, err = p.putIf(name, "x", store.IfVersion(second))
		p.is(err, store.ErrConflict, "PutIf version of nothing")
		p.absent(name)
	}
	p.put("a/k", []byte("six")) // an unconditional write changes the version too
	_, err = p.putIf("a/k", "two", store.IfVersion(second))
	p.is(err, store.ErrConflict, "PutIf after Put")
	p.holds("a/k", []byte("six"))
}

// version returns the version of the value at name.
func (p *probe) version(name string) store.Version {
	info, err := store.Stat(p.ctx, p.s, store.MustKey(name))
	p.is(err, nil, "Stat %q", name)
	return info.Version
}

func checkDeleteIf(p *probe) {
	p.put("a/k", []byte("one"))
	old := p.version("a/k")
	ok := store.Can(p.s, store.OpDeleteIf)
	_, err := store.Write(p.ctx, p.s, store.DeleteIf(store.MustKey("a/none"), old), store.Sync)
	if p.lacks(ok, err, "DeleteIf") || p.refusesDeleteIf(err) {
		return
	}
	p.deletesIf(func(key store.Key, v store.Version) error {
		_, err := store.Write(p.ctx, p.s, store.DeleteIf(key, v), store.Sync)
		return err
	})
}

// refusesDeleteIf reports whether the store has the method but not the power: a driver
// may find out only at run time what its service can do. Then nothing may be deleted.
func (p *probe) refusesDeleteIf(err error) bool {
	if !errors.Is(err, store.ErrUnsupported) {
		return false
	}
	p.put("a/k", []byte("one"))
	p.is(p.change(store.DeleteIf(store.MustKey("a/k"), p.version("a/k"))), store.ErrUnsupported, "DeleteIf once more")
	p.holds("a/k", []byte("one"))
	return true
}

// deletesIf checks one way to delete on a condition.
func (p *probe) deletesIf(del func(key store.Key, v store.Version) error) {
	key := store.MustKey("a/k")
	p.put("a/k", []byte("one"))
	old := p.version("a/k")
	for _, name := range []string{"a/none", "none/none", "a", "a/k/below"} {
		p.is(del(store.MustKey(name), old), store.ErrConflict, "DeleteIf of nothing at %q", name)
	}
	p.again("a/k", []byte("one")) // an equal value has another version
	p.is(del(key, old), store.ErrConflict, "DeleteIf of an old version")
	p.holds("a/k", []byte("one"))
	now := p.version("a/k")
	p.is(del(key, now), nil, "DeleteIf")
	p.absent("a/k")
	p.is(del(key, now), store.ErrConflict, "DeleteIf once more")
	p.put("a/k", []byte("one"))
	if p.hashed {
		return
	}
	p.is(del(key, now), store.ErrConflict, "DeleteIf of a version from before a deletion")
	p.holds("a/k", []byte("one"))
}

func checkConditionalBatch(p *probe) {
	for _, d := range durabilities {
		p.inBatch(d, func(b store.Batch) { p.batchPutIf(b); p.batchDeleteIf(b) })
	}
}

// batchPutIf puts on conditions that hold and on some that do not. A store without the
// power must say so.
func (p *probe) batchPutIf(b store.Batch) {
	putIf := func(name, value string, cond store.Condition) error {
		_, err := b.Write(p.ctx, store.PutIf(store.MustKey(name), []byte(value), cond))
		return err
	}
	p.is(errOf(b.Write(p.ctx, store.Put(store.MustKey("b/k"), []byte("one")))), nil, "Put in a batch")
	err := putIf("b/k", "two", store.IfAbsent())
	if ok := store.Can(p.s, store.OpPutIf); !ok && errors.Is(err, store.ErrUnsupported) {
		return
	}
	p.is(err, store.ErrConflict, "PutIf absent of what exists, in a batch")
	first := p.version("b/k")
	p.is(putIf("b/k", "two", store.IfVersion(first)), nil, "PutIf version in a batch")
	p.holds("b/k", []byte("two")) // visible before the commit
	p.is(putIf("b/k", "three", store.IfVersion(first)), store.ErrConflict, "PutIf of an old version in a batch")
	for _, name := range []string{"b/none", "none/none"} {
		p.is(putIf(name, "x", store.IfVersion(first)), store.ErrConflict, "PutIf version of nothing in a batch")
		p.absent(name)
	}
	p.holds("b/k", []byte("two"))
	p.onlyOneCreates(putIf)
}

// onlyOneCreates lets several goroutines create each of several values.
func (p *probe) onlyOneCreates(putIf func(name, value string, cond store.Condition) error) {
	for round := range 10 {
		name := fmt.Sprintf("b/new/%d/k", round)
		errs := p.race(func(i int) error { return putIf(name, fmt.Sprint("value ", i), store.IfAbsent()) })
		if winner := p.winner(errs, name); winner >= 0 {
			p.holds(name, fmt.Append(nil, "value ", winner))
		}
		if store.Can(p.s, store.OpDelete) {
			p.is(p.change(store.Delete(store.MustKey(name))), nil, "Delete %q", name)
		}
	}
}

// batchDeleteIf deletes on conditions. A store without the power must say so.
func (p *probe) batchDeleteIf(b store.Batch) {
	del := func(key store.Key, v store.Version) error {
		_, err := b.Write(p.ctx, store.DeleteIf(key, v))
		return err
	}
	p.put("a/k", []byte("one"))
	err := del(store.MustKey("a/none"), p.version("a/k"))
	if p.refusesDeleteIf(err) {
		return
	}
	p.deletesIf(del)
}

// racers is the number of goroutines in a race.
const racers = 8

// race calls f from several goroutines at once.
func (p *probe) race(f func(i int) error) []error {
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	return errs
}

// whileWritten calls f the given number of times, from several goroutines whose numbers
// it gets, while another one replaces the value at name until they are done.
func (p *probe) whileWritten(name string, value func(i int) []byte, calls int, f func(goroutine int) error) {
	done := make(chan struct{})
	var writes sync.WaitGroup
	var writeErr error
	writes.Go(func() {
		for i := 0; writeErr == nil; i++ {
			_, writeErr = store.Write(p.ctx, p.s, store.Put(store.MustKey(name), value(i)), store.Flush)
			select {
			case <-done:
				return
			case <-time.After(20 * time.Microsecond): // so that a version is met more than once
			}
		}
	})
	errs := p.race(func(i int) (err error) {
		for range calls / racers {
			err = errors.Join(err, f(i))
		}
		return err
	})
	close(done)
	writes.Wait()
	p.is(errors.Join(append(errs, writeErr)...), nil, "working while another writes %q", name)
}

// winner returns which of the racers for name succeeded. Any other number than one is a
// failure.
func (p *probe) winner(errs []error, name string) int {
	winner, wins := -1, 0
	for i, err := range errs {
		if err == nil {
			winner = i
			wins++
			continue
		}
		p.is(err, store.ErrConflict, "racing for %q", name)
	}
	if wins != 1 {
		p.errorf("racing for %q: %d of %d succeeded, want one", name, wins, len(errs))
		return -1
	}
	return winner
}

// checkConditionalRaces lets deletions on a condition race with each other and with
// writes.
func checkConditionalRaces(p *probe) {
	writes := store.Can(p.s, store.OpPutIf)
	deletes := store.Can(p.s, store.OpDeleteIf)
	if !writes || !deletes {
		return
	}
	p.put("r/a/k", []byte("old"))
	if errors.Is(p.change(store.DeleteIf(store.MustKey("r/a/none"), p.version("r/a/k"))), store.ErrUnsupported) {
		return
	}
	for round := range 10 {
		deletes := func(i int) bool { return (i+round)%2 == 0 } // the first goroutine alternates between both
		p.put("r/a/k", []byte("old"))
		old := p.version("r/a/k")
		errs := p.race(func(i int) error {
			if deletes(i) {
				_, err := store.Write(p.ctx, p.s, store.DeleteIf(store.MustKey("r/a/k"), old), store.Sync)
				return err
			}
			_, err := p.putIf("r/a/k", fmt.Sprint("value ", i), store.IfVersion(old))
			return err
		})
		switch winner := p.winner(errs, "r/a/k"); {
		case winner >= 0 && deletes(winner):
			p.absent("r/a/k")
		case winner >= 0:
			p.holds("r/a/k", fmt.Append(nil, "value ", winner))
		}
	}
	p.token()
}

// token lets goroutines take turns by creating one value, alone in its directory, and
// deleting it.
func (p *probe) token() {
	const turns = 10
	var held atomic.Int32
	errs := p.race(func(int) error {
		for range turns {
			v, err := p.take("r/token/k")
			if err != nil {
				return err
			}
			// Two goroutines can have the value at once only if creating or deleting it
			// is not atomic.
			if n := held.Add(1); n != 1 {
				return fmt.Errorf("%d have it at once", n)
			}
			held.Add(-1)
			if _, err := store.Write(p.ctx, p.s, store.DeleteIf(store.MustKey("r/token/k"), v), store.Sync); err != nil {
				return err
			}
		}
		return nil
	})
	p.is(errors.Join(errs...), nil, "taking turns by PutIf absent and DeleteIf")
}

// take creates the value at name. It retries as long as other goroutines come first.
func (p *probe) take(name string) (store.Version, error) {
	for range tries {
		v, err := p.putIf(name, "taken", store.IfAbsent())
		if !errors.Is(err, store.ErrConflict) {
			return v, err
		}
		time.Sleep(100 * time.Microsecond)
	}
	return store.Version{}, fmt.Errorf("%d conflicts in a row", tries)
}

// Figures of [checkIncrements].
const (
	increments = 50
	tries      = 2000 // for one increment, so that a store that always refuses does not hang the suite
)

// checkIncrements counts from several goroutines by compare and swap, outside of batches
// and inside. No increment may be lost.
func checkIncrements(p *probe) {
	if !store.Can(p.s, store.OpPutIf) {
		return
	}
	p.increments("count", func(key store.Key, value []byte, cond store.Condition) error {
		_, err := store.Write(p.ctx, p.s, store.PutIf(key, value, cond), store.Flush)
		return err
	})
	p.inBatch(store.Flush, func(b store.Batch) {
		p.increments("batch/count", func(key store.Key, value []byte, cond store.Condition) error {
			return errOf(b.Write(p.ctx, store.PutIf(key, value, cond)))
		})
	})
}

// increments counts at name, with one way to put on a condition.
func (p *probe) increments(name string, putIf func(key store.Key, value []byte, cond store.Condition) error) {
	p.put(name, make([]byte, 8))
	errs := p.race(func(int) error {
		for range increments {
			if err := p.increment(store.MustKey(name), putIf); err != nil {
				return err
			}
		}
		return nil
	})
	p.is(errors.Join(errs...), nil, "incrementing %q", name)
	p.holds(name, binary.LittleEndian.AppendUint64(nil, racers*increments))
}

// increment adds one to the number at key. It retries as long as other goroutines come
// first.
func (p *probe) increment(key store.Key, putIf func(key store.Key, value []byte, cond store.Condition) error) error {
	for range tries {
		b, info, err := p.s.Get(p.ctx, key, store.Request{}, nil)
		if err == nil && len(b) != 8 {
			err = fmt.Errorf("counter is %s", brief(b))
		}
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+1)
		if err = putIf(key, b, store.IfVersion(info.Version)); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("%d conflicts in a row", tries)
}
