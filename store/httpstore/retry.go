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

// passing is an error that another attempt may not have.
type passing struct {
	err   error
	after time.Duration // how long the server wants to be left alone
	slow  bool          // the attempt took all the time that it had
}

// mostSlow is how many attempts of one request may take all their time: a server that
// sends little sends little again, and each such attempt takes long.
const mostSlow = 2

func (p *passing) Error() string { return p.err.Error() }
func (p *passing) Unwrap() error { return p.err }

// retry makes attempts until one succeeds or fails for good.
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
		case ctx.Err() != nil:
			return ctx.Err()
		case p == nil:
			return err
		case tries >= s.options.Attempts || slow >= mostSlow:
			return fmt.Errorf("%w (after %d attempts)", err, tries)
		case p.after > s.options.LongestPause:
			return fmt.Errorf("%w (and the server wants to be left alone for %v)", err, p.after)
		}
		// A part of the pause is left to chance, so that those who failed together do not
		// come back together.
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

// errCut says that a body ended before it should. It is no [io.ErrUnexpectedEOF], which
// is about ranges that a value does not have.
var errCut = errors.New("the connection ended before the value did")

// lost returns the error of a request that got no answer, or of a body that broke off. It
// is taken to pass, unless it is about who the server is.
func lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) { // it shows the URL
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
