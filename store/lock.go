// SPDX-License-Identifier: Apache-2.0

package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// ErrLocked means that another writer holds a lock and that the caller's timeout has
// passed. The error is a [*LockError].
var ErrLocked = errors.New("locked by another writer")

// Locking configures how locks are taken. The zero Locking waits without limit and
// reports nothing.
type Locking struct {
	// Operation is the purpose of the lock, such as "append". Other writers that wait for
	// the lock see it.
	Operation string
	// Timeout is the longest time to wait for a lock. Zero means no limit. With a
	// negative timeout, calls do not wait.
	Timeout time.Duration
	// Waiting is called once, on a separate goroutine, if a lock is not free after one
	// second.
	Waiting func(LockWait)
}

// LockWait describes a lock that a call waits for.
type LockWait struct {
	Name   string // a directory of the store, or a file in it
	Holder Holder
}

// Holder describes the process that holds a lock. Unknown fields are zero.
type Holder struct {
	PID       int       `json:"pid,omitempty"`       // process ID; each container has its own numbers
	Host      string    `json:"host,omitempty"`      // name of the machine or container
	Operation string    `json:"operation,omitempty"` // what the holder does
	Since     time.Time `json:"since,omitzero"`
}

// String describes the holder. It is "another program" if nothing is known.
func (h Holder) String() string {
	text := "another program"
	if h.PID != 0 {
		text = fmt.Sprintf("process %d", h.PID)
	}
	if h.Host != "" {
		text += " on " + h.Host
	}
	if h.Operation != "" {
		text += " (" + h.Operation + ")"
	}
	if !h.Since.IsZero() {
		text += " since " + h.Since.Local().Format("2006-01-02 15:04:05")
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// LockError reports a lock that was not free in time.
type LockError struct {
	LockWait
	Waited time.Duration // 0 if the call did not wait
}

// Error names the lock and its holder, and gives advice.
func (e *LockError) Error() string {
	waited := ""
	if e.Waited > 0 {
		waited = fmt.Sprintf(" and was not released within %v", e.Waited)
	}
	return fmt.Sprintf("%s is locked by %v%s; try again later, wait longer, or end the process if it hangs",
		cmp.Or(e.Name, "the store"), e.Holder, waited)
}

// Is reports whether target is [ErrLocked], or [os.ErrDeadlineExceeded] if the call
// waited.
func (e *LockError) Is(target error) bool {
	return target == ErrLocked || target == os.ErrDeadlineExceeded && e.Waited > 0
}

type lockingKey struct{}

// WithLocking returns a context whose calls take locks with the options how.
func WithLocking(ctx context.Context, how Locking) context.Context {
	if how.Operation == "" && how.Timeout == 0 && how.Waiting == nil {
		return ctx
	}
	return context.WithValue(ctx, lockingKey{}, how)
}

// LockingOf returns the options with which calls with ctx take locks. It is for drivers.
func LockingOf(ctx context.Context) Locking {
	how, _ := ctx.Value(lockingKey{}).(Locking)
	return how
}

// Lock excludes other writers from dir; see [Locker]. It applies the [Locking] of ctx. If
// s is not a Locker, the error is [ErrUnsupported].
func Lock(ctx context.Context, s Store, dir Path) (unlock func() error, err error) {
	l, ok := As[Locker](s)
	if !ok {
		return nil, unsupported(s, "lock")
	}
	return AwaitLock(ctx, dir.String(), func(ctx context.Context) (func() error, error) { return l.Lock(ctx, dir) },
		func() Holder { return l.LockHolder(dir) })
}

// slowLock is the wait for a lock after which a call calls [Locking].Waiting.
const slowLock = time.Second

// slowTries is how often the holder is looked for again before a wait for an unknown one
// is reported.
const slowTries = 4

// shortest is the timeout of a call that does not wait for locks. It is long enough to
// try a lock once on a slow machine.
const shortest = 50 * time.Millisecond

// AwaitLock calls lock, which waits for a lock until its context ends. It applies the
// [Locking] of ctx and the grace of [Finishing]. It is for drivers.
func AwaitLock(
	ctx context.Context, name string, lock func(context.Context) (func() error, error), holder func() Holder,
) (unlock func() error, err error) {
	ctx, done := awaiting(ctx)
	defer done()
	how := LockingOf(ctx)
	if how.Waiting != nil {
		told, returned := make(chan struct{}), make(chan struct{})
		slow := time.AfterFunc(slowLock, func() {
			defer close(told)
			by := holder()
			// Without a holder, it may be the disk that is slow and not a program that
			// holds the lock.
			for i := 0; by == (Holder{}) && i < slowTries; i++ {
				select {
				case <-returned:
					return
				case <-time.After(slowLock):
					by = holder()
				}
			}
			how.Waiting(LockWait{name, by})
		})
		// Waiting must not be called, or still run, after AwaitLock has returned.
		defer func() {
			close(returned)
			if !slow.Stop() {
				<-told
			}
		}()
	}
	// No limit: only ctx ends the wait.
	if how.Timeout == 0 {
		return lock(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, max(how.Timeout, shortest))
	defer cancel()
	unlock, err = lock(limited)
	// Return a LockError only after the timeout, not if the caller's context ended.
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, &LockError{LockWait{name, holder()}, max(how.Timeout, 0)}
	}
	return unlock, err
}

// lockGrace is how long a call with a finishing context waits for a lock after its caller
// has cancelled. Most writers hold a lock for less.
const lockGrace = 200 * time.Millisecond

type finishingKey struct{}

// Finishing returns a context for work that must be completed even if the caller cancels.
// It does not end with ctx. Only the wait for a lock ends soon after ctx, because another
// writer may hold the lock forever.
func Finishing(ctx context.Context) context.Context {
	if ctx.Done() == nil { // it never ends, or is a finishing context already
		return ctx
	}
	return context.WithValue(context.WithoutCancel(ctx), finishingKey{}, ctx)
}

// awaiting returns the context for a wait for a lock. It ends with ctx and, if ctx is a
// finishing context, [lockGrace] after its caller has cancelled.
func awaiting(ctx context.Context) (context.Context, context.CancelFunc) {
	caller, finishing := ctx.Value(finishingKey{}).(context.Context)
	if !finishing {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	// Once the caller has cancelled, give the holder a little time to release the lock.
	stop := context.AfterFunc(caller, func() {
		select {
		case <-time.After(lockGrace):
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		stop()
		cancel()
	}
}
