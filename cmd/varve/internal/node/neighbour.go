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
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/metadata"
)

// Explain adds a hint to the error for a node that cannot be opened: a similar name
// beside it, or the command that makes its folder a group.
func Explain(cmd *cobra.Command, err error) error {
	var e *zarr.Error
	if !errors.As(err, &e) || e.Op != "open" && !isNoNode(e) || e.Path == "" {
		return err
	}
	if hint := otherMeant(cmd, e); hint != "" {
		e.Err = fmt.Errorf("%w%s", e.Err, hint)
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := Clean(e.Path)
	if file := foreignFile(at); file != "" {
		if names := MembersOf(cmd.Context(), file, nil); len(names) > 0 {
			e.Err = fmt.Errorf("%w%s (%s has %s)", e.Err, Neighbour(cmd.Context(), at), file, phrase.Shorten(strings.Join(names, ", "), 200))
		}
		return err
	}
	// The folder has arrays, but was never made a group.
	if holdsNodes(at) {
		e.Err = fmt.Errorf("%w (varve create %s --group makes the folder a group)", e.Err, at)
		return err
	}
	hint := Neighbour(cmd.Context(), at)
	if hint == "" {
		hint = reached(at)
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

// reached says how much of the local path of a missing node is there, or returns "".
func reached(at string) string {
	if strings.Contains(at, "://") {
		return ""
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
		case isArrayFolder(LocalPath(is)):
			return fmt.Sprintf(": %s is an array, and no node is below it", is)
		}
	}
	if above := strings.Join(parts[:len(parts)-1], "/"); above != "" && isNodeFolder(LocalPath(above)) {
		return fmt.Sprintf(": the group %s has no %s", above, parts[len(parts)-1])
	}
	return ""
}

// isArrayFolder reports whether a folder has the document of an array.
func isArrayFolder(folder string) bool {
	if doc, err := os.ReadFile(filepath.Join(folder, metadata.V3Node)); err == nil {
		_, err := metadata.ParseArray(doc, metadata.Limits{})
		return err == nil
	}
	return Exists(filepath.Join(folder, metadata.V2Array))
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
	if members == nil && !strings.Contains(at, "://") {
		return spelling.Meant(name, nearNodes(LocalPath(group), name))
	}
	return spelling.Meant(name, members)
}

// nearNodes returns the nodes in a folder with names similar to name.
func nearNodes(folder, name string) []string {
	return slices.DeleteFunc(nodesIn(folder), func(n string) bool { return spelling.Distance(n, name) > mostOff })
}

// otherMeant returns a hint for the location of a node that cannot be opened, except for
// the name of a node beside it.
func otherMeant(cmd *cobra.Command, e *zarr.Error) string {
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
	entries, _ := f.ReadDir(mostBeside)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".zip") || isNodeFolder(filepath.Join(folder, e.Name())) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// isNodeFolder reports whether a folder has a metadata document.
func isNodeFolder(folder string) bool {
	return slices.ContainsFunc([]string{metadata.V3Node, metadata.V2Array, metadata.V2Group}, func(name string) bool { return Exists(filepath.Join(folder, name)) })
}

// holdsNodes reports whether a location is a local folder that is not a node but
// contains nodes.
func holdsNodes(at string) bool {
	if strings.Contains(at, "://") || isNodeFolder(at) {
		return false
	}
	return slices.ContainsFunc(nodesIn(LocalPath(at)), func(name string) bool { return !strings.HasSuffix(name, ".zip") })
}
