// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/url"
	"time"

	"varve.dev/zarr/internal/lease"
	"varve.dev/zarr/internal/quantity"
)

// Policy says how often and after which pauses a request is repeated, as that of package
// retry does. The zero Policy has the defaults.
type Policy struct {
	Attempts            int
	Pause, LongestPause time.Duration
	Total               time.Duration
}

// mostTimedOut is the largest number of attempts of one request that may time out. A slow
// server usually stays slow, and each such attempt takes long.
const mostTimedOut = 2

// Do calls attempt until it returns nil or a permanent error, or the policy allows no
// further attempt. The error is that of the last attempt. After a cancellation it is that
// of ctx.
//
// An attempt reports with [Temporary], [Throttled], [TimedOut] or [Network] that another
// one may succeed. Every other error is permanent. So an operation that must not be
// repeated, such as a conditional write whose answer was lost, returns an error of its
// own.
func (p Policy) Do(ctx context.Context, attempt func(ctx context.Context) error) error {
	p = p.withDefaults()
	pause, timeouts := p.Pause, 0
	var failed time.Time // first failure
	for tries := 1; ; tries++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := attempt(ctx)
		if err == nil {
			return nil
		}
		// The caller has cancelled. Return that as the reason, not the error of the
		// attempt.
		if cause := ctx.Err(); cause != nil {
			return cause
		}
		f := find(err)
		if f == nil {
			return err
		}
		if f.timedOut {
			timeouts++
		}
		now := time.Now()
		if failed.IsZero() {
			failed = now
		}
		switch {
		case tries >= p.Attempts || timeouts >= mostTimedOut:
			return fmt.Errorf("%w (after %s)", err, quantity.Count(tries, "attempts"))
		// The server would refuse an earlier attempt.
		case f.after > p.LongestPause:
			return fmt.Errorf("%w (and the server asks to wait %v)", err, f.after)
		}
		// A part of the pause is random, so that requests that failed at the same time
		// are not repeated at the same time.
		wait := min(max(f.after, pause/2+rand.N(pause/2+1)), p.LongestPause)
		if p.Total > 0 && now.Add(wait).Sub(failed) > p.Total {
			return fmt.Errorf("%w (after %s in %v)", err, quantity.Count(tries, "attempts"), p.Total)
		}
		if err := lease.Sleep(ctx, wait); err != nil {
			return err
		}
		pause = min(2*pause, p.LongestPause)
	}
}

// withDefaults returns the policy with the defaults in place of zero values.
func (p Policy) withDefaults() Policy {
	if p.Attempts <= 0 {
		p.Attempts = 5
	}
	if p.Pause <= 0 {
		p.Pause = 200 * time.Millisecond
	}
	if p.LongestPause <= 0 {
		p.LongestPause = 30 * time.Second
	}
	if p.Total == 0 {
		p.Total = 10 * min(p.LongestPause, math.MaxInt64/10)
	}
	return p
}

// failure is a temporary error: another attempt may succeed.
type failure struct {
	err       error
	after     time.Duration // the pause that the server asks for
	throttled bool
	timedOut  bool
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

// Throttled reports whether the service gets too many requests.
func (f *failure) Throttled() bool { return f.throttled }

// Temporary returns err as one of an attempt that may be repeated, after the pause that
// the service asks for, or 0. It has the text of err and wraps it. It returns nil if err
// is nil.
func Temporary(err error, after time.Duration) error {
	return wrap(err, failure{after: after})
}

// Throttled is [Temporary] for a service that gets too many requests. The stores of
// httpstore then lower the number of requests in flight.
func Throttled(err error, after time.Duration) error {
	return wrap(err, failure{after: after, throttled: true})
}

// TimedOut is [Temporary] for an attempt that took too long. It is repeated only once,
// because a slow server usually stays slow.
func TimedOut(err error) error {
	return wrap(err, failure{timedOut: true})
}

func wrap(err error, f failure) error {
	if err == nil {
		return nil
	}
	f.err = err
	return &f
}

// permanent is an error of a transport that another attempt would meet again.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent returns err as one that [Network] leaves as it is. It is for transports that
// get an answer and refuse it, because their errors would else pass for lost connections.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

// IsTemporary reports whether another attempt may succeed after err.
func IsTemporary(err error) bool { return find(err) != nil }

// find returns the mark of a temporary error, or nil.
func find(err error) *failure {
	if err == nil {
		return nil // without the allocation below
	}
	var f *failure
	errors.As(err, &f)
	return f
}

// errCut means that a body ended early. It does not wrap [io.ErrUnexpectedEOF], which
// means to stores that a range lies beyond the value.
var errCut = errors.New("the connection ended before the value did")

// Network returns the error of a request without an answer, or of an interrupted body. It
// is temporary, except for errors about the identity of the server. If ctx has ended, it
// is the error of ctx. It does not show the URL, which may hold secrets.
func Network(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if IsTemporary(err) || errors.As(err, new(permanent)) {
		return err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var (
		dns      *net.DNSError
		verify   *tls.CertificateVerificationError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
	)
	switch {
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		err = errCut
	// These errors are about the identity of the server. They do not pass.
	case errors.As(err, &dns) && dns.IsNotFound, errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &hostname):
		return err
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return TimedOut(err)
	}
	return Temporary(err, 0)
}
