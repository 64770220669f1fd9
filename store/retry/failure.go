// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"time"
)

// failure is a temporary error: another attempt may succeed.
type failure struct {
	err       error
	after     time.Duration // the pause that the server asks for
	throttled bool
	timedOut  bool
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// Temporary returns err as one of an attempt that may be repeated, after the pause that
// the service asks for, or 0. It has the text of err and wraps it. It returns nil if err
// is nil.
func Temporary(err error, after time.Duration) error {
	return wrap(err, failure{after: after})
}

// Throttled is [Temporary] for a service that gets too many requests. The [Limiter]
// lowers the number of requests in flight.
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

// IsThrottled reports whether err means that the service gets too many requests.
func IsThrottled(err error) bool {
	f := find(err)
	return f != nil && f.throttled
}

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
