// SPDX-License-Identifier: Apache-2.0

package s3

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/zipstore"
)

func init() {
	for _, scheme := range []string{"s3", "s3a"} {
		store.Register(scheme, OpenLocation)
	}
}

// OpenLocation is the [store.OpenFunc] of the scheme s3: "s3://bucket/path?options". The
// path is taken as it is, without percent-decoding.
//
// The store begins at the first segment of the path whose name ends in ".zarr"; the rest
// is the path of the node. Without such a segment the store is the whole path. A segment
// that ends in ".zip" or ".ozx" is an archive, which can only be read.
//
// The options, named as in other programs, are
//
//	region, endpoint (endpoint_url), profile
//	anon (skip_signature), requester_pays (request_payer)
//	addressing_style=path|virtual, virtual_hosted_style_request
//	storage_class, server_side_encryption (sse), sse_kms_key_id
//	conditional_put=etag|disabled
//	access_key_id, secret_access_key, session_token
//
// Each may begin with "aws_". An unknown option is an error.
func OpenLocation(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	bucket, path, opt, err := parse(driver.Reveal(ctx, location), optionsOf(ctx))
	if err != nil {
		return nil, store.Path{}, err
	}
	begin := func(root string) (store.Store, error) { return open(ctx, bucket, root, &opt, access != store.ReadOnly) }
	return driver.OpenPath(path, begin, func(name, rel string) (store.Store, store.Path, error) {
		if access != store.ReadOnly {
			return nil, store.Path{}, fmt.Errorf("s3: s3://%s/%s: %w: an archive in a bucket can only be read; a new archive is written on this machine; then copy it", bucket, name, store.ErrUnsupported)
		}
		return zipstore.OpenWithin(ctx, name, rel, begin)
	})
}

// parse returns the parts of a location, and opt with its options.
func parse(location string, opt Options) (bucket, path string, _ Options, err error) {
	_, rest, _ := strings.Cut(location, "://")
	rest, query, _ := strings.Cut(rest, "?")
	bucket, path, _ = strings.Cut(rest, "/")
	// The text before '@' may be a secret, which may have slashes, so it is not shown.
	if strings.Contains(bucket, "@") || strings.Contains(bucket, ":") && strings.Contains(path, "@") {
		return "", "", opt, driver.BadLocation("s3: a location has no user and password; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
	}
	if path, err = driver.LocationPath(path); err != nil {
		return "", "", opt, fmt.Errorf("s3: %w", err)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", "", opt, driver.BadLocation("s3: the options after '?' are malformed")
	}
	secrets := aws.Credentials{Source: "location"}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value := values[name]
		if err := opt.set(strings.TrimPrefix(strings.ToLower(name), "aws_"), value[len(value)-1], &secrets); err != nil {
			return "", "", opt, err
		}
	}
	if err := whole(secrets); err != nil {
		return "", "", opt, err
	}
	if secrets.HasKeys() {
		opt.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return secrets, nil })
	}
	return bucket, path, opt, nil
}

// whole returns an error if a part of the credentials of a location is missing. Others
// would be used in place of them.
func whole(secrets aws.Credentials) error {
	missing := ""
	switch {
	case secrets.HasKeys(), secrets.AccessKeyID == "" && secrets.SecretAccessKey == "" && secrets.SessionToken == "":
		return nil
	case secrets.AccessKeyID == "" && secrets.SecretAccessKey == "":
		missing = "access_key_id and secret_access_key are"
	case secrets.AccessKeyID == "":
		missing = "access_key_id is"
	default:
		missing = "secret_access_key is"
	}
	return driver.BadLocation("s3: the option %s missing; credentials are access_key_id, secret_access_key and, if they are temporary, session_token", missing)
}

