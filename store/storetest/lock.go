// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"varve.dev/zarr/store"
)

// lockDir is the directory that the checks lock.
const lockDir = "locked"

// lock takes the lock of a directory.
func (p *probe) lock(ctx context.Context, dir string) (func() error, error) {
	path, err := store.ParsePath(dir)
	if err != nil {
		return nil, err
	}
	return store.Lock(ctx, p.s, path)
}

func checkLock(p *probe) {
	p.put(lockDir+"/k", nil)
	p.put("other/k", nil)
	_, ok := store.As[store.Locker](p.s)
	unlock, err := p.lock(p.ctx, lockDir)
	if p.lacks(ok, err, "Lock") {
		return
	}
	if err != nil {
		p.errorf("Lock: %w", err)
		return
	}
	other, err := p.lock(p.ctx, "other")
	p.is(err, nil, "Lock of another directory")
	if err == nil {
		p.is(other(), nil, "unlock")
	}
	// A call must stop waiting for the lock when its context ends.
	soon, cancel := context.WithTimeout(p.ctx, 20*time.Millisecond)
	defer cancel()
	_, err = p.lock(soon, lockDir)
	p.is(err, context.DeadlineExceeded, "Lock of what is locked")
	p.is(unlock(), nil, "unlock")
	// Whatever the lock leaves in the directory must not be listed.
	if _, ok := store.As[store.Lister](p.s); ok {
		p.lists(lockDir, store.Flat, []string{"k"})
	}
	p.exclusion()
}

// exclusion counts from several goroutines, protected by nothing but the lock.
func (p *probe) exclusion() {
	count, errs := 0, make([]error, 4)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			for range 10 {
				unlock, err := p.lock(p.ctx, lockDir)
				if err != nil {
					errs[i] = err
					return
				}
				// Only the lock protects this variable.
				count++
				if err := unlock(); err != nil {
					errs[i] = err
				}
			}
		})
	}
	wg.Wait()
	p.is(errors.Join(errs...), nil, "Lock by turns")
	if count != 40 {
		p.errorf("Lock by turns: counted %d, want 40", count)
	}
}

// checkPutIfBelowLock checks that the holder of a directory can write in it on a
// condition.
func checkPutIfBelowLock(p *probe) {
	_, locks := store.As[store.Locker](p.s)
	conditions := store.Can(p.s, store.OpPutIf)
	if !locks || !conditions {
		return
	}
	p.put(lockDir+"/k", nil)
	unlock, err := p.lock(p.ctx, lockDir)
	if err != nil {
		p.errorf("Lock: %w", err)
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	_, err = store.Write(ctx, p.s, store.PutIf(store.MustKey(lockDir+"/new"), nil, store.IfAbsent()), store.Flush)
	p.is(err, nil, "PutIf by the holder of the lock")
	p.is(unlock(), nil, "unlock")
}
