// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"varve.dev/zarr/internal/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// TestDo checks the number of attempts and the pauses before them.
func TestDo(t *testing.T) {
	temporary := driver.Temporary(errBroken, 0)
	slow := driver.TimedOut(errBroken)
	for name, c := range map[string]struct {
		policy   driver.Policy
		errs     []error // the last is repeated
		tries    int
		ok       bool
		min, max time.Duration
	}{
		"at once":          {driver.Policy{}, []error{nil}, 1, true, 0, 0},
		"permanent":        {driver.Policy{}, []error{errBroken}, 1, false, 0, 0},
		"once":             {driver.Policy{}, []error{temporary, nil}, 2, true, 100 * time.Millisecond, 200 * time.Millisecond},
		"always":           {driver.Policy{}, []error{temporary}, 5, false, 1500 * time.Millisecond, 3 * time.Second},
		"then permanent":   {driver.Policy{}, []error{temporary, errBroken}, 2, false, 100 * time.Millisecond, 200 * time.Millisecond},
		"timed out":        {driver.Policy{Attempts: 9}, []error{slow}, 2, false, 100 * time.Millisecond, 200 * time.Millisecond},
		"asks":             {driver.Policy{}, []error{driver.Throttled(errBroken, 7*time.Second), nil}, 2, true, 7 * time.Second, 7 * time.Second},
		"asks too much":    {driver.Policy{}, []error{driver.Temporary(errBroken, 31*time.Second), nil}, 1, false, 0, 0},
		"longest pause":    {driver.Policy{Attempts: 11, Pause: time.Second, LongestPause: 2 * time.Second}, []error{temporary}, 11, false, 9500 * time.Millisecond, 19 * time.Second},
		"total":            {driver.Policy{Attempts: 1000, LongestPause: time.Second}, []error{driver.Temporary(errBroken, time.Second)}, 11, false, 10 * time.Second, 10 * time.Second},
		"another total":    {driver.Policy{Attempts: 1000, Total: 3 * time.Second}, []error{driver.Temporary(errBroken, time.Second)}, 4, false, 3 * time.Second, 3 * time.Second},
		"no total":         {driver.Policy{Attempts: 100, LongestPause: time.Second, Total: -1}, []error{driver.Temporary(errBroken, time.Second)}, 100, false, 99 * time.Second, 99 * time.Second},
		"the longest ever": {driver.Policy{Attempts: 2, LongestPause: 1<<63 - 1}, []error{driver.Temporary(errBroken, time.Hour)}, 2, false, time.Hour, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, tries := time.Now(), 0
				err := c.policy.Do(t.Context(), func(context.Context) error {
					tries++
					return c.errs[min(tries, len(c.errs))-1]
				})
				if took := time.Since(begin); tries != c.tries || took < c.min || took > c.max {
					t.Errorf("%d attempts in %v, want %d in %v to %v", tries, took, c.tries, c.min, c.max)
				}
				if (err == nil) != c.ok || !c.ok && !errors.Is(err, errBroken) {
					t.Errorf("error is %v", err)
				}
			})
		})
	}
}

// TestDoStops checks that a cancellation ends a pause and the sequence of attempts at
// once.
func TestDoStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		for name, c := range map[string]struct {
			policy driver.Policy
			err    error
		}{
			"pause": {driver.Policy{Pause: time.Hour, LongestPause: time.Hour}, driver.Temporary(errBroken, 0)},
			"after": {driver.Policy{}, nil},
		} {
			if name == "after" {
				cancel()
			}
			err := c.policy.Do(ctx, func(context.Context) error { return c.err })
			if ctx.Err() == nil || !errors.Is(err, ctx.Err()) || time.Since(begin) > time.Second {
				t.Errorf("%s: error %v after %v", name, err, time.Since(begin))
			}
		}
	})
}

// TestNetwork checks which lost requests may be repeated, and that no error shows a URL.
func TestNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		temporary bool
	}{
		"cut":        {io.ErrUnexpectedEOF, true},
		"closed":     {io.EOF, true},
		"refused":    {&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		"late":       {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, true},
		"no host":    {&net.DNSError{IsNotFound: true}, false},
		"DNS fails":  {&net.DNSError{IsTemporary: true}, true},
		"a URL":      {&url.Error{Op: "Get", URL: "http://h/?canary", Err: io.EOF}, true},
		"wrapped":    {driver.Temporary(fs.ErrPermission, 0), true},
		"permanent":  {fmt.Errorf("sending: %w", driver.Permanent(fs.ErrPermission)), false},
		"no failure": {driver.Permanent(nil), false},
	} {
		err := driver.Network(t.Context(), c.err)
		if driver.IsTemporary(err) != c.temporary || (err == nil) != (c.err == nil) || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := driver.Network(ctx, io.EOF); !errors.Is(err, context.Canceled) || driver.IsTemporary(err) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestWraps checks that errors can be found below their marks.
func TestWraps(t *testing.T) {
	for _, err := range []error{driver.Temporary(fs.ErrNotExist, 1), driver.Throttled(fs.ErrNotExist, 0), driver.TimedOut(fs.ErrNotExist)} {
		if !errors.Is(err, fs.ErrNotExist) || err.Error() != fs.ErrNotExist.Error() || !driver.IsTemporary(err) {
			t.Errorf("%v", err)
		}
	}
	if driver.Temporary(nil, 1) != nil || driver.Throttled(nil, 1) != nil || driver.TimedOut(nil) != nil || driver.IsTemporary(nil) {
		t.Error("no error became one")
	}
}