// set sets the option with a name. The value may be a secret, so errors do not show it.
func (o *Options) set(name, value string, secrets *aws.Credentials) (err error) {
	texts := map[string]*string{
		"region": &o.Region, "region_name": &o.Region, "default_region": &o.Region,
		"endpoint": &o.Endpoint, "endpoint_url": &o.Endpoint, "endpoint_url_s3": &o.Endpoint, "endpoint_override": &o.Endpoint,
		"profile": &o.Profile, "storage_class": &o.StorageClass,
		"server_side_encryption": &o.Encryption, "sse": &o.Encryption, "sse_kms_key_id": &o.KMSKey,
		"access_key_id": &secrets.AccessKeyID, "key": &secrets.AccessKeyID, "secret_access_key": &secrets.SecretAccessKey,
		"secret": &secrets.SecretAccessKey, "session_token": &secrets.SessionToken, "token": &secrets.SessionToken,
	}
	if text, ok := texts[name]; ok {
		*text = value
		return nil
	}
	var byHost bool
	flags := map[string]*bool{
		"anon": &o.Anonymous, "anonymous": &o.Anonymous, "skip_signature": &o.Anonymous, "no_sign_request": &o.Anonymous,
		"requester_pays": &o.RequesterPays, "virtual_hosted_style_request": &byHost, "allow_http": new(bool),
	}
	switch flag, ok := flags[name]; {
	case ok:
		if *flag, err = strconv.ParseBool(value); err != nil {
			return driver.BadLocation("s3: the option %s is true or false", name)
		}
		if flag == &byHost {
			o.Addressing = ByPath
			if byHost {
				o.Addressing = ByHost
			}
		}
		return nil
	case name == "request_payer":
		o.RequesterPays = value == "requester" || value == "true"
		return nil
	}
	return o.choose(name, value)
}

// options are the names of the options. Some have other names too.
var options = []string{
	"region", "endpoint", "profile", "anon", "requester_pays", "addressing_style", "conditional_put", "storage_class",
	"server_side_encryption", "sse_kms_key_id", "access_key_id", "secret_access_key", "session_token",
}

// choose sets an option whose value is one of some words.
func (o *Options) choose(name, value string) error {
	var words []string
	switch name {
	case "addressing_style":
		words = []string{"auto", "path", "virtual"}
	case "conditional_put":
		words = []string{"probe", "etag", "disabled"}
	default:
		return fmt.Errorf("s3: %w", driver.UnknownOption(name, options))
	}
	for i, word := range words {
		if word != value {
			continue
		}
		if name == "addressing_style" {
			o.Addressing = Addressing(i)
		} else {
			o.Conditions = Conditions(i)
		}
		return nil
	}
	return driver.BadLocation("s3: the option %s is one of %s", name, strings.Join(words, ", "))
}

var _ store.OpenFunc = OpenLocation

// defaultRegion is the region of services that have none, and the first guess.
const defaultRegion = "us-east-1"

// regions remembers the regions of Amazon's buckets that answers named.
var regions sync.Map

// regionOf returns the region to begin with.
func regionOf(bucket, region string) string {
	if known, ok := regions.Load(bucket); ok && region == "" {
		return known.(string)
	}
	if region == "" {
		return defaultRegion
	}
	return region
}

// service returns the name of the service in signatures.
func (v *service) signingName() string {
	if strings.HasSuffix(v.bucket, directorySuffix) {
		return "s3express"
	}
	return "s3"
}

// regionHeader has the region of a bucket, in answers of every status.
const regionHeader = "X-Amz-Bucket-Region"

// movedTo returns the place of the bucket if an answer says that it is in another
// region than where, and else nil. The place is remembered.
func (v *service) movedTo(status int, h http.Header, where *place) *place {
	region := h.Get(regionHeader)
	switch status {
	case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest:
	default:
		return nil
	}
	// Only Amazon's service has a host for each region. A host from another service
	// could lead anywhere; its region is only part of the signature.
	if region == "" || region == where.region || strings.ContainsAny(region, "/.@:?#") {
		return nil
	}
	next, err := v.resolve(region)
	if err != nil || next.region == where.region {
		return nil
	}
	if v.options.Endpoint == "" {
		regions.Store(v.bucket, region)
	}
	v.signer.move(where, next)
	return next
}
