// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"sync"
	"time"

	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/store"
)

// patience is how long a call waits for the lock of staging. Its holder works for much
// longer, unless it is just about to end. But on a busy machine even a free lock takes a
// while.
const patience = time.Second

// exclusively calls do while no other process stages chunks of the array. A slow process
// that staged after another one has published would overwrite chunks of the new grid.
func (h *hold) exclusively(ctx context.Context, do func(context.Context) error) error {
	leave, err := enter(h.at, true)
	if err != nil {
		return err
	}
	defer leave()
	unlock, locked, err := lockDir(ctx, h.at.Store, h.at.Path.MustKey(lockName), patience)
	if err != nil {
		return err
	}
	h.locked = locked
	reopen, err := h.closeShares(ctx)
	if err == nil {
		err = errors.Join(do(ctx), reopen())
	}
	// Before the lock is free: the next process may take the claim over, and no late
	// renewal may meet it.
	h.stopRenewing(ctx)
	return errors.Join(err, unlock())
}

// lockName is the object that keeps the directory of the lock of staging.
const lockName = recordsDir + "running.json"

// activeCalls has the arrays that this process rechunks, and how many shares of each it
// executes, or -1 if no other may.
var activeCalls = struct {
	sync.Mutex
	calls map[arrayIdentity]int
}{calls: map[arrayIdentity]int{}}

// enter records that this process rechunks an array, alone or with others.
func enter(at lineage.Array, alone bool) (leave func(), err error) {
	// Two stores of this process may wrap one driver, and a lock of the file system need
	// not exclude a second call of the same process.
	key := arrayIdentity{path: at.Path}
	if driver := store.Driver(at.Store); reflect.ValueOf(driver).Comparable() {
		key.driver = driver
	}
	activeCalls.Lock()
	defer activeCalls.Unlock()
	n := activeCalls.calls[key]
	if n < 0 || n > 0 && alone {
		return nil, fmt.Errorf("%w: another call of this process runs; wait for it", ErrClaimed)
	}
	n++
	if alone {
		n = -1
	}
	activeCalls.calls[key] = n
	return func() {
		activeCalls.Lock()
		defer activeCalls.Unlock()
		if activeCalls.calls[key]--; alone || activeCalls.calls[key] == 0 {
			delete(activeCalls.calls, key)
		}
	}, nil
}

// arrayIdentity identifies an array regardless of the wrappers of its store.
type arrayIdentity struct {
	driver any
	path   store.Path
}

// lockDir locks the directory of key. It stores a value there, without which there might
// be no directory. In a store without locks it does nothing, and locked is false. A
// negative timeout does not wait.
func lockDir(ctx context.Context, s store.Store, key store.Key, timeout time.Duration) (unlock func() error, locked bool, err error) {
	if _, locks := store.As[store.Locker](s); !locks {
		return func() error { return nil }, false, nil
	}
	for range 8 {
		if err = putHolder(ctx, s, key); err != nil {
			return nil, false, err
		}
		unlock, locked, err = tryLock(ctx, s, key, timeout)
		// Another process may have ended in between, and removed the directory. Without a
		// known holder, it may be the disk that was slow.
		if !errors.Is(err, fs.ErrNotExist) && !holderUnknown(err) {
			break
		}
	}
	if err != nil {
		return nil, false, err
	}
	release := unlock
	return func() error {
		// Delete under the lock. Afterwards the value may be that of the next holder.
		_, err := store.Write(store.Finishing(ctx), s, store.Delete(key), store.Sync)
		return errors.Join(err, release())
	}, locked, nil
}

// holderUnknown reports whether err is that of a lock which nobody is known to hold.
// Holders write down who they are as soon as they have it.
func holderUnknown(err error) bool {
	held := (*store.LockError)(nil)
	return errors.As(err, &held) && held.Holder == (store.Holder{})
}

// tryLock locks the directory of key, which must exist. In a file system without locks it
// does nothing, and locked is false.
func tryLock(ctx context.Context, s store.Store, key store.Key, timeout time.Duration) (unlock func() error, locked bool, err error) {
	how := store.LockingOf(ctx)
	how.Operation, how.Timeout = "re-gridding", timeout
	unlock, err = store.Lock(store.WithLocking(ctx, how), s, key.Dir())
	switch {
	case errors.Is(err, store.ErrUnsupported):
		return func() error { return nil }, false, nil
	case errors.Is(err, store.ErrLocked):
		return nil, false, runningError(err)
	}
	return unlock, err == nil, err
}

// runsError is the error for a rechunk that holds the lock of staging.
type runsError struct {
	by   string
	lock error
}

