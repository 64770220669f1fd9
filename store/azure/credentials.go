// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// The account of the emulator Azurite. Its key is public.
const (
	emulatorAccount  = "devstoreaccount1"
	emulatorKey      = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	emulatorEndpoint = "http://127.0.0.1:10000/devstoreaccount1"
)

// given reports whether the options say how to sign.
func (o *Options) given() bool {
	return o.Anonymous || o.Key != "" || o.SAS != "" || o.Credential != nil
}

// fromEnvironment takes the endpoint and the credentials of an account from the
// environment, unless the options have credentials.
func (o *Options) fromEnvironment(account string) error {
	if text := os.Getenv("AZURE_STORAGE_CONNECTION_STRING"); text != "" && !o.given() {
		if err := o.connection(text, account); err != nil {
			return err
		}
	}
	named := cmp.Or(os.Getenv("AZURE_STORAGE_ACCOUNT_NAME"), os.Getenv("AZURE_STORAGE_ACCOUNT"))
	// A signature must not be sent for another account, so it needs the name of its own.
	// A key is not sent.
	if !o.given() && named == account {
		o.SAS = cmp.Or(os.Getenv("AZURE_STORAGE_SAS_TOKEN"), os.Getenv("AZURE_STORAGE_SAS_KEY"))
	}
	if !o.given() && (named == "" || named == account) {
		o.Key = cmp.Or(os.Getenv("AZURE_STORAGE_ACCOUNT_KEY"), os.Getenv("AZURE_STORAGE_KEY"), os.Getenv("AZURE_STORAGE_ACCESS_KEY"))
	}
	return nil
}

