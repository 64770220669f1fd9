// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/internal/driver"
)

// harmless are the options of locations that are no secrets, without the prefix of their
// service. All others count as secrets, also those that are not known here.
var harmless = []string{
	"access_tier", "account", "account_host", "account_name", "addressing_style", "allow_http", "anon", "anonymous", "azure_endpoint", "base_url",
	"conditional_put", "default_region", "endpoint", "endpoint_override", "endpoint_url", "endpoint_url_s3", "no_sign_request", "profile", "region",
	"region_name", "request_payer", "requester_pays", "skip_signature", "storage_class", "user_project", "virtual_hosted_style_request",
}

// retyped returns a location as a word of a command line, with the options that the user
// gave for its store, and whether secrets among them are left out.
func retyped(ctx context.Context, location string) (word string, secrets bool) {
	word = phrase.Printable(location)
	if !isRemote(location) {
		return word, false
	}
	_, query, _ := strings.Cut(driver.Reveal(ctx, location), "?")
	var shown []string
	for option := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(option, "=")
		value, err := url.QueryUnescape(value)
		name = strings.ToLower(name)
		for _, service := range []string{"aws_", "google_", "azure_storage_"} {
			name = strings.TrimPrefix(name, service)
		}
		switch {
		case option == "":
		case err != nil || !slices.Contains(harmless, name):
			secrets = true
		case strings.Contains(value, "://") && driver.Redact(value) != value:
			secrets = true // such as a password of the endpoint
		default:
			shown = append(shown, phrase.Printable(option))
		}
	}
	if len(shown) > 0 {
		// Shells read ? and & as signs of their own.
		word = "'" + word + "?" + strings.ReplaceAll(strings.Join(shown, "&"), "'", "%27") + "'"
	}
	return word, secrets
}
