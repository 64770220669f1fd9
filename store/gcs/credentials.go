// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// scope is the access that tokens are asked for.
func (o Options) scope() string {
	if o.ReadOnly {
		return "https://www.googleapis.com/auth/devstorage.read_only"
	}
	return "https://www.googleapis.com/auth/devstorage.read_write"
}

// tokens is the source of access tokens. It looks for them at the first request, because
// that may ask the server of the machine's metadata.
type tokens struct {
	options   Options
	resolving sync.Once
	source    oauth2.TokenSource // nil means anonymous
	err       error
	shared    driver.Shared[*oauth2.Token] // nil is the token of an anonymous request
}

// tokenTime is the longest time of a request for a token.
const tokenTime = 30 * time.Second

// get returns a token, or nil for an anonymous request.
func (t *tokens) get(ctx context.Context) (*oauth2.Token, error) {
	return t.shared.Get(ctx, nil, t.ask)
}

// ask asks the source for a token.
func (t *tokens) ask() (*oauth2.Token, error) {
	source, err := t.find()
	if err != nil {
		return nil, &driver.Unsent{Err: err}
	}
	if source == nil {
		return nil, nil
	}
	token, err := source.Token()
	if err != nil {
		return nil, tokenError(err)
	}
	return token, nil
}

// find finds the source. Tokens outlive the request that asks for the first one.
func (t *tokens) find() (oauth2.TokenSource, error) {
	t.resolving.Do(func() {
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: tokenTime})
		t.source, t.err = t.options.source(ctx)
		if t.source != nil {
			t.source = oauth2.ReuseTokenSource(nil, t.source)
		}
	})
	return t.source, t.err
}

// source returns the source of tokens that the options ask for.
func (o Options) source(ctx context.Context) (oauth2.TokenSource, error) {
	switch {
	case o.Anonymous:
		return nil, nil
	case o.Credentials != nil:
		return o.Credentials, nil
	case o.CredentialsFile != "":
		return o.fromFile(ctx)
	}
	found, err := google.FindDefaultCredentials(ctx, o.scope())
	switch {
	case err == nil:
		return found.TokenSource, nil
	// A file that the environment names but that cannot be used is an error.
	case o.ReadOnly && os.Getenv("GOOGLE_APPLICATION_CREDENTIALS") == "":
		return nil, nil
	}
	return nil, fmt.Errorf("%w: no credentials were found (%w); run `gcloud auth application-default login`,"+
		" set GOOGLE_APPLICATION_CREDENTIALS, or read public data anonymously with ?token=anon", fs.ErrPermission, withoutSecrets(err))
}

// fromFile reads a file of credentials. It accepts the kinds that name no program to run
// and no server to ask. Others can be given by GOOGLE_APPLICATION_CREDENTIALS.
func (o Options) fromFile(ctx context.Context) (oauth2.TokenSource, error) {
	data, err := os.ReadFile(o.CredentialsFile)
	if err != nil {
		// The value may be a token in place of a file. A missing file is no missing
		// object, so the error does not wrap that of the file.
		if cause := (*fs.PathError)(nil); errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("%w: the file of credentials cannot be read (%v); its path is the option token or service_account", fs.ErrPermission, err)
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	// The errors may quote the file.
	if json.Unmarshal(data, &kind) != nil || kind.Type != google.ServiceAccount && kind.Type != google.AuthorizedUser {
		return nil, fmt.Errorf("%w: %s has no credentials of a service account or of a user", fs.ErrPermission, o.CredentialsFile)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, data, kind.Type, o.scope())
	if err != nil {
		return nil, fmt.Errorf("%w: %s has no credentials that can be used", fs.ErrPermission, o.CredentialsFile)
	}
	return found.TokenSource, nil
}

// withoutSecrets returns an error of the search for credentials without what a file or a
// server said, which may be secret.
func withoutSecrets(err error) error {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		return fmt.Errorf("the server of tokens answered %s %.40q", answer.Response.Status, answer.ErrorCode)
	}
	var call *url.Error
	if errors.As(err, &call) {
		return call.Err
	}
	return errors.New("the credentials cannot be used")
}

// authorized is a transport that adds credentials to requests to one host.
type authorized struct {
	base     http.RoundTripper
	tokens   *tokens
	endpoint *url.URL
	project  string
}

// RoundTrip implements [http.RoundTripper].
func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	// Another host gets neither tokens nor the name of the project.
	if r.URL.Host != a.endpoint.Host || r.URL.Scheme != a.endpoint.Scheme {
		return a.base.RoundTrip(r)
	}
	token, err := a.tokens.get(r.Context())
	if refused := (*driver.Unsent)(nil); errors.As(err, &refused) && refused.Passes {
		return nil, driver.Temporary(err, 0) // it is no lost connection to the endpoint
	}
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	if a.project != "" {
		r.Header.Set("X-Goog-User-Project", a.project)
	}
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "varve")
	}
	if token == nil {
		return a.base.RoundTrip(r)
	}
	if r.URL.Scheme != "https" && !driver.IsLoopback(r.URL.Hostname()) {
		return nil, &driver.Unsent{Err: fmt.Errorf("%w: credentials are sent by https only; use an https endpoint or no credentials", store.ErrUnsupported)}
	}
	token.SetAuthHeader(r)
	return a.base.RoundTrip(r)
}

// tokenError returns the error of a token that could not be had. If the server of tokens
// has refused, or the key cannot sign, another attempt would fail too.
func tokenError(err error) error {
	var answer *oauth2.RetrieveError
	var network net.Error
	if errors.As(err, &answer) && answer.Response.StatusCode >= 500 || errors.As(err, &network) {
		return &driver.Unsent{Err: fmt.Errorf("no access token: %w", withoutSecrets(err)), Passes: true}
	}
	return &driver.Unsent{Err: fmt.Errorf("%w: no access token: %w; sign in again or renew the credentials", fs.ErrPermission, withoutSecrets(err))}
}
