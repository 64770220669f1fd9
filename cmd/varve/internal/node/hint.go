// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// server matches a host name with a port, or with dots and a last part of letters, as
// domains have.
var server = regexp.MustCompile(`^(localhost|[\w.-]+:\d+|[\w.-]+\.[A-Za-z]{2,})$`)

// namesServer reports whether a location without a scheme seems to begin with a host
// name. It returns false for existing files and folders, and for known file extensions.
func namesServer(location string) bool {
	first, _, more := strings.Cut(location, "/")
	if !more || !server.MatchString(first) || Exists(LocalPath(first)) {
		return false
	}
	known := slices.Concat(references, []string{".zarr", ".zip", ".npy", ".csv", ".raw", ".bin"})
	return !slices.Contains(known, strings.ToLower(filepath.Ext(first))) && !virtual.IsForeign(first)
}

// placeMeant returns a hint for a location with no node, or "".
func placeMeant(location string) string {
	switch rest, oneSlash := cutScheme(location); {
	case oneSlash:
		return fmt.Sprintf(" (a URL has two slashes: did you mean %s?)", rest)
	case strings.HasPrefix(location, "~"):
		return " (a shell replaces ~ by the home folder only outside quotes)"
	case filepath.Separator == '/' && strings.Contains(location, `\`):
		return fmt.Sprintf(" (folders are separated by /, as in %s)", strings.ReplaceAll(location, `\`, "/"))
	case strings.ContainsAny(location, "*?") && !strings.Contains(location, "://"):
		return " (no node has that name; a shell expands a pattern only outside quotes, and if names match)"
	}
	var places []string
	if near := folderMeant(Clean(location)); near != "" {
		places = append(places, near)
	}
	if namesServer(location) {
		places = append(places, "https://"+location)
	}
	if len(places) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(places, " or "))
}

// folderMeant replaces the first missing folder of a location by a node with a similar
// name. It returns "" if there is none.
func folderMeant(location string) string {
	if strings.Contains(location, "://") {
		return ""
	}
	parts := strings.Split(location, "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "" || Exists(LocalPath(strings.Join(parts[:i+1], "/"))) {
			continue
		}
		folder := strings.Join(parts[:i], "/")
		// An absolute path begins with an empty part.
		if i > 0 && folder == "" {
			folder = "/"
		}
		near := spelling.Nearest(part, nearNodes(LocalPath(folder), part))
		if len(near) == 0 {
			return ""
		}
		parts[i] = near[0]
		return strings.Join(parts, "/")
	}
	return ""
}

// cutScheme corrects a URL with a single slash after the scheme.
func cutScheme(location string) (url string, ok bool) {
	for _, scheme := range []string{"http", "https", "file", "s3", "gs", "gcs", "az", "abfs", "abfss"} {
		rest, found := strings.CutPrefix(location, scheme+":/")
		if found && !strings.HasPrefix(rest, "/") {
			return scheme + "://" + rest, true
		}
	}
	return "", false
}

// schemeMeant returns a hint for a location with an unknown scheme.
func schemeMeant(location string) string {
	scheme, _, found := strings.Cut(location, "://")
	if !found {
		return ""
	}
	return spelling.Meant(scheme, []string{"file", "http", "https", "s3", "gs", "gcs", "az", "abfs", "abfss"})
}

// fileMeant returns a hint for a file that was given instead of a node.
func fileMeant(cmd *cobra.Command, location string) string {
	if info, err := os.Stat(LocalPath(location)); err != nil || info.IsDir() {
		return ""
	}
	args := cmd.Flags().Args()
	switch ext := strings.ToLower(filepath.Ext(location)); {
	case len(args) > 1 && args[0] == location && IsLocation(args[1]):
		return fmt.Sprintf(" (the node comes first: varve %s %s %s)", cmd.Name(), args[1], location)
	case ext == ".npy":
		return fmt.Sprintf(" (varve create NODE --from %s converts it to an array)", location)
	case slices.Contains(documents, filepath.Base(location)):
		return fmt.Sprintf(" (it is the document of a node: did you mean %s?)", filepath.Dir(location))
	}
	return ""
}

// documents lists the names of the documents of nodes, which a shell may complete.
var documents = []string{"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}

// NetCDF lists the extensions of NetCDF and HDF5 files.
var NetCDF = []string{".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5"}

// WithoutExtension returns the base name of a file without its extension.
func WithoutExtension(name string) string {
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}

// membersMeant returns a hint that names arrays of a group that was given instead of an
// array.
func membersMeant(ctx context.Context, location string) string {
	g, err := zarr.OpenGroup(ctx, location, nil)
	if err != nil {
		return ""
	}
	defer g.Close()
	var arrays []string
	seen := 0
	for m, err := range g.Members(ctx, false) {
		if seen++; err != nil || len(arrays) == spelling.Most || seen > mostBeside {
			break
		}
		if m.Kind == "array" {
			arrays = append(arrays, Clean(location)+"/"+m.Path)
		}
	}
	if len(arrays) == 0 {
		return ""
	}
	return fmt.Sprintf(" (name an array in it, as %s)", strings.Join(arrays, " or "))
}

// isUnknownScheme reports whether no driver has the scheme of a location.
func isUnknownScheme(err error) bool {
	return strings.Contains(err.Error(), store.ErrUnsupported.Error()+": scheme ")
}
