// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// newReader returns the store that reads the objects below a prefix. It waits for a
// service that sends nothing for the time of stall; 0 means that of the options.
func (s *Store) newReader(stall time.Duration) (driver.Client, error) {
	base := *s.signer.first.base
	if base.RawPath == "" {
		base.RawPath = base.EscapedPath()
	}
	dir := strings.TrimSuffix(s.prefix, "/")
	base.Path += "/" + dir
	base.RawPath += "/" + (&url.URL{Path: dir}).EscapedPath()
	o := s.options.Read
	// The method refused decides what is missing: the code of the answer counts too.
	o.Header, o.Transport, o.Missing = nil, s.signer, nil
	o.Stall = cmp.Or(stall, o.Stall)
	if o.Part == 0 {
		o.Part = s.options.PartSize
	}
	o.Hooks = httpstore.Hooks{
		Name:     func(key store.Key) string { return s.name(call{key: s.prefix + key.String()}) },
		Location: s.whereabouts(), Version: versionOf, Pin: pin, Explain: s.refused, SameHost: true,
	}
	return driver.ClientOf(httpstore.Open(base.String(), &o))
}

// refused returns the error of an answer that is not a success.
func (s *Store) refused(r *http.Response) error {
	if r.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return nil
	}
	f := failureOf(r)
	// An answer to HEAD has no code. If it is 403, the reader asks again by GET.
	// Without credentials, which were not found, it says nothing about the object.
	if r.Request.Method != http.MethodHead && f.mayHide() && s.signer.lacking() == nil && slices.Contains(s.options.Read.Missing, r.StatusCode) {
		// The failure may wrap fs.ErrPermission, which callers must not find.
		return fmt.Errorf("%w: %v", fs.ErrNotExist, f)
	}
	var err error = f
	if cause := s.signer.lacking(); f.status == http.StatusForbidden && cause != nil {
		err = fmt.Errorf("%w (%w)", f, cause)
	}
	return f.retryable(err)
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key store.Key, q store.Request, dst []byte) ([]byte, store.Info, error) {
	if _, err := s.key(key); err != nil {
		return nil, store.Info{}, err
	}
	return s.reader.Get(ctx, key, q, dst)
}

// Stat implements [store.Stater].
func (s *Store) Stat(ctx context.Context, key store.Key) (store.Info, error) {
	if _, err := s.key(key); err != nil {
		return store.Info{}, err
	}
	return s.reader.Stat(ctx, key)
}

var _ store.Stater = (*Store)(nil)

// Store has the objects of a bucket below a prefix. It has every power of package store
// but Locker, Opener and Directories: opening would cost a request, and each read
// compares versions anyway. It makes every change but [store.OpPatch] and
// [store.OpGather]. Its methods are safe for concurrent use. Make one with [Open].
type Store struct {
	*service
	prefix string // of all keys: "", or ending in a slash
	reader driver.Client
	slow   driver.Client // for requests that take the service long
}

// service is a bucket, and how to send requests to it.
type service struct {
	bucket    string
	options   Options
	signs     bool // requests are never sent unsigned for lack of credentials
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
		return nil, driver.BadLocation("s3: the location names no bucket; its form is s3://bucket/path")
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
			return driver.BadLocation("s3: the endpoint is not a URL like https://host:port")
		}
	}
	where, err := v.resolve(regionOf(v.bucket, o.Region))
	if err != nil {
		return err
	}
	// The host of another region may have a private address too. No redirection is
	// followed, so no answer can lead there.
	v.transport = httpstore.NewTransport(where.base, true)
	v.signer = newSigner(v, cfg.Credentials, where)
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

