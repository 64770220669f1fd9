// SPDX-License-Identifier: Apache-2.0

package arrays

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// A program of a crowd has one role. Each is a process of its own.
const (
	appends  = "append"  // appends batches to an array
	streams  = "stream"  // appends rows to an array as they arrive
	writes   = "write"   // writes numbers from 1 on to a row of its own
	rechunks = "rechunk" // gives an array other chunks, again and again
	packs    = "re-pack" // gives an array other shards, or none, again and again
	reads    = "read"    // reads all of an array until it is killed
	joins    = "join"    // appends batches to all arrays of a group at once
	looks    = "look"    // reads all arrays of a group until it is killed
)

// role is the role of one process, as its environment has it.
type role struct {
	kind     string
	number   int // of the program among those of its kind
	times    int
	location string
}

const (
	roleName     = "VARVE_TEST_ROLE" // kind, number and times
	locationName = "VARVE_TEST_LOCATION"
)

// Main runs the role of this process, if it has one. It returns false if it has none. A
// test that calls [Crowd] calls it first in TestMain.
func Main() bool {
	var r role
	if _, err := fmt.Sscan(os.Getenv(roleName), &r.kind, &r.number, &r.times); err != nil {
		return false
	}
	r.location = os.Getenv(locationName)
	if r.kind == live {
		_ = (&hand{location: r.location}).serve(context.Background(), os.Stdin) // never fails
		return true
	}
	if err := r.play(context.Background()); err != nil {
		fmt.Println("error", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return true
}

// NoGoroutines runs the tests, and expects no goroutine to be left but those of
// connections, which the proxies of tests keep for a while.
func NoGoroutines(m *testing.M, also ...goleak.Option) {
	goleak.VerifyTestMain(m, append(also,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))...)
}

// actor is a program at work.
type actor interface {
	step(ctx context.Context, k int) error
	io.Closer
}

// play prints "done" with a number after each thing that it has done.
func (r role) play(ctx context.Context) error {
	a, err := r.enter(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	for k := 0; k < r.times; k++ {
		if err := a.step(ctx, k); err != nil {
			return fmt.Errorf("%s %d, step %d: %w", r.kind, r.number, k, err)
		}
		fmt.Println("done", k)
	}
	return nil
}

func (r role) enter(ctx context.Context) (actor, error) {
	if r.kind == joins || r.kind == looks {
		return r.openGroup(ctx)
	}
	return r.openArray(ctx)
}

// isReader reports whether the program goes on until it is killed.
func (r role) isReader() bool { return r.kind == reads || r.kind == looks }
