// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// Store has the objects of a bucket below a prefix. It has every power of package store
// but Locker, Patcher, Opener and Gatherer: opening would cost a request, and each read
// compares versions anyway. Its methods are safe for concurrent use. Make one with
// [Open].
type Store struct {
	*service
	prefix string // of all keys: "", or ending in a slash
	reader *httpstore.Store
	slow   *httpstore.Store // for requests that take the service long
}

// service is a bucket, and how to send requests to it.
type service struct {
	bucket    string
	options   Options
	signs     bool // requests are never sent unsigned for lack of credentials
	client    *s3.Client
	signer    *signer
	transport *http.Transport
	versioned versioned
	noCopies  atomic.Bool // the service does not copy ranges
	noBatches atomic.Bool // the service does not delete several objects at once
}

// Open returns the store of the objects below a prefix of a bucket. The prefix has no
// slash at its ends; "" means all objects. Open sends no request to the service, but may
// look for credentials. A nil opt means the zero [Options].
func Open(ctx context.Context, bucket, prefix string, opt *Options) (*Store, error) {
	return open(ctx, bucket, prefix, opt, false)
}

// open is [Open]. A store that writes sends no request unsigned because no credentials
// are found.
func open(ctx context.Context, bucket, prefix string, opt *Options, writes bool) (*Store, error) {
	v := &service{bucket: bucket}
	if opt != nil {
		v.options = *opt
	}
	v.options.setDefaults()
	v.signs = writes || v.options.Credentials != nil
	if bucket == "" {
		return nil, store.BadLocation("s3: the location names no bucket; its form is s3://bucket/path")
	}
	if prefix != "" {
		if _, err := store.ParseKey(prefix); err != nil {
			return nil, fmt.Errorf("s3: the prefix: %w", err)
		}
		prefix += "/"
	}
	if err := v.connect(ctx); err != nil {
		return nil, err
	}
	s := &Store{service: v, prefix: prefix}
	var err error
	if s.reader, err = s.newReader(0); err != nil {
		return nil, err
	}
	if s.slow, err = s.newReader(slower(cmp.Or(max(v.options.Read.Stall, 0), defaultStall))); err != nil {
		return nil, err
	}
	return s, nil
}

// A service may send nothing for minutes while it puts parts together.
const (
	defaultStall = 30 * time.Second // that of httpstore
	slowness     = 10               // times as long
)

// slower returns slowness times a duration, at most the longest one.
func slower(d time.Duration) time.Duration {
	if d > math.MaxInt64/slowness {
		return math.MaxInt64
	}
	return slowness * d
}

// connect loads the configuration and makes the clients.
func (v *service) connect(ctx context.Context) error {
	o := &v.options
	m := &machine{}
	cfg, err := config.LoadDefaultConfig(ctx, append(v.configuration(), config.WithEC2RoleCredentialOptions(m.use))...)
	if err != nil {
		return fmt.Errorf("s3: the AWS configuration: %w", bare(err))
	}
	m.configure(cfg)
	if o.Region == "" {
		o.Region = cfg.Region
	}
	if o.Endpoint == "" {
		o.Endpoint = endpointOf(ctx, cfg)
	}
	if o.Endpoint != "" {
		if u, err := url.Parse(o.Endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
			return store.BadLocation("s3: the endpoint is not a URL like https://host:port")
		}
	}
	where, err := v.resolve(ctx, regionOf(v.bucket, o.Region))
	if err != nil {
		return err
	}
	// The host of another region may have a private address too. No redirection is
	// followed, so no answer can lead there.
	v.transport = httpstore.NewTransport(where.base, true)
	v.signer = newSigner(v, cfg.Credentials, where)
	v.client = s3.NewFromConfig(cfg, v.configure)
	return nil
}

// configuration returns the options that replace parts of the SDK's configuration.
func (v *service) configuration() []func(*config.LoadOptions) error {
	o := &v.options
	// The SDK logs to standard error, which is the program's.
	with := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{})}
	if o.Profile != "" {
		with = append(with, config.WithSharedConfigProfile(o.Profile))
	}
	switch {
	case o.Anonymous:
		with = append(with, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	case o.Credentials != nil:
		with = append(with, config.WithCredentialsProvider(aws.NewCredentialsCache(o.Credentials)))
	}
	return with
}

// configure sets the options of the SDK's client.
func (v *service) configure(c *s3.Options) {
	c.Credentials = v.signer
	c.HTTPSignerV4 = ownClock{v.signer.v4}
	c.Retryer = aws.NopRetryer{} // package retry repeats
	c.UsePathStyle = v.byPath()
	c.DisableS3ExpressSessionAuth = aws.Bool(true)
	if v.options.Endpoint == "" {
		return
	}
	c.BaseEndpoint = &v.options.Endpoint
	// Other services do not know the checksums of new clients.
	c.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
	c.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
}

// endpointOf returns the endpoint of the SDK's configuration, or "" for Amazon's service.
func endpointOf(ctx context.Context, cfg aws.Config) string {
	// The client resolves AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL and the shared files.
	if endpoint := s3.NewFromConfig(cfg).Options().BaseEndpoint; endpoint != nil {
		return *endpoint
	}
	return ""
}

// byPath reports whether URLs have the bucket in their path.
func (v *service) byPath() bool {
	switch v.options.Addressing {
	case ByPath:
		return true
	case ByHost:
		return false
	}
	// The certificate of *.s3.amazonaws.com does not cover names with dots.
	return v.options.Endpoint != "" || strings.Contains(v.bucket, ".")
}

// Close closes idle connections. The store may still be used.
func (s *Store) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}

// Place implements [store.Placer].
func (s *Store) Place() string {
	root := "s3://" + s.bucket
	if s.options.Endpoint != "" {
		root = s.signer.place().base.String()
	}
	return strings.TrimSuffix(root+"/"+s.prefix, "/")
}

// key returns the name of the object of a key. A service refuses longer names, and those
// that are not valid UTF-8.
func (s *Store) key(key store.Key) (string, error) {
	name := s.prefix + key.String()
	if !utf8.ValidString(name) {
		return "", fmt.Errorf("s3: %w: the object name %q is not valid UTF-8", store.ErrInvalidKey, name)
	}
	if len(name) > mostName {
		return "", fmt.Errorf("s3: %w: the object name %.60q… has %d bytes, at most %d are allowed", store.ErrInvalidKey, name, len(name), mostName)
	}
	return name, nil
}

// CheckKey implements [store.KeyChecker].
func (s *Store) CheckKey(key store.Key) error {
	_, err := s.key(key)
	return err
}

// mostName is the length of the longest name of an object in bytes.
const mostName = 1024

var (
	_ store.Placer = (*Store)(nil)
)
