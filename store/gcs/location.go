// SPDX-License-Identifier: Apache-2.0

package gcs

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
	"varve.dev/zarr/store/zipstore"
)

func init() {
	store.Register("gs", OpenLocation)
	store.Register("gcs", OpenLocation)
}

// optionsKey is the context key of [WithOptions].
type optionsKey struct{}

// WithOptions returns a context in which [OpenLocation] begins with these options. The
// query of a location changes them.
func WithOptions(ctx context.Context, opt *Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, opt)
}

// OpenLocation is the [store.OpenFunc] of the schemes gs and gcs, as in
// gs://bucket/path/era5.zarr/t2m?options. The path is taken as it is, without
// percent-decoding. Without [WithOptions], reads have the options of
// [httpstore.WithOptions].
//
// The store begins at the first segment of the path whose name ends in ".zarr"; the rest
// is the path of the node. Without such a segment the store is the whole path. A segment
// that ends in ".zip" or ".ozx" is an archive, which can only be read.
//
// The names of the options are those of fsspec or of object_store:
//
//	token=anon, anon=true, skip_signature=true      no credentials
//	token=FILE, service_account=FILE                a file of credentials
//	user_project=PROJECT, requester_pays=PROJECT    the project that pays
//	endpoint_url=URL, endpoint=URL                  another endpoint
//	storage_class=CLASS, cache_control=TEXT         of new objects
//	kms_key_name=KEY                                that encrypts new objects
func OpenLocation(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	var o Options
	if given, _ := ctx.Value(optionsKey{}).(*Options); given != nil {
		o = *given
	} else if reading := httpstore.OptionsOf(ctx); reading != nil {
		o.Reading = *reading // such as the patience of a program with servers
	}
	o.ReadOnly = o.ReadOnly || access == store.ReadOnly
	_, rest, _ := strings.Cut(driver.Reveal(ctx, location), "://")
	rest, query, _ := strings.Cut(rest, "?")
	if err := o.query(query); err != nil {
		return nil, store.Path{}, fmt.Errorf("gcs: %s: %w", driver.Redact(location), err)
	}
	bucket, path, _ := strings.Cut(rest, "/")
	if bucket == "" {
		return nil, store.Path{}, driver.BadLocation("gcs: the location names no bucket; its form is gs://bucket/path")
	}
	path, err := driver.LocationPath(path)
	if err != nil {
		return nil, store.Path{}, fmt.Errorf("gcs: %w", err)
	}
	open := func(root string) (store.Store, error) { return Open(bucket, root, &o) }
	return driver.OpenPath(path, open, func(name, rel string) (store.Store, store.Path, error) {
		if access != store.ReadOnly {
			return nil, store.Path{}, fmt.Errorf("gcs: %s: %w: an archive here can only be read", driver.Redact(location), store.ErrUnsupported)
		}
		return zipstore.OpenWithin(ctx, name, rel, open)
	})
}

// query sets the options of a query.
func (o *Options) query(text string) error {
	q, err := url.ParseQuery(text)
	if err != nil {
		return driver.BadLocation("the options after ? are malformed")
	}
	sources := 0 // of credentials
	for _, name := range slices.Sorted(maps.Keys(q)) {
		values := q[name]
		name = strings.TrimPrefix(strings.ToLower(name), "google_")
		if err := o.set(name, values[len(values)-1]); err != nil {
			return err
		}
		if name == "token" || slices.Contains(files, name) {
			sources++
		}
	}
	if sources > 1 {
		return driver.BadLocation("the options token and service_account both say which credentials to use; give one of them")
	}
	return nil
}

// files are the names of the option for a file of credentials.
var files = []string{"service_account", "service_account_path", "application_credentials"}

// options are the names of the options. Some have other names too.
var options = []string{
	"token", "anon", "service_account", "user_project", "endpoint_url", "storage_class", "kms_key_name", "cache_control",
}

// set sets one option by its name.
func (o *Options) set(name, value string) (err error) {
	switch name {
	case "token":
		switch value {
		case "anon":
			o.Anonymous = true
		case "google_default", "cloud", "cache": // fsspec's names for what is the default here
		default:
			o.CredentialsFile = value
		}
	case "anon", "skip_signature":
		if o.Anonymous, err = strconv.ParseBool(value); err != nil {
			return driver.BadLocation("the option %s is true or false", name)
		}
	case files[0], files[1], files[2]:
		o.CredentialsFile = value
	case "user_project", "requester_pays":
		o.UserProject = value
	case "endpoint_url", "endpoint", "base_url":
		o.Endpoint = value
	case "storage_class":
		o.StorageClass = value
	case "kms_key_name":
		o.KMSKey = value
	case "cache_control":
		o.CacheControl = value
	default:
		return driver.UnknownOption(name, options)
	}
	return nil
}

var _ store.OpenFunc = OpenLocation
