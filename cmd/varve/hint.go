package main

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
)

// server finds a name with a port, or one with dots that ends in letters, as domains do.
var server = regexp.MustCompile(`^(localhost|[\w.-]+:\d+|[\w.-]+\.[A-Za-z]{2,})$`)

// namesServer reports whether a location without a scheme seems to begin with the name of
// a server: not with that of a file or folder that is there, or with an extension that is
// known here.
func namesServer(location string) bool {
	first, _, more := strings.Cut(location, "/")
	if !more || !server.MatchString(first) || isThere(localPath(first)) {
		return false
	}
	known := slices.Concat(netCDF, []string{".zarr", ".zip", ".npy", ".csv", ".json", ".raw", ".bin"})
	return !slices.Contains(known, strings.ToLower(filepath.Ext(first)))
}

// placeMeant returns what may be meant by a location where nothing is, "" where nothing
// is known.
func placeMeant(location string) string {
	switch rest, oneSlash := cutScheme(location); {
	case oneSlash:
		return fmt.Sprintf(" (a URL has two slashes: is %s meant?)", rest)
	case strings.HasPrefix(location, "~"):
		return " (a shell puts the home folder in place of ~ where it stands without quotes)"
	case filepath.Separator == '/' && strings.Contains(location, `\`):
		return fmt.Sprintf(" (folders are separated by /, as in %s)", strings.ReplaceAll(location, `\`, "/"))
	case strings.ContainsAny(location, "*?") && !strings.Contains(location, "://"):
		return " (no node has that name; a shell puts names in place of a pattern if it stands without quotes and some match)"
	}
	var places []string
	if near := folderMeant(sameNode(location)); near != "" {
		places = append(places, near)
	}
	if namesServer(location) {
		places = append(places, "https://"+location)
	}
	if len(places) == 0 {
		return ""
	}
	return fmt.Sprintf(" (is %s meant?)", strings.Join(places, " or "))
}

// folderMeant returns a location in which a node with a near name replaces the first
// folder that is not there; "" where no name is near.
func folderMeant(location string) string {
	if strings.Contains(location, "://") {
		return ""
	}
	parts := strings.Split(location, "/")
	for i, part := range parts[:len(parts)-1] {
		if part == "" || isThere(localPath(strings.Join(parts[:i+1], "/"))) {
			continue
		}
		folder := strings.Join(parts[:i], "/")
		if i > 0 && folder == "" {
			folder = "/"
		}
		near := spelling.Nearest(part, nearNodes(localPath(folder), part))
		if len(near) == 0 {
			return ""
		}
		parts[i] = near[0]
		return strings.Join(parts, "/")
	}
	return ""
}

// cutScheme returns a URL with one slash as one with two.
func cutScheme(location string) (url string, ok bool) {
	for _, scheme := range []string{"http", "https", "file", "s3", "gs"} {
		rest, found := strings.CutPrefix(location, scheme+":/")
		if found && !strings.HasPrefix(rest, "/") {
			return scheme + "://" + rest, true
		}
	}
	return "", false
}

// schemeMeant returns how a node is read whose scheme is not known.
func schemeMeant(location string) string {
	scheme, rest, found := strings.Cut(location, "://")
	switch bucket, key, _ := strings.Cut(rest, "/"); {
	case !found:
		return ""
	case scheme == "s3":
		return fmt.Sprintf(" (a public bucket has a URL: https://%s.s3.amazonaws.com/%s)", bucket, key)
	case scheme == "gs" || scheme == "gcs":
		return fmt.Sprintf(" (a public bucket has a URL: https://storage.googleapis.com/%s)", rest)
	}
	return spelling.Meant(scheme, []string{"file", "http", "https"})
}

// fileMeant returns what is done with a file that is in the place of a node.
func fileMeant(cmd *cobra.Command, location string) string {
	if info, err := os.Stat(localPath(location)); err != nil || info.IsDir() {
		return ""
	}
	args := cmd.Flags().Args()
	switch ext := strings.ToLower(filepath.Ext(location)); {
	case len(args) > 1 && args[0] == location && isNodeLocation(args[1]):
		return fmt.Sprintf(" (the node comes first: varve %s %s %s)", cmd.Name(), args[1], location)
	case ext == ".npy":
		return fmt.Sprintf(" (varve create NODE --from %s makes an array of it)", location)
	case slices.Contains(netCDF, ext):
		return fmt.Sprintf(" (in Python, xarray.open_dataset(%q).to_zarr(%q) makes a group of it)", filepath.Base(location), withoutExtension(location)+".zarr")
	}
	return ""
}

// netCDF are the extensions of NetCDF and HDF5.
var netCDF = []string{".nc", ".nc4", ".cdf", ".h5", ".hdf5", ".he5"}

// withoutExtension returns the name of a file without folder and extension.
func withoutExtension(name string) string {
	return strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
}

// membersMeant returns what may be meant by a group in the place of an array: an array in
// it.
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
			arrays = append(arrays, sameNode(location)+"/"+m.Path)
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
