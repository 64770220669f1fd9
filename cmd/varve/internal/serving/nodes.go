// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"varve.dev/zarr"
	"varve.dev/zarr/cmd/varve/internal/failure"
	"varve.dev/zarr/cmd/varve/internal/node"
	"varve.dev/zarr/cmd/varve/internal/phrase"
	"varve.dev/zarr/cmd/varve/internal/session"
	"varve.dev/zarr/cmd/varve/internal/virtualizing"
	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual"
)

// opened is a node that is served.
type opened struct {
	name     string
	location string // without secrets
	private  bool   // others of this machine may not be able to read it elsewhere
	at       *zarr.Location
}

// escaped returns the name for an address.
func (o *opened) escaped() string { return url.PathEscape(o.name) }

// open opens what the command line names: nodes, or files that are one node.
func (f *serveFlags) open(cmd *cobra.Command, args []string) ([]opened, error) {
	if f.concat == "" && f.stack == "" {
		return openNodes(cmd, args)
	}
	name, first := session.CutName(args[0])
	if name == "" || node.Exists(node.LocalPath(args[0])) {
		// Files of one folder are named after it.
		if name, first = path.Base(path.Dir(filepath.ToSlash(args[0]))), args[0]; strings.Trim(name, "./") == "" {
			name = "files"
		}
	}
	if err := checkName(name, first, nil); err != nil {
		return nil, err
	}
	files := append([]string{first}, args[1:]...)
	join := virtual.Join{Concat: f.concat, Stack: f.stack, Padded: true}
	s, err := virtualizing.Show(cmd, files, join, func(text string) {
		f.notes = append(f.notes, text)
	})
	if err != nil {
		return nil, failure.On("serve", first, err)
	}
	opt := session.Reading(cmd)
	opt.Observer, opt.Experimental.EncodedShapes = nil, true
	return []opened{{name, strings.Join(files, " "), true, zarr.At(s, "").With(opt)}}, nil
}

// openNodes opens the nodes of the command line. The caller closes those that it returns,
// also with an error.
func openNodes(cmd *cobra.Command, args []string) (nodes []opened, err error) {
	named := map[string]string{}
	for _, arg := range args {
		name, location := session.CutName(arg)
		// A folder may have a name such as year=2024.
		if name != "" && node.Exists(node.LocalPath(arg)) {
			name, location = "", arg
		}
		if name == "" {
			name = nameOf(location)
		}
		if err := checkName(name, location, named); err != nil {
			return nodes, err
		}
		named[name] = location
		at, err := open(cmd, location)
		if err != nil {
			return nodes, err
		}
		nodes = append(nodes, opened{name, location, isPrivate(cmd.Context(), location), at})
	}
	return nodes, nil
}

// closeNodes closes the stores of nodes.
func closeNodes(nodes []opened) (err error) {
	for _, n := range nodes {
		err = errors.Join(err, store.Close(n.at.Store()))
	}
	return err
}

// open opens the location of a node, and looks whether there is one.
func open(cmd *cobra.Command, location string) (*zarr.Location, error) {
	at, err := zarr.Locate(cmd.Context(), location, store.ReadOnly)
	if err != nil {
		return nil, failure.On("open", location, err)
	}
	opt := session.Reading(cmd)
	opt.Observer = nil // there is no end at which to print what it counts
	at = at.With(opt)
	// A node with a codec or type that Varve does not know is served, too.
	if n, err := at.Metadata(cmd.Context(), opt); n == nil && err != nil {
		if strings.ContainsAny(location, "*?[") {
			err = fmt.Errorf("%w; to serve files of other formats as one node, add --concat DIM or --stack DIM", err)
		}
		return nil, errors.Join(failure.On("open", location, err), store.Close(at.Store()))
	}
	return at, nil
}

// nameOf returns the name of a node at a location, "" if it has none.
func nameOf(location string) string {
	name := ""
	if scheme, rest, isURL := strings.Cut(node.Clean(location), "://"); !isURL || scheme == "file" {
		name = filepath.Base(node.LocalPath(location))
	} else {
		rest, _, _ = strings.Cut(rest, "?")
		isWeb := scheme == "http" || scheme == "https"
		if u, err := url.Parse(location); err == nil && isWeb {
			rest = strings.Trim(u.Path, "/")
		}
		name = path.Base(rest)
	}
	for _, suffix := range append([]string{virtual.Suffix}, own.Archives...) {
		if short, is := strings.CutSuffix(name, suffix); is && short != "" {
			return short
		}
	}
	return name
}

// checkName returns an error for a name that no address can have, or that another node
// has.
func checkName(name, location string, named map[string]string) error {
	other := func(name string) string { return phrase.Word(name + "=" + location) }
	switch {
	case strings.Trim(name, "./\\") == "":
		return failure.BadUsage("%s has no name that its address could have: give one, as in %s", location, other("data"))
	case strings.HasPrefix(name, "@"):
		return failure.BadUsage("the name %s begins with @, as the addresses of the server itself do: give another name, as in %s",
			name, other(strings.TrimLeft(name, "@")+"2"))
	case named[name] != "":
		return failure.BadUsage("both %s and %s would be at /%s: give one another name, as in %s", named[name], location, name, other(name+"2"))
	}
	return nil
}

// isPrivate reports whether a source may be one that other users cannot read: a file, or
// a place that is read with credentials.
func isPrivate(ctx context.Context, location string) bool {
	scheme, _, isURL := strings.Cut(location, "://")
	whole := driver.Reveal(ctx, location)
	switch {
	case !isURL || scheme == "file":
		return true
	case scheme == "http" || scheme == "https":
		return whole != location
	}
	_, query, _ := strings.Cut(whole, "?")
	options, err := url.ParseQuery(query)
	return err != nil || options.Get("anonymous") != "true"
}
