// SPDX-License-Identifier: Apache-2.0

package azure

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
	for _, scheme := range []string{"az", "abfs", "abfss"} {
		store.Register(scheme, OpenLocation)
	}
}

// optionsKey is the context key of [WithOptions].
type optionsKey struct{}

// WithOptions returns a context in which [OpenLocation] begins with these options. The
// query of a location changes them.
func WithOptions(ctx context.Context, opt *Options) context.Context {
	return context.WithValue(ctx, optionsKey{}, opt)
}

// OpenLocation is the [store.OpenFunc] of the schemes az, abfs and abfss:
//
//	az://account/container/path?options
//	az://container/path?account_name=account
//	abfs://container@account.dfs.core.windows.net/path
//
// The path is taken as it is, without percent-decoding. Without [WithOptions], reads have
// the options of [httpstore.WithOptions].
//
// The store begins at the first segment of the path whose name ends in ".zarr"; the rest
// is the path of the node. Without such a segment the store is the whole path. A segment
// that ends in ".zip" or ".ozx" is an archive, which can only be read.
//
// The options, named as in fsspec and object_store, are account_name, account_key,
// sas_token, anon (skip_signature), endpoint, access_tier and encryption_scope. Each may
// begin with "azure_storage_". An unknown option is an error.
func OpenLocation(ctx context.Context, location string, access store.Access) (store.Store, store.Path, error) {
	var o Options
	if given, _ := ctx.Value(optionsKey{}).(*Options); given != nil {
		o = *given
	} else if reading := httpstore.OptionsOf(ctx); reading != nil {
		o.Reading = *reading // such as the patience of a program with servers
	}
	o.ReadOnly = o.ReadOnly || access == store.ReadOnly
	p, err := parse(driver.Reveal(ctx, location), &o)
	if err != nil {
		return nil, store.Path{}, err
	}
	open := func(root string) (store.Store, error) { return Open(p.account, p.container, root, &o) }
	return driver.OpenPath(p.path, open, func(name, rel string) (store.Store, store.Path, error) {
		if access != store.ReadOnly {
			return nil, store.Path{}, fmt.Errorf("azure: %s: %w: an archive here can only be read", driver.Redact(location), store.ErrUnsupported)
		}
		return zipstore.OpenWithin(ctx, name, rel, open)
	})
}

// place is what a location names.
type place struct{ account, container, path string }

// parse returns the place of a location, and sets its options.
func parse(location string, o *Options) (p place, err error) {
	_, rest, _ := strings.Cut(location, "://")
	rest, query, _ := strings.Cut(rest, "?")
	account, err := o.query(query)
	if err != nil {
		return p, fmt.Errorf("azure: %w", err)
	}
	first, path, _ := strings.Cut(rest, "/")
	if container, host, found := strings.Cut(first, "@"); found {
		name, domain, _ := strings.Cut(host, ".")
		p = place{name, container, path}
		if o.Endpoint == "" {
			o.Endpoint, err = endpointOf(name, domain)
		}
	} else if account != "" {
		p = place{account, first, path}
	} else {
		p.account = first
		p.container, p.path, _ = strings.Cut(path, "/")
	}
	if err == nil {
		p.path, err = driver.LocationPath(p.path)
	}
	if err != nil {
		return p, fmt.Errorf("azure: %w", err)
	}
	return p, nil
}

// clouds are the domains of the service. Access tokens of Entra ID are valid for all of
// them, so a location must not send one to another host.
var clouds = []string{
	"core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn", "core.cloudapi.de", "storage.azure.net", "fabric.microsoft.com",
}

// endpointOf returns the endpoint of the host account.domain, which a location names, or
// "" for the default.
func endpointOf(account, domain string) (string, error) {
	before, suffix, found := strings.Cut(domain, "dfs.")
	if !found {
		before, suffix, found = strings.Cut(domain, "blob.")
	}
	zoned := before == "" || suffix == "storage.azure.net" && !strings.Contains(strings.TrimSuffix(before, "."), ".")
	switch {
	case !found || !zoned || !slices.Contains(clouds, suffix):
		return "", driver.BadLocation("the host %.80q is not one of Azure; if you trust it, give its URL as the option endpoint", account+"."+domain)
	case domain == "dfs.core.windows.net":
		return "", nil
	}
	return "https://" + account + "." + before + "blob." + suffix, nil
}

// query sets the options of a query, and returns the name of the account in it.
func (o *Options) query(text string) (account string, err error) {
	q, err := url.ParseQuery(text)
	if err != nil {
		return "", driver.BadLocation("the options after '?' are malformed; escape special characters of a signature")
	}
	key, sas := false, false
	for _, name := range slices.Sorted(maps.Keys(q)) {
		value := q[name][len(q[name])-1]
		switch name = strings.TrimPrefix(strings.ToLower(name), "azure_storage_"); name {
		case "account_name", "account":
			account = value
		case "account_key", "access_key":
			o.Key, key = value, true
		case "sas_token", "sas_key":
			o.SAS, sas = value, true
		case "anon", "skip_signature":
			if o.Anonymous, err = strconv.ParseBool(value); err != nil {
				return "", driver.BadLocation("the option %s is true or false", name)
			}
		case "endpoint", "account_host", "azure_endpoint":
			o.Endpoint = value
		case "access_tier":
			o.AccessTier = value
		case "encryption_scope":
			o.EncryptionScope = value
		default:
			return "", driver.UnknownOption(name, options)
		}
	}
	if key && sas {
		return "", driver.BadLocation("the options account_key and sas_token both say how to sign; give one of them")
	}
	return account, nil
}

// options are the names of the options. Some have other names too.
var options = []string{"account_name", "account_key", "sas_token", "anon", "endpoint", "access_tier", "encryption_scope"}

var _ store.OpenFunc = OpenLocation
