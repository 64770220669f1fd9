// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/store/httpstore"
)

// absolute returns a location that does not depend on the working directory.
func absolute(location string) string {
	if path, is := strings.CutPrefix(location, "file://"); is {
		return "file://" + absolute(path)
	}
	if strings.Contains(location, "://") || location == "" || location == "-" {
		return location
	}
	return filepath.ToSlash(node.LocalPath(location))
}

// openOptions are the options of locations that a plan keeps. Whatever else a location
// has may be a secret.
var openOptions = []string{
	"access_tier", "account_name", "addressing_style", "anon", "anonymous", "cache_control", "conditional_put", "encryption_scope", "endpoint", "endpoint_url",
	"kms_key_name", "profile", "region", "requester_pays", "service_account", "skip_signature", "sse", "sse_kms_key_id", "storage_class", "user_project",
	"virtual_hosted_style_request",
}

// planLocation returns a location as a plan has it: absolute, and with the options that
// processes on other machines need, such as endpoint and profile. Credentials are left
// out, which a note says.
func planLocation(cmd *cobra.Command, location string) string {
	location = absolute(location)
	whole := httpstore.Reveal(cmd.Context(), location)
	if whole == location && !strings.Contains(location, "?") {
		return location
	}
	bare, query, _ := strings.Cut(whole, "?")
	given, err := url.ParseQuery(query)
	if strings.HasPrefix(whole, "http://") || strings.HasPrefix(whole, "https://") || err != nil {
		bare, given = httpstore.Redact(location), nil
	}
	secret := given == nil
	for name, values := range given {
		if !slices.Contains(openOptions, name) || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "@") }) {
			secret = true
			delete(given, name)
		}
	}
	if secret {
		session.Note(cmd, bare, "the plan has no credentials: give them to the processes that execute it, by their environment or a profile")
	}
	if len(given) == 0 {
		return bare
	}
	return bare + "?" + given.Encode()
}

// withoutOptions returns a location of a plan without its options, to be displayed or
// extended.
func withoutOptions(location string) string {
	if !strings.Contains(location, "://") {
		return location
	}
	location, _, _ = strings.Cut(location, "?")
	return location
}
