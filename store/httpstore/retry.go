// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"time"
)

// passing is a temporary error: another attempt may succeed.
type passing struct {
	err   error
	after time.Duration // the pause that the server asks for
	slow  bool          // the attempt ran into a timeout
}

// mostSlow is the largest number of attempts of one request that may time out. A slow
// server usually stays slow, and each such attempt takes long.
const mostSlow = 2

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// retry makes attempts until one succeeds or fails permanently.
func (s *Store) retry(ctx context.Context, attempt func(ctx context.Context) error) error {
	pause := s.options.Pause
	slow := 0
	for tries := 1; ; tries++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := s.watched(ctx, attempt)
		var p *passing
		if errors.As(err, &p) && p.slow {
			slow++
		}
		switch {
		case err == nil:
			return nil
		// The caller has cancelled. Return that as the reason, not the error of the
		// attempt.
		case ctx.Err() != nil:
			return ctx.Err()
		case p == nil:
			return err
		case tries >= s.options.Attempts || slow >= mostSlow:
			return fmt.Errorf("%w (after %d attempts)", err, tries)
		// The server would refuse an earlier retry.
		case p.after > s.options.LongestPause:
			return fmt.Errorf("%w (and the server asks to wait %v)", err, p.after)
		}
		// A part of the pause is random, so that requests that failed at the same time
		// are not retried at the same time.
		wait := max(p.after, pause/2+rand.N(pause/2+1))
		if err := sleep(ctx, min(wait, s.options.LongestPause)); err != nil {
			return err
		}
		pause = min(2*pause, s.options.LongestPause)
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// errCut means that a body ended early. It does not wrap [io.ErrUnexpectedEOF], which
// means that a range lies beyond the value.
var errCut = errors.New("the connection ended before the value did")

// lost returns the error of a request without an answer, or of an interrupted body. It is
// temporary, except for errors about the identity of the server.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) { // a url.Error shows the URL, which may hold secrets
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
	case errors.Is(err, errLonger):
		return err
	case errors.As(err, &dns) && dns.IsNotFound, errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &hostname),
		errors.Is(err, errPrivate):
		return err
	}
	var late net.Error
	return &passing{err: err, slow: errors.As(err, &late) && late.Timeout()}
}