// connection applies a connection string if it is of the account.
func (o *Options) connection(text, account string) error {
	fields := map[string]string{}
	for field := range strings.SplitSeq(text, ";") {
		name, value, found := strings.Cut(field, "=")
		if !found && strings.TrimSpace(field) != "" {
			return fmt.Errorf("azure: %w: the connection string is malformed; its form is AccountName=…;AccountKey=…", store.ErrInvalidKey)
		}
		fields[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	if strings.EqualFold(fields["usedevelopmentstorage"], "true") {
		fields["accountname"], fields["accountkey"] = emulatorAccount, emulatorKey
		fields["blobendpoint"] = cmp.Or(fields["blobendpoint"], emulatorEndpoint)
	}
	// A signature must not be sent for another account.
	if cmp.Or(fields["accountname"], accountOf(fields["blobendpoint"])) != account {
		return nil
	}
	o.Key, o.SAS = fields["accountkey"], fields["sharedaccesssignature"]
	if suffix := fields["endpointsuffix"]; o.Endpoint == "" && fields["blobendpoint"] == "" && suffix != "" {
		o.Endpoint = cmp.Or(fields["defaultendpointsprotocol"], "https") + "://" + account + ".blob." + suffix
	}
	o.Endpoint = cmp.Or(o.Endpoint, fields["blobendpoint"])
	return nil
}

// accountOf returns the account of an endpoint: the first label of its host or, as for
// the emulator, the first segment of the path after an address.
func accountOf(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil {
		return ""
	}
	account, _, below := strings.Cut(u.Hostname(), ".")
	if net.ParseIP(u.Hostname()) != nil || !below {
		account, _, _ = strings.Cut(strings.TrimPrefix(u.Path, "/"), "/")
	}
	return strings.TrimSuffix(account, "-secondary")
}

// signer is a transport that adds credentials to requests to one endpoint.
type signer struct {
	base     http.RoundTripper
	endpoint *url.URL
	account  string
	key      []byte     // nil without a key
	sas      url.Values // nil without a SAS
	token    *tokens    // nil without Entra ID
}

// connect makes the transport and the limiter, which reads and writes share.
func (s *Store) connect() error {
	s.pool = newPool(s)
	g := &signer{base: s.pool, endpoint: s.endpoint, account: s.account}
	s.transport = g
	o := &s.options
	var err error
	switch {
	case o.Anonymous:
	case o.Key != "":
		if g.key, err = base64.StdEncoding.DecodeString(o.Key); err != nil {
			return fmt.Errorf("azure: account %s: %w: the key is not base64", s.account, fs.ErrPermission)
		}
	case o.SAS != "":
		if g.sas, err = url.ParseQuery(strings.TrimPrefix(o.SAS, "?")); err != nil || g.sas.Get("sig") == "" {
			return fmt.Errorf("azure: account %s: %w: the shared access signature is not the query of a signed URL", s.account, fs.ErrPermission)
		}
	default:
		g.token = &tokens{credential: o.Credential, optional: o.ReadOnly}
	}
	return nil
}

// apiVersion is the version of the REST API.
const apiVersion = "2023-11-03"

// RoundTrip implements [http.RoundTripper].
func (g *signer) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != g.endpoint.Host || r.URL.Scheme != g.endpoint.Scheme {
		return g.base.RoundTrip(r) // no other host gets credentials
	}
	r = r.Clone(r.Context())
	r.Header.Set("X-Ms-Version", apiVersion)
	r.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	if r.Header.Get("User-Agent") == "" {
		r.Header.Set("User-Agent", "varve")
	}
	if (g.sas != nil || g.token != nil) && r.URL.Scheme != "https" && !driver.IsLoopback(r.URL.Hostname()) {
		return nil, &driver.Unsent{Err: fmt.Errorf("%w: credentials are sent by https only; use an https endpoint or no credentials", store.ErrUnsupported)}
	}
	switch {
	case g.key != nil:
		r.Header.Set("Authorization", "SharedKey "+g.account+":"+signature(g.key, stringToSign(r, g.account)))
	case g.sas != nil:
		q := r.URL.Query()
		for name, values := range g.sas {
			q[name] = values
		}
		r.URL.RawQuery = q.Encode()
	case g.token != nil:
		token, err := g.token.get(r.Context())
		if err != nil {
			return nil, err
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
	}
	return g.base.RoundTrip(r)
}

// tokens asks Entra ID for access tokens, and keeps one while it is valid.
type tokens struct {
	shared     driver.Shared[string]
	credential azcore.TokenCredential
	optional   bool // without credentials, requests are anonymous
	anonymous  bool
	token      azcore.AccessToken
}

// tokenTime is the longest time of a request for a token.
const tokenTime = 30 * time.Second

// get returns a token, or "" for an anonymous request.
func (t *tokens) get(ctx context.Context) (string, error) {
	return t.shared.Get(ctx, func() (string, bool) {
		return t.token.Token, t.anonymous || time.Until(t.token.ExpiresOn) > 2*time.Minute
	}, t.ask)
}

// ask asks Entra ID for a token.
func (t *tokens) ask() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), tokenTime)
	defer cancel()
	chosen := t.credential != nil
	if !chosen {
		c, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			return "", t.lacking()
		}
		t.credential = c
	}
	token, err := t.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{"https://storage.azure.com/.default"}})
	var network net.Error
	switch {
	case err == nil:
		t.token = token
		return token.Token, nil
	case ctx.Err() != nil || errors.As(err, &network):
		return "", &driver.Unsent{Err: errors.New("no access token of Entra ID: the server does not answer"), Passes: true}
	case chosen && !t.token.ExpiresOn.IsZero():
		return "", &driver.Unsent{Err: fmt.Errorf("%w: Entra ID gives no new access token; sign in again", fs.ErrPermission)}
	}
	// The errors of the credentials may quote them.
	if !chosen {
		t.credential = nil
	}
	return "", t.lacking()
}

// lacking makes requests anonymous if they may be, or returns an error.
func (t *tokens) lacking() error {
	if t.optional {
		t.anonymous = true
		return nil
	}
	return &driver.Unsent{Err: fmt.Errorf("%w: no credentials were found; run `az login`, set AZURE_STORAGE_CONNECTION_STRING or"+
		" AZURE_STORAGE_ACCOUNT_KEY, or read public data anonymously with ?anon=true", fs.ErrPermission)}
}

// signature signs a text with a key of the account.
func signature(key []byte, text string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// stringToSign returns what a request with a key signs ("Authorize with Shared Key", the
// form since version 2015-02-21): the method, headers, and the resource with its query.
func stringToSign(r *http.Request, account string) string {
	var b strings.Builder
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	h := r.Header
	for _, line := range []string{
		r.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), length, h.Get("Content-MD5"), h.Get("Content-Type"),
		"", // Date, in place of which there is X-Ms-Date
		h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range"),
	} {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	own := map[string]string{}
	for name, values := range h {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own[name] = strings.Join(values, ",")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		b.WriteString(name + ":" + own[name] + "\n")
	}
	b.WriteString("/" + account + r.URL.EscapedPath())
	q := r.URL.Query()
	for _, name := range slices.SortedFunc(maps.Keys(q), func(x, y string) int { return strings.Compare(strings.ToLower(x), strings.ToLower(y)) }) {
		slices.Sort(q[name])
		b.WriteString("\n" + strings.ToLower(name) + ":" + strings.Join(q[name], ","))
	}
	return b.String()
}
