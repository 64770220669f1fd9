// SPDX-License-Identifier: Apache-2.0

// Package azure is a store of the block blobs of Azure Blob Storage. Importing it
// registers the schemes az, abfs and abfss, so that a program opens
// az://account/container/path.
//
// It uses the REST API over HTTP/1.1. Reads are those of package httpstore.
//
// # Versions
//
// The version of a value is its ETag, which the service makes anew for each write. All
// conditions are checked by the service, by If-None-Match and If-Match.
//
// # Lost answers
//
// Each write has a random mark in the metadata of the blob (varve_write). If the answer
// to a conditional write is lost, the store tries again, and if the condition fails
// then, it looks for the mark of its own write. If another writer has replaced the
// value since, the outcome cannot be known; the error then is not [store.ErrConflict].
//
// # Large values
//
// Values above 16 MiB are uploaded in blocks and appear whole, if their condition holds
// at the end. A write of the same blob by another writer meanwhile discards the blocks;
// the write then fails with [store.ErrConflict], or starts again if it has no
// condition. The service copies the long ranges of a value that is assembled of other
// blobs of the account.
//
// # Credentials
//
// [Options] have a key of the account, a shared access signature (SAS), or a credential
// of Entra ID. By default they are those of AZURE_STORAGE_CONNECTION_STRING, of
// AZURE_STORAGE_ACCOUNT_KEY, of AZURE_STORAGE_SAS_TOKEN for the account of
// AZURE_STORAGE_ACCOUNT, or the default credential of Entra ID. Without any, a store
// opened for reading is anonymous. Credentials are sent to the endpoint only. Errors and
// logs never contain them.
package azure

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/retry"
)

// Options configure a store. The zero Options use the credentials of the environment.
type Options struct {
	// Anonymous sends no credentials, as for public data.
	Anonymous bool
	// ReadOnly refuses writes, and makes the store anonymous if there are no credentials.
	ReadOnly bool
	// Key is a key of the account, in base64.
	Key string
	// SAS is a shared access signature: the query of a signed URL.
	SAS string
	// Credential is the source of tokens of Entra ID.
	Credential azcore.TokenCredential
	// Endpoint is the URL of the blobs of the account. "" means
	// https://ACCOUNT.blob.core.windows.net.
	Endpoint string
	// AccessTier is the tier of new blobs, such as Cool. "" means that of the account.
	AccessTier string
	// EncryptionScope is the scope that encrypts new blobs, and copies. If it is "", new
	// blobs have the default of the container, and copies keep the scope of their source.
	EncryptionScope string
	// Retry is how requests are retried, where Reading does not say so.
	Retry retry.Policy
	// Reading has options of reads, such as Missing. Stall and those of retries hold for
	// all requests. The store sets Transport and what depends on the service.
	Reading httpstore.Options
}

// Store has the blobs of a container whose names begin with a prefix and a slash. Its
// methods are safe for concurrent use. Make one with [Open].
type Store struct {
	account, container string
	prefix             string // "" or a name with a slash at its end
	options            Options
	endpoint           *url.URL
	transport          *signer         // adds credentials
	pool               *http.Transport // the connections
	reads              driver.Client
	uploads            atomic.Bool // the service does not copy ranges into blocks
}

// Open returns the store of the blobs of a container below a prefix; "" means all. It
// sends no request. A nil opt means the zero [Options].
func Open(account, container, prefix string, opt *Options) (*Store, error) {
	s := &Store{account: account, container: container}
	if opt != nil {
		s.options = *opt
	}
	if err := s.options.fromEnvironment(account); err != nil {
		return nil, err
	}
	if err := s.place(prefix); err != nil {
		return nil, err
	}
	if err := s.connect(); err != nil {
		return nil, err
	}
	if err := s.openReads(); err != nil {
		return nil, err
	}
	return s, nil
}

var (
	accountName   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]{3,24}$`) })
	containerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\$root|\$web|[a-z0-9](-?[a-z0-9]){2,62})$`) })
)

// place checks and records where the values are.
func (s *Store) place(prefix string) (err error) {
	switch {
	case !accountName().MatchString(s.account):
		return driver.BadLocation("azure: %.40q is not the name of a storage account; a location is az://account/container/path", s.account)
	case !containerName().MatchString(s.container):
		return driver.BadLocation("azure: %.80q is not the name of a container; a location is az://account/container/path", s.container)
	}
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		key, err := store.ParseKey(prefix)
		if err != nil {
			return fmt.Errorf("azure: container %s: %w", s.container, err)
		}
		s.prefix = key.String() + "/"
	}
	endpoint := s.options.Endpoint
	if endpoint == "" {
		endpoint = "https://" + s.account + ".blob.core.windows.net"
	}
	s.endpoint, err = url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || s.endpoint.Scheme != "http" && s.endpoint.Scheme != "https" || s.endpoint.Host == "" || s.endpoint.User != nil || s.endpoint.RawQuery != "" {
		return driver.BadLocation("azure: the endpoint %.120q is not an http or https URL without user and query", driver.Redact(endpoint))
	}
	return nil
}

// Close closes idle connections. The store may still be used.
func (s *Store) Close() error {
	s.pool.CloseIdleConnections()
	return nil
}

// Traits implements [store.Describer].
func (s *Store) Traits() store.Traits { return s.reads.Traits() }

// at returns the place of the store.
func (s *Store) at() string {
	return strings.TrimSuffix(s.endpoint.String()+"/"+s.container+"/"+s.prefix, "/")
}

// blob returns the name of the blob of a key.
func (s *Store) blob(key store.Key) string { return s.prefix + key.String() }

// name returns the name of a key for messages.
func (s *Store) name(key store.Key) string {
	return "azure: account " + s.account + ", container " + s.container + ": " + s.blob(key)
}

var (
	_ store.Stater    = (*Store)(nil)
	_ store.Writer    = (*Store)(nil)
	_ store.Lister    = (*Store)(nil)
	_ store.Describer = (*Store)(nil)
)

// CreateContainer makes a container of an account. It is an error if there is one.
func CreateContainer(ctx context.Context, account, container string, opt *Options) error {
	s, err := Open(account, container, "", opt)
	if err != nil {
		return err
	}
	defer s.Close()
	c := call{method: http.MethodPut, query: url.Values{"restype": {"container"}}}
	if _, err := s.do(ctx, c); err != nil {
		return fmt.Errorf("azure: account %s, container %s: cannot create: %w", account, container, err)
	}
	return nil
}
