// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"

	"varve.dev/zarr/store/retry"
)

// unanswered is the error of a request without a whole answer. It names the host, because
// errors of connections show addresses at most.
type unanswered struct {
	method string // "" if it is not known
	host   string
	err    error
	advice string
}

func (u *unanswered) Error() string {
	text := "host " + u.host + ": " + u.err.Error() + "; " + u.advice
	if u.method != "" {
		text = u.method + " to " + text
	}
	return text
}

func (u *unanswered) Unwrap() error { return u.err }

// lost is [retry.Network] for errors of the store's own too. It adds what was asked of
// which host, and what to do.
func (s *Store) lost(ctx context.Context, method, host string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil && (errors.Is(err, errLonger) || errors.Is(err, errPrivate)):
		// The server would send the same body, or redirection, again.
		var u *url.Error
		if errors.As(err, &u) {
			return u.Err
		}
		return err
	case retry.IsTemporary(err):
		return retry.Network(ctx, err) // a transport has explained it
	}
	advice := networkAdvice(err)
	if err = retry.Network(ctx, err); advice == "" || ctx.Err() != nil {
		return err
	}
	return &unanswered{method, host, err, advice}
}

// networkAdvice says what to do about an error of a connection. It returns "" for other
// errors.
func networkAdvice(err error) string {
	var (
		dns       *net.DNSError
		verify    *tls.CertificateVerificationError
		unknown   x509.UnknownAuthorityError
		hostname  x509.HostnameError
		record    tls.RecordHeaderError
		operation *net.OpError
		network   net.Error
	)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "check the name of the host, which the location or its option endpoint gives, and the network"
	case errors.As(err, &dns):
		return "the name server does not answer; check the network"
	case errors.As(err, &verify), errors.As(err, &unknown), errors.As(err, &hostname):
		return "the certificate of the server is not trusted; check the endpoint, and add the authority of a private service or proxy to those of the system (SSL_CERT_FILE)"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return "the server does not speak TLS at this port; check the endpoint, which may begin with http://"
	case errors.As(err, &operation) && operation.Op == "remote error":
		return "the server refuses this TLS connection; check the endpoint and proxies"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there; check the endpoint and its port, and whether the service runs"
	case errors.As(err, &network) && network.Timeout():
		return "the host does not answer; check the network, firewalls and proxies, and try again"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was cut; check the network and proxies, and try again"
	case errors.As(err, &operation):
		return "check the network and the endpoint"
	}
	return ""
}
