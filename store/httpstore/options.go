// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"net/http"
	"net/url"
	"time"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
)

// Options configure requests. The zero Options send no credentials.
type Options struct {
	// Header is added to requests to the store's own host, such as Authorization.
	Header http.Header
	// Missing lists statuses, besides 404 and 410, that mean that a key has no value.
	// Often that is 403.
	Missing []int
	// Attempts is the largest number of attempts of one request; 0 means 5.
	Attempts int
	// Pause is the pause before the first retry. It doubles with each further retry. 0
	// means 200 ms.
	Pause time.Duration
	// LongestPause is the longest pause. If a server asks for more, the request fails at
	// once. 0 means 30 s.
	LongestPause time.Duration
	// Total is the time after the first failure of a request in which further attempts
	// may begin. 0 means ten times LongestPause; a negative Total sets no limit.
	Total time.Duration
	// Limiter limits the requests in flight. If it is nil, the stores of this process
	// share one for each host: with a Part that of object stores ([retry.Adaptive]), and
	// otherwise one that sets no limit until the server throttles.
	Limiter *retry.Limiter
	// Stall is the longest time in which the server may send nothing, and the longest
	// time for its headers. After that the request counts as lost. 0 means 30 s. A
	// stalled or slow request is retried only once.
	Stall time.Duration
	// Waiting, if not nil, is called with the host of a server that has sent little or
	// nothing for 5 s, or for a quarter of Stall if that is less. It is called once for a
	// store, on a separate goroutine, while a request is in flight.
	Waiting func(host string)
	// Discard is the largest number of bytes to discard before a range if the server
	// ignores range requests; 0 means 64 MiB.
	Discard int64
	// LeastRate is the rate in bytes per second that the server must sustain over each
	// period of Stall. Requests in flight share the rate. 0 means 1024; a negative rate
	// switches the check off. A slower body counts as lost.
	LeastRate int64
	// PrivateRedirects permits redirections to private networks and to this machine,
	// which some storage clusters use. Without it only the addresses of the store's own
	// host are permitted.
	PrivateRedirects bool
	// Transport sends the requests. If it is nil, the store uses its own: HTTP/1.1, as
	// many connections as requests in flight, and no redirections into private networks.
	//
	// A transport of the caller is used unchanged. [http.DefaultTransport] is slow for
	// many chunks: it keeps two idle connections, and puts all HTTP/2 requests to a
	// server on one. Set Protocols of an [http.Transport] to HTTP/1 alone, and
	// MaxIdleConnsPerHost to the number of requests in flight. For such a transport the
	// store checks redirections by literal address only; its dialer must check names.
	Transport http.RoundTripper
	// Hedge sends a second request if the first answers a Get later than most others did,
	// and takes the answer that comes first. At most 5 % of the requests are repeated,
	// and none while the server is slow as a whole.
	Hedge bool
	// Part, if positive, is the number of bytes above which a Get is made of several
	// requests at the same time. 8 to 16 MiB suit object stores. It needs a server with
	// ranges and strong versions; from others each value comes in one piece.
	Part int64

	Hooks
}

// Hooks adapt a Store to a service that has its own names, versions and errors. They are
// for drivers of object stores. Each may be nil, and is called concurrently.
type Hooks struct {
	// Locate returns the URL of a key, as a new value. It must be on the store's own host
	// unless the transport adds no credentials. Without it the URL is the store's URL, a
	// slash and the key.
	Locate func(key store.Key) *url.URL
	// Name returns the text that begins the errors of a key, such as "s3: bucket b, key
	// k". It must contain no secret. Without it that is "http: " and the URL.
	Name func(key store.Key) string
	// Location, if not empty, is what Place returns.
	Location string
	// Version returns the version of a value from the headers of an answer, or "" if
	// there is none. It must change with every write. Without it the version is the ETag
	// or the time of the last change.
	Version func(h http.Header) string
	// Pin changes a request so that it is for one version only. The service answers with
	// an error, such as 412, if the value has another one. The version is from Version
	// or, without that, a strong ETag. Without Pin such an ETag is sent as If-Match.
	// Answers are compared with the version in any case.
	Pin func(r *http.Request, version string)
	// Explain returns the error of an answer that is not a success, or nil for the
	// default, which is chosen by the status. It may wrap [io/fs.ErrNotExist] or
	// [io/fs.ErrPermission], or be of [retry.Temporary] or [retry.Throttled]. It may read
	// at most 64 KiB of the body, which is empty for HEAD. It sees all headers, such as
	// Date, which shows a wrong clock. Redirections come here first: nil follows them.
	Explain func(r *http.Response) error
	// SameHost refuses redirections to other hosts. It is for transports that add
	// credentials to every request.
	SameHost bool
}

// setDefaults replaces zero values by the defaults.
func (o *Options) setDefaults() {
	if o.Stall <= 0 {
		o.Stall = 30 * time.Second
	}
	if o.LeastRate == 0 {
		o.LeastRate = 1 << 10
	}
	if o.Discard <= 0 {
		o.Discard = 64 << 20
	}
}

// policy returns the policy of all requests to a host.
func (o *Options) policy(host string) retry.Policy {
	l := o.Limiter
	switch {
	case l != nil:
	case o.Part > 0:
		l = retry.LimiterOf(host, retry.Adaptive())
	default:
		l = retry.LimiterOf(host, retry.Limits{})
	}
	return retry.Policy{Attempts: o.Attempts, Pause: o.Pause, LongestPause: o.LongestPause, Total: o.Total, Limiter: l}
}
