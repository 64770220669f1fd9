package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// ErrLocked says that another writer holds a lock and that this one did not wait any
// longer. The error is a [*LockError].
var ErrLocked = errors.New("store: locked by another writer")

// Locking says how a call takes locks. The zero Locking waits for as long as it takes,
// and says nothing.
type Locking struct {
	// Operation is what the lock is for, as "append". Others who wait for it are told.
	Operation string
	// Timeout is the most time to wait for a lock; 0 stands for no limit, and below 0
	// nothing is waited for.
	Timeout time.Duration
	// Waiting is called once for a lock that is waited for longer than a second, on a
	// goroutine of its own.
	Waiting func(LockWait)
}

// LockWait is a lock that is waited for.
type LockWait struct {
	Name   string // what is locked: a directory of the store, or a file in it
	Holder Holder
}

// Holder is who holds a lock. What is not known is zero.
type Holder struct {
	PID       int       `json:"pid,omitempty"`       // of the process; containers have numbers of their own
	Host      string    `json:"host,omitempty"`      // name of the machine or the container
	Operation string    `json:"operation,omitempty"` // what it does
	Since     time.Time `json:"since,omitzero"`
}

// host is the name of this machine, "" where it has none.
var host = sync.OnceValue(func() string {
	name, _ := os.Hostname() // a holder without one is a holder
	return name
})

// ThisProcess describes this process as a holder from now on.
func ThisProcess(operation string) Holder {
	return Holder{PID: os.Getpid(), Host: host(), Operation: operation, Since: time.Now()}
}

// String names the holder and what it does, "another program" where nothing is known.
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

// LockError is a lock that was not had in time.
type LockError struct {
	LockWait
	Waited time.Duration // 0 where nothing was waited for
}

// Error says what is locked by whom, and what to do.
func (e *LockError) Error() string {
	waited := ""
	if e.Waited > 0 {
		waited = fmt.Sprintf(" and was not released within %v", e.Waited)
	}
	return fmt.Sprintf("%s is locked by %v%s; try again once that is done, wait longer, or end a process that hangs",
		cmp.Or(e.Name, "the store"), e.Holder, waited)
}

// Is reports whether target is [ErrLocked], or [os.ErrDeadlineExceeded] where the lock
// was waited for.
func (e *LockError) Is(target error) bool {
	return target == ErrLocked || target == os.ErrDeadlineExceeded && e.Waited > 0
}

type lockingKey struct{}

// WithLocking returns a context whose calls take locks as how says.
func WithLocking(ctx context.Context, how Locking) context.Context {
	if how.Operation == "" && how.Timeout == 0 && how.Waiting == nil {
		return ctx
	}
	return context.WithValue(ctx, lockingKey{}, how)
}

// LockingOf returns how the calls with a context take locks; for drivers.
func LockingOf(ctx context.Context) Locking {
	how, _ := ctx.Value(lockingKey{}).(Locking)
	return how
}

// HeldLocker is a [Locker] that knows who holds a lock.
type HeldLocker interface {
	Locker
	// LockHolder returns who holds dir, the zero Holder where nobody does or it is not
	// known.
	LockHolder(dir Path) Holder
}

// Lock keeps other writers away from dir; see [Locker]. It waits as the context's
// [Locking] says.
func Lock(ctx context.Context, s Store, dir Path) (unlock func() error, err error) {
	l, ok := As[Locker](s)
	if !ok {
		return nil, unsupported(s, "lock")
	}
	return AwaitLock(ctx, dir.String(), func(ctx context.Context) (func() error, error) { return l.Lock(ctx, dir) },
		func() Holder {
			if h, ok := Driver(s).(HeldLocker); ok {
				return h.LockHolder(dir)
			}
			return Holder{}
		})
}

// slowLock is how long a lock is waited for before [Locking].Waiting is told.
const slowLock = time.Second

// shortest is how long lock is given where nothing is to be waited for. It tries once
// before its context has ended, also on a machine that is slow to run this goroutine.
const shortest = 50 * time.Millisecond

// AwaitLock calls lock, which waits for a lock until its context ends, as the [Locking]
// of ctx says; for drivers.
func AwaitLock(
	ctx context.Context, name string, lock func(context.Context) (func() error, error), holder func() Holder,
) (unlock func() error, err error) {
	ctx, done := awaiting(ctx)
	defer done()
	how := LockingOf(ctx)
	if how.Waiting != nil {
		told := make(chan struct{})
		slow := time.AfterFunc(slowLock, func() {
			defer close(told)
			how.Waiting(LockWait{name, holder()})
		})
		defer func() {
			if !slow.Stop() {
				<-told
			}
		}()
	}
	if how.Timeout == 0 {
		return lock(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, max(how.Timeout, shortest))
	defer cancel()
	unlock, err = lock(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, &LockError{LockWait{name, holder()}, max(how.Timeout, 0)}
	}
	return unlock, err
}
