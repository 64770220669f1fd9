// SPDX-License-Identifier: Apache-2.0

package httpstore

import (
	"context"
	"io"
	"net/http"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/retry"
)

// Policy returns the policy of the store's requests, with its limiter.
func (s *Store) Policy() retry.Policy { return s.policy.WithDefaults() }

// Do makes attempts of an operation as Get does: within the policy and its limiter, and
// ending an attempt in which [Store.Send] moves no bytes for the time of Options.Stall.
// Attempts send their requests with the context that they get.
func (s *Store) Do(ctx context.Context, attempt func(ctx context.Context) error) error {
	return s.policy.Do(ctx, func(ctx context.Context) error { return s.watched(ctx, attempt) })
}

// Send sends one request of an attempt of [Store.Do]. It neither adds headers of the
// options nor follows redirections. An error is [retry.Temporary] if the connection was
// lost: then the service may or may not have acted on the request. The caller closes the
// body, and passes an error of its reader to [retry.Network].
func (s *Store) Send(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if w, ok := ctx.Value(watchKey{}).(*watch); ok {
		r = w.uploading(r)
	}
	answer, err := s.transport.RoundTrip(r)
	if err != nil {
		return nil, s.lost(ctx, r.Method, r.URL.Host, err)
	}
	answer.Body = watching(ctx, answer.Body)
	return answer, nil
}

// StatusError returns the error of an answer that is not a success: that of
// [Hooks.Explain], or the default for its status. It closes the body.
func (s *Store) StatusError(r *http.Response) error { return s.statusError(r) }

// Describe returns what the headers of an answer say about a value of size bytes.
func (s *Store) Describe(r *http.Response, size int64) store.Info { return s.describe(r, size) }

// uploading returns a request whose body reports to the watch.
func (w *watch) uploading(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	c := *r
	c.Body = &upload{r.Body, w}
	if r.GetBody != nil {
		c.GetBody = func() (io.ReadCloser, error) {
			b, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			return &upload{b, w}, nil
		}
	}
	return &c
}

// upload is a body of a request under a watch. The transport reads it on a goroutine of
// its own.
type upload struct {
	io.ReadCloser
	watch *watch
}

func (u *upload) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	if n > 0 {
		u.watch.sent(n)
	}
	return n, err
}
