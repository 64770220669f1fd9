// SPDX-License-Identifier: Apache-2.0

// Package stepping tests programs that use a store.
//
// [Conditional] is a small object store whose operations a test can fail, lose and delay.
// [Stepper] runs several clients of one in an order that the test decides, and [Explore]
// tries all orders:
//
//	stepping.Explore(func(choose func(n int) int) bool {
//		st := stepping.NewStepper(memstore.New())
//		defer st.Close()
//		st.Start(first)
//		st.Start(second)
//		st.Finish(choose, 2)
//		return check(st)
//	})
package stepping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

var (
	// ErrRefused is the result of an operation that [Stepper.Refuse] prevented.
	ErrRefused = errors.New("stepping: the operation was refused")
	// ErrLost is the result of an operation whose response [Stepper.Lose] lost. The
	// operation has happened.
	ErrLost = errors.New("stepping: the response was lost")
	// ErrCrashed is the result of every operation after [Stepper.Crash]. None of them
	// happens.
	ErrCrashed = errors.New("stepping: the client has crashed")
)

// errExit is the error of a client that ended its goroutine instead of returning.
var errExit = errors.New("stepping: the client ended without an answer")

// Stepper runs several clients of one store, each in its own goroutine. It performs one
// operation at a time, and only when the test calls a method. So the test decides the
// order of all operations. Between two calls of its methods, every client waits before
// its next operation or has ended.
//
// A client with goroutines of its own may have several operations waiting. They take
// their turns in order of arrival, which may differ between runs. Clients must not wait
// for each other except through the store, and must end when their operations keep
// failing. An operation whose context has ended takes no turn.
//
// The methods are for the goroutine of the test, which must call [Stepper.Close] in the
// end.
type Stepper struct {
	s       ObjectStore
	clients []*client
	trace   Trace
}

// NewStepper returns a stepper without clients. Its clients share s.
func NewStepper(s ObjectStore) *Stepper { return &Stepper{s: s} }

// Start starts a client that runs f, lets it reach its first operation, and returns its
// number, counted from 0. The store passed to f is the client's own handle of the shared
// store, and is an [ObjectStore].
func (t *Stepper) Start(f func(s store.Store) error) (i int) {
	c := newClient()
	t.clients = append(t.clients, c)
	go c.run(f, Conditional(t.s, Hooks{Before: c.before, After: c.after}))
	c.wait()
	return len(t.clients) - 1
}

// Next returns the operation that client i waits to do. It returns false if the client
// has ended.
func (t *Stepper) Next(i int) (Op, bool) {
	c := t.clients[i]
	if c.ended {
		return Op{}, false
	}
	return c.pending.op, true
}

// Ready returns the numbers of the clients that have not ended, in order.
func (t *Stepper) Ready() []int {
	var ready []int
	for i, c := range t.clients {
		if !c.ended {
			ready = append(ready, i)
		}
	}
	return ready
}

// Err returns the result of client i, or nil if it has not ended.
func (t *Stepper) Err(i int) error { return t.clients[i].err }

// Step lets client i do one operation and continue to its next one. done means that it
// ended instead. If it had ended before, op is zero.
func (t *Stepper) Step(i int) (op Op, done bool) { return t.turn(i, happens) }

// Refuse is [Stepper.Step], but the operation does not happen; the client gets
// [ErrRefused].
func (t *Stepper) Refuse(i int) (op Op, done bool) { return t.turn(i, refused) }

// Lose is [Stepper.Step], but the response is lost: the operation happens, and the client
// gets [ErrLost].
func (t *Stepper) Lose(i int) (op Op, done bool) { return t.turn(i, lost) }

// Crash makes the next operation of client i, and all that follow, fail with [ErrCrashed]
// and without effect, and waits until the client ends. To crash a client during an
// operation, call [Stepper.Lose] first.
func (t *Stepper) Crash(i int) {
	c := t.clients[i]
	if c.ended {
		return
	}
	t.trace = append(t.trace, Turn{Client: i, Fate: "crash"})
	c.crash()
}

// Close crashes all clients that have not ended, and waits until they have.
func (t *Stepper) Close() {
	for _, c := range t.clients {
		c.crash()
	}
}

// Finish steps the clients until all have ended. It calls choose to select the next
// client if there are several: 0 selects the previous one, as long as it has not ended.
// Finish interrupts a running client at most interrupts times in total; a negative number
// means no limit. Most ordering bugs show with one or two interrupts, and there are few
// such orders.
func (t *Stepper) Finish(choose func(n int) int, interrupts int) {
	last := -1
	for {
		ready := t.Ready()
		if len(ready) == 0 {
			return
		}
		at := slices.Index(ready, last)
		switch {
		case at < 0:
			last = ready[choose(len(ready))]
		case interrupts != 0:
			ready = slices.Insert(slices.Delete(ready, at, at+1), 0, last)
			if next := ready[choose(len(ready))]; next != last {
				last = next
				interrupts--
			}
		}
		t.Step(last)
	}
}