func (e *runsError) Error() string {
	return fmt.Sprintf("%v: %s, which runs now; wait for it, or stop it", ErrClaimed, e.by)
}

func (e *runsError) Unwrap() []error { return []error{ErrClaimed, e.lock} }

// runningError says who holds the lock of staging.
func runningError(lock error) error {
	by := store.Holder{}
	if held := (*store.LockError)(nil); errors.As(lock, &held) {
		by = held.Holder
	}
	return &runsError{by.String(), lock}
}

// putHolder stores who runs.
func putHolder(ctx context.Context, s store.Store, key store.Key) error {
	raw, err := json.Marshal(holder("re-gridding"))
	if err == nil {
		_, err = store.Write(ctx, s, store.Put(key, raw), store.Flush)
	}
	return err
}

// shareName is the object of a process that executes a share, in a directory of its own.
const shareName = "share.json"

// sharesDir is the directory of the processes that execute shares.
func (h *hold) sharesDir() store.Path {
	return recordsOf(h.at, h.claim.ID).MustKey("shares/-").Dir()
}

// closeShares makes sure that no process executes a share, and that none begins one until
// reopen is called. The caller holds the lock of staging.
func (h *hold) closeShares(ctx context.Context) (reopen func() error, err error) {
	nothing := func() error { return nil }
	c, err := h.at.Claim(ctx)
	if err != nil || c == nil || !c.Shared {
		return nothing, err
	}
	_, locks := store.As[store.Locker](h.at.Store)
	if c.Closed && !locks && !h.takeOver && !c.IsOwn() {
		return nil, fmt.Errorf("%w: %v, which may still publish it (if it does not: "+remedy.TakeOver+")", ErrClaimed, c.Text())
	}
	closed := *c
	closed.Closed, closed.By = true, holder(c.Operation)
	if err := h.at.Replace(ctx, c, &closed, h.durability); err != nil {
		return nil, err
	}
	reopen = func() error { return h.reopen(store.Finishing(ctx), closed.ID) }
	h.claim = &closed
	if err := h.checkNoShares(ctx); err != nil {
		return nil, errors.Join(err, reopen())
	}
	return reopen, nil
}

// reopen permits shares again, unless the rechunk was published.
func (h *hold) reopen(ctx context.Context, id string) error {
	c, err := h.at.Claim(ctx)
	if err != nil || c == nil || c.ID != id {
		return err
	}
	open := *c
	open.Closed = false
	return h.at.Replace(ctx, c, &open, h.durability)
}

// checkNoShares returns an error if a process executes a share. It deletes the values
// that crashed processes have left.
func (h *hold) checkNoShares(ctx context.Context) error {
	dir := h.sharesDir()
	names, err := namesIn(ctx, h.at.Store, dir, store.Deep)
	if err != nil {
		return err
	}
	_, locks := store.As[store.Locker](h.at.Store)
	for _, name := range names {
		if !strings.HasSuffix(name, "/"+shareName) {
			continue
		}
		key := dir.MustKey(name)
		// Shares have no lease, so only a lock or the caller can tell that one has ended.
		if !locks && !h.takeOver {
			return fmt.Errorf("%w: %s, which may still execute a share (if it does not: "+remedy.TakeOver+")", ErrClaimed, h.holderText(ctx, key))
		}
		if err := h.removeShare(ctx, key, locks); err != nil {
			return err
		}
	}
	return nil
}

// removeShare deletes the value of a process that executed a share and crashed. It
// returns an error if that process still runs.
func (h *hold) removeShare(ctx context.Context, key store.Key, locks bool) error {
	unlock := func() error { return nil }
	if locks {
		var err error
		switch unlock, _, err = tryLock(ctx, h.at.Store, key, -1); {
		case errors.Is(err, fs.ErrNotExist): // it has ended
			return nil
		case errors.Is(err, ErrClaimed):
			return fmt.Errorf("%w: %s executes a share", ErrClaimed, h.holderText(ctx, key))
		case err != nil:
			return err
		}
	}
	_, err := store.Write(ctx, h.at.Store, store.Delete(key), store.Sync)
	return errors.Join(err, unlock())
}

// holderText says who stored a value of [putHolder].
func (h *hold) holderText(ctx context.Context, key store.Key) string {
	var by store.Holder
	data, _, err := h.at.Store.Get(ctx, key, store.Request{Limit: 1 << 16}, nil)
	if err != nil || json.Unmarshal(data, &by) != nil || by.PID == 0 {
		return "another process"
	}
	return by.String()
}
