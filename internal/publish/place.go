// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"varve.dev/zarr/store"
)

// relative returns the name of a place relative to a node. Files beside nodes refer to
// each other this way, because a store may be opened at any directory above them.
func relative(from store.Path, to string) string {
	a, b := segments(from.String()), segments(to)
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	up := slices.Repeat([]string{".."}, len(a))
	return strings.Join(append(up, b...), "/")
}

func segments(path string) []string {
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// resolve returns the place that a name relative to a node refers to. If that is above
// the root of the store, the error wraps [store.ErrInvalidKey].
func resolve(from store.Path, place string) (string, error) {
	to := path.Join(from.String(), place)
	if to == ".." || strings.HasPrefix(to, "../") || strings.HasPrefix(place, "/") {
		return "", fmt.Errorf("%w: %q leads out of the store: open the store at a directory above, or, if the node is a copy that was made during a change, copy it again once that is finished (%s names the change)", store.ErrInvalidKey, place, pointerName)
	}
	if to == "." {
		to = ""
	}
	return to, nil
}
