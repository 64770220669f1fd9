package main

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
	"varve.dev/zarr/cmd/varve/internal/spelling"
	"varve.dev/zarr/metadata"
)

// meantNode adds to the error for a node that is not there what may be meant: a node
// beside it with a name that is near, or the nodes in a folder that is no node itself.
func meantNode(cmd *cobra.Command, err error) error {
	var e *zarr.Error
	if !errors.As(err, &e) || e.Op != "open" || e.Path == "" {
		return err
	}
	if hint := otherMeant(cmd, e); hint != "" {
		e.Err = fmt.Errorf("%w%s", e.Err, hint)
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := sameNode(e.Path)
	if holdsNodes(at) {
		e.Err = fmt.Errorf("%w (varve create %s --group makes the folder a group)", e.Err, at)
		return err
	}
	if hint := besideMeant(cmd.Context(), at); hint != "" {
		e.Err = fmt.Errorf("%w%s", e.Err, hint)
	}
	return err
}

// besideMeant returns which node beside a location may be meant by it.
func besideMeant(ctx context.Context, at string) string {
	group, name := path.Split(at)
	var members []string
	if group != "" && name != "" {
		members = memberPaths(ctx, sameNode(group), "")
		for i, m := range members {
			members[i] = m[strings.LastIndexByte(m, '/')+1:]
		}
	}
	if members == nil && !strings.Contains(at, "://") {
		return spelling.Meant(name, nearNodes(localPath(group), name))
	}
	return spelling.Meant(name, members)
}

// nearNodes returns the nodes right in a folder whose names hardly differ from a name.
func nearNodes(folder, name string) []string {
	return slices.DeleteFunc(nodesIn(folder), func(n string) bool { return spelling.Distance(n, name) > mostOff })
}

// otherMeant returns what may be meant by the location of a node that cannot be opened,
// where that is not the name of a node beside it.
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

// mostOff is by how many letters the name of a store that is proposed differs at most.
const mostOff = 2

// mostBeside is how many entries of a folder are looked at for stores that may be meant.
const mostBeside = 1000

// nodesIn returns the names of the nodes and archives that are right in a folder of this
// machine.
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

// isNodeFolder reports whether a folder has a document that makes it a node.
func isNodeFolder(folder string) bool {
	return slices.ContainsFunc([]string{metadata.V3Node, metadata.V2Array, metadata.V2Group}, func(name string) bool { return isThere(filepath.Join(folder, name)) })
}

// holdsNodes reports whether a location is a folder of this machine that is no node and
// has nodes in it.
func holdsNodes(at string) bool {
	if strings.Contains(at, "://") || isNodeFolder(at) {
		return false
	}
	return slices.ContainsFunc(nodesIn(localPath(at)), func(name string) bool { return !strings.HasSuffix(name, ".zip") })
}
