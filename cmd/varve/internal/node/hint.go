// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// server matches a host name with a port, or with dots and a last part of letters, as
// domains have.
var server = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(localhost|[\w.-]+:\d+|[\w.-]+\.[A-Za-z]{2,})$`) })

// namesServer reports whether a location without a scheme seems to begin with a host
// name. It returns false for existing files and folders, and for known file extensions.
func namesServer(location string) bool {
	first, _, more := strings.Cut(location, "/")
	if !more || !server().MatchString(first) || Exists(LocalPath(first)) {
		return false
	}
	// The name of a file may look like a host: data.zarr, month.nc.
	known := slices.Concat(references, own.Archives, []string{".zarr", ".npy", ".csv", ".raw", ".bin"})
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
		places = append(places, phrase.Word(near))
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
		// Only the first missing folder can be misspelled: nothing is known of those
		// below it.
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
	info, err := os.Stat(LocalPath(location))
	if err != nil || info.IsDir() {
		return ""
	}
	args := cmd.Flags().Args()
	switch ext := strings.ToLower(filepath.Ext(location)); {
	case len(args) > 1 && args[0] == location && IsLocation(args[1]):
		return fmt.Sprintf(" (the node comes first: varve %s %s %s)", cmd.Name(), phrase.Word(args[1]), phrase.Word(location))
	case info.Mode().IsRegular() && info.Size() == 0:
		return " (the file is empty)"
	case ext == ".npy":
		return fmt.Sprintf(" (varve create NODE --from %s converts it to an array)", phrase.Word(location))
	case slices.Contains(documents, filepath.Base(location)):
		return fmt.Sprintf(" (it is the document of a node: did you mean %s?)", phrase.Word(filepath.Dir(location)))
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
	// A hint must not list a huge group to its end.
	for m, err := range g.Members(ctx, false) {
		if seen++; err != nil || len(arrays) == spelling.Most || seen > mostBeside {
			break
		}
		if m.Kind == "array" {
			arrays = append(arrays, phrase.Word(Clean(location)+"/"+m.Path))
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

// Explain adds a hint to the error for a node that cannot be opened: a similar name
// beside it, or the command that makes its folder a group.
func Explain(cmd *cobra.Command, err error) error {
	// Other operations fail on nodes that exist, so their names are right.
	var e *zarr.Error
	if !errors.As(err, &e) || e.Op != "open" && e.Op != "create" && !isNoNode(e) || e.Path == "" {
		return err
	}
	if meant := RepositoryMeant(cmd.Context(), e.Path, e.Err); meant.Error() != e.Err.Error() {
		e.Err = meant
		return err
	}
	if hint := nodeHint(cmd, e); hint != "" {
		e.Err = fmt.Errorf("%w%s", e.Err, hint)
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := Clean(e.Path)
	if ForeignFile(at) != "" {
		group := nodeAbove(cmd.Context(), at)
		if names := MembersOf(cmd.Context(), group, nil); len(names) > 0 {
			e.Err = fmt.Errorf("%w%s (%s has %s)", e.Err, Neighbour(cmd.Context(), at), group, phrase.Shorten(strings.Join(names, ", "), 200))
		}
		return err
	}
	// The folder has arrays, but was never made a group.
	if holdsNodes(at) {
		e.Err = fmt.Errorf("%w (varve create %s --group makes the folder a group)", e.Err, phrase.Word(at))
		return err
	}
	hint := Neighbour(cmd.Context(), at)
	if hint == "" {
		hint = reachText(cmd.Context(), at)
	}
	if hint != "" {
		e.Err = fmt.Errorf("%w%s", e.Err, hint)
	}
	return err
}

// isNoNode reports whether an error of a copy, which opens no node, means that its source
// is none.
func isNoNode(e *zarr.Error) bool {
	return errors.Is(e, fs.ErrNotExist) && e.Err.Error() == "no Zarr node here"
}

// nodeAbove returns the location of the next node above one that is missing, or "".
func nodeAbove(ctx context.Context, at string) string {
	for above := path.Dir(at); above != "." && above != "/"; above = path.Dir(above) {
		n, err := zarr.Open(ctx, above, nil)
		if err != nil {
			continue
		}
		n.Close() // it was only read
		return above
	}
	return ""
}

// isBelowArchive reports whether a location is below a local file, such as a zip archive.
func isBelowArchive(at string) bool {
	for above := path.Dir(at); above != "." && above != "/"; above = path.Dir(above) {
		if info, err := os.Stat(LocalPath(above)); err == nil {
			return !info.IsDir()
		}
	}
	return false
}

// reachText says how much of the local path of a missing node is there, or returns "".
func reachText(ctx context.Context, at string) string {
	if strings.Contains(at, "://") {
		return ""
	}
	// The file system does not have the nodes in an archive and in a manifest.
	if isBelowArchive(at) || isBelowReferences(at) {
		if above := nodeAbove(ctx, at); above != "" {
			missing, _, _ := strings.Cut(strings.TrimPrefix(at, above+"/"), "/")
			return fmt.Sprintf(": %s has no %s", above, missing)
		}
	}
	parts := strings.Split(at, "/")
	for i := range parts[:len(parts)-1] {
		above, is := strings.Join(parts[:i], "/"), strings.Join(parts[:i+1], "/")
		switch info, err := os.Stat(LocalPath(is)); {
		case is == "":
			continue // an absolute path begins with an empty part
		case err != nil && above == "":
			return fmt.Sprintf(": there is no %s", is)
		case err != nil:
			return fmt.Sprintf(": %s has no %s", above, parts[i])
		case !info.IsDir():
			return fmt.Sprintf(": %s is a file", is)
		case IsArrayFolder(LocalPath(is)):
			return fmt.Sprintf(": %s is an array, and no node is below it", is)
		}
	}
	if above := strings.Join(parts[:len(parts)-1], "/"); above != "" && isNodeFolder(LocalPath(above)) {
		return fmt.Sprintf(": the group %s has no %s", above, parts[len(parts)-1])
	}
	return ""
}

// IsArrayFolder reports whether a folder has the document of an array.
func IsArrayFolder(folder string) bool {
	// Arrays and groups of format 3 have a document of the same name.
	if doc, err := os.ReadFile(filepath.Join(folder, nodename.V3Node)); err == nil {
		_, err := metadata.ParseArray(doc, metadata.Limits{})
		return err == nil
	}
	return Exists(filepath.Join(folder, nodename.V2Array))
}

// Neighbour returns a hint that names a node beside a location, or "".
func Neighbour(ctx context.Context, at string) string {
	group, name := path.Split(at)
	var members []string
	if group != "" && name != "" {
		members = memberPaths(ctx, Clean(group), "")
		for i, m := range members {
			members[i] = m[strings.LastIndexByte(m, '/')+1:]
		}
	}
	// The parent is no group, but its folder may hold nodes.
	if members == nil && !strings.Contains(at, "://") {
		return spelling.Meant(name, nearNodes(LocalPath(group), name))
	}
	return spelling.Meant(name, members)
}

// nearNodes returns the nodes in a folder with names similar to name.
func nearNodes(folder, name string) []string {
	return slices.DeleteFunc(nodesIn(folder), func(n string) bool { return spelling.Distance(n, name) > mostOff })
}

// nodeHint returns a hint for the location of a node that cannot be opened, except for
// the name of a node beside it.
func nodeHint(cmd *cobra.Command, e *zarr.Error) string {
	switch text := e.Err.Error(); {
	case isUnknownScheme(e):
		return schemeMeant(e.Path)
	case strings.HasSuffix(text, "it is a group, not an array"):
		return membersMeant(cmd.Context(), e.Path)
	case errors.Is(e, fs.ErrNotExist):
		return cmp.Or(fileMeant(cmd, e.Path), placeMeant(e.Path))
	}
	return ""
}

// mostOff is the largest number of letters by which a similar name differs.
const mostOff = 2

// mostBeside bounds the entries of a folder that are searched for similar names.
const mostBeside = 1000

// nodesIn returns the names of the nodes and archives in a local folder.
func nodesIn(folder string) (names []string) {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	// A listing that fails after some entries still gives hints.
	entries, _ := f.ReadDir(mostBeside)
	for _, e := range entries {
		if own.IsArchive(e.Name()) || isNodeFolder(filepath.Join(folder, e.Name())) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// isNodeFolder reports whether a folder has a metadata document.
func isNodeFolder(folder string) bool {
	return slices.ContainsFunc([]string{nodename.V3Node, nodename.V2Array, nodename.V2Group}, func(name string) bool { return Exists(filepath.Join(folder, name)) })
}

// PlainFolder reports whether a location is a local folder that has no node, and no
// references. It returns the pattern of the files of other formats in it, that of NetCDF
// files if there are none.
func PlainFolder(location string) (files string, is bool) {
	at := Clean(location)
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() || isNodeFolder(at) || Exists(filepath.Join(at, own.ManifestDocument)) || Exists(filepath.Join(at, ".zmetadata")) {
		return "", false
	}
	files = at + "/*" + NetCDF[0]
	if f, err := os.Open(at); err == nil {
		defer f.Close()
		entries, _ := f.ReadDir(mostBeside) // the rest changes no more than the hint
		for _, e := range entries {
			if e.Type().IsRegular() && virtual.IsForeign(e.Name()) {
				return at + "/*" + filepath.Ext(e.Name()), true
			}
		}
	}
	return files, true
}

// holdsNodes reports whether a location is a local folder that is not a node but
// contains nodes.
func holdsNodes(at string) bool {
	if strings.Contains(at, "://") || isNodeFolder(at) {
		return false
	}
	return slices.ContainsFunc(nodesIn(LocalPath(at)), func(name string) bool { return !own.IsArchive(name) })
}