// endpointOf returns the endpoint that a configuration names, or "" for Amazon's service.
// Like the SDK's client, it prefers AWS_ENDPOINT_URL_S3, then AWS_ENDPOINT_URL, then what
// the shared files say of S3, then what they say of all services.
func endpointOf(ctx context.Context, cfg aws.Config) string {
	general := aws.ToString(cfg.BaseEndpoint)
	_, forAll := os.LookupEnv("AWS_ENDPOINT_URL")
	if _, forS3 := os.LookupEnv("AWS_ENDPOINT_URL_S3"); forAll && !forS3 {
		return general
	}
	for _, source := range cfg.ConfigSources {
		if p, ok := source.(ignorer); ok {
			if ignored, found, err := p.GetIgnoreConfiguredEndpoints(ctx); err != nil || found {
				if ignored {
					return general
				}
				break
			}
		}
	}
	for _, source := range cfg.ConfigSources {
		if p, ok := source.(endpointSource); ok {
			if endpoint, found, err := p.GetServiceBaseEndpoint(ctx, "S3"); err != nil || found {
				return cmp.Or(endpoint, general)
			}
		}
	}
	return general
}

// Methods of the sources of a configuration, which the SDK's clients look for, too.
type (
	ignorer interface {
		GetIgnoreConfiguredEndpoints(ctx context.Context) (ignored, found bool, err error)
	}
	endpointSource interface {
		GetServiceBaseEndpoint(ctx context.Context, service string) (endpoint string, found bool, err error)
	}
)

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

// Traits implements [store.Describer].
func (s *Store) Traits() store.Traits { return s.reader.Traits() }

// whereabouts returns the place of the store.
func (s *Store) whereabouts() string {
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

// CheckKey implements [store.Describer].
func (s *Store) CheckKey(key store.Key) error {
	_, err := s.key(key)
	return err
}

// mostName is the length of the longest name of an object in bytes.
const mostName = 1024

var (
	_ store.Describer = (*Store)(nil)
)

// source is an object from which bytes are taken, all from one version.
type source struct {
	s    *Store
	key  store.Key
	want store.Version // zero for any
	p    *store.Pinned // for reading

	mu   sync.Mutex
	head *description // nil until needed
}

func (s *Store) source(key store.Key, want store.Version) *source {
	return &source{s: s, key: key, want: want, p: store.Pin(s, key, store.Info{})}
}

// look returns the description of the version, which it requests once.
func (x *source) look(ctx context.Context) (*description, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.head != nil {
		return x.head, nil
	}
	name, err := x.s.key(x.key)
	if err != nil {
		return nil, err
	}
	head, err := x.s.head(ctx, name)
	switch {
	case err != nil && !x.want.IsZero() && errors.Is(err, fs.ErrNotExist):
		return nil, x.replaced()
	case err != nil:
		return nil, err
	case !x.want.IsZero() && head.version() != x.want:
		return nil, x.replaced()
	}
	x.head, x.want = head, head.version()
	return head, nil
}

// replaced is the error of a source that is not of the version that is wanted.
func (x *source) replaced() error {
	return fmt.Errorf("%s: %w: the object was replaced or deleted", x.s.name(call{key: x.s.prefix + x.key.String()}), store.ErrConflict)
}

// read appends n bytes from offset off on to dst.
func (x *source) read(ctx context.Context, off, n int64, dst []byte) ([]byte, error) {
	out, info, err := x.p.Read(ctx, store.Request{Range: store.Span(off, n)}, dst)
	x.mu.Lock()
	want := x.want
	if err == nil && want.IsZero() {
		x.want, want = info.Version, info.Version
	}
	x.mu.Unlock()
	switch {
	case err == nil && info.Version == want:
		return out, nil
	case err == nil:
		return nil, x.replaced()
	case want.IsZero():
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, x.replaced()
	// Another version may be shorter.
	case errors.Is(err, io.ErrUnexpectedEOF):
		if _, now := x.look(ctx); errors.Is(now, store.ErrConflict) {
			return nil, now
		}
	}
	return nil, err
}

// copySource returns the text that names the version in requests that copy it, and its
// ETag.
func (x *source) copySource(ctx context.Context) (name, tag string, err error) {
	if _, err := x.look(ctx); err != nil {
		return "", "", err
	}
	tag, id := cut(x.want)
	name = x.s.copied(x.s.prefix + x.key.String())
	if id != "" {
		name += "?versionId=" + url.QueryEscape(id)
	}
	return name, tag, nil
}

// copied returns the text that names an object in requests that copy it.
func (v *service) copied(name string) string {
	// A bucket may be an ARN, which has slashes of its own.
	return escape(strings.ReplaceAll(url.PathEscape(v.bucket+"/"+name), "%2F", "/"))
}