// Trace returns the steps so far, for the message of a failing test.
func (t *Stepper) Trace() Trace { return slices.Clone(t.trace) }

func (t *Stepper) turn(i int, f fate) (op Op, done bool) {
	c := t.clients[i]
	op, done = c.turn(f)
	if op != (Op{}) {
		t.trace = append(t.trace, Turn{i, op, f.String()})
	}
	return op, done
}

// Turn is one step of one client.
type Turn struct {
	Client int
	Op     Op     // zero for a crash
	Fate   string // "" for an operation that happened, "refused", "lost", "crash"
}

// Trace has the steps of a run, first to last.
type Trace []Turn

// String returns one line for each step, such as "1: PutIf a/zarr.json lost".
func (t Trace) String() string {
	var b strings.Builder
	for _, turn := range t {
		fmt.Fprintf(&b, "%d: %s\n", turn.Client, strings.TrimSpace(turn.Op.String()+" "+turn.Fate))
	}
	return b.String()
}

// fate is what happens to an operation.
type fate int

const (
	happens fate = iota
	refused
	lost
)

func (f fate) String() string { return [...]string{"", "refused", "lost"}[f] }

// request is one operation that waits for its turn.
type request struct {
	op   Op
	turn chan fate
	over chan struct{} // closed when the operation has ended, or will not happen
}

// client is the state of one client.
type client struct {
	asks    chan *request
	done    chan error    // the result of the client
	crashed chan struct{} // closed once its operations are to fail

	// The operation in progress, if any, shared with its hooks.
	running *request
	fate    fate

	pending *request // waits for its turn
	ended   bool
	err     error
}

func newClient() *client {
	return &client{asks: make(chan *request), done: make(chan error, 1), crashed: make(chan struct{})}
}

// run is the goroutine of the client. If a test ends in the middle of f, the client ends
// too.
func (c *client) run(f func(s store.Store) error, s ObjectStore) {
	err := errExit
	defer func() { c.done <- err }()
	err = f(s)
}

// before asks for a turn and waits for it.
func (c *client) before(ctx context.Context, op Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{op, make(chan fate), make(chan struct{})}
	select {
	case c.asks <- r:
	case <-c.crashed:
		return ErrCrashed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case f := <-r.turn:
		if f == refused {
			close(r.over)
			return ErrRefused
		}
		c.running, c.fate = r, f
		return nil
	case <-c.crashed:
		return ErrCrashed
	case <-ctx.Done():
		// Tell the stepper that this operation takes no turn.
		close(r.over)
		return ctx.Err()
	}
}

// after ends a turn.
func (c *client) after(_ Op, err error) error {
	if c.fate == lost {
		err = ErrLost
	}
	close(c.running.over)
	return err
}

// wait waits until the client asks for a turn or ends.
func (c *client) wait() {
	select {
	case c.pending = <-c.asks:
	case c.err = <-c.done:
		c.ended, c.pending = true, nil
	}
}

// turn gives the client its turn. An operation that the client has given up gets none.
func (c *client) turn(f fate) (op Op, done bool) {
	for !c.ended {
		r := c.pending
		select {
		case r.turn <- f:
			// Only one operation of all clients runs at a time.
			<-r.over
			c.wait()
			return r.op, c.ended
		case <-r.over:
			c.wait()
		}
	}
	return Op{}, true
}

// crash fails all further operations of the client, and waits for its end. Goroutines of
// an ended client may continue.
func (c *client) crash() {
	select {
	case <-c.crashed:
		return
	default:
		close(c.crashed)
	}
	if !c.ended {
		c.err = <-c.done
		c.ended, c.pending = true, nil
	}
}

// choice is one decision of a run: the chosen option and the number of options.
type choice struct{ taken, of int }

// Explore calls run once for every sequence of choices that run can make, and returns the
// number of calls. In run, choose(n) returns a number from 0 to n-1. A run that returns
// false is the last.
//
// Runs may differ only in their choices. If, after the same choices, a run asks for
// another number of options than an earlier one did, Explore panics. Runs come in a fixed
// order, and the first one chooses 0 everywhere, so a failure can be repeated.
func Explore(run func(choose func(n int) int) (more bool)) (runs int) {
	var path []choice
	for {
		depth := 0
		more := run(func(n int) int {
			if n <= 1 {
				return 0
			}
			if depth == len(path) {
				path = append(path, choice{0, n})
			}
			c := path[depth]
			if c.of != n {
				panic(fmt.Sprintf("stepping: choice %d of the run is of %d options, and was of %d before", depth, n, c.of))
			}
			depth++
			return c.taken
		})
		runs++
		// A run may make fewer choices than the one before.
		path = path[:depth]
		// Drop the last choices whose options were all tried. The one before takes its
		// next option.
		for len(path) > 0 && path[len(path)-1].taken+1 == path[len(path)-1].of {
			path = path[:len(path)-1]
		}
		if !more || len(path) == 0 {
			return runs
		}
		path[len(path)-1].taken++
	}
}
