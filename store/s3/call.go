// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/retry"
)

// with are options of one request of the SDK.
type with = func(*s3.Options)

// call is one operation of the SDK: its name, and the object or prefix it is about.
type call struct {
	name, key string
}

// do makes attempts of an operation. An attempt makes a new request with the options that
// it gets.
func (s *Store) do(ctx context.Context, c call, attempt func(ctx context.Context, o with) error) error {
	err := s.reader.Do(ctx, func(ctx context.Context) error { return s.explain(ctx, c, s.anywhere(ctx, attempt)) })
	return s.placed(ctx, c, err)
}

// placed returns an error with the place of an operation, if it has none: that of an
// attempt that took too long comes from the reader.
func (s *Store) placed(ctx context.Context, c call, err error) error {
	if err == nil || ctx.Err() != nil || errors.As(err, new(*explained)) {
		return err
	}
	return &explained{s.name(c), err}
}

// anywhere makes one attempt. If the answer names another region, it sends the request
// there, once. The attempt returns the error of the SDK.
func (s *Store) anywhere(ctx context.Context, attempt func(ctx context.Context, o with) error) error {
	where := s.signer.place()
	err := attempt(ctx, s.at(where))
	var answer *smithyhttp.ResponseError
	if err != nil && errors.As(err, &answer) && answer.Response != nil {
		if next := s.elsewhere(ctx, answer.Response.StatusCode, answer.Response.Header, where); next != nil {
			return attempt(ctx, s.at(next))
		}
	}
	return err
}

// at returns the options of a request to a place.
func (s *Store) at(where *place) with {
	return func(o *s3.Options) {
		o.Region = where.region
		o.HTTPClient = sender{s.reader}
		for name, values := range s.options.Header {
			for _, value := range values {
				o.APIOptions = append(o.APIOptions, smithyhttp.AddHeaderValue(name, value))
			}
		}
	}
}

// sender sends the SDK's requests with those that read: within the same limits, and on
// the same connections.
type sender struct{ reader *httpstore.Store }

func (s sender) Do(r *http.Request) (*http.Response, error) {
	answer, err := s.reader.Send(r.WithContext(context.WithValue(r.Context(), signedKey{}, true)))
	if err != nil || !isPage(answer.Header) || r.Method == http.MethodHead && !isPageOfObject(answer) {
		return answer, err
	}
	// The SDK would take the page of a proxy for an answer: a write or a deletion that
	// has succeeded, or an empty listing. No request of this client reads an object.
	defer answer.Body.Close()
	return nil, retry.Permanent(pageOf(answer))
}

// signedKey is the context key of requests that are signed already.
type signedKey struct{}

// explain returns an error with the place of an operation.
func (s *Store) explain(ctx context.Context, c call, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*explained)):
		return err
	}
	if page := (*failure)(nil); errors.As(err, &page) {
		return page.retryable(&explained{s.name(c), page})
	}
	if lacking := (*credentialError)(nil); errors.As(err, &lacking) {
		return &explained{s.name(c), lacking}
	}
	// What the SDK writes around these errors says nothing more.
	var sending *smithyhttp.RequestSendError
	if errors.As(err, &sending) {
		return retry.Network(ctx, &explained{s.name(c), sending.Err})
	}
	if f := asFailure(err); f != nil {
		return f.retryable(&explained{s.name(c), f})
	}
	return &explained{s.name(c), bare(err)}
}

// explained is an error with the place where it happened.
type explained struct {
	where string
	err   error
}

func (e *explained) Error() string { return e.where + ": " + e.err.Error() }
func (e *explained) Unwrap() error { return e.err }

// name returns the text that begins errors of an operation.
func (s *Store) name(c call) string {
	where := fmt.Sprintf("s3: s3://%s/%s", s.bucket, c.key)
	if s.options.Endpoint != "" {
		where += " at " + httpstore.Redact(s.options.Endpoint)
	}
	if c.name != "" {
		where += ": " + c.name
	}
	return where
}

// text returns a pointer to s, or nil if it is empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}
