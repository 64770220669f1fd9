// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"io"
	"net/http"
	"time"

	"varve.dev/zarr/store"
)

// Client is what the store of package httpstore is for a driver of an object store. Its
// requests share the policy, the limiter and the connections with its reads.
type Client interface {
	store.Store
	store.Stater
	store.Describer
	io.Closer
	// Do makes attempts of an operation as Get does: within the policy and its limiter,
	// and ending an attempt in which Send moves no bytes for the time of Options.Stall.
	// Attempts send their requests with the context that they get.
	Do(ctx context.Context, attempt func(ctx context.Context) error) error
	// Send sends one request of an attempt of Do. It neither adds headers of the options
	// nor follows redirections. An error is [Temporary] if the connection was lost: then
	// the service may or may not have acted on the request. The caller closes the body,
	// and passes an error of its reader to [Network].
	Send(r *http.Request) (*http.Response, error)
	// Local returns how times of the service are converted to times of this machine,
	// given the headers of an answer.
	Local(h http.Header) func(at time.Time) time.Time
}

// ClientOf returns a store of package httpstore as a client, or the error of opening it.
func ClientOf(s store.Store, err error) (Client, error) {
	if err != nil {
		return nil, err
	}
	return s.(Client), nil
}
