// SPDX-License-Identifier: Apache-2.0

package icechunk

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/icechunk/internal/format"
	"varve.dev/zarr/internal/driver"
)

// containersName is the member of the configuration that has containers by prefix.
const containersName = "virtual_chunk_containers"

// Containers returns the prefixes of locations for which the configuration of the
// repository has a container of virtual chunks, in order. They permit nothing: readers
// name what they allow.
func (r *Repository) Containers(ctx context.Context) ([]string, error) {
	is, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	if is.Repository == nil {
		return nil, errV1
	}
	_, list, err := configured(is.Repository)
	return slices.Sorted(maps.Keys(list)), err
}

// AddContainer adds a container of virtual chunks to the configuration of the repository,
// or replaces the one with its prefix. Other programs find there how to open the places
// of virtual chunks; Varve needs none. The location is that of a folder or of keys in an
// object store, such as s3://bucket/raw?region=us-east-1. Its options may be endpoint,
// region, anon and requester_pays for S3, and account_name for Azure. Credentials are
// left out: readers give theirs. The rest of the configuration stays as it is. added is
// false if there was the same container.
func (r *Repository) AddContainer(ctx context.Context, location string) (added bool, err error) {
	prefix, place, err := containerAt(driver.Reveal(ctx, location))
	if err != nil {
		return false, err
	}
	err = r.configure(ctx, func(list map[string]any) error {
		was := list[prefix]
		list[prefix] = map[string]any{"name": nil, "url_prefix": prefix, "store": place}
		added = added || !reflect.DeepEqual(was, list[prefix])
		return nil
	})
	return added, err
}

// RemoveContainer removes the container with a prefix from the configuration, as
// [Repository.Containers] returns it or as [Repository.AddContainer] took it.
func (r *Repository) RemoveContainer(ctx context.Context, prefix string) error {
	text, _, _ := strings.Cut(prefix, "?")
	text = strings.TrimSuffix(text, "/") + "/"
	return r.configure(ctx, func(list map[string]any) error {
		for _, name := range []string{text, decoded(text)} {
			if list[name] != nil {
				delete(list, name)
				return nil
			}
		}
		return fmt.Errorf("%w: container %q", ErrNoReference, driver.Redact(prefix))
	})
}

// configure changes the containers of the configuration.
func (r *Repository) configure(ctx context.Context, change func(list map[string]any) error) error {
	return r.update(ctx, func(repo *format.Repository, again bool) (u format.Update, err error) {
		top, list, err := configured(repo)
		if err != nil {
			return u, r.fail(repositoryKey, err)
		}
		was := maps.Clone(list)
		if err := change(list); err != nil {
			if again {
				err = errPublished // before the answer was lost
			}
			return u, err
		}
		if reflect.DeepEqual(was, list) {
			return u, errPublished
		}
		top[containersName] = list
		repo.Config, err = format.EncodeFlex(top)
		return format.Update{Kind: format.ConfigChanged}, err
	})
}

// configured returns the configuration of a repository, and its containers.
func configured(repo *format.Repository) (top, list map[string]any, err error) {
	top, list = map[string]any{}, map[string]any{}
	if repo.Config == nil {
		return top, list, nil
	}
	v, err := format.ParseFlex(repo.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("the configuration: %w", err)
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("%w: the configuration is no map", format.ErrDamaged)
	}
	switch v := top[containersName].(type) {
	case nil:
	case map[string]any:
		list = v
	default:
		return nil, nil, fmt.Errorf("%w: the containers of the configuration are no map", format.ErrDamaged)
	}
	return top, list, nil
}

// containerAt returns the prefix of a container at a location, and the place as the
// reference describes it.
func containerAt(location string) (prefix string, place map[string]any, err error) {
	bad := func(format string, arguments ...any) (string, map[string]any, error) {
		return "", nil, fmt.Errorf("%w: the container %s: %s", zarr.ErrInvalidArgument, driver.Redact(location), fmt.Sprintf(format, arguments...))
	}
	u, err := url.Parse(location)
	if err != nil || u.Scheme == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return bad("it is no location such as s3://bucket/raw or file:///data")
	}
	options := map[string]string{}
	for name, values := range u.Query() {
		options[name] = values[len(values)-1]
	}
	known := []string{}
	isSet := func(name string) bool { return options[name] == "true" || options[name] == "1" }
	switch u.Scheme {
	case "file":
		place = map[string]any{"local_file_system": "/" + strings.Trim(u.Path, "/")}
	case "s3":
		known = []string{"endpoint", "region", "anon", "requester_pays"}
		s3 := map[string]any{
			"region": nil, "endpoint_url": nil, "anonymous": isSet("anon"), "allow_http": false, "force_path_style": false,
			"network_stream_timeout_seconds": nil, "requester_pays": isSet("requester_pays"), "checksum_algorithm": nil,
		}
		kind, endpoint := "s3", options["endpoint"]
		if region := options["region"]; region != "" {
			s3["region"] = region
		}
		if endpoint != "" {
			// A user or a query would be a secret in the configuration.
			if e, err := url.Parse(endpoint); err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil || e.RawQuery != "" || e.Fragment != "" {
				return bad("the endpoint is no URL like https://host:port")
			}
			kind, s3["endpoint_url"], s3["allow_http"], s3["force_path_style"] = "s3_compatible", endpoint, strings.HasPrefix(endpoint, "http://"), true
		}
		place = map[string]any{kind: s3}
	case "gs":
		place = map[string]any{"gcs": map[string]any{}}
	case "az":
		known = []string{"account_name"}
		if options["account_name"] == "" {
			return bad("give the account as ?account_name=NAME")
		}
		place = map[string]any{"azure": map[string]any{"account": options["account_name"]}}
	case "http", "https":
		place = map[string]any{"http": map[string]any{}}
	default:
		return bad("it is in no file system, object store or web server that programs of Icechunk know: %s", u.Scheme)
	}
	for name := range options {
		if name == "access_key_id" || name == "secret_access_key" || name == "session_token" {
			continue // secrets are never stored
		}
		if !slices.Contains(known, name) {
			return bad("the option %q is none of a container", name)
		}
	}
	if (u.Host == "") != (u.Scheme == "file") || slices.Contains(strings.Split(u.Path, "/"), "..") {
		return bad("it has no bucket, or its path leads upwards")
	}
	// The reference compares it with locations whose escapes it has decoded.
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/") + "/", place, nil
}
