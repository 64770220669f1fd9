// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/virtual/scan"
)

// checkPath returns an error if a manifest cannot have a node at a path. Whoever reads a
// manifest refuses all of it then, so whoever makes one leaves the node out.
func checkPath(path string) error {
	if path == "" { // the root
		return nil
	}
	if !utf8.ValidString(path) {
		return scan.Unsupportedf("the path %q is not valid UTF-8, and a manifest is JSON", path)
	}
	for name := range strings.SplitSeq(path, "/") {
		if err := nodename.CheckListed(name); err != nil {
			return scan.Unsupportedf("%v", err)
		}
	}
	return nil
}

// checkPaths returns an error if a manifest has a node that it cannot have.
func (m *Manifest) checkPaths() error {
	for _, g := range m.Groups {
		if err := checkPath(g.Path); err != nil {
			return fmt.Errorf("group %q: %w", g.Path, err)
		}
	}
	for _, a := range m.Arrays {
		if err := checkPath(a.Path); err != nil {
			return fmt.Errorf("array %q: %w", a.Path, err)
		}
	}
	return nil
}

// checkLocation returns an error if a location of chunks below a path would not lead a
// reader back to them, because it has characters that programs read in different ways.
func (w *walk) checkLocation(path string) error {
	node := place{scheme: w.scheme, host: "host", path: "/node"}
	if w.scheme == "file" {
		node.host = ""
	}
	at, err := node.join(path)
	if err != nil {
		return scan.Unsupportedf("the path %q has characters that locations of chunks cannot have: copy it under another name (varve copy)", path)
	}
	if again, err := placeOf(at.String()); err != nil || again.path != at.path {
		return scan.Unsupportedf("in a location of its chunks, %q would be read as something else: copy it under another name (varve copy)", path)
	}
	return nil
}
