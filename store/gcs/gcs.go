// SPDX-License-Identifier: Apache-2.0

// Package gcs is a store of the objects of Google Cloud Storage. Importing it registers
// the schemes gs and gcs, so that a program opens gs://bucket/path.
//
// It uses the JSON API over HTTP/1.1, and no gRPC. Reads are those of package httpstore.
//
// # Versions
//
// The version of a value is its generation, which is unique to each write. All
// conditions are checked by the service: [store.IfAbsent] is ifGenerationMatch=0.
//
// # Lost answers
//
// Each write has a random mark in the metadata of the object (varve-write). If the answer
// to a conditional write is lost, the store tries again, and if the condition fails then,
// it looks for the mark of its own write. If another writer has replaced the value since,
// the outcome cannot be known; the error then is not [store.ErrConflict].
//
// # Contention
//
// The service accepts about one write a second of one name. It answers 429 to more, and
// the store tries again after a pause. Data are under many names, so only documents that
// change often are concerned: a stream publishes once a second
// ([store.Traits], zarr.StreamOptions.Interval), and appends of several programs to one
// array wait for each other.
//
// # Caches
//
// Google caches objects that anybody may read for an hour, unless they say otherwise.
// So objects are written with "Cache-Control: no-cache" ([Options.CacheControl]).
//
// # Credentials
//
// [Options.Credentials] selects them. By default they are the application default
// credentials: the file of GOOGLE_APPLICATION_CREDENTIALS, that of the gcloud command,
// or the service account of the machine. Without any, a store opened for reading is
// anonymous. Credentials are sent to [Options.Endpoint] only, and only by https or to
// this machine. Errors and logs never contain them.
package gcs

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/retry"
)

// service is the endpoint of the service.
const service = "https://storage.googleapis.com"

// Options configure a store. The zero Options use the application default credentials.
type Options struct {
	// Anonymous sends no credentials, as for public data.
	Anonymous bool
	// ReadOnly refuses writes, and makes the store anonymous if there are no credentials.
	ReadOnly bool
	// Credentials is the source of access tokens. It takes precedence over
	// CredentialsFile.
	Credentials oauth2.TokenSource
	// CredentialsFile is a file of credentials, such as the key of a service account.
	CredentialsFile string
	// UserProject is the project that pays for the requests, for buckets whose
	// requester pays.
	UserProject string
	// Endpoint is the URL of the service or of an emulator. "" means the service or, if
	// the environment has STORAGE_EMULATOR_HOST, that emulator, anonymously.
	Endpoint string
	// StorageClass is the class of new objects, such as NEARLINE. "" means the default of
	// the bucket.
	StorageClass string
	// CacheControl is the header Cache-Control of new objects. "" means no-cache.
	CacheControl string
	// KMSKey is the Cloud KMS key that encrypts new objects, such as
	// projects/p/locations/l/keyRings/r/cryptoKeys/k. If it is "", new objects have the
	// default of the bucket, and copies by the service keep the key of their source.
	KMSKey string
	// Retry is how requests are retried, where Reading does not say so.
	Retry retry.Policy
	// Reading has options of reads, such as Missing. Stall and those of retries hold for
	// all requests. The store sets Transport and what depends on the service.
	Reading httpstore.Options
}

// Store has the objects of a bucket whose names begin with a prefix and a slash. Its
// methods are safe for concurrent use. Make one with [Open].
type Store struct {
	bucket    string
	prefix    string // "" or a name with a slash at its end
	options   Options
	endpoint  *url.URL
	transport http.RoundTripper // adds credentials
	pool      *http.Transport   // the connections
	reads     driver.Client
	seen      descriptions
}

// Open returns the store of the objects of a bucket below a prefix; "" means all. It
// sends no request. A nil opt means the zero [Options].
func Open(bucket, prefix string, opt *Options) (*Store, error) {
	s := &Store{bucket: bucket}
	if opt != nil {
		s.options = *opt
	}
	if err := s.place(prefix); err != nil {
		return nil, err
	}
	s.connect()
	if err := s.openReads(); err != nil {
		return nil, err
	}
	return s, nil
}

// place checks and records where the values are.
func (s *Store) place(prefix string) (err error) {
	if !bucketName().MatchString(s.bucket) || strings.Contains(s.bucket, "..") {
		return driver.BadLocation("gcs: %.80q is not the name of a bucket", s.bucket[strings.LastIndexByte(s.bucket, '@')+1:])
	}
	if prefix = strings.TrimRight(strings.TrimPrefix(prefix, "/"), "/"); prefix != "" {
		key, err := store.ParseKey(prefix)
		if err != nil {
			return fmt.Errorf("gcs: bucket %s: %w", s.bucket, err)
		}
		s.prefix = key.String() + "/"
	}
	endpoint := s.options.Endpoint
	if endpoint == "" {
		endpoint = os.Getenv("STORAGE_EMULATOR_HOST")
		// As in other clients, an emulator has no credentials.
		s.options.Anonymous = s.options.Anonymous || endpoint != ""
	}
	switch {
	case endpoint == "":
		endpoint = service
	case !strings.Contains(endpoint, "://"):
		endpoint = "http://" + endpoint // the usual form of STORAGE_EMULATOR_HOST
	}
	s.endpoint, err = url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil || s.endpoint.Scheme != "http" && s.endpoint.Scheme != "https" || s.endpoint.Host == "" || s.endpoint.User != nil {
		return driver.BadLocation("gcs: the endpoint %.120q is not an http or https URL without user", driver.Redact(endpoint))
	}
	return nil
}

// bucketName matches the names that the service permits, and no more than that they have
// a safe form in a URL.
var bucketName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,220}[A-Za-z0-9]$`) })

// Close closes idle connections. The store may still be used.
func (s *Store) Close() error {
	s.pool.CloseIdleConnections()
	return nil
}

// Traits implements [store.Describer]. The place is that of gs:// in the service, which
// takes one write of an object in a second. An emulator takes more.
func (s *Store) Traits() store.Traits {
	t := s.reads.Traits()
	if s.endpoint.String() == service {
		t.WriteInterval = time.Second
	}
	return t
}

// at returns the place of the store.
func (s *Store) at() string {
	place := "gs://" + s.bucket
	if s.endpoint.String() != service {
		place = s.endpoint.String() + "/" + s.bucket
	}
	return strings.TrimSuffix(place+"/"+s.prefix, "/")
}

// object returns the name of the object of a key.
func (s *Store) object(key store.Key) string { return s.prefix + key.String() }

var (
	_ store.Stater    = (*Store)(nil)
	_ store.Writer    = (*Store)(nil)
	_ store.Lister    = (*Store)(nil)
	_ store.Describer = (*Store)(nil)
)
