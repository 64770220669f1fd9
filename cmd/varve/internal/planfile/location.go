// SPDX-License-Identifier: Apache-2.0

package planfile

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/internal/driver"
)

// Absolute returns a location that does not depend on the working directory.
func Absolute(location string) string {
	if path, is := strings.CutPrefix(location, "file://"); is {
		return "file://" + Absolute(path)
	}
	if strings.Contains(location, "://") || location == "" || location == "-" {
		return location
	}
	return filepath.ToSlash(node.LocalPath(location))
}

// secretOptions are parts of the names of options of locations that are credentials. A
// plan has all other options, and without these.
var secretOptions = []string{"secret", "token", "password", "account_key", "access_key", "sas", "signature", "credential", "connection_string"}

// isSecret reports whether an option of a location may be a credential.
func isSecret(name string, values []string) bool {
	name = strings.ToLower(name)
	if name == "skip_signature" {
		return false
	}
	if slices.ContainsFunc(secretOptions, func(part string) bool { return strings.Contains(name, part) }) {
		// gs://…?token=anon says that there are none.
		return name != "token" || !slices.Equal(values, []string{"anon"})
	}
	return slices.ContainsFunc(values, func(v string) bool {
		u, err := url.Parse(v)
		return strings.Contains(v, "://") && (err != nil || u.User != nil || u.RawQuery != "")
	})
}

// Location returns a location as a plan has it: absolute, and with the options that
// processes on other machines need, such as endpoint and profile. Credentials are left
// out, which a note says.
func Location(cmd *cobra.Command, location string) string {
	if location = Absolute(location); !strings.Contains(location, "://") || strings.HasPrefix(location, "file://") {
		return location
	}
	whole := driver.Reveal(cmd.Context(), location)
	if scheme, _, _ := strings.Cut(strings.TrimPrefix(whole, "icechunk+"), "://"); scheme == "http" || scheme == "https" {
		bare := driver.Redact(whole)
		noteSecrets(cmd, bare, bare != whole)
		return bare
	}
	bare, query, found := strings.Cut(whole, "?")
	if !found {
		return whole
	}
	given, err := url.ParseQuery(query)
	dropped := err != nil
	for name, values := range given {
		if isSecret(name, values) {
			dropped = true
			delete(given, name)
		}
	}
	noteSecrets(cmd, bare, dropped)
	if len(given) == 0 {
		return bare
	}
	return bare + "?" + given.Encode()
}

// noteSecrets says that credentials are left out, if some are.
func noteSecrets(cmd *cobra.Command, location string, dropped bool) {
	if dropped {
		session.Note(cmd, location, "the plan has no credentials: give them to the processes that execute it, by their environment or a profile")
	}
}
